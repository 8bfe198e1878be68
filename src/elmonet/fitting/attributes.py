"""What a fitted model shows of itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet.fitting.fitted import Fitted
from elmonet.form.inputs import InputForm
from elmonet.form.outputs import OutputForm
from elmonet.operator import Operator
from elmonet.solve import Solution

__all__ = ["FittedAttributes"]


class FittedAttributes:
    """Attributes that end in an underscore, read from what the last fit gave."""

    def _fitted(self, error: type[Exception]) -> Fitted:
        raise NotImplementedError

    @property
    def solution_(self) -> Solution:
        """The account of the solve; found now, if functions came since it was last needed."""
        return self._fitted(AttributeError).solution

    @property
    def error_kind_(self) -> str | None:
        """How `expected_error_` was found, see `Solution.error_kind`; None if nothing tells."""
        return self.solution_.error_kind

    @property
    def operator_(self) -> Operator:
        """The learned operator, from rows to values."""
        return self._fitted(AttributeError).operator

    @property
    def inputs_(self) -> InputForm:
        """The form of the input functions."""
        return self._fitted(AttributeError).inputs

    @property
    def outputs_(self) -> OutputForm:
        """The form of the output functions, and where they are known."""
        return self._fitted(AttributeError).outputs

    @property
    def W_(self) -> np.ndarray:
        """The learned matrix, (p2, p1)."""
        return self.solution_.W

    @property
    def branch_(self) -> Any:
        """The fitted feature map of input functions."""
        return self.operator_.branch

    @property
    def trunk_(self) -> Any:
        """The fitted feature map of points."""
        return self.operator_.trunk

    @property
    def points_(self) -> np.ndarray:
        """The training points; for components, with the component's number last."""
        return self._fitted(AttributeError).outputs.places()
