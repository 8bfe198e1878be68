"""Benchmark problems with accurate solutions; each returns an `OperatorData`.

`antiderivative`     s' = u                              linear, 1-D
`nonlinear_ode`      s' = -0.1 s^2 + u                   mildly nonlinear, 1-D
`inverse_source`     u(1, .) -> s in u_t = D u_xx + k u^2 + s   ill-posed, 1-D, optional noise
`burgers`            u(., 0) -> u(., 1) in u_t + u u_z = 0.1 u_zz   nonlinear, periodic, 1-D
`burgers_steps`      u(., t) -> u(., t + dt) of the same, whole trajectories
`darcy`              -div(kappa grad s) = 1              2-D, image inputs
`darcy_two_valued`   the same, kappa is 12 or 3          2-D, image inputs, rough
`navier_stokes_steps`   w(., t) -> w(., t + dt), the vorticity of a flow on a torus   2-D, whole trajectories
`bouc_wen`           ground motion -> displacement of a hysteretic oscillator, records in time
`duffing`            forcing -> displacement, x'' + c x' + k x + x^3 = u, chaotic for k = -1, records in time
`tanks`              pump voltage -> level of the lower of two tanks, records in time
`gaussian_field`     the smooth random functions behind the first three and `darcy`
`solve_burgers`      the solver behind `burgers`, for your own initial values
"""

from elmonet.problems.burgers_flow import burgers, burgers_steps, solve_burgers
from elmonet.problems.darcy_flow import darcy, darcy_two_valued
from elmonet.problems.gaussian import gaussian_field
from elmonet.problems.heat import inverse_source
from elmonet.problems.ode import antiderivative, nonlinear_ode
from elmonet.problems.records import bouc_wen, duffing, tanks
from elmonet.problems.vorticity import navier_stokes_steps

__all__ = [
    "antiderivative",
    "bouc_wen",
    "burgers",
    "burgers_steps",
    "darcy",
    "darcy_two_valued",
    "duffing",
    "gaussian_field",
    "inverse_source",
    "navier_stokes_steps",
    "nonlinear_ode",
    "solve_burgers",
    "tanks",
]
