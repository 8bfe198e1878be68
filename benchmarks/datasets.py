"""The data sets of the benchmarks: the paper's problems, and files of other projects if a folder has them.

A file is an npz with `u_train (N, m)`, `s_train (N, M)`, `u_test`, `s_test` and the output points `y (M, d)`.
"""

from pathlib import Path

import numpy as np

from elmonet import problems
from elmonet.data import OperatorData

PROBLEMS = {
    "antiderivative": lambda: problems.antiderivative(),
    "nonlinear_ode": lambda: problems.nonlinear_ode(),
    "inverse_source": lambda: problems.inverse_source(),
    "inverse_source, 1 % noise": lambda: problems.inverse_source(noise=0.01),
    "darcy": lambda: problems.darcy(),
}
IMAGES = {"neuralop_darcy_small": (16, 16), "torchphysics_diffusion2d": (64, 64)}  # inputs that come flat
HELD_OUT = 20  # functions of a file that has no test set of its own


def names(folder):
    """The data sets there are, by name."""
    files = sorted(Path(folder).glob("*.npz")) if folder else []
    return [*PROBLEMS, *(file.stem for file in files)]


def load(name, folder):
    """A data set, or a word why it is left out."""
    if name in PROBLEMS:
        return PROBLEMS[name]()
    with np.load(Path(folder) / f"{name}.npz") as file:
        arrays = {key: file[key] for key in file.files}
    if "u_train" in arrays:
        u, s, u_test, s_test = (
            arrays[key].astype(float) for key in ("u_train", "s_train", "u_test", "s_test")
        )
        points = arrays["y"]
    elif {"X_test0", "X_test1", "y_test"} <= set(arrays):
        u, points, s = (arrays[key].astype(float) for key in ("X_test0", "X_test1", "y_test"))
        u, u_test, s, s_test = u[:-HELD_OUT], u[-HELD_OUT:], s[:-HELD_OUT], s[-HELD_OUT:]
    else:
        return "outputs at different points for each function: no method here takes them"
    if name in IMAGES:
        u, u_test = (A.reshape(len(A), *IMAGES[name]) for A in (u, u_test))
    m = u[0].size
    return OperatorData(u, s, u_test, s_test, arrays.get("x", np.arange(m)[:, None]), points, name)
