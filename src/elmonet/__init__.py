"""elmonet: neural operators trained by one linear solve.

Start with two names::

    from elmonet import ELMDeepONet, problems

    data = problems.antiderivative()
    model = ELMDeepONet().fit(data.u_train, data.s_train, points=data.points)
    model.predict(data.u_test)

`AutoELMDeepONet` leaves nothing to tune, `MarchingELMDeepONet` is for records in time, and `read` reads data
from files of any kind. Everything else is there to look closer: feature maps (`SLFN`, `MLP`, `CNN`,
`InfiniteWidth`, `Linear`, `Several`; as trunks `POD`, `Legendre`, `Sinusoid`, `Masked`), solvers (`Pinv`,
`Ridge`), `Scattered` outputs, `resample`, `relative_l2`, `load`, and the modules `problems` and `plot`.
"""

import lazy_loader

# The public names are listed in __init__.pyi, once, for type checkers and for this: each is imported on
# first use, so that `import elmonet` costs nothing.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.3.0"
