"""Operator-learning problems with accurate solutions; each makes an `OperatorData`.

`antiderivative`   s' = u                              linear, 1-D
`nonlinear_ode`    s' = -0.1 s^2 + u                   mildly nonlinear, 1-D
`inverse_source`   u(1, .) -> s in u_t = D u_xx + k u^2 + s   ill-posed, 1-D, noise on request
`darcy`            -div(kappa grad s) = 1              2-D, images in
`gaussian_field`   the random functions behind all four
"""

from elmonet.problems.darcy_flow import darcy
from elmonet.problems.gaussian import gaussian_field
from elmonet.problems.heat_source import inverse_source
from elmonet.problems.ode import antiderivative, nonlinear_ode

__all__ = ["antiderivative", "darcy", "gaussian_field", "inverse_source", "nonlinear_ode"]
