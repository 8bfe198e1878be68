"""A fitted model in words."""

from __future__ import annotations

import numpy as np

from elmonet.certainty import FEWEST
from elmonet.fitting.fitted import Fitted
from elmonet.form.outputs import OutputForm

__all__ = ["error_in_words", "kind_in_words", "outputs_in_words", "summary_of"]

_KINDS = {
    "leave-one-out": "leave-one-out",
    "leave-group-out": "leaving out groups of functions that belong together",
    "gcv": "generalised cross-validation of all values together",
    "held out": "functions held out of the fit",
}


def summary_of(fitted: Fitted) -> str:
    """The data, what was fitted, and what error to expect."""
    operator, solution = fitted.operator, fitted.solution
    branch, trunk = operator.branch, operator.trunk
    lines = [
        f"Data: inputs {fitted.inputs.told}, outputs {outputs_in_words(fitted.outputs)}.",
        *([fitted.word] if fitted.word else []),
        f"Fitted: branch {_in_one_line(branch)} of {operator.C.shape[1]} features, trunk "
        f"{_in_one_line(trunk)} of {len(operator.W)} functions, alpha {solution.alpha:.2g}.",
    ]
    if solution.expected_error is not None and solution.error_kind is not None:
        lines.append(
            error_in_words(solution.expected_error, fitted.error_interval, kind_in_words(solution.error_kind))
        )
    return "\n".join(lines)


def error_in_words(error: float, interval: tuple[float, float] | None, kind: str) -> str:
    """The expected error, how sure it is, and how it was found."""
    between = ""
    if interval is not None:
        between = f", in 90 of 100 cases between {interval[0]:.2g} and {interval[1]:.2g}"
        if interval[1] == np.inf:
            between = f", but nothing can be said of how sure that is with less than {FEWEST} functions"
    return f"Expected error on new functions drawn like these: {error:.3g}{between} ({kind})."


def _in_one_line(part: object) -> str:
    return " ".join(repr(part).split())


def kind_in_words(kind: str | None) -> str:
    """How an expected error was found."""
    return "not known" if kind is None else _KINDS[kind]


def outputs_in_words(outputs: OutputForm) -> str:
    """Where the outputs are known."""
    if outputs.scattered:
        return "at scattered points, other ones for every function"
    c, M = outputs.components, len(outputs.points)
    return f"{c} components at {M} points" if c else f"at {M} points"
