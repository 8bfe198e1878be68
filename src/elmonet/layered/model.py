"""LayeredELMDeepONet: closed-form layers whose weights all points share; scikit-learn's face over a chain."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from elmonet.checks import coordinates, number, positive_integer
from elmonet.data.scattered import Scattered
from elmonet.errors import InputError, NotFittedError
from elmonet.estimators.active_learning import suggest
from elmonet.estimators.base import WARNS, facts_of_error, outputs_in_words
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.features.base import seed_from
from elmonet.forms.inputs import InputForm, count_of
from elmonet.forms.outputs import OutputForm, checked_outputs, r2_of
from elmonet.forms.training import is_list_of_points, place_points, understand
from elmonet.layered.bands import unseen_of
from elmonet.layered.chain import Layered, Places, fitted_first, roll_out
from elmonet.layered.choice import find_problem, fit_layers
from elmonet.layered.saving import restore, to_store
from elmonet.modelfile.store import read, write
from elmonet.progress import progress_bar
from elmonet.reporting.data import Account, data_of, seed_of
from elmonet.reporting.report import Reporting
from elmonet.summary import Fact, Summary, percent
from elmonet.uncertainty.calibration import Calibration, calibration_of
from elmonet.uncertainty.novelty import Memory, warn_of_strange

if TYPE_CHECKING:
    from elmonet.layered.chain import Layered

__all__ = ["LayeredAttributes", "LayeredELMDeepONet", "account_of", "load_layers", "summary_of"]


class LayeredAttributes:
    """Attributes that end in an underscore, read from what the last fit gave."""

    def _fitted(self, error: type[Exception]) -> Layered:
        raise NotImplementedError

    @property
    def expected_error_(self) -> float:
        """The relative error to expect on new functions that are drawn alike."""
        return self._fitted(AttributeError).error

    @property
    def expected_error_interval_(self) -> tuple[float, float] | None:
        """Between what that error lies, in 90 of 100 cases; None in files of older versions."""
        return self._fitted(AttributeError).interval

    @property
    def error_kind_(self) -> str:
        """How that was found: "held out"."""
        self._fitted(AttributeError)
        return "held out"

    @property
    def layers_(self) -> list[dict[str, Any]]:
        """The account of each layer."""
        return [dict(vars(record)) for record in self._fitted(AttributeError).chain.records]

    @property
    def first_(self) -> Any:
        """The global model that the chain begins with, or None."""
        return self._fitted(AttributeError).first

    @property
    def periodic_(self) -> tuple[bool, ...]:
        """Whether the grid is periodic, along each axis."""
        return self._fitted(AttributeError).form.grid.periodic

    @property
    def symmetries_(self) -> list[str]:
        """The symmetries that were found in the training data."""
        return [str(symmetry) for symmetry in self._fitted(AttributeError).symmetries]

    @property
    def inputs_(self) -> InputForm:
        """The form of the input functions."""
        return self._fitted(AttributeError).form.inputs

    @property
    def outputs_(self) -> OutputForm:
        """The form of the output functions, and where they are known."""
        return self._fitted(AttributeError).form.outputs

    @property
    def points_(self) -> np.ndarray:
        """The training points; for components, with the component's number last."""
        return self.outputs_.places()


def summary_of(found: Layered, before: Summary) -> Summary:
    """What was said before, with the error to expect, what each layer gained, and the grid."""
    grid, chain = found.form.grid, found.chain
    axes = ["periodic" if around else "not periodic" for around in grid.periodic]
    kinds = axes[0] if len(set(axes)) == 1 else ", ".join(f"axis {i + 1} {a}" for i, a in enumerate(axes))
    begin = "nothing"
    if found.first is not None and found.first_error is not None:
        branch = " ".join(repr(found.first.branch_).split())
        begin = f"a global model with branch {branch}, error {percent(found.first_error)}"
    choice = [Fact("Begins with", begin)]
    for k, (record, layer) in enumerate(zip(chain.records, chain.layers, strict=True)):
        recipe = layer.features.settings
        window = " x ".join(str(2 * r + 1) for r in recipe.radius)
        choice.append(
            Fact(
                f"Layer {k + 1}",
                f"error {percent(record.error)}; windows of {window} values, {record.features} features "
                f"({recipe.activation}), alpha {record.alpha:.2g}, {record.seconds:.1f} s",
            )
        )
    if found.symmetries:
        choice.append(Fact("Symmetries", f"{'; '.join(map(str, found.symmetries))}; found in the data"))
    details = before.details or (Fact("Outputs", outputs_in_words(found.form.outputs)),)
    fields = f"{' x '.join(map(str, grid.given))} points, {kinds}"
    return Summary(
        error=(*facts_of_error(found.error, found.interval, "held out", WARNS), *before.error),
        help=before.help,
        choice=(*before.choice, *choice),
        equation=before.equation,
        details=(*details, Fact("Grid", fields)),
    )


_NOT_KEPT = (
    "Not known: this model was loaded from a file, which does not hold the functions that were held out. "
    "Give functions with known outputs: model.report(path, X, y)."
)
_TOO_FEW = "Not known: too few functions were held out."


def account_of(model: Any, found: Layered) -> Account:
    """Of a `LayeredELMDeepONet`."""
    form, held = found.form, found.held_out
    kinds = ["periodic" if around else "not periodic" for around in form.grid.periodic]
    settings = {
        "begins with": "nothing" if found.first is None else " ".join(repr(found.first.branch_).split()),
        "layers": str(len(found.chain.layers)),
        "grid": f"{' x '.join(map(str, form.grid.given))} points, {', '.join(kinds)}",
        "symmetries": "; ".join(map(str, found.symmetries)) or "none found",
    }
    made = f"model = {' '.join(repr(model).split())}"
    bands = found.bands
    return Account(
        type(model).__name__,
        model.summary(),
        data_of(form.inputs, form.outputs, model._memory, None),
        settings,
        seed_of(model.random_state, loaded=held is None),
        f"{made}\nmodel.fit(u, s, points=points)",
        found.error,
        found.interval,
        "functions held out of all layers",
        None if held is None or bands is None else unseen_of(held, form, bands),
        _NOT_KEPT if held is None else _TOO_FEW,
        layers=tuple(model.layers_),
    )


class LayeredELMDeepONet(LayeredAttributes, Reporting, RegressorMixin, MultiOutputMixin, BaseEstimator):
    """A chain of layers, each one linear solve, with the same weights at all points.

    Inputs and outputs are fields on one uniform grid. From a global model's s_0, or from nothing,

        s_k(y) = s_(k-1)(y) + sum_j c_j phi_j(u, s_(k-1), its last updates, seen from y through a window) ,

    with fixed random phi_j and one vector c for all points and functions. Windows are in units of the domain,
    so that the model predicts on finer grids too.

    Parameters
    ----------
    first : an `ELMDeepONet` or `AutoELMDeepONet` whose left-out predictions the layers begin with; one that
        was fitted to the same functions is used as it is. "nothing": the first layer begins. A tuple of
        these: whichever is best on few functions. None: ``("nothing", ELMDeepONet())``.
    layers : how many; None: until functions held out no longer gain.
    width : random features of a layer; None: as many as the functions support.
    periodic : whether the fields go on at the other end of the grid; None: found from the data.
    time_budget : seconds after which no new layer is begun; None: no limit.
    progress : True shows a bar; or a function that is called as ``progress(what, done, total)``.
    random_state : seed of the random features, and of `first`, unless that has a seed of its own.

    Attributes
    ----------
    expected_error_ : the relative error to expect on new functions that are drawn alike: that of functions
        which were held out of all layers.
    expected_error_interval_ : (low, high), between which it lies in 90 of 100 cases.
    layers_ : a list of dictionaries, one a layer: "error" of the functions held out after it, "seconds",
        "features", "alpha".
    first_ : the fitted global model, or None.
    periodic_ : whether each axis is periodic.
    symmetries_ : the symmetries that were found in the training data, in words.
    """

    _found: Layered | None = None
    _memory = Memory()
    _words: Summary | str = Summary()  # of the choice that led to this model; of a loaded one, all words

    def __init__(
        self,
        first: Any = None,
        layers: int | None = None,
        width: int | None = None,
        *,
        periodic: bool | None = None,
        time_budget: float | None = None,
        progress: Any = False,
        random_state: Any = None,
    ):
        self.first = first
        self.layers = layers
        self.width = width
        self.periodic = periodic
        self.time_budget = time_budget
        self.progress = progress
        self.random_state = random_state

    def fit(self, u: Any, s: Any, points: Any = None, *, sensors: Any = None, groups: Any = None) -> Self:
        """Learn from inputs u and outputs s on one grid; arguments are those of `ELMDeepONet.fit`.

        Several inputs come as a dictionary; those that are numbers are seen as constant fields.
        """
        begin = perf_counter()
        layers = None if self.layers is None else positive_integer(self.layers, "layers")
        width = None if self.width is None else positive_integer(self.width, "width")
        budget = np.inf if self.time_budget is None else number(self.time_budget, "time_budget", strict=True)
        if self.periodic not in (None, True, False):
            raise InputError(
                f"periodic must be True, False, or None to find it from the data; got {self.periodic!r}."
            )
        self._forget()
        seed = seed_from(self.random_state)
        training = understand(self, u, s, points, sensors=sensors, groups=groups)
        form, problem, used = find_problem(training, sensors, self.periodic, seed)
        bar = progress_bar() if self.progress is True else nullcontext(self.progress or None)
        with bar as hook:
            tell = hook or (lambda what, done, total: None)
            tell("the first model", 0, 1)
            first = ("nothing", ELMDeepONet()) if self.first is None else self.first
            given = {"points": points, "sensors": sensors, "groups": groups}
            beginnings = [
                None if own == "nothing" else fitted_first(own, u, s, seed=seed, **given)
                for own in (first if isinstance(first, (tuple, list)) else (first,))
            ]
            found = fit_layers(
                form,
                problem,
                used,
                beginnings,
                layers=layers,
                width=width,
                seed=seed,
                deadline=begin + budget,
                tell=tell,
            )
        assert found is not None
        return self._with(found, Memory.of(training.X))

    def predict(self, u: Any, points: Any = None, *, return_std: bool = False) -> Any:
        """Output functions at the training points, or, for u on another grid of the domain, at its points.

        With u on the training grid, points may be any points: outputs are interpolated there. Warns of
        inputs unlike the training inputs. With `return_std`, the predictions and the standard deviations of
        their errors; see `interval` for bands.
        """
        found = self._fitted()
        u, there = self._where(u, points)
        if not return_std:
            return found.finished(found.states(u, there.grid, there.order), there)
        states, spread = found.with_spread(u, there.grid, there.order)
        return found.finished(states, there), found.finished(spread, there)

    def interval(
        self, u: Any, coverage: float = 0.9, of: str = "points", points: Any = None
    ) -> tuple[Any, Any]:
        """Lower and upper ends of bands around ``predict(u)``, in its shapes, as by `ELMDeepONet.interval`.

        They come from the functions that were held out of all layers, and are wider where the last layer
        still changed much.
        """
        found = self._fitted()
        times = found.confident().bands.times(coverage, of)
        u, there = self._where(u, points)
        states, spread = found.with_spread(u, there.grid, there.order)
        low, high = states - times * spread, states + times * spread
        return found.finished(low, there), found.finished(high, there)

    def calibrate(self, u: Any, s: Any) -> Self:
        """Make the bands from functions u that the model has not seen: outputs s at the training points."""
        found = self._fitted().calibrated(self._given(u), self._truth(s))
        if found is None:
            raise InputError(f"calibrate needs functions to learn from, at least two; got {count_of(u)}.")
        self._found = found
        return self

    def calibration(self, u: Any, s: Any) -> Calibration:
        """How well the bands hold on other functions u, with outputs s at the training points: print it."""
        found = self._fitted()
        form, bands, truth = found.form, found.confident().bands, self._truth(s)
        states, spread = found.with_spread(self._given(u), form.grid, form.order)
        missed, spread = (A.reshape(len(truth), -1) for A in (truth - states, spread))
        return calibration_of(bands, missed, spread, 1.0, float(np.sqrt(np.mean(truth**2))))

    def novelty(self, u: Any) -> np.ndarray:
        """How far each input of u is from the training functions, (N,): above 1, beyond all of them.

        It is measured through the windows of the layers, where a function is most unusual.
        """
        found = self._fitted()
        form = found.form
        return found.novelty(form.channels(self._given(u), form.grid, form.order), form.grid)

    def is_training_function(self, u: Any) -> np.ndarray:
        """Which of the inputs u are training functions, (N,), to the last bit; after `load` too."""
        form = self._fitted().form
        if form.points_of(u) != len(form.order):  # on another grid
            return np.zeros(count_of(u), bool)
        return self._memory.has(form.inputs.rows(self, u))

    def suggest(self, candidates: Any, n: int = 10) -> np.ndarray:
        """Which n of the candidate inputs to simulate next, as by `ELMDeepONet.suggest`."""
        form = self._fitted().form.inputs
        return suggest(form, self._memory, form.rows(self, candidates), n)

    def rollout(self, u0: Any, steps: int) -> np.ndarray:
        """Apply a learned time step again and again: (N, steps, *shape), from u0 (N, *shape).

        Where a function leaves what the training functions cover, it stops: the rest is NaN.
        """
        found, steps = self._fitted(), positive_integer(steps, "steps")
        return roll_out(found, self._given(u0), steps)

    def score(self, u: Any, s: Any, sample_weight: Any = None) -> float:
        """R^2 of predictions for u against s, over all functions and points; weights `sample_weight` (N,).

        `relative_l2` is the usual error.
        """
        return r2_of(self.predict(u), s, sample_weight)

    def summary(self) -> str:
        """In words: the grid, what was chosen, what each layer gained, and what error to expect."""
        found, words = self._fitted(), self._words
        return words if isinstance(words, str) else str(summary_of(found, words))

    def save(
        self,
        path: str | os.PathLike[str],
        weights: bool = False,
        bands: bool = True,
        inputs: bool = True,
    ) -> None:
        """Write the model to one file, from which `load` gives the same predictions bit for bit.

        The file is safetensors: no pickle, and nothing runs on loading.

        Parameters
        ----------
        path : of the file, as ``"operator.elmonet"``.
        weights : store random weights in full; otherwise as their seed, so that the file stays small.
        bands : keep what bands need.
        inputs : keep the training inputs, which `suggest` needs.
        """
        found = self._fitted()
        write(path, *to_store(found, self._memory, self.summary(), weights, bands=bands, inputs=inputs))

    def __sklearn_is_fitted__(self) -> bool:
        return self._found is not None

    def _with(self, found: Layered, memory: Memory, words: str = "") -> Self:
        """With a fitted chain, what is remembered of its functions, and words on how it was chosen."""
        self._found, self._memory, self._words = found, memory, words or Summary()
        given = found.form.inputs.given
        self.input_shape_, self.n_features_in_ = given, given[0]
        return self

    def _account(self) -> Account:
        return account_of(self, self._fitted())

    def _add_error(self, error: float, equation: tuple[Fact, ...]) -> None:
        """Errors of the training outputs themselves, which no function held out can show."""
        found = self._fitted()
        low, high = found.interval or (0.0, np.inf)
        bands = (
            None if found.bands is None else found.bands.widened(1 + error / (found.error or error or 1.0))
        )
        self._found = replace(
            found, error=found.error + error, interval=(low + error, high + error), bands=bands
        )
        assert isinstance(self._words, Summary)  # not loaded
        self._words = self._words.with_equation(equation, error, self._found.error)

    def _truth(self, s: Any) -> np.ndarray:
        """Outputs at the training points, as layers see them."""
        form = self._fitted().form
        return form.states(form.outputs.rows(checked_outputs(s, form.outputs)))

    def _where(self, u: Any, points: Any) -> tuple[Any, Places]:
        """Inputs, checked, and where they are known and outputs are wanted; warns of strange inputs."""
        found = self._fitted()
        form = found.form
        grid, order, shape, where = form.grid, form.order, None, None
        if points is None:
            u = self._given(u)
        else:
            where, shape = _common(points, form.outputs.points.shape[1])
            known_at = form.points_of(u)
            if known_at == len(where) and (known_at != len(order) or grid.covers(where)):
                (grid, order), where = grid.of_same_domain(where), None
            elif known_at == len(order):
                u = self._given(u)
            else:
                raise InputError(
                    f"u is known at {known_at} points; it must be known at the {len(where)} points of the "
                    f"prediction or at the {len(order)} of the training."
                )
        warn_of_strange(found.strange(u, grid, order), stacklevel=4)
        return u, Places(grid, order, shape, where)

    def _given(self, u: Any) -> Any:
        """Inputs on the training grid, checked."""
        form = self._fitted().form
        if form.points_of(u) != len(form.order):
            raise InputError(
                f"u is known at {form.points_of(u)} points, the training inputs at {len(form.order)}. For "
                "inputs on another grid of the same domain, give predict its points."
            )
        return form.inputs.as_given(form.inputs.rows(self, u))

    def _forget(self) -> None:
        for name in ("_found", "_memory", "_words"):
            self.__dict__.pop(name, None)

    def _fitted(self, error: type[Exception] = NotFittedError) -> Layered:
        if self._found is None:
            raise error(f"this {type(self).__name__} is not fitted yet: call fit with training data first.")
        return self._found


def load_layers(path: str | os.PathLike[str]) -> LayeredELMDeepONet:
    """Read a model that `LayeredELMDeepONet.save` wrote; it predicts the same, bit for bit."""
    return LayeredELMDeepONet()._with(*restore(path, *read(path)))


def _common(points: Any, dimension: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """Points (M, d) that all functions share, and the shape in which outputs come back."""
    if isinstance(points, (Scattered, list, tuple)) and (
        isinstance(points, Scattered) or is_list_of_points(points)
    ):
        raise InputError(
            "a model with layers predicts at points that all functions share: give points (M, d). For "
            "points of their own, interpolate the prediction on the grid."
        )
    where, shape = place_points(points)
    where = coordinates(where, dimension=dimension)
    return where, shape or (len(where),)
