"""The memory available and the memory a fit needs, checked before it is allocated."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import psutil

from elmonet.errors import InputError, NotEnoughMemory

_FLOAT = 8  # bytes
_INTERPRETER = 300 * 2**20  # bytes of Python and its libraries
_UNCHECKED = 2**28  # bytes that are allocated without asking how much is free
_MOST_ROWS, _LEAST_ROWS = 4096, 16  # functions in a block
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def bytes_of(memory: Any, name: str = "memory") -> int:
    """Return the number of bytes of a number or a text such as "2GB" or "500 MB" (powers of 1024)."""
    if isinstance(memory, (int, float)) and not isinstance(memory, bool) and memory > 0:
        return int(memory)
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([KMGT]?)(I?B)?\s*", str(memory).upper())
    count = int(float(found[1]) * _UNITS[found[2]]) if found else 0
    if count > 0:
        return count
    raise InputError(f'{name} must be a number of bytes or a text such as "2GB", got {memory!r}.')


def readable(count: float) -> str:
    """Return bytes as text, such as "1.5 GiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{float(f'{count:.3g}'):g} {unit}"  # 1020 KiB, not 1.02e+03
        count /= 1024
    raise AssertionError


def available() -> int:
    """Return the bytes this process may still allocate: limits of machine, control group and process."""
    limits = [psutil.virtual_memory().available]
    group = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    if all(path.exists() for path in group):
        limit, used = (path.read_text().strip() for path in group)
        if limit != "max":
            limits.append(int(limit) - int(used))
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return max(0, min(limits))
    address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if address_space != resource.RLIM_INFINITY:
        limits.append(address_space - _INTERPRETER)
    return max(0, min(limits))


def require_features(rows: int, width: int) -> None:
    """Raise `NotEnoughMemory` if features (rows, width) and their Gram matrix would not fit."""
    needed = _FLOAT * (rows * width + 3 * min(rows, width) ** 2)
    if needed > _UNCHECKED and needed > available():
        raise NotEnoughMemory(
            f"{width} features of {rows} functions and the matrices to solve for W need about "
            f"{readable(needed)}; {readable(available())} are free. Use a narrower branch, or "
            "fit in blocks: partial_fit, or fit_blocks from disk."
        )


def block_rows(limit: int, workers: int, *, m: int, M: int, p1: int, q: int) -> int:
    """Return how many functions a block may hold for the fit to stay within `limit` bytes.

    For inputs of m numbers, outputs at M points, p1 features and q coordinates of the outputs. Raises
    `NotEnoughMemory` if not even small blocks fit.
    """
    side = p1 + q
    fixed = _INTERPRETER + _FLOAT * ((workers + 2) * side**2 + 4 * p1**2)
    row = _FLOAT * workers * (3 * m + 3 * M + 3 * p1 + side)
    rows = int((limit - fixed) // row)
    if rows < _LEAST_ROWS:
        needed = fixed + _LEAST_ROWS * row
        raise NotEnoughMemory(
            f"a fit with {p1} features and outputs of {q} coordinates needs at least {readable(needed)} on "
            f"{workers} worker(s), and may take {readable(limit)}. Allow more memory, use a narrower branch "
            "(half the width needs about a quarter) or a trunk with fewer functions."
        )
    return min(rows, _MOST_ROWS)
