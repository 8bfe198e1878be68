"""Records in time against the best model of whole functions."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from elmonet.auto.error_estimate import EXACT
from elmonet.errors import InputError
from elmonet.forms.training import Training
from elmonet.marching import MarchingELMDeepONet
from elmonet.marching.choice import StepCandidate, StepSearch
from elmonet.marching.fit import depends_on_later
from elmonet.marching.forms import as_lists, from_training, nearly_records
from elmonet.marching.model import fit_search
from elmonet.marching.records import find_rest
from elmonet.summary import Fact, percent

_MIN_STEPS = 40  # of a record
_QUICK_STEPS = 3000  # of all records of a quick look
_WORTH = 4.0  # error of the quick look, in units of that of whole functions, above which no more is tried
# Error that marching must reach, relative to that of whole functions: by a whole search, and before that by
# a look, or a second one with more candidates. A search may cost more than all else, and gains nothing where
# both errors are those of noise, or of what the inputs do between their samples.
_BETTER = 0.9


class Marched(NamedTuple):
    """Marching beside a model of whole functions.

    model : the fitted model, if it is better.
    fact : otherwise, why it is not used.
    """

    model: MarchingELMDeepONet | None
    fact: Fact | None = None


def compare_with_marching(
    training: Training, error: float, *, seed: int, deadline: float, tell: Callable[[str, float, float], None]
) -> Marched | None:
    """Try a step in time, first on few records; None for functions that are not records.

    `error` is that of the best model of whole functions.
    """
    if error < EXACT or perf_counter() > deadline or len(training.outputs.points) < _MIN_STEPS:
        return None
    try:
        records, inputs, outputs = from_training(training)
        known = find_rest(records, _QUICK_STEPS)
        look = StepSearch(known, seed=seed, steps=_QUICK_STEPS)
        quick = look.quick()
    except InputError:
        why = nearly_records(training)
        return Marched(None, Fact("Step in time", f"not tried: {why}")) if why else None
    if quick.error > _WORTH * error:
        return _not_used(look, quick)
    if quick.error > _BETTER * error:
        quick = look.quick(more=True)
        if quick.error > _BETTER * error:
            return _not_used(look, quick)
    search = StepSearch(known, seed=seed, deadline=deadline, tell=tell)
    best = search.run()
    reached = search.from_rest(best)
    if reached.error > _BETTER * error:
        return _not_used(search, reached)
    return Marched(fit_search(MarchingELMDeepONet(random_state=seed), inputs, outputs, search, best))


def _not_used(search: StepSearch, best: StepCandidate) -> Marched:
    why = "outputs depend on later inputs, and " if depends_on_later(search, best) is not None else ""
    said = f"not used: {why}the error of a free run is {percent(best.error, 2)}"
    return Marched(None, Fact("Step in time", said))


def fit_listed(
    X: Any, y: Any, points: Any, groups: Any, *, seed: int, budget: float | None, hook: Any
) -> MarchingELMDeepONet:
    """Fit a model to lists of records, which no model of whole functions takes."""
    model = MarchingELMDeepONet(time_budget=budget, progress=hook or False, random_state=seed)
    return model.fit(X, y, points, groups=groups)


def is_ragged(y: Any) -> bool:
    """Return whether outputs may be records of different lengths: a list, or an array of objects."""
    y = as_lists(y)
    if not isinstance(y, (list, tuple)) or len(y) < 1 or not all(hasattr(one, "shape") for one in y):
        return False
    return len({np.shape(one)[:1] for one in y}) > 1
