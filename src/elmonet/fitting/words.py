"""A fitted model in words."""

from __future__ import annotations

import numpy as np

from elmonet.certainty import FEWEST
from elmonet.fitting.fitted import Fitted
from elmonet.form.outputs import OutputForm
from elmonet.summaries import Fact, Summary, percent

__all__ = ["WARNS", "facts_of_error", "kind_in_words", "outputs_in_words", "size_of_error", "summary_of"]

_LIKE_THESE = "for new functions that are like the training functions"
WARNS = f"{_LIKE_THESE}. Not for inputs of another kind: predict warns of them, novelty() measures them"
_KINDS = {
    "leave-one-out": ("leave-one-out", "each function is predicted by a fit to all the others"),
    "leave-group-out": ("leave-group-out", "each group of functions is predicted by a fit to all the others"),
    "gcv": ("generalised cross-validation", "an estimate from the errors of all values together"),
    "held out": ("functions held out", "predicted by a fit that has not seen them"),
}


def summary_of(fitted: Fitted) -> Summary:
    """What error to expect, what was fitted, and the data."""
    operator, solution = fitted.operator, fitted.solution
    error = facts_of_error(solution.expected_error, fitted.error_interval, solution.error_kind)
    return Summary(
        error=error + ((Fact("Groups", fitted.word),) if fitted.word else ()),
        details=(
            Fact("Inputs", fitted.inputs.told),
            Fact("Outputs", outputs_in_words(fitted.outputs)),
            Fact("Branch", f"{_in_one_line(operator.branch)}, {operator.C.shape[1]} features"),
            Fact("Trunk", f"{_in_one_line(operator.trunk)}, {len(operator.W)} functions"),
            Fact("Ridge alpha", f"{solution.alpha:.2g}"),
        ),
    )


def facts_of_error(
    error: float | None, interval: tuple[float, float] | None, kind: str | None, where: str = _LIKE_THESE
) -> tuple[Fact, ...]:
    """The expected error, how sure it is, how it was found, and where it holds."""
    if error is None or kind is None:
        return (Fact("Expected error", "not known: no function was left out. Test on new functions"),)
    how = Fact("How it is known", ": ".join(_KINDS[kind]))
    return (*size_of_error(error, interval), how, Fact("Where it holds", where))


def size_of_error(error: float, interval: tuple[float, float] | None) -> tuple[Fact, ...]:
    """The expected error, and how sure it is."""
    size = Fact("Expected error", f"{percent(error)} of the size of the outputs")
    if interval is None:
        return (size,)
    low, high = interval
    sure = f"between {percent(low, 2)} and {percent(high, 2)}"
    if high == np.inf:
        sure = f"nothing can be said with fewer than {FEWEST} functions"
    return size, Fact("90 of 100 cases", sure)


def _in_one_line(part: object) -> str:
    return " ".join(repr(part).split())


def kind_in_words(kind: str | None) -> str:
    """How an expected error was found, in few words."""
    return "not known" if kind is None else _KINDS[kind][0]


def outputs_in_words(outputs: OutputForm) -> str:
    """Where the outputs are known."""
    if outputs.scattered:
        return "at scattered points, other ones for every function"
    c, M = outputs.components, len(outputs.points)
    return f"{c} components at {M} points" if c else f"at {M} points"
