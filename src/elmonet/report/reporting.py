"""The method `report` of all models."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from elmonet._check import InputError
from elmonet.data.scattered import Scattered
from elmonet.form.inputs import count_of
from elmonet.form.outputs import OutputForm
from elmonet.form.score import checked_outputs, relative_error
from elmonet.form.training import named_components
from elmonet.plot.one_function import HOLDS
from elmonet.report.account import Account, Tested
from elmonet.report.unseen import USUAL, unseen
from elmonet.report.write import write_report

__all__ = ["Reporting", "how_it_does", "with_test"]


class Reporting:
    """A model that reports on itself; what there is to tell is in its `_account`."""

    def _account(self) -> Account:
        raise NotImplementedError

    def report(self, path: str | os.PathLike[str], X: Any = None, y: Any = None) -> None:
        """Write a report to send to others: one page of HTML that holds its pictures and loads nothing.

        It tells what the data were taken for, what was chosen and why, what error to expect, whether the
        bands hold, which functions are predicted best and worst, where errors are large, and how to repeat
        the fit. The errors are those of training functions that were left out, or held out: no fit is made.
        Of a model that was loaded, these are not known any more, and the report says so.

        Parameters
        ----------
        path : of the file to write, as ``"fit.html"``. A file that is there is replaced at the end.
        X, y : functions that the model was not fitted to, with their outputs, if there are any: then their
            error is told beside the one that was expected. As in `fit`.

        Raises `MissingExtra` without matplotlib.
        """
        if (X is None) != (y is None):
            raise InputError("a report takes test functions with their outputs, X and y: give both or none.")
        account = self._account()
        if X is None:
            write_report(path, account)
        else:
            write_report(path, with_test(account, self, X, y), how_it_does(self, X, y))


def how_it_does(model: Any, X: Any, y: Any, points: Any = None) -> Tested:
    """How a model does on functions with known outputs, at its training points or at others."""
    where = y if isinstance(y, Scattered) else points
    error = relative_error(model.predict(X, points=where), y)
    try:
        calibration = model.calibration(X, y)
    except InputError:  # without bands, at other points
        calibration = None
    return Tested(count_of(X), error, calibration)


def with_test(account: Account, model: Any, X: Any, y: Any) -> Account:
    """The account with functions of a test, where those that the fit left out are not known any more."""
    if account.unseen is not None or isinstance(y, Scattered):
        return account
    outputs: OutputForm = getattr(model, "best_model_", model).outputs_
    try:
        truth = outputs.rows(checked_outputs(y, outputs))
        ends = model.interval(X, USUAL, "function")
    except InputError:  # at other points, or without bands
        return account
    predicted, low, high = (outputs.rows(named_components(A)[1]) for A in (model.predict(X), *ends))
    holds = HOLDS["function"].format(100 * USUAL)
    found = unseen(
        "test functions",
        outputs,
        np.arange(len(truth)),
        truth,
        predicted,
        lambda i: (low[i], high[i]),
        holds,
        None,
    )
    return replace(account, unseen=found)
