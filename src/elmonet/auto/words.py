"""What was chosen and why, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet.auto.search import Search, Trial

__all__ = ["in_words", "unaligned_in_words"]

_FEW = 50  # functions, below which the choice is uncertain
_EXACT = 1e-8  # an error that nobody needs less of
_MATTERS = 1.3  # a factor between two errors that matters


def in_words(model: Any, search: Search, best: Trial) -> str:
    """The summary of a fitted `AutoELMDeepONet`."""
    return "\n".join(
        [
            *_data(model, search),
            *_choice(model, search, best),
            *_advice(model, search, best),
        ]
    )


def unaligned_in_words(model: Any) -> str:
    """The summary if outputs are known here and there."""
    best, others = model.leaderboard_[0], model.leaderboard_[1:]
    told = ", ".join(f"{trial['branch']} {trial['loo_error']:.2g}" for trial in others[:4])
    trunk = model.best_model_.trunk_
    return "\n".join(
        [
            f"Data: {best['functions']} functions, their outputs known here and there.",
            f"Chosen: branch {best['branch']}, trunk {trunk!r} of {trunk.width_} functions, alpha "
            f"{best['alpha']:.2g}.",
            f"Expected error on new functions drawn like these: {model.loo_error_:.3g} (of functions held "
            "out, at the points where they are known).",
            f"Compared on {others[0]['functions']} functions, with a small trunk: {told}.",
        ]
    )


def _data(model: Any, search: Search) -> list[str]:
    N, M = search.y.shape
    c = model.best_model_._layout.components
    where = f"{c} components at {M // c} points" if c else f"at {M} points"
    lines = [f"Data: {N} functions, inputs of shape {search.X.shape[1:]}, outputs {where}."]
    if model.repeats_.count:
        lines.append(
            f"{model.repeats_.count} inputs repeat others: they were merged, so that leave-one-out leaves "
            f"them out together; their outputs differ by {model.repeats_.spread:.2g} of their size."
        )
    return lines


def _choice(model: Any, search: Search, best: Trial) -> list[str]:
    way = search.ways[best.way]
    seen = ["their logarithms"] * way["log_inputs"] + ["standardised"] * way["scale_inputs"]
    solution = model.best_model_.solution_
    give_or_take = np.std(solution.loo_errors) / np.sqrt(len(search.X))
    lines = [
        f"Chosen: branch {best.candidate}, inputs {' and '.join(seen) or 'as they are'}, "
        f"{'logarithms of the outputs' if way['log_outputs'] else 'outputs as they are'}, "
        f"{model.best_model_.trunk_.width_} modes, alpha {solution.alpha:.2g}.",
        f"Expected error on new functions drawn like these: {model.loo_error_:.3g}, give or take "
        f"{give_or_take:.1g} (leave-one-out). It does not speak for functions of another kind: predict warns "
        "of them, novelty() measures them.",
    ]
    others: dict[str, Trial] = {}
    for trial in sorted(search.trials, key=lambda trial: (-trial.functions, trial.loo_error)):
        others.setdefault(trial.candidate.family, trial)
    told = [f"{t.candidate} {t.loo_error:.2g} ({t.functions} functions)" for t in others.values()]
    return [*lines, "Best of each family: " + ", ".join(told[:6]) + "."]


def _advice(model: Any, search: Search, best: Trial) -> list[str]:
    """What would help most: more functions, more sensors, less noise?"""
    N = len(search.X)
    if model.loo_error_ < _EXACT:
        return ["Nothing more is needed: the error is near the rounding of the numbers."]
    lines = []
    if N < _FEW:
        optimism = search.optimism(best)
        lines.append(
            f"With {N} functions the choice itself is uncertain (it hides an error of {optimism:.1g}, which "
            "is counted above): more functions would help most."
        )
    else:
        lines += _more_functions(search, best)
    sensors = search.with_half_the_sensors(best)
    if sensors is not None:
        every, second = sensors
        if second > _MATTERS * every:
            lines.append(
                f"Sensors matter: with every second one the error is {second:.2g} instead of {every:.2g} (on "
                "few functions). More of them may help."
            )
        else:
            lines.append("Every second sensor would do as well: more of them would not help.")
    return lines


def _more_functions(search: Search, best: Trial) -> list[str]:
    """From how the error fell with more functions, of the same kind of branch."""
    N = len(search.X)
    same: dict[int, float] = {}
    for t in search.trials:
        if t.kind == best.kind:
            same[t.functions] = min(t.loo_error, same.get(t.functions, np.inf))
    fewer = [n for n in same if n < N]
    if not fewer or N not in same:
        return []
    n = max(fewer)
    rate = np.log(same[n] / same[N]) / np.log(N / n)
    if rate < 0.15:
        return [
            f"From {n} to {N} functions the error hardly fell: more of them would not help. What is left is "
            "noise, or what the sensors do not see; better measurements or more sensors might."
        ]
    return [
        f"From {n} to {N} functions the error fell from {same[n]:.2g} to {same[N]:.2g}: with twice as many "
        f"functions expect about {same[N] * 2.0**-rate:.2g}."
    ]
