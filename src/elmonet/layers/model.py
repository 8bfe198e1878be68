"""LayeredELMDeepONet: closed-form layers whose weights all points share; scikit-learn's face over a chain."""

from __future__ import annotations

import os
import warnings
from contextlib import nullcontext
from time import perf_counter
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score

from elmonet._check import ExtrapolationWarning, InputError, coordinates, number, outputs, positive_integer
from elmonet._fitted import NotFittedError
from elmonet.features.base import seed_from
from elmonet.form.training import named_components, place_points, understand
from elmonet.interpolation import interpolate
from elmonet.layers.fitting import Layered, fit_layers
from elmonet.layers.saving import restore, to_store
from elmonet.layers.words import summary_of
from elmonet.progress import progress_bar
from elmonet.store import read, write

__all__ = ["LayeredELMDeepONet", "load_layers"]

_BEYOND = 2.0  # times the largest training input, where a rollout stops


class LayeredELMDeepONet(RegressorMixin, MultiOutputMixin, BaseEstimator):
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
    random_state : seed of the random features.

    Attributes
    ----------
    expected_error_ : the relative error to expect on new functions that are drawn alike: that of functions
        which were held out of all layers.
    layers_ : a list of dictionaries, one a layer: "error" of the functions held out after it, "seconds",
        "features", "alpha".
    first_ : the fitted global model, or None.
    periodic_ : whether each axis is periodic.
    symmetries_ : the symmetries that were found in the training data, in words.
    """

    _found: Layered | None = None

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

    def fit(self, u: Any, s: Any, points: Any = None, *, sensors: Any = None) -> Self:
        """Learn from inputs u and outputs s on one grid; shapes and points are those of `ELMDeepONet.fit`.

        Several inputs come as a dictionary; those that are numbers are seen as constant fields.
        """
        begin = perf_counter()
        layers = None if self.layers is None else positive_integer(self.layers, "layers")
        width = None if self.width is None else positive_integer(self.width, "width")
        budget = np.inf if self.time_budget is None else number(self.time_budget, "time_budget", strict=True)
        if self.periodic not in (None, True, False):
            raise InputError(f"periodic must be True, False, or None to find out; got {self.periodic!r}.")
        self.__dict__.pop("_found", None)
        training = understand(self, u, s, points, sensors=sensors)
        bar = progress_bar() if self.progress is True else nullcontext(self.progress or None)
        with bar as hook:
            self._found = fit_layers(
                training,
                (u, s, points, sensors),
                first=self.first,
                layers=layers,
                width=width,
                periodic=self.periodic,
                seed=seed_from(self.random_state),
                begin=begin,
                deadline=begin + budget,
                progress=hook,
            )
        return self

    def predict(self, u: Any, points: Any = None) -> Any:
        """Output functions at the training points, or, for u on another grid of the domain, at its points.

        With u on the training grid, points may be any points: outputs are interpolated there.
        """
        found = self._fitted()
        form = found.form
        if points is None:
            return found.predict(u, form.grid, form.order, None)
        where, shape = place_points(points)
        where = coordinates(where, dimension=form.outputs.points.shape[1])
        shape = shape or (len(where),)
        field = next(part for part in form.parts if part.is_field)
        given = u if field.name is None else (u if isinstance(u, dict) else dict(enumerate(u)))[field.name]
        per_channel = np.asarray(given)[:1].size // field.channels
        if per_channel == len(where):
            return found.predict(u, *form.grid.of_same_domain(where), shape)
        if per_channel != len(form.order):
            raise InputError(
                f"u is known at {per_channel} points; it must be known at the {len(where)} points of the "
                f"prediction or at the {len(form.order)} of the training."
            )
        rows = found.rows(u, form.grid, form.order)
        c = max(1, form.outputs.components)
        values = rows.reshape(len(rows) * c, -1).T
        there = interpolate(form.grid.points, values, where).T
        return form.outputs.unpacked(there.reshape(len(rows), -1), shape)

    def rollout(self, u0: Any, steps: int) -> np.ndarray:
        """Apply a learned time step again and again: (N, steps, *shape), from u0 (N, *shape).

        Where a function leaves what the training functions cover, it stops: the rest is NaN.
        """
        found, steps = self._fitted(), positive_integer(steps, "steps")
        state = np.asarray(u0, dtype=np.float64)
        if len(found.form.parts) > 1 or found.form.parts[0].channels != max(1, found.form.outputs.components):
            raise InputError("rollout needs a model whose outputs are of the same kind as its inputs.")
        out = np.full((len(state), steps, *state.shape[1:]), np.nan)
        going = np.ones(len(state), bool)
        for k in range(steps):
            if not going.any():
                break
            state[going] = np.reshape(self.predict(state[going]), state[going].shape)
            size = np.abs(state).reshape(len(state), -1).max(axis=1)
            left = going & ~(size <= _BEYOND * found.largest)
            if left.any():
                warnings.warn(
                    f"{int(left.sum())} of {len(state)} functions left what the training functions cover at "
                    f"step {k + 1}: they reach {np.nanmax(size[left]):.3g}, the training inputs "
                    f"{found.largest:.3g}. Their rollout ends there. Train on functions like "
                    "these, or on more of them.",
                    ExtrapolationWarning,
                    stacklevel=2,
                )
                going &= ~left
            out[going, k] = state[going]
        return out

    def score(self, u: Any, s: Any, sample_weight: Any = None) -> float:
        """R^2 over all functions and points together; `relative_l2` is the usual error."""
        predicted = np.asarray(named_components(self.predict(u))[1])
        s = outputs(named_components(s)[1], len(predicted))
        predicted, s = (A.reshape(len(A), -1) for A in (predicted, s))
        return float(r2_score(s, predicted, sample_weight=sample_weight, multioutput="variance_weighted"))

    def summary(self) -> str:
        """In words: the grid, what was chosen, what each layer gained, and what error to expect."""
        return summary_of(self._fitted())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, from which `load_layers` gives the same predictions bit for bit."""
        write(path, *to_store(self._fitted()))

    @property
    def expected_error_(self) -> float:
        """The relative error to expect on new functions that are drawn alike."""
        return self._fitted(AttributeError).error

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
    def points_(self) -> np.ndarray:
        """The training points (M, d)."""
        return self._fitted(AttributeError).form.outputs.points

    def __sklearn_is_fitted__(self) -> bool:
        return self._found is not None

    def _fitted(self, error: type[Exception] = NotFittedError) -> Layered:
        if self._found is None:
            raise error(f"this {type(self).__name__} is not fitted yet: call fit with training data first.")
        return self._found


def load_layers(path: str | os.PathLike[str]) -> LayeredELMDeepONet:
    """Read a model that `LayeredELMDeepONet.save` wrote; it predicts the same, bit for bit."""
    model = LayeredELMDeepONet()
    model._found = restore(path, *read(path))
    return model
