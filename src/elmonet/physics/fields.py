"""The functions of an equation, as a residual sees them: values, derivatives and components, by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from elmonet._check import InputError

__all__ = ["ONE", "Field", "Key", "Names"]

Key = tuple[str, str]  # a component ("" if there is only one), and the letters of a derivative, sorted
ONE = ("",)  # the components of a function that has none


@dataclass(frozen=True)
class Names:
    """What a residual may speak of: coordinates, components of s and of u, and constants."""

    coordinates: tuple[str, ...]
    unknowns: tuple[str, ...] = ONE
    inputs: tuple[str, ...] = ONE
    constants: dict[str, float] = field(default_factory=dict)

    def orders(self, letters: str) -> tuple[int, ...]:
        """How often to differentiate by each coordinate, for letters such as "xxt"."""
        return tuple(letters.count(own) for own in self.coordinates)


class Field(NDArrayOperatorsMixin):
    """``s`` or ``u`` in a residual: an array for NumPy, with derivatives ``s.xt`` and components ``s.v``.

    `values` maps keys to arrays. If `asked` is a set, keys that `values` lacks are noted there and given as
    ones: one evaluation shows what a residual needs. `whole`: not one of the components of another.
    """

    def __init__(
        self,
        name: str,
        coordinates: tuple[str, ...],
        components: tuple[str, ...],
        values: dict[Key, np.ndarray],
        asked: set[Key] | None = None,
        whole: bool = True,
    ):
        self._name, self._coordinates, self._components = name, coordinates, components
        self._values, self._asked, self._whole = values, asked, whole

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._is_several or (self._whole and name == self._components[0]):
            if name not in self._components:
                raise InputError(
                    f"{self._name} has the components {', '.join(self._components)}: write "
                    f"{self._name}.{self._components[0]} and {self._name}.{self._components[0]}."
                    f"{self._coordinates[0]}; got {self._name}.{name}."
                )
            label = f"{self._name}.{name}"
            return Field(label, self._coordinates, (name,), self._values, self._asked, whole=False)
        if set(name) - set(self._coordinates):
            raise InputError(
                f"{self._name}.{name} is not a derivative: its letters must be coordinates, "
                f"{', '.join(self._coordinates)}."
            )
        return self._get("".join(sorted(name)))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self._get(""), dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **how: Any) -> Any:
        plain = [one._get("") if isinstance(one, Field) else one for one in inputs]
        return getattr(ufunc, method)(*plain, **how)

    @property
    def _is_several(self) -> bool:
        return len(self._components) > 1

    def _get(self, letters: str) -> np.ndarray:
        if self._is_several:
            raise InputError(
                f"{self._name} has the components {', '.join(self._components)}: write "
                f"{self._name}.{self._components[0]}."
            )
        key = (self._components[0], letters)
        if key not in self._values and self._asked is not None:
            self._asked.add(key)
            return np.ones((1, 1))
        return self._values[key]
