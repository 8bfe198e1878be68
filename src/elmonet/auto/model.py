"""AutoELMDeepONet: nothing to tune."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from elmonet.auto.diagnostics import Repeats, merge_repeats
from elmonet.auto.error_estimate import error_estimate
from elmonet.auto.large import LARGE, InMemory, LargeFit, Stored, Together
from elmonet.auto.layers import compare_with_layers
from elmonet.auto.marching import compare_with_marching, fit_listed, is_ragged
from elmonet.auto.meshes import compare_meshes
from elmonet.auto.search import Search, choose_unaligned
from elmonet.auto.summary import (
    layers_not_used,
    layers_on_leaderboard,
    summary_before_layers,
    summary_of_choice,
    summary_of_unaligned,
)
from elmonet.checks import Functions, choice, number, positive_integer
from elmonet.data.dataset import OperatorData
from elmonet.data.lazy import is_dask, is_stored, read_rows
from elmonet.data.mesh import Mesh
from elmonet.errors import InputError
from elmonet.estimators.base import OperatorEstimator
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.features.base import seed_from
from elmonet.fitting.fitted import FittedModel
from elmonet.forms.outputs import ScatteredForm
from elmonet.forms.training import Training, points_once, understand, unpacked_data
from elmonet.layered.fields import find_fields
from elmonet.marching.forms import as_lists, is_list_of_records
from elmonet.parts import NotFittedError
from elmonet.progress import Progress, progress_bar
from elmonet.solve import LEFT_OUT
from elmonet.summary import Fact, percent

SOLVING = "solving the equation"  # the first step of the progress bar, for an equation
_SEARCH_SHARE = 0.8  # of the progress bar, for the search of a global model
_LAYERS_SHARE = 0.1  # the same, for layers
_IN_TIME = 0.9  # part of a time budget at which all trials should have ended
_SOLVING_SHARE = 0.6  # of a time budget, for solving an equation
_PROMISE = 1.2  # times the time budget, beyond which a fit says that it took longer


class AutoELMDeepONet(OperatorEstimator):
    """A DeepONet with nothing to tune: everything is chosen by leave-one-out.

    One fit is one factorisation, and its leave-one-out errors come exactly at no extra cost, so that many
    models can be compared on the training data alone: logarithms and scaling of the inputs, logarithms of the
    outputs, features (none, a linear block, random networks, and networks of infinite width, each with its
    scale), the ridge and the number of output modes. Most are tried on few functions, the best on all. Beyond
    4000 functions the search sees a sample, and its choice is fitted to all functions in blocks, with
    features whose number does not grow with that of the functions.

    Parameters
    ----------
    layers : 0 for a global model only. A number of layers with weights shared by all points, on top of the
        global model or from nothing, whichever is better; inputs and outputs must be fields on one uniform
        grid. None tries layers where that is so, and uses them where held-out functions gain.
    time_budget : seconds that a fit may take; None for no limit. No candidate and no layer is started that is
        expected to end later; of an equation, fewer functions are solved where there is no time for all. One
        model of all functions is always fitted: if that alone takes longer, `summary` says so.
    n_jobs : number of candidates tried at the same time, in threads.
    progress : True shows a bar; or a function that is called as ``progress(what, done, total)``.
    log_inputs, log_outputs : False does not try logarithms, True tries nothing else. None tries them where
        all values are positive; for inputs, only where all are so far above zero that new inputs can be
        expected to be positive too. For several inputs, `log_inputs` may be a dictionary by their names.
    missing : "raise" refuses NaN in the outputs, "ignore" leaves these values out of the fit.
    points : where the outputs are known, if not given to `fit`.
    random_state : seed; the same seed gives the same choice, unless the time budget ends the search.

    Attributes
    ----------
    best_model_ : the fitted model: inspect it, save it, fit it again. An `ELMDeepONet`, or a
        `LayeredELMDeepONet` where layers are better, or a `MarchingELMDeepONet` for records in time.
    global_model_ : the best `ELMDeepONet`; the same, if there are no layers. Where layers are better, its own
        expected error does without refits, unless there is a time budget.
    expected_error_ : the relative error to expect on new functions drawn like these: the leave-one-out error
        of `best_model_`, plus the optimism of choosing among many candidates. Where at most 50 functions of
        numbers lie on a part of a grid, the error at the rest of it, if that is larger. With layers, with
        gaps and for scattered outputs, that of held-out functions; `error_kind_` says which of the two.
    loo_error_ : the same, where it is a leave-one-out error.
    leaderboard_ : list of dictionaries, one for each candidate that was tried, the best first.
    physics_ : how the equation was solved, if the model was fitted to one.

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
        progress: bool | Progress = False,
        log_inputs: bool | dict[str, bool] | None = None,
        log_outputs: bool | None = None,
        missing: str = "raise",
        points: ArrayLike | Mesh | None = None,
        random_state: int | np.random.Generator | None = None,
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
        X: Functions | OperatorData,
        y: Any = None,
        points: ArrayLike | Mesh | None = None,
        *,
        sensors: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        data: Any = None,
    ) -> Self:
        """Choose and fit a model.

        Parameters
        ----------
        X, points, sensors, groups : as in `ELMDeepONet.fit`. Memory maps, zarr, HDF5 and Dask arrays are read
            in blocks. Or lists of records in time, of any lengths, as in `MarchingELMDeepONet.fit`.
        y : outputs as in `ELMDeepONet.fit`; or a `PDE` of `elmonet.physics`, which is solved for the inputs
            known at the sensors, so that no outputs are needed. `physics_` holds an account of that.
        data : beside an equation, outputs of some functions: an `OperatorData`, ``(u, s)`` or
            ``(u, s, points)``.

        Returns
        -------
        self : the fitted estimator.
        """
        points, given = points_once(self.points, points, "AutoELMDeepONet"), X
        if isinstance(X, OperatorData) and X.meshes is not None:
            return self._fit_meshes(X)
        X, y, points, sensors = unpacked_data(X, y, points, sensors)
        start = perf_counter()
        bar = progress_bar() if self.progress is True else nullcontext(self.progress or None)
        if is_ragged(y) and is_list_of_records(as_lists(X), as_lists(y)):
            with bar as hook:
                return self._fit_listed(X, y, points, sensors, groups, hook)._with_labels(given)
        with bar as hook:
            until = start + _SOLVING_SHARE * self._budget()
            X, y, points, sensors, physics = _solved(X, y, points, sensors, groups, data, hook, until)
            gaps = choice(self.missing, "missing", ("raise", "ignore")) == "ignore"
            training = None
            if any(_is_outside_memory(A) for A in (X, y)):
                best, leaderboard, repeats = self._choose_stored(X, y, points, sensors, groups, start, hook)
            else:
                begin = perf_counter()
                training = understand(self, X, y, points, sensors=sensors, groups=groups, gaps=gaps)
                # The end goes through all outputs, too, and takes about as long.
                early = start - (perf_counter() - begin)
                best, leaderboard, repeats = self._choose(training, sensors, early, hook)
            global_model, layered = best
            marching = None
            if physics is None and self.layers is None and training is not None:
                marching = self._march(training, layered or global_model, leaderboard, start, hook)
            if hook is not None:
                hook("done", 1.0, 1.0)
        if physics is not None:
            for model in (global_model,) if layered is None else (global_model, layered):
                model._adopt(model._fitted().with_solver_error(physics.error, physics.facts))
            self.physics_ = physics
        else:
            self.__dict__.pop("physics_", None)
        self.global_model_, self.best_model_ = global_model, marching or layered or global_model
        self.leaderboard_, self.repeats_ = leaderboard, repeats
        took = perf_counter() - start
        if took > _PROMISE * self._budget():
            said = f"{took:.2g} s instead of {self.time_budget:g}: a model of all functions is always fitted"
            self._adopt(self._fitted().with_words("choice", Fact("Time budget", said)))
        return self._with_labels(given)._warned()

    def _fit_meshes(self, data: OperatorData) -> Self:
        """Fit functions on meshes of their own: at their points, or brought to one mesh."""
        found = compare_meshes(self, data)
        for name in ("global_model_", "best_model_", "leaderboard_", "repeats_"):
            setattr(self, name, getattr(found.model, name))
        self.__dict__.pop("physics_", None)
        return self._adopt(self._fitted().with_words("choice", found.fact))

    def _budget(self) -> float:
        """Return the seconds that a fit may take."""
        return np.inf if self.time_budget is None else number(self.time_budget, "time_budget", strict=True)

    def _choose_stored(
        self, X: Any, y: Any, points: Any, sensors: Any, groups: Any, start: float, hook: Any
    ) -> tuple[tuple[ELMDeepONet, Any], list[dict[str, Any]], Repeats]:
        """Choose for arrays on disk or of Dask: few functions are read at once, many in blocks."""
        named = Together(X, components=False), Together(y, components=True)
        if named[0].array.shape[0] <= LARGE:
            X, y = (
                A.apart(
                    np.asarray(A.array) if is_dask(A.array) else read_rows(A.array, 0, A.array.shape[0], n)
                )
                for A, n in zip(named, ("X", "y"), strict=True)
            )
            training = understand(self, X, y, points, sensors=sensors, groups=groups)
            return self._choose(training, sensors, start, hook)
        for name, usual in (("layers", (None, 0)), ("missing", ("raise",))):
            if getattr(self, name) not in usual:
                raise InputError(
                    f"{name}={getattr(self, name)!r} needs all functions in memory; here they are read in "
                    "blocks. Leave it out, or load the arrays."
                )
        stored = Stored(self, *named, points, sensors=sensors, groups=groups, hook=hook)
        return self._finish_large(stored, start, hook)

    def _finish_large(
        self, data: InMemory | Stored, start: float, hook: Any
    ) -> tuple[tuple[ELMDeepONet, Any], list[dict[str, Any]], Repeats]:
        """Choose on a sample of many functions, and fit all of them in blocks."""
        left = start + self._budget() - perf_counter()  # an equation may have been solved before
        budget = None if left == np.inf else max(left, np.finfo(float).tiny)
        settings = {"n_jobs": positive_integer(self.n_jobs, "n_jobs")}
        settings |= {name: getattr(self, name) for name in ("log_inputs", "log_outputs")}
        fit = LargeFit(data, seed=seed_from(self.random_state), budget=budget, settings=settings, hook=hook)
        model, leaderboard = fit.run(self.missing)
        return (model, None), leaderboard, Repeats(0, 0.0)

    def _choose(
        self, training: Training, sensors: Any, start: float, hook: Any
    ) -> tuple[tuple[ELMDeepONet, Any], list[dict[str, Any]], Repeats]:
        """Return the best global model and, if better, layers; the leaderboard; and repeats in the data."""
        layers = None if self.layers is None else positive_integer(self.layers, "layers", minimum=0)
        deadline = start + _IN_TIME * self._budget()
        seed, n_jobs = seed_from(self.random_state), positive_integer(self.n_jobs, "n_jobs")
        if isinstance(training.outputs, ScatteredForm) or training.has_gaps:
            if layers:
                raise InputError(f"layers={layers} needs outputs without gaps, on one grid.")
            for name in ("log_inputs", "log_outputs"):
                if getattr(self, name):
                    raise InputError(f"{name}=True needs outputs without gaps, at common points.")
            end = start + self._budget()  # nothing comes after the last fit
            model, leaderboard = choose_unaligned(training, seed=seed, deadline=end, progress=hook)
            words = summary_of_unaligned(model, leaderboard, training)
            model._adopt(replace(model._fitted(), words=words))
            return (model, None), leaderboard, Repeats(0, 0.0)
        if len(training.X) > LARGE and not layers:
            return self._finish_large(InMemory(training, hook), start, hook)
        if layers:
            find_fields(training, sensors, None)  # raises, before anything is tried, if there is no grid
        training, repeats = merge_repeats(training)
        search = Search(
            training,
            seed=seed,
            time_budget=None if deadline == np.inf else max(deadline - perf_counter(), 0.0),
            n_jobs=n_jobs,
            progress=hook,
            log_inputs=self.log_inputs,
            log_outputs=self.log_outputs,
        )
        best = search.run()
        model, leaderboard = search.model(best, self.missing), search.leaderboard()

        def state_error(refits: bool) -> None:
            expected = error_estimate(model, search, best, refits=refits)
            words = summary_of_choice(model, search, best, expected, repeats)
            model._adopt(replace(model._fitted(), estimate=expected, words=words))

        # Refits without functions or groups take long, and nobody needs them where layers win. A time budget
        # has a share for them, so that layers leave enough.
        waits = layers is None and deadline == np.inf
        state_error(refits=not waits)
        layered = compared = None

        def tell(what: str, done: float, total: float) -> None:
            if hook is not None:
                hook(what, _SEARCH_SHARE + _LAYERS_SHARE * done / total, 1.0)

        if layers != 0:
            compared = compare_with_layers(
                training, sensors, model, layers=layers, seed=seed, deadline=deadline, tell=tell
            )
        if compared is not None and (layered := compared.model) is not None:
            before = summary_before_layers(search, best, compared, repeats)
            chain = layered._fitted()
            layered._adopt(replace(chain, words=chain.summary_after(before)))
            leaderboard.insert(0, layers_on_leaderboard(compared, len(training.X)))
            return (model, layered), leaderboard, repeats
        if waits:
            state_error(refits=True)
        if compared is not None:
            model._adopt(model._fitted().with_words("choice", layers_not_used(compared)))
        return (model, layered), leaderboard, repeats

    def _march(
        self, training: Training, best: Any, leaderboard: list[dict[str, Any]], start: float, hook: Any
    ) -> Any:
        """Return a model of records in time, if the functions are records and it is better; else None."""
        error = best.expected_error_
        if error is None or training.weights is not None:
            return None
        deadline = start + _IN_TIME * self._budget()
        before = _SEARCH_SHARE + _LAYERS_SHARE

        def tell(what: str, done: float, total: float) -> None:
            if hook is not None:
                hook(what, before + (1 - before) * done / total, 1.0)

        seed = seed_from(best.random_state)
        found = compare_with_marching(training, error, seed=seed, deadline=deadline, tell=tell)
        if found is None:
            return None
        if found.model is None:
            assert found.fact is not None
            best._adopt(best._fitted().with_words("choice", found.fact))
            return None
        said = Fact("Whole functions", f"a model without steps in time has an error of {percent(error, 2)}")
        found.model._adopt(found.model._fitted().with_words("choice", said))
        leaderboard[:0] = found.model.leaderboard_
        return found.model

    def _fit_listed(self, X: Any, y: Any, points: Any, sensors: Any, groups: Any, hook: Any) -> Self:
        """Fit to lists of records, which only a step in time takes."""
        if self.layers:
            raise InputError(f"layers={self.layers} needs outputs on one grid, not records of any length.")
        if sensors is not None:
            raise InputError("inputs of records are known at the times of the outputs: remove sensors.")
        seed = seed_from(self.random_state)
        model = fit_listed(X, y, points, groups, seed=seed, budget=self.time_budget, hook=hook)
        self.__dict__.pop("physics_", None)
        self.global_model_ = self.best_model_ = model
        self.leaderboard_, self.repeats_ = model.leaderboard_, Repeats(0, 0.0)
        return self

    @property
    def loo_error_(self) -> float | None:
        """`expected_error_`, if it is a leave-one-out error."""
        if self.error_kind_ not in LEFT_OUT:
            raise AttributeError(
                f"the error of this model was estimated in another way, {self.error_kind_!r}: read "
                "expected_error_."
            )
        return self.expected_error_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_model_")

    def _best(self, error: type[Exception] = NotFittedError) -> Any:
        if not self.__sklearn_is_fitted__():
            raise error("this AutoELMDeepONet is not fitted yet: call fit with training data first.")
        return self.best_model_

    def _fitted(self, error: type[Exception] = NotFittedError) -> FittedModel:
        return self._best(error)._fitted(error)

    def _adopt(self, model: FittedModel) -> Self:
        self.best_model_._adopt(model)
        return self

    def _to_store(
        self, *, weights: bool, sums: bool, bands: bool, inputs: bool
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return self._best()._to_store(weights=weights, sums=sums, bands=bands, inputs=inputs)

    @classmethod
    def _from_store(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        raise NotImplementedError("an automatic choice is saved as its best model.")


def _solved(
    X: Any, y: Any, points: Any, sensors: Any, groups: Any, data: Any, hook: Any, until: float
) -> tuple[Any, ...]:
    """Return inputs, outputs, points, sensors and the account of an equation, if y is one."""
    if hasattr(type(y), "solved"):  # a PDE
        if groups is not None:
            raise InputError(
                "groups are for outputs that were measured; an equation does not use them. Remove groups."
            )
        tell = None if hook is None else lambda done: hook(SOLVING, done, 1.0)
        return y.solved(X, sensors, points, data=data, progress=tell, until=until)
    if data is not None:
        raise InputError(
            "data is used with an equation, fit(u, pde, data=...); here y holds the outputs. Remove data."
        )
    return X, y, points, sensors, None


def _is_outside_memory(given: Any) -> bool:
    """Return whether an array, or one of a dictionary, is on disk or of Dask."""
    return any(is_dask(A) or is_stored(A) for A in (given.values() if isinstance(given, dict) else [given]))
