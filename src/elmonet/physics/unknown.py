"""The unknown of an equation: its values, and its derivatives by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from elmonet.physics.box import Box

__all__ = ["Unknown"]


class Unknown(NDArrayOperatorsMixin):
    """``s`` in a residual: an array for NumPy, with its derivatives ``s.x``, ``s.xt``.

    `fields` maps the letters of derivatives, sorted ("" for s itself), to arrays. If `asked` is a set, names
    that `fields` lacks are noted there and given as ones: one evaluation shows what a residual needs.
    """

    def __init__(self, box: Box, fields: dict[str, np.ndarray], asked: set[str] | None = None):
        self._box, self._fields, self._asked = box, fields, asked

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_"):
            raise AttributeError(name)
        self._box.orders(name)
        return self._field("".join(sorted(name)))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self._field(""), dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **how: Any) -> Any:
        plain = [one._field("") if isinstance(one, Unknown) else one for one in inputs]
        return getattr(ufunc, method)(*plain, **how)

    def _field(self, name: str) -> np.ndarray:
        if name not in self._fields and self._asked is not None:
            self._asked.add(name)
            return np.ones((1, 1))
        return self._fields[name]
