"""AutoELMDeepONet: nothing to tune."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from elmonet.auto.diagnostics import Repeats, merge_repeats
from elmonet.auto.error_estimate import error_estimate
from elmonet.auto.layers import compare_with_layers
from elmonet.auto.search import Search, Trial, choose_unaligned
from elmonet.auto.summary import (
    layers_not_used,
    layers_on_leaderboard,
    summary_before_layers,
    summary_of_choice,
    summary_of_unaligned,
)
from elmonet.checks import choice, number, positive_integer
from elmonet.errors import InputError, NotFittedError
from elmonet.features.base import seed_from
from elmonet.forms.training import Training, points_once, understand
from elmonet.physics import PDE
from elmonet.progress import progress_bar
from elmonet.reporting.data import Account, call_of, data_of
from elmonet.reporting.report import Reporting
from elmonet.solve import LEFT_OUT
from elmonet.uncertainty.calibration import Calibration
from elmonet.uncertainty.error_estimate import Promise
from elmonet.uncertainty.novelty import Memory

__all__ = ["AutoELMDeepONet", "account_of"]


def account_of(model: Any, best: Any) -> Account:
    """Of an `AutoELMDeepONet`: the account of its best model, and how that was chosen."""
    account: Account = best._account()
    chosen_of = model.global_model_
    training, physics = chosen_of._training, getattr(model, "physics_", None)
    seed = chosen_of.random_state
    made = {"seed": str(seed)} if model.random_state is not None else {"seed": f"{seed}, drawn for this fit"}
    data = account.data
    if training is not None:
        data = data_of(training.inputs, training.outputs, chosen_of._remembered(), training)
        data |= {name: value for name, value in account.data.items() if name not in data}
    if model.repeats_.count:
        data["repeats"] = f"{model.repeats_.count} inputs repeat others and were merged; rows count the rest"
    return replace(
        account,
        model=type(model).__name__,
        data=data,
        settings={"model": type(best).__name__} | account.settings,
        made=made,
        call=call_of(model, training, *_given(physics)),
        leaderboard=tuple(model.leaderboard_),
        physics=physics,
    )


def _given(physics: Any) -> tuple[str, str]:
    """What `fit` was given beside the inputs and points: outputs, or an equation, perhaps with data."""
    if physics is None:
        return "s", ""
    data = ", data=data" if physics.correction is not None or physics.constants else ""
    return "pde", f", sensors=sensors{data}"


SOLVING = "solving the equation"  # what a progress bar says at first, if there is one
_SEARCHED = 0.8  # of the progress bar, when the search for a global model is done


class AutoELMDeepONet(Reporting, RegressorMixin, MultiOutputMixin, BaseEstimator):
    """A DeepONet with nothing to tune: everything is chosen by leave-one-out.

    One fit is one factorisation, and its leave-one-out error is exact and free, so that many models can be
    compared on the training data alone: logarithms and scaling of the inputs, logarithms of the outputs,
    features (none, a linear block, random networks, and networks of infinite width, each with its scale), the
    ridge and the number of the outputs' modes. Most are tried on few functions, the best on all.

    Parameters
    ----------
    layers : 0: a global model only. A number: so many layers that all points share follow it, or begin from
        nothing, whichever is better; inputs and outputs must be fields on one uniform grid. None: layers are
        tried where they are, and used where functions held out gain.
    time_budget : seconds after which no new candidate and no new layer is begun; None: no limit.
    n_jobs : candidates that are tried at the same time, in threads.
    progress : True shows a bar; or a function that is called as ``progress(what, done, total)``.
    log_inputs, log_outputs : False: logarithms are not tried. True: only logarithms are. None: they are tried
        where all values are positive; for inputs, only where all are so far above zero that new inputs can be
        expected to be positive too.
    missing : "raise" refuses NaN in the outputs, "ignore" leaves these values out of the fit.
    points : where the outputs are known, if not given to `fit`.
    random_state : seed; the same seed gives the same choice, unless the time budget ends the search.

    Attributes
    ----------
    best_model_ : the fitted model: inspect it, save it, fit it again. An `ELMDeepONet`, or a
        `LayeredELMDeepONet` where layers are better.
    global_model_ : the best `ELMDeepONet`; the same, if there are no layers.
    expected_error_ : the relative error to expect on new functions that are drawn like these: the
        leave-one-out error of `best_model_`, plus what the choice among many candidates hides of it. With
        layers, with gaps and for scattered outputs, the error of functions held out; `error_kind_` says
        which of the two.
    loo_error_ : the same, where it is a leave-one-out error.
    leaderboard_ : a list of dictionaries, one for each candidate that was tried, the best first.

    Examples
    --------
    >>> from elmonet import problems
    >>> data = problems.antiderivative(n_train=100, n_test=20)
    >>> model = AutoELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
    >>> model.leaderboard_[0]["branch"], model.expected_error_ < 1e-9
    ('linear', True)
    """

    def __init__(
        self,
        *,
        layers: int | None = None,
        time_budget: float | None = None,
        n_jobs: int = 1,
        progress: Any = False,
        log_inputs: bool | None = None,
        log_outputs: bool | None = None,
        missing: str = "raise",
        points: Any = None,
        random_state: Any = None,
    ):
        self.layers = layers
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.progress = progress
        self.log_inputs = log_inputs
        self.log_outputs = log_outputs
        self.missing = missing
        self.points = points
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        points: Any = None,
        *,
        sensors: Any = None,
        groups: Any = None,
        data: Any = None,
    ) -> Self:
        """Choose and fit a model; the arguments are those of `ELMDeepONet.fit`.

        y may be a `PDE` of `elmonet.physics`. Then it is solved for the inputs, which are known at the
        sensors, and no outputs are needed; `physics_` tells how that went. Beside the equation, `data` may
        hold outputs of some functions: an `OperatorData`, ``(u, s)`` or ``(u, s, points)``.
        """
        points = points_once(self.points, points, "AutoELMDeepONet")
        X, y, points, sensors, physics = self._solved(X, y, points, sensors, groups, data)
        gaps = choice(self.missing, "missing", ("raise", "ignore")) == "ignore"
        training = understand(self, X, y, points, sensors=sensors, groups=groups, gaps=gaps)
        layers = None if self.layers is None else positive_integer(self.layers, "layers", minimum=0)
        budget = None if self.time_budget is None else number(self.time_budget, "time_budget", strict=True)
        deadline = np.inf if budget is None else perf_counter() + budget
        seed, n_jobs = seed_from(self.random_state), positive_integer(self.n_jobs, "n_jobs")
        bar = progress_bar() if self.progress is True else nullcontext(self.progress or None)
        for name in ("best_model_", "physics_"):
            self.__dict__.pop(name, None)
        with bar as hook:
            if training.outputs.scattered or training.has_gaps:
                if layers:
                    raise InputError(f"layers={layers} needs outputs without gaps, on one grid.")
                self._choose_unaligned(training, seed, deadline, hook)
            else:
                training, self.repeats_ = merge_repeats(training)
                search, best = self._choose(training, seed, budget, n_jobs, hook)
                if layers != 0:
                    self._try_layers(training, sensors, search, best, layers, deadline, hook)
                if hook is not None:
                    hook("done", 1.0, 1.0)
        model = self.global_model_
        for name in ("input_shape_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        model._memory = Memory.of(training.X, model._fitted().seen(training.X))
        if not hasattr(self, "best_model_"):
            self.best_model_ = model
        if physics is not None:
            self.physics_ = physics
            for own in [model] if self.best_model_ is model else [model, self.best_model_]:
                own._add_error(physics.error, physics.facts)
        self.points_ = self.best_model_.points_
        return self

    def _solved(self, X: Any, y: Any, points: Any, sensors: Any, groups: Any, data: Any) -> tuple[Any, ...]:
        """Inputs, outputs, points, sensors and an account of an equation, if y is one; else as they came."""
        if isinstance(y, PDE):
            if groups is not None:
                raise InputError(
                    "groups are for outputs that were measured; an equation does not use them. Remove groups."
                )
            bar = progress_bar() if self.progress is True else nullcontext(self.progress or None)
            with bar as hook:
                tell = None if hook is None else lambda done: hook(SOLVING, done, 1.0)
                return y.solved(X, sensors, points, data=data, progress=tell)
        if data is not None:
            raise InputError(
                "data is used with an equation, fit(u, pde, data=...); here y holds the outputs. Remove data."
            )
        return X, y, points, sensors, None

    def _choose(
        self, training: Training, seed: int, budget: Any, n_jobs: int, hook: Any
    ) -> tuple[Search, Trial]:
        """Among all candidates, by leave-one-out."""
        search = Search(
            training,
            seed=seed,
            time_budget=budget,
            n_jobs=n_jobs,
            progress=hook,
            log_inputs=self.log_inputs,
            log_outputs=self.log_outputs,
        )
        best = search.run()
        model = self.global_model_ = search.model(best, self.missing)
        self.leaderboard_ = search.leaderboard()
        expected = error_estimate(model, search, best)
        words = summary_of_choice(model, search, best, expected, self.repeats_)
        model._promise = Promise(expected.error, words, expected.interval)
        return search, best

    def _try_layers(
        self,
        training: Training,
        sensors: Any,
        search: Search,
        best: Trial,
        layers: Any,
        deadline: Any,
        hook: Any,
    ) -> None:
        """Beside the global model that was chosen."""
        model = self.global_model_

        def tell(what: str, done: float, total: float) -> None:
            if hook is not None:
                hook(what, _SEARCHED + (1 - _SEARCHED) * done / total, 1.0)

        compared = compare_with_layers(
            training,
            sensors,
            model,
            layers=layers,
            seed=search.seed,
            deadline=deadline,
            tell=tell,
        )
        if compared is None:
            return
        if compared.model is None:
            model._tell("choice", layers_not_used(compared))
            return
        compared.model._words = summary_before_layers(search, best, compared, self.repeats_)
        self.best_model_ = compared.model
        self.leaderboard_.insert(0, layers_on_leaderboard(compared, len(training.X)))

    def _choose_unaligned(self, training: Training, seed: int, deadline: float, hook: Any) -> None:
        """Among few candidates, by functions held out."""
        for name in ("log_inputs", "log_outputs"):
            if getattr(self, name):
                raise InputError(f"{name}=True needs outputs without gaps, at common points.")
        self.global_model_, self.leaderboard_ = choose_unaligned(
            training, seed=seed, deadline=deadline, progress=hook
        )
        self.repeats_, model = Repeats(0, 0.0), self.global_model_
        words = summary_of_unaligned(model, self.leaderboard_, training)
        model._promise = Promise(model.solution_.expected_error, words)

    @property
    def expected_error_(self) -> float | None:
        """The relative error to expect on new functions that are drawn like the training functions."""
        return self._best(AttributeError).expected_error_

    @property
    def expected_error_interval_(self) -> tuple[float, float] | None:
        """Between what that error lies, in 90 of 100 cases; None if nothing tells."""
        interval: tuple[float, float] | None = self._best(AttributeError).expected_error_interval_
        return interval

    @property
    def error_kind_(self) -> str | None:
        """How that was found: "leave-one-out", "leave-group-out" or "held out"."""
        return self._best(AttributeError).error_kind_

    @property
    def loo_error_(self) -> float | None:
        """`expected_error_`, if it is a leave-one-out error."""
        if self.error_kind_ not in LEFT_OUT:
            raise AttributeError(
                f"the error of this model was found in another way, {self.error_kind_!r}: read "
                "expected_error_."
            )
        return self.expected_error_

    def predict(self, X: Any, points: Any = None, *, return_std: bool = False, derivative: Any = None) -> Any:
        """Output functions, as by `ELMDeepONet.predict`; warns of inputs unlike the training inputs."""
        best = self._best()
        if derivative is None:
            return best.predict(X, points, return_std=return_std)
        if best is not self.global_model_:
            raise InputError("a model with layers has no derivatives: fit with layers=0.")
        return best.predict(X, points, return_std=return_std, derivative=derivative)

    def interval(
        self, X: Any, coverage: float = 0.9, of: str = "points", points: Any = None
    ) -> tuple[Any, Any]:
        """Lower and upper ends of bands around `predict`, as by `ELMDeepONet.interval`."""
        return self._best().interval(X, coverage, of, points)

    def calibrate(self, X: Any, y: Any) -> Self:
        """Make the bands from functions X, y that the model has not seen, as by `ELMDeepONet.calibrate`."""
        self._best().calibrate(X, y)
        return self

    def calibration(self, X: Any, y: Any) -> Calibration:
        """How well the bands hold on other functions X, y, as by `ELMDeepONet.calibration`."""
        return self._best().calibration(X, y)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of y over all functions X and points together, as by `ELMDeepONet.score`."""
        return self._best().score(X, y, sample_weight)

    def novelty(self, X: Any) -> np.ndarray:
        """How far each input of X is from the training functions, (N,): above 1, beyond all of them."""
        return self._best().novelty(X)

    def suggest(self, candidates: Any, n: int = 10) -> np.ndarray:
        """Which n of the candidate inputs to simulate next, as by `ELMDeepONet.suggest`."""
        return np.asarray(self._best().suggest(candidates, n))

    def rollout(self, u0: Any, steps: int) -> np.ndarray:
        """A learned time step, applied again and again, as by `LayeredELMDeepONet.rollout`."""
        best = self._best()
        if not hasattr(best, "rollout"):
            raise InputError(
                "rollout is for models with layers; here, a model without layers was better. Fit with "
                "layers=2, or call predict step by step."
            )
        return np.asarray(best.rollout(u0, steps))

    def summary(self) -> str:
        """In words: what was chosen and why, what error to expect, and what would help most."""
        return self._best().summary()

    def save(
        self,
        path: str | os.PathLike[str],
        weights: bool = False,
        bands: bool = True,
        inputs: bool = True,
    ) -> None:
        """Write `best_model_`, with its expected error and summary, to the file `path`, which `load` reads.

        `weights`, `bands` and `inputs` are those of `ELMDeepONet.save`.
        """
        self._best().save(path, weights, bands=bands, inputs=inputs)

    def _account(self) -> Account:
        return account_of(self, self._best())

    def _best(self, error: type[Exception] = NotFittedError) -> Any:
        if not hasattr(self, "best_model_"):
            raise error("this AutoELMDeepONet is not fitted yet: call fit with training data first.")
        return self.best_model_
