"""Data sets of the benchmarks: generated problems, and files of other projects if a folder has them.

A file is an npz with `u_train (N, m)`, `s_train (N, M)`, `u_test`, `s_test` and the output points `y (M, d)`.
"""

from functools import partial
from pathlib import Path

import numpy as np

from elmonet import problems
from elmonet.data import OperatorData

PAPER = {
    "antiderivative": problems.antiderivative,
    "nonlinear_ode": problems.nonlinear_ode,
    "inverse_source": problems.inverse_source,
    "inverse_source, 1 % noise": partial(problems.inverse_source, noise=0.01),
    "darcy": problems.darcy,
}
PROBLEMS = PAPER | {
    "burgers": problems.burgers,
    "burgers_steps": problems.burgers_steps,
    "darcy_two_valued": problems.darcy_two_valued,
}
LARGE = {  # minutes to make: kept in the folder with the data files
    "darcy_two_valued_85": partial(problems.darcy_two_valued, 1000, 100, n_points=85, n_cells=420),
    "navier_stokes_steps": problems.navier_stokes_steps,
}
IMAGE_SHAPES = {"neuralop_darcy_small": (16, 16), "torchphysics_diffusion2d": (64, 64)}  # stored flat
N_HELD_OUT = 20  # functions of a file that has no test set of its own


def file_names(folder):
    """Return the names of the data files in a folder."""
    return [file.stem for file in sorted(Path(folder).glob("*.npz"))] if folder else []


def load(name, folder):
    """Return a data set, or the reason why it is left out."""
    if made := PROBLEMS.get(name):
        return made()
    path = Path(folder or ".") / f"{name}.npz"
    if name in LARGE and not path.exists():
        data = LARGE[name]()
        arrays = {key: getattr(data, key) for key in ("u_train", "s_train", "u_test", "s_test")}
        np.savez(path, **arrays, x=data.sensors, y=data.points)
    with np.load(path) as file:
        arrays = {key: file[key] for key in file.files}
    if "u_train" in arrays:
        u, s, u_test, s_test = (
            arrays[key].astype(float) for key in ("u_train", "s_train", "u_test", "s_test")
        )
        points = arrays["y"]
    elif {"X_test0", "X_test1", "y_test"} <= set(arrays):
        u, points, s = (arrays[key].astype(float) for key in ("X_test0", "X_test1", "y_test"))
        u, u_test, s, s_test = u[:-N_HELD_OUT], u[-N_HELD_OUT:], s[:-N_HELD_OUT], s[-N_HELD_OUT:]
    else:
        return "outputs at different points for each function: no method here takes them"
    if name in IMAGE_SHAPES:
        u, u_test = (A.reshape(len(A), *IMAGE_SHAPES[name]) for A in (u, u_test))
    m = u[0].size
    return OperatorData(u, s, u_test, s_test, arrays.get("x", np.arange(m)[:, None]), points, name)
