"""AutoELMDeepONet: nothing to tune."""

from __future__ import annotations

import os
import warnings
from contextlib import nullcontext
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from elmonet._check import ExtrapolationWarning, functions, number, outputs, positive_integer
from elmonet._fitted import require_fitted
from elmonet.auto.novelty import Novelty
from elmonet.auto.repeats import merge_repeats
from elmonet.auto.search import Search
from elmonet.auto.words import in_words
from elmonet.features import POD
from elmonet.features.base import seed_from
from elmonet.model import ELMDeepONet
from elmonet.progress import progress_bar
from elmonet.solve import Ridge

__all__ = ["AutoELMDeepONet"]


class AutoELMDeepONet(RegressorMixin, MultiOutputMixin, BaseEstimator):
    """A DeepONet with nothing to tune: everything is chosen by leave-one-out.

    One fit is one factorisation, and its leave-one-out error is exact and free, so that many models can be
    compared on the training data alone: logarithms and scaling of the inputs, logarithms of the outputs,
    features (none, a linear block, random networks, and networks of infinite width, each with its scale), the
    ridge and the number of the outputs' modes. Most are tried on few functions, the best on all.

    Parameters
    ----------
    time_budget : seconds after which no new candidate is begun; None: no limit.
    n_jobs : candidates that are tried at the same time, in threads.
    progress : True shows a bar; or a function that is called as ``progress(what, done, total)``.
    points : where the outputs are known, if not given to `fit`.
    random_state : seed; the same seed gives the same choice, unless a time budget interferes.

    Attributes
    ----------
    best_model_ : a fitted `ELMDeepONet`: inspect it, save it, fit it again.
    loo_error_ : what to expect on new functions that are drawn alike: its leave-one-out error, with what the
        choice among many candidates hides of it.
    leaderboard_ : a list of dictionaries, one for each candidate that was tried, the best first.

    Examples
    --------
    >>> from elmonet import problems
    >>> data = problems.antiderivative(n_train=100, n_test=20)
    >>> model = AutoELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
    >>> model.leaderboard_[0]["branch"], model.loo_error_ < 1e-9
    ('linear', True)
    """

    def __init__(
        self,
        *,
        time_budget: float | None = None,
        n_jobs: int = 1,
        progress: Any = False,
        points: Any = None,
        random_state: Any = None,
    ):
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.progress = progress
        self.points = points
        self.random_state = random_state

    def fit(self, X: Any, y: Any, points: Any = None) -> Self:
        """Choose and fit a model; the arguments are those of `ELMDeepONet.fit`."""
        X = functions(self, X, reset=True)
        y = outputs(y, len(X))
        X, y = (A.astype(np.float64, copy=False) for A in (X, y))
        self.points_ = ELMDeepONet(points=self.points).training_points(points, y, X)
        budget = None if self.time_budget is None else number(self.time_budget, "time_budget", strict=True)
        seed = seed_from(self.random_state)
        X, y, self.repeats_ = merge_repeats(X, y)
        outputs_as_rows = y.reshape(len(y), -1)
        bar = progress_bar() if self.progress is True else nullcontext(self.progress or None)
        with bar as hook:
            search = Search(
                X,
                outputs_as_rows,
                self.points_,
                seed=seed,
                time_budget=budget,
                n_jobs=positive_integer(self.n_jobs, "n_jobs"),
                progress=hook,
            )
            best = search.run()
        view = search.view(best.way, len(X))
        branch = best.candidate.branch(view.X, view.spread, seed)
        rank = view.best_rank(view.features(best.candidate, seed), best.alpha)
        model = ELMDeepONet(branch, POD(rank), Ridge("loo"), random_state=seed, **search.ways[best.way])
        self.best_model_ = model.fit(X, y, points=self.points_)
        self.loo_error_ = self.best_model_.solution_.loo_error + search.optimism(best)
        self.leaderboard_ = search.leaderboard()
        self._novelty = Novelty(view.X)
        self._words = in_words(self, search, best)
        return self

    def predict(self, X: Any, points: Any = None) -> np.ndarray:
        """Output functions, as by `ELMDeepONet.predict`; warns of inputs unlike those of the training."""
        require_fitted(self, "best_model_")
        X = functions(self, X, reset=False)
        strange = self._novelty.strange(self.best_model_.transformed(X))
        if strange.any():
            warnings.warn(
                f"{int(strange.sum())} of {len(X)} inputs (the first: row {int(np.argmax(strange))}) lie "
                "outside what the training functions cover: the leave-one-out error does not speak for them. "
                "Train on functions like these.",
                ExtrapolationWarning,
                stacklevel=2,
            )
        return self.best_model_.predict(X, points)

    def novelty(self, X: Any) -> np.ndarray:
        """How far each input (N,) is from the training functions: above 1, beyond all of them."""
        require_fitted(self, "best_model_")
        return self._novelty(self.best_model_.transformed(functions(self, X, reset=False)))

    def summary(self) -> str:
        """In words: what was chosen and why, what error to expect, and what would help most."""
        require_fitted(self, "best_model_")
        return self._words

    def save(self, path: str | os.PathLike[str], weights: bool = False) -> None:
        """Write `best_model_` to a file that `load` reads."""
        require_fitted(self, "best_model_")
        self.best_model_.save(path, weights)
