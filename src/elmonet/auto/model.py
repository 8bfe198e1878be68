"""AutoELMDeepONet: nothing to tune."""

from __future__ import annotations

import os
from contextlib import nullcontext
from time import perf_counter
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from elmonet._check import choice, number, outputs, plain, positive_integer
from elmonet._fitted import require_fitted
from elmonet.auto.repeats import Repeats, merge_repeats
from elmonet.auto.search import Search
from elmonet.auto.unaligned import choose_unaligned
from elmonet.auto.words import in_words, unaligned_in_words
from elmonet.features import POD
from elmonet.features.base import seed_from
from elmonet.layout import count, named_components, scattered_outputs
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
    missing : "raise" refuses NaN in the outputs, "ignore" leaves these values out of the fit.
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
        missing: str = "raise",
        points: Any = None,
        random_state: Any = None,
    ):
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.progress = progress
        self.missing = missing
        self.points = points
        self.random_state = random_state

    def fit(self, X: Any, y: Any, points: Any = None) -> Self:
        """Choose and fit a model; the arguments are those of `ELMDeepONet.fit`."""
        form = ELMDeepONet(points=self.points)
        packed = form._packed_functions(X, reset=True, n=count(y))
        self._inputs, self.input_shape_, self.n_features_in_ = (
            form._inputs,
            form.input_shape_,
            form.n_features_in_,
        )
        budget = None if self.time_budget is None else number(self.time_budget, "time_budget", strict=True)
        seed, n_jobs = seed_from(self.random_state), positive_integer(self.n_jobs, "n_jobs")
        bar = progress_bar() if self.progress is True else nullcontext(self.progress or None)
        scattered = scattered_outputs(y, points)
        names, y = (None, scattered) if scattered is not None else named_components(y)
        if scattered is None:
            gaps = choice(self.missing, "missing", ("raise", "ignore")) == "ignore"
            y = outputs(y, len(packed), gaps=gaps).astype(np.float64, copy=False)
        with bar as hook:
            if scattered is not None or np.isnan(y).any():
                given = y if names is None else {name: y[..., i] for i, name in enumerate(names)}
                self._choose_unaligned(X, given, points, seed, budget, hook)
            else:
                rows = form.lay_out(packed, y, points, names)
                self._choose(form, packed.astype(np.float64, copy=False), rows, seed, budget, n_jobs, hook)
        self.points_ = self.best_model_.points_
        return self

    def _choose(
        self, form: Any, X: np.ndarray, rows: np.ndarray, seed: int, budget: Any, n_jobs: int, hook: Any
    ) -> None:
        """Among all candidates, by leave-one-out; `form` knows how inputs and outputs are laid out."""
        X, rows, self.repeats_ = merge_repeats(X, rows)
        inputs, layout = form._inputs, form._layout
        search = Search(
            X,
            rows,
            form.points_,
            seed=seed,
            time_budget=budget,
            n_jobs=n_jobs,
            progress=hook,
            balance=None if inputs is None else inputs.balance(),
            log_outputs=not layout.components,
        )
        best = search.run()
        view = search.view(best.way, len(X))
        branch = best.candidate.branch(view.X, view.spread, seed)
        rank = view.best_rank(view.features(best.candidate, seed), best.alpha)
        trunk = POD(None if layout.components else rank)
        way: dict[str, Any] = {**search.ways[best.way]}
        model = ELMDeepONet(branch, trunk, Ridge("loo"), random_state=seed, **way)
        given = X if inputs is None else inputs.unpack(X)
        self.best_model_ = model.fit(given, layout.outputs(rows), points=form._places_given)
        self.loo_error_ = self.best_model_.solution_.loo_error + search.optimism(best)
        self.leaderboard_ = search.leaderboard()
        self.best_model_.remember_inputs(X)
        self._words = in_words(self, search, best)

    def _choose_unaligned(self, X: Any, y: Any, points: Any, seed: int, budget: Any, hook: Any) -> None:
        """Among few candidates, by functions held out."""
        if isinstance(X, (list, tuple)) and self._inputs is not None:
            X = dict(zip(self._inputs.names, X, strict=True))
        self.best_model_, self.leaderboard_ = choose_unaligned(
            X if isinstance(X, dict) else np.asarray(plain(X)),
            y,
            points if self.points is None else self.points,
            seed=seed,
            deadline=np.inf if budget is None else perf_counter() + budget,
            progress=hook,
            settings={"missing": self.missing},
        )
        self.repeats_ = Repeats(0, 0.0)
        self.loo_error_ = self.best_model_.solution_.loo_error
        self.best_model_.remember_inputs(self.best_model_._packed_functions(X, reset=False))
        self._words = unaligned_in_words(self)

    def predict(self, X: Any, points: Any = None) -> Any:
        """Output functions, as by `ELMDeepONet.predict`; warns of inputs unlike those of the training."""
        require_fitted(self, "best_model_")
        return self.best_model_.predict(X, points)

    def novelty(self, X: Any) -> np.ndarray:
        """How far each input (N,) is from the training functions: above 1, beyond all of them."""
        require_fitted(self, "best_model_")
        return self.best_model_.novelty(X)

    def summary(self) -> str:
        """In words: what was chosen and why, what error to expect, and what would help most."""
        require_fitted(self, "best_model_")
        return self._words

    def save(self, path: str | os.PathLike[str], weights: bool = False) -> None:
        """Write `best_model_` to a file that `load` reads."""
        require_fitted(self, "best_model_")
        self.best_model_.save(path, weights)
