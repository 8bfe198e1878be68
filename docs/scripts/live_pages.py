"""The live pages of the site: four operators to draw on, each fitted in seconds.

``python docs/scripts/live_pages.py FOLDER`` writes them; ``make site`` does so where they are missing or
older than the package.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

from elmonet import POD, ELMDeepONet, InfiniteWidth, LayeredELMDeepONet, Linear, MarchingELMDeepONet, problems
from elmonet.paper.live_page import write_training_page

PACKAGE = Path(__file__).parents[2] / "src" / "elmonet"


def burgers(path):
    """A front that steepens: from the flow at time 0 to that at time 1, by layers."""
    data = problems.burgers(n_train=300, n_test=6, n_points=64)
    model = LayeredELMDeepONet(layers=2, width=300, random_state=0)
    _write(model, data, path, "Burgers' equation: a flow now, and later")


def darcy(path):
    """Pressure in porous ground, from a painted permeability: 60 modes of either keep the page small."""
    data = problems.darcy(n_train=400, n_test=6, n_sensors=32, n_points=32)
    logs = np.log(data.u_train.reshape(len(data.u_train), -1))
    modes = np.linalg.svd(logs - logs.mean(axis=0), full_matrices=False)[2][:60].T
    branch = Linear() + InfiniteWidth("matern52", 0.06)
    model = ELMDeepONet(branch, POD(60), log_inputs=True, metric=modes, random_state=0)
    # With sensors, the input is shown in the coordinates of the output instead of rows and columns.
    _write(model, data, path, "Darcy flow: paint the ground, see the pressure", sensors=data.sensors)


def duffing(path):
    """A nonlinear oscillator, driven by hand."""
    data = problems.duffing(n_train=20, n_test=6, n_steps=400)
    _write(MarchingELMDeepONet(random_state=0), data, path, "A nonlinear oscillator, driven by hand")


PAGES = {"burgers": burgers, "darcy": darcy, "duffing": duffing, "antiderivative": write_training_page}


def _write(model, data, path, title, **where):
    model.fit(data.u_train, data.s_train, points=data.points, **where)
    model.export(path, X=data.u_test, y=data.s_test, title=title)


def write_pages(folder):
    """Write the pages that are missing or older than the package to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    newest = max(file.stat().st_mtime for file in [Path(__file__), *PACKAGE.rglob("*.*")] if file.is_file())
    for name, write in PAGES.items():
        path = folder / f"{name}.html"
        if not path.exists() or path.stat().st_mtime < newest:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                write(path)


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
