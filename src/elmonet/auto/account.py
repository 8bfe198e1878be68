"""What a model that was chosen among many has to tell in a report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from elmonet.fitting.account import call_of, data_of
from elmonet.report.account import Account

__all__ = ["account_of"]


def account_of(model: Any, best: Any) -> Account:
    """Of an `AutoELMDeepONet`: the account of its best model, and how that was chosen."""
    account: Account = best._account()
    chosen_of = model.global_model_
    training, physics = chosen_of._training, getattr(model, "physics_", None)
    seed = chosen_of.random_state
    made = {"seed": str(seed)} if model.random_state is not None else {"seed": f"{seed}, drawn for this fit"}
    data = account.data
    if training is not None:
        data = data_of(training.inputs, training.outputs, chosen_of._remembered(), training)
        data |= {name: value for name, value in account.data.items() if name not in data}
    if model.repeats_.count:
        data["repeats"] = f"{model.repeats_.count} inputs repeat others and were merged; rows count the rest"
    return replace(
        account,
        model=type(model).__name__,
        data=data,
        settings={"model": type(best).__name__} | account.settings,
        made=made,
        call=call_of(model, training, *_given(physics)),
        leaderboard=tuple(model.leaderboard_),
        physics=physics,
    )


def _given(physics: Any) -> tuple[str, str]:
    """What `fit` was given beside the inputs and points: outputs, or an equation, perhaps with data."""
    if physics is None:
        return "s", ""
    data = ", data=data" if physics.correction is not None or physics.constants else ""
    return "pde", f", sensors=sensors{data}"
