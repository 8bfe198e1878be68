"""What a model says of itself: facts under headings, the answer first, as lines that fit a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import NamedTuple

__all__ = ["Fact", "Summary", "in_lines", "percent"]

_WIDTH = 80  # characters in a line
_UNBROKEN = "\N{NO-BREAK SPACE}"
_SMALL = 1e-6  # relative errors below this are given as powers of ten
_TITLES = {
    "error": "What error to expect",
    "help": "What would help",
    "choice": "What was chosen",
    "equation": "The equation",
    "details": "Details",
}


class Fact(NamedTuple):
    """A name and what is said of it; the lines of a list are separated by line breaks."""

    name: str
    said: str


@dataclass(frozen=True)
class Summary:
    """Facts under each heading: the error to expect, what would help, the choice, the equation, details.

    Examples
    --------
    >>> print(Summary(error=(Fact("Expected error", "2.1 %"),), details=(Fact("Alpha", "0.1"),)))
    What error to expect
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
        """With facts on an equation, whose solutions have this part of the expected error."""
        told = self.telling("equation", *facts)
        if error < expected / 2:
            return told
        said = f"would help most. {percent(error, 2)} of the expected {percent(expected, 2)} is the error of"
        return replace(told, help=(Fact("Finer solutions", f"{said} the equation's solutions"),))

    def telling(self, heading: str, *facts: Fact) -> Summary:
        """With more facts under a heading, instead of those of the same name."""
        said = {fact.name: fact for fact in (*getattr(self, heading), *facts)}
        return replace(self, **{heading: tuple(said.values())})

    def __str__(self) -> str:
        parts = [(title, getattr(self, heading)) for heading, title in _TITLES.items()]
        column = _column(fact for _, facts in parts for fact in facts)
        return "\n".join(f"{title}\n{in_lines(facts, '  ', column)}" for title, facts in parts if facts)


def in_lines(facts: tuple[Fact, ...], indent: str = "", column: int = 0) -> str:
    """One fact a line, ``name: what is said``, all said from the same column on."""
    column = column or _column(facts)
    hanging = " " * (len(indent) + column)
    lines = []
    for name, said in facts:
        begin = f"{indent}{name + ':':<{column}}"
        for line in said.replace(" %", f"{_UNBROKEN}%").split("\n"):
            lines += wrap(
                line,
                _WIDTH,
                initial_indent=begin,
                subsequent_indent=hanging,
                break_long_words=False,
                break_on_hyphens=False,
            )
            begin = hanging
    return "\n".join(lines).replace(_UNBROKEN, " ")


def _column(facts: Iterable[Fact]) -> int:
    """Where what is said begins: two spaces after the longest name and its colon."""
    return 3 + max((len(fact.name) for fact in facts), default=0)


def percent(error: float, digits: int = 3) -> str:
    """A relative error as people read it.

    Examples
    --------
    >>> percent(0.0212), percent(0.000123), percent(25.0), percent(1.62e-15)
    ('2.12 %', '0.0123 %', '2500 %', '1.6e-15')
    """
    if error < _SMALL:
        return f"{error:.2g}"
    return f"{100 * error:.0f} %" if error >= 10 else f"{100 * error:.{digits}g} %"
