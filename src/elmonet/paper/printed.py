"""The numbers that the paper prints, from one data file."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["printed", "printed_row"]


@cache
def printed() -> dict[str, Any]:
    """All printed numbers: tables, sensitivity tables, source."""
    return json.loads(files("elmonet.paper").joinpath("printed.json").read_text())


def printed_row(problem: str, model: str) -> dict[str, Any] | None:
    """The paper's parameters, seconds and error of a model, if it has it.

    >>> printed_row("darcy", "ELM-DeepONet MLP")["error"]
    0.0565
    """
    rows = [row for row in printed()["tables"][problem] if row["model"] == model]
    return rows[0] if rows else None
