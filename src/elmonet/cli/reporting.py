"""The report of elmonet fit."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from elmonet._check import FileError
from elmonet.cli.paths import require_place
from elmonet.cli.telling import Told
from elmonet.cli.understanding import named_outputs

__all__ = ["require_report_place", "write_fit_report"]


def require_report_place(report: Path, data: Path, out: Path) -> None:
    """Raise, before anything is fitted, if a report cannot be drawn, or written there."""
    from elmonet.report.drawing import require_pictures

    require_pictures()
    require_place(report, data)
    if report.resolve() == out.resolve():
        raise FileError(f"cannot write both the model and its report to {str(out)!r}: name two files.")


def write_fit_report(told: Told, report: Path, model: Any, path: Path, test: Any) -> None:
    """Write what is known of a model, of the file it was fitted to, and of its test functions (or None)."""
    from elmonet.report import write_report
    from elmonet.report.reporting import how_it_does, with_test

    tested, account = None, model._account()
    if test is not None and test.u_test is not None:
        truth = named_outputs(test, test.s_test)
        tested = how_it_does(model, test.u_test, truth, test.points)
        account = with_test(account, model, test.u_test, truth)
    account = replace(
        account, data={"file": str(path)} | account.data, understood=tuple(told.facts.get("understood", ()))
    )
    write_report(report, account, tested, shlex.join(["elmonet", *sys.argv[1:]]))
    told.fact(report=str(report))
