"""The paper's first problem as a live page: the operator at work, and a tab that trains it in the browser."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.estimators.live import beside
from elmonet.export import TrainingTab, export
from elmonet.features import MLP, SLFN
from elmonet.paper.models import printed
from elmonet.problems import antiderivative
from elmonet.problems.chebyshev import chebyshev_nodes, integrate, interpolation_matrix, resolution
from elmonet.problems.gaussian import axis_modes

_LENGTH_SCALE = 0.1  # of the random inputs, as in `problems.antiderivative`


def training_tab(n_points: int = 100) -> TrainingTab:
    """Return what a page needs to train the antiderivative: modes of random functions and of their integrals.

    >>> tab = training_tab()
    >>> tab.x.shape, tab.modes_u.shape == tab.modes_s.shape, tab.rows[2]["error"]
    ((100,), True, 0.0212)
    """
    x, nodes = np.linspace(0, 1, n_points), chebyshev_nodes(resolution(_LENGTH_SCALE))
    modes, to_points = axis_modes(nodes, _LENGTH_SCALE), interpolation_matrix(len(nodes), x)
    return TrainingTab(
        x, to_points @ modes, to_points @ integrate(modes.T).T, printed()["tables"]["antiderivative"]
    )


def write_training_page(path: str | os.PathLike[str], *, functions: int = 1000, seed: int = 0) -> Path:
    """Write a page that shows the paper's ELM-DeepONet of the antiderivative, and trains it anew.

    Parameters
    ----------
    path : of the page, such as ``"antiderivative.html"``.
    functions : number of training functions of the operator that is shown first.
    seed : seed of the data and the networks.

    Returns
    -------
    path : of the page.
    """
    data = antiderivative(n_train=functions, n_test=6, seed=seed)
    model = ELMDeepONet(SLFN(1000), MLP(100), random_state=seed)
    fitted = model.fit(data.u_train, data.s_train, points=data.points)._fitted()
    description = replace(fitted.description(), novelty=fitted.described_novelty())
    shown = beside(model, fitted, description, None, None, data.u_test, data.s_test)
    shown = replace(shown, training=training_tab(len(data.points)))
    (written,) = export(description, path, "The antiderivative, by the paper's method", beside=shown)
    return written
