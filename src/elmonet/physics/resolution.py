"""How finely an equation is solved: degrees, and slabs in time."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

__all__ = ["Resolution", "resolutions"]

_DEGREES = (6, 9, 13, 18, 24, 32, 40, 50, 64, 90)
_SHARED, _OWN = 4000, 800  # coefficients of a function, with one factorisation for all and without
_WORK = 2.5e9  # for all functions: about two minutes
_SLABS = ((28, 10, 4), (40, 8, 8), (56, 8, 12), (80, 7, 20), (110, 6, 30))  # degrees in space, in time, slabs


@dataclass(frozen=True)
class Resolution:
    """Degrees of the polynomials (or waves) in each coordinate; along one, so many slabs after each other."""

    degrees: tuple[int, ...]
    slabs: int = 1

    def __str__(self) -> str:
        each = " x ".join(map(str, self.degrees))
        slabs = f" in each of {self.slabs} slabs" if self.slabs > 1 else ""
        return f"degree {each}{slabs}"


def resolutions(
    d: int, *, n: int, unknowns: int, shared: bool, march: int | None, rows: int | None
) -> list[Resolution]:
    """Those to try, one after the other, in d dimensions; the last only tells of the one before.

    `n`: for how many functions. `march`: the coordinate along which slabs may follow each other, if any.
    They come last, and not where one factorisation serves all functions. `rows`: of a
    domain that is given by points, their number; there, polynomials go up to a total degree.
    """
    most = min((_SHARED if shared else _OWN) / unknowns, np.inf if rows is None else rows / 2)
    found: list[Resolution] = []
    slabs: list[Resolution] = []
    beyond: list[Resolution] = []
    for degree in _DEGREES:
        width = comb(degree + d, d) if rows is not None else (degree + 1) ** d
        (found if width <= most else beyond).append(Resolution((degree,) * d))
    for space, time, count in _SLABS if march is not None and d == 2 and not shared else ():
        degrees = np.full(d, space)
        degrees[march] = time
        width = float(np.prod(degrees + 1))
        affordable = width <= most and n * count * (width * unknowns) ** 2 <= _WORK
        (slabs if affordable else beyond).append(Resolution(tuple(degrees.tolist()), count))
    beyond = [own for own in beyond if (own.slabs > 1) == bool(slabs)]
    return found + slabs + beyond[:1]
