"""What a fitted layered model shows of itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet.form.inputs import InputForm
from elmonet.form.outputs import OutputForm
from elmonet.layers.layered import Layered

__all__ = ["LayeredAttributes"]


class LayeredAttributes:
    """Attributes that end in an underscore, read from what the last fit gave."""

    def _fitted(self, error: type[Exception]) -> Layered:
        raise NotImplementedError

    @property
    def expected_error_(self) -> float:
        """The relative error to expect on new functions that are drawn alike."""
        return self._fitted(AttributeError).error

    @property
    def expected_error_interval_(self) -> tuple[float, float] | None:
        """Between what that error lies, in 90 of 100 cases; None in files of older versions."""
        return self._fitted(AttributeError).interval

    @property
    def error_kind_(self) -> str:
        """How that was found: "held out"."""
        self._fitted(AttributeError)
        return "held out"

    @property
    def layers_(self) -> list[dict[str, Any]]:
        """The account of each layer."""
        return [dict(vars(record)) for record in self._fitted(AttributeError).chain.records]

    @property
    def first_(self) -> Any:
        """The global model that the chain begins with, or None."""
        return self._fitted(AttributeError).first

    @property
    def periodic_(self) -> tuple[bool, ...]:
        """Whether the grid is periodic, along each axis."""
        return self._fitted(AttributeError).form.grid.periodic

    @property
    def symmetries_(self) -> list[str]:
        """The symmetries that were found in the training data."""
        return [str(symmetry) for symmetry in self._fitted(AttributeError).symmetries]

    @property
    def inputs_(self) -> InputForm:
        """The form of the input functions."""
        return self._fitted(AttributeError).form.inputs

    @property
    def outputs_(self) -> OutputForm:
        """The form of the output functions, and where they are known."""
        return self._fitted(AttributeError).form.outputs

    @property
    def points_(self) -> np.ndarray:
        """The training points; for components, with the component's number last."""
        return self.outputs_.places()
