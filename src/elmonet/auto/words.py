"""What was chosen and why, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from elmonet.auto.search import Search, Trial

__all__ = ["in_words"]


def in_words(model: Any, search: Search, best: Trial) -> str:
    """The summary of a fitted `AutoELMDeepONet`."""
    return "\n".join(
        [
            *_data(model, search),
            *_choice(model, search, best),
            *_advice(model, search, best),
        ]
    )


def _data(model: Any, search: Search) -> list[str]:
    N, M = search.y.shape
    lines = [f"Data: {N} functions, inputs of shape {search.X.shape[1:]}, outputs at {M} points."]
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
    lines = [
        f"Chosen: branch {best.candidate}, inputs {' and '.join(seen) or 'as they are'}, "
        f"{'logarithms of the outputs' if way['log_outputs'] else 'outputs as they are'}, "
        f"{model.best_model_.trunk_.width_} modes, alpha {solution.alpha:.2g}.",
        f"Expected error on new functions drawn like these: {model.loo_error_:.3g} (leave-one-out).",
    ]
    others: dict[str, Trial] = {}
    for trial in sorted(search.trials, key=lambda trial: (-trial.functions, trial.loo_error)):
        others.setdefault(trial.candidate.family, trial)
    told = [f"{t.candidate} {t.loo_error:.2g} ({t.functions} functions)" for t in others.values()]
    return [*lines, "Best of each family: " + ", ".join(told[:6]) + "."]


def _advice(model: Any, search: Search, best: Trial) -> list[str]:
    """What would help: from how the error fell with more functions."""
    N = len(search.X)
    same: dict[int, float] = {}
    for t in search.trials:
        alike = (t.candidate.family, t.candidate.linear) == (best.candidate.family, best.candidate.linear)
        if t.way == best.way and alike:
            same[t.functions] = min(t.loo_error, same.get(t.functions, np.inf))
    if model.loo_error_ < 1e-8:
        return ["More functions are not needed: the error is at the rounding of the numbers."]
    if N < 50:
        return [f"With {N} functions the choice itself is uncertain: more functions would help most."]
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
