"""A distribution of inputs, learned from training inputs: for inverse problems and sensitivities.

An input is a function of independent standard normal numbers z. Functions (several values that belong
together) are Gaussian: mean plus principal directions of the training inputs times z, or the exponential of
that where the model takes logarithms. Numbers are uniform within bounds: low + (high - low) Phi(z).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from scipy.special import ndtr, ndtri

from elmonet.errors import InputError
from elmonet.forms.parts import find_parts

_VARIANCE = 1e-10  # part of the variance of training inputs that is left out
_LARGEST = 8.0  # |z| of a number, whose distribution function ends in double precision


@dataclass(frozen=True, eq=False)
class Block:
    """One input: a function, Gaussian in principal directions, or a number, uniform within bounds.

    Attributes
    ----------
    name : of the input, or of one of its numbers.
    columns : (m,), where its values are among the flat inputs.
    mean, factor : (m,) and (m, r) of a function; low and high of a number are mean and mean + factor.
    kind : "normal", "lognormal" or "uniform".
    """

    name: str
    columns: np.ndarray
    mean: np.ndarray
    factor: np.ndarray
    kind: str = "normal"

    @property
    def size(self) -> int:
        """Number of standard normal numbers behind it."""
        return self.factor.shape[1]

    def values(self, z: np.ndarray) -> np.ndarray:
        """Return values (n, m) from z (n, size)."""
        if self.kind == "uniform":
            return self.mean + ndtr(z) * self.factor[:, 0]
        normal = self.mean + z @ self.factor.T
        return np.exp(normal) if self.kind == "lognormal" else normal

    def slope(self, z: np.ndarray) -> np.ndarray:
        """Return the derivatives (m, size) of the values of one z (size,)."""
        if self.kind == "uniform":
            return self.factor * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        return self.values(z[None])[0][:, None] * self.factor if self.kind == "lognormal" else self.factor

    def z_of(self, values: np.ndarray) -> np.ndarray:
        """Return z (n, size) of values (n, m), as near as the directions come."""
        if self.kind == "uniform":
            part = (values - self.mean) / np.where(self.factor[:, 0] > 0, self.factor[:, 0], 1.0)
            return np.clip(ndtri(np.clip(part, 0, 1)), -_LARGEST, _LARGEST)
        normal = np.log(values) if self.kind == "lognormal" else values
        return np.linalg.lstsq(self.factor, (normal - self.mean).T, rcond=None)[0].T


@dataclass(frozen=True, eq=False)
class Prior:
    """Independent inputs: blocks of columns.

    Attributes
    ----------
    blocks : one for each input; a constant input has a block without directions.
    size : number of flat input values.
    """

    blocks: tuple[Block, ...]
    size: int
    ends: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ends", np.cumsum([0, *(block.size for block in self.blocks)]))

    @property
    def directions(self) -> int:
        """Number of standard normal numbers."""
        return int(self.ends[-1])

    @classmethod
    def learned(cls, inputs: Any, rows: np.ndarray | None, given: Any = None, *, split: bool = True) -> Self:
        """Return the distribution of training inputs, with what a user gave instead.

        Parameters
        ----------
        inputs : the `InputForm`.
        rows : training inputs, flat as given, (N, m); None if they are not kept.
        given : None; or by the name of an input (a single array may leave the name out): (low, high) for
            numbers, (mean, covariance) for a function, or samples (n, ...) to learn from.
        split : numbers that lie side by side in one array are told apart.
        """
        ports = inputs.ports()
        named = _by_name(given, [port.name for port in ports])
        blocks: list[Block] = []
        at = 0
        for port in ports:
            columns = at + np.arange(port.size)
            at += port.size
            own = named.get(port.name)
            samples = None if rows is None else rows[:, columns]
            if own is None and samples is None:
                raise InputError(
                    f"this model does not hold its training inputs (see save(inputs=False)), so prior= must "
                    f"say where {port.name!r} lies: (low, high), (mean, covariance), or samples of it."
                )
            blocks += _blocks(port.name, columns, samples, own, _logarithm(inputs, columns), split)
        return cls(tuple(blocks), at)

    def inputs(self, z: np.ndarray) -> np.ndarray:
        """Return flat inputs (n, m) from z (n, directions)."""
        out = np.empty((len(z), self.size))
        for block, start, end in zip(self.blocks, self.ends[:-1], self.ends[1:], strict=True):
            out[:, block.columns] = block.values(z[:, start:end])
        return out

    def slopes(self, J: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return derivatives (k, directions) by z from those by the inputs, J (k, m)."""
        out = np.empty((len(J), self.directions))
        for block, start, end in zip(self.blocks, self.ends[:-1], self.ends[1:], strict=True):
            out[:, start:end] = J[:, block.columns] @ block.slope(z[start:end])
        return out

    def z_of(self, x: np.ndarray) -> np.ndarray:
        """Return z (n, directions) of flat inputs (n, m)."""
        return np.hstack([block.z_of(x[:, block.columns]) for block in self.blocks])

    def deviations(self, draws: int = 2000, seed: int = 0) -> np.ndarray:
        """Return the standard deviation (m,) of each input value."""
        z = np.random.default_rng(seed).standard_normal((draws, self.directions))
        return self.inputs(z).std(axis=0)


def _logarithm(inputs: Any, columns: np.ndarray) -> bool:
    """Whether the model takes logarithms of all values in these columns."""
    if inputs.parts is None:
        return False
    flags = np.concatenate([np.full(part.size, part.logarithm) for part in inputs.parts])
    flags = flags if inputs.order is None else flags[np.argsort(inputs.order)]
    return bool(flags[columns].all())


def _by_name(given: Any, names: Sequence[str]) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        if len(names) > 1:
            raise InputError(f"prior must be a dictionary with some of {', '.join(map(repr, names))}.")
        return {names[0]: given}
    unknown = [str(name) for name in given if str(name) not in names]
    if unknown:
        raise InputError(f"there is no input {unknown[0]!r}; the inputs are {', '.join(map(repr, names))}.")
    return {str(name): own for name, own in given.items()}


def _blocks(
    name: str, columns: np.ndarray, samples: np.ndarray | None, own: Any, logarithm: bool, split: bool
) -> list[Block]:
    m = len(columns)
    if isinstance(own, tuple) and len(own) == 2:
        first, second = np.asarray(own[0], float).ravel(), np.asarray(own[1], float)
        if second.ndim == 2 and len(first) == m and second.shape == (m, m):
            return [Block(name, columns, first, _root(second))]
        low, high = (np.broadcast_to(np.ravel(end), (m,)).astype(float) for end in (first, second.ravel()))
        if not (low < high).all():
            raise InputError(f"prior of {name!r}: low must be below high.")
        return _uniform(name, columns, low, high)
    if own is not None:
        samples = np.asarray(own, float).reshape(-1, m) if np.size(own) % m == 0 else None
        if samples is None or len(samples) < 2:
            raise InputError(
                f"prior of {name!r} must be (low, high), (mean, covariance), or samples (n, {m}); got an "
                f"array of shape {np.shape(own)}."
            )
    assert samples is not None
    if m == 1 or (split and _are_numbers(samples)):
        return _uniform(name, columns, samples.min(axis=0), samples.max(axis=0))
    logarithm = logarithm and bool((samples > 0).all())
    normal = np.log(samples) if logarithm else samples
    mean = normal.mean(axis=0)
    apart = (normal - mean) / np.sqrt(len(samples) - 1)
    _, s, V = np.linalg.svd(apart, full_matrices=False)
    kept = s**2 > _VARIANCE * np.sum(s**2)
    return [Block(name, columns, mean, (V[kept] * s[kept, None]).T, "lognormal" if logarithm else "normal")]


def _uniform(name: str, columns: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[Block]:
    names = [name] if len(columns) == 1 else [f"{name}[{i}]" for i in range(len(columns))]
    return [
        Block(own, columns[i : i + 1], low[i : i + 1], np.array([[high[i] - low[i]]]), "uniform")
        for i, own in enumerate(names)
    ]


def _are_numbers(samples: np.ndarray) -> bool:
    """Whether columns are numbers side by side: none of the neighbours are correlated."""
    return all(part.size == 1 for part in find_parts(samples, None, None))


def _root(covariance: np.ndarray) -> np.ndarray:
    """Return a factor F (m, r) with ``F F' = covariance``."""
    if not np.allclose(covariance, covariance.T, rtol=1e-8, atol=1e-12 * float(np.abs(covariance).max())):
        raise InputError("the covariance of a prior must be symmetric.")
    values, vectors = eigh(covariance)
    if values[0] < -1e-8 * max(values[-1], 0.0) or values[-1] <= 0:
        raise InputError("the covariance of a prior must be positive semi-definite, and not zero.")
    kept = values > 1e-14 * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))[:, ::-1].copy()
