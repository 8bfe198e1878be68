"""Summaries of models: facts under headings, the accuracy first, as lines that fit a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import NamedTuple

_LINE_WIDTH = 80  # characters
_UNBROKEN = "\N{NO-BREAK SPACE}"
_POWERS_OF_TEN_BELOW = 1e-6  # relative error
_TITLES = {
    "error": "Accuracy",
    "help": "Recommendations",
    "choice": "Selected model",
    "equation": "Equation",
    "details": "Details",
}


class Fact(NamedTuple):
    """A name and a text; line breaks in the text separate the items of a list."""

    name: str
    said: str


@dataclass(frozen=True)
class Summary:
    """Facts under each heading: accuracy, recommendations, selected model, equation, details.

    Examples
    --------
    >>> print(Summary(error=(Fact("Expected error", "2.1 %"),), details=(Fact("Alpha", "0.1"),)))
    Accuracy
      Expected error:  2.1 %
    Details
      Alpha:           0.1
    """

    error: tuple[Fact, ...] = ()
    help: tuple[Fact, ...] = ()
    choice: tuple[Fact, ...] = ()
    equation: tuple[Fact, ...] = ()
    details: tuple[Fact, ...] = ()

    def with_equation(self, facts: tuple[Fact, ...], error: float, expected: float) -> Summary:
        """Return the summary with facts on an equation; `error` is its part of the expected error."""
        summary = self.telling("equation", *facts)
        if error < expected / 2:
            return summary
        part = f"{percent(error, 2)} of the expected {percent(expected, 2)}"
        text = f"would help most. {part} is the error of the equation's solutions"
        return replace(summary, help=(Fact("Finer solutions", text),))

    def telling(self, heading: str, *facts: Fact) -> Summary:
        """Return the summary with more facts under a heading; they replace those of the same name."""
        named = {fact.name: fact for fact in (*getattr(self, heading), *facts)}
        return replace(self, **{heading: tuple(named.values())})

    def __str__(self) -> str:
        parts = [(title, getattr(self, heading)) for heading, title in _TITLES.items()]
        column = _column(fact for _, facts in parts for fact in facts)
        return "\n".join(f"{title}\n{in_lines(facts, '  ', column)}" for title, facts in parts if facts)


def in_lines(facts: tuple[Fact, ...], indent: str = "", column: int = 0) -> str:
    """Format facts as lines ``name: text``, all texts beginning at the same column."""
    column = column or _column(facts)
    hanging = " " * (len(indent) + column)
    lines = []
    for name, text in facts:
        begin = f"{indent}{name + ':':<{column}}"
        for line in text.replace(" %", f"{_UNBROKEN}%").split("\n"):
            lines += wrap(
                line,
                _LINE_WIDTH,
                initial_indent=begin,
                subsequent_indent=hanging,
                break_long_words=False,
                break_on_hyphens=False,
            )
            begin = hanging
    return "\n".join(lines).replace(_UNBROKEN, " ")


def _column(facts: Iterable[Fact]) -> int:
    """Return where texts begin: two spaces after the longest name and its colon."""
    return 3 + max((len(fact.name) for fact in facts), default=0)


def percent(error: float, digits: int = 3) -> str:
    """Format a relative error as a percentage, or as a power of ten if it is tiny.

    Examples
    --------
    >>> percent(0.0212), percent(0.000123), percent(25.0), percent(1.62e-15)
    ('2.12 %', '0.0123 %', '2500 %', '1.6e-15')
    """
    if error < _POWERS_OF_TEN_BELOW:
        return f"{error:.2g}"
    text = f"{100 * error:.{digits}g}"
    return f"{100 * error:.0f} %" if "e" in text else f"{text} %"
