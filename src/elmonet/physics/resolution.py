"""How finely an equation is solved: degrees, and slabs in time."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

__all__ = ["Resolution", "resolutions"]

_DEGREES = (6, 9, 13, 18, 24, 32, 40, 50, 64, 90)
_SHARED, _OWN = 4000, 800  # coefficients of a function, with one factorisation for all and without
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
    d: int, *, unknowns: int, shared: bool, march: int | None, rows: int | None
) -> list[Resolution]:
    """Those to try, one after the other, in d dimensions.

    `march`: the coordinate along which slabs may follow each other, if any. They come last, and not where one
    factorisation serves all functions. `rows`: of a domain that is given by points, their number; there,
    polynomials go up to a total degree.
    """
    most = min((_SHARED if shared else _OWN) / unknowns, np.inf if rows is None else rows / 2)

    def width(n: int) -> int:
        return comb(n + d, d) if rows is not None else (n + 1) ** d

    found = [Resolution((n,) * d) for n in _DEGREES if width(n) <= most]
    for space, time, slabs in _SLABS if march is not None and d == 2 and not shared else ():
        degrees = np.full(d, space)
        degrees[march] = time
        if np.prod(degrees + 1) <= most:
            found.append(Resolution(tuple(degrees.tolist()), slabs))
    return found or [Resolution((3,) * d)]
