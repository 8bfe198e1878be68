"""What would help most: more functions, or more sensors?"""

from __future__ import annotations

from elmonet.auto.expect import EXACT, Expected, learning_curve
from elmonet.auto.search import Search, Trial
from elmonet.summaries import Fact, percent

__all__ = ["advice"]

_FEW = 50  # functions, below which the choice is uncertain
_MATTERS = 1.3  # a factor between two errors that matters
_FLAT = 0.15  # rate at which errors fall with more functions, below which more of them would not help


def advice(search: Search, best: Trial, expected: Expected, narrow: bool) -> tuple[Fact, ...]:
    """Of a search; `narrow`: the training functions are combinations of very few."""
    if expected.error < EXACT:
        if narrow:
            return (Fact("More data", "not for functions like these. For others, add functions like them"),)
        return (Fact("More data", "nothing more is needed: the error is near the rounding of the numbers"),)
    sensors = search.with_half_the_sensors(best)
    return (
        *_more_functions(search, best, expected),
        *([] if sensors is None else [_more_sensors(*sensors)]),
    )


def _more_functions(search: Search, best: Trial, expected: Expected) -> tuple[Fact, ...]:
    """From how the error fell with more functions, of the same kind of branch."""
    if len(search.X) < _FEW:
        said = f"would help most. With {len(search.X)} functions the choice itself is uncertain"
        added = f": {percent(expected.hidden, 1)} was added to the expected error for that"
        return _fact(said + (added if expected.hidden else ""))
    curve = learning_curve(search, best)
    if curve is None:
        return ()
    n, N, rate = curve.n, curve.N, curve.rate
    if rate < _FLAT:
        return _fact(
            f"would not help: from {n} to {N} functions the error hardly fell. What is left is noise, or "
            "what the sensors do not see. Better measurements or more sensors may help"
        )
    before, now, twice = (percent(e, 2) for e in (curve.before, curve.now, curve.now * 2.0**-rate))
    fell = f"From {n} to {N} functions the error fell from {before} to {now}"
    return _fact(f"with twice as many, expect about {twice}. {fell}")


def _fact(said: str) -> tuple[Fact]:
    return (Fact("More functions", said),)


def _more_sensors(every: float, second: float) -> Fact:
    """From the errors with every sensor, and with every second one."""
    if second > _MATTERS * every:
        said = f"may help: with every second one the error is {percent(second, 2)} instead of"
        return Fact("More sensors", f"{said} {percent(every, 2)} (on few functions)")
    return Fact("More sensors", "would not help: every second one would be enough")
