"""What was chosen and why, in words."""

from __future__ import annotations

from typing import Any

from elmonet.auto.expect import Expected, learning_curve
from elmonet.auto.layers import Comparison
from elmonet.auto.noise import noise_in_words, noise_of
from elmonet.auto.repeats import Repeats
from elmonet.auto.search import Search, Trial
from elmonet.auto.span import span_in_words
from elmonet.fitting.words import error_in_words, kind_in_words, outputs_in_words
from elmonet.form.training import Training
from elmonet.model import ELMDeepONet

__all__ = [
    "in_words",
    "layers_not_used",
    "layers_on_leaderboard",
    "unaligned_in_words",
    "words_before_layers",
]

_FEW = 50  # functions, below which the choice is uncertain
_EXACT = 1e-8  # an error that is small enough for any use
_MATTERS = 1.3  # a factor between two errors that matters


def in_words(model: ELMDeepONet, search: Search, best: Trial, expected: Expected, repeats: Repeats) -> str:
    """The summary of a model that was chosen among many, with its expected error."""
    span = span_in_words(search.training)
    return "\n".join(
        [
            *_data(search, repeats, span),
            *_choice(model, search, best, expected),
            *noise_in_words(noise_of(search.training, repeats), expected.error),
            *_advice(search, best, expected, span),
        ]
    )


def words_before_layers(search: Search, best: Trial, compared: Comparison, repeats: Repeats) -> str:
    """What is said of the data and of the best global model, where layers are used."""
    return "\n".join(
        [
            *_data(search, repeats, span_in_words(search.training)),
            f"Chosen: layers that all points share. The best model without them, branch {best.candidate}, "
            f"has the error {compared.before:.3g} where they have {compared.error:.3g}.",
            *noise_in_words(noise_of(search.training, repeats), compared.error or 0.0),
        ]
    )


def layers_not_used(compared: Comparison) -> str:
    """That layers were tried, and why they are not used."""
    found = "no gain on few functions" if compared.error is None else f"error {compared.error:.3g}"
    return (
        f"Layers that all points share were tried for {compared.seconds:.1f} s and are not used: {found}, "
        f"against {compared.before:.3g} without."
    )


def layers_on_leaderboard(compared: Comparison, functions: int) -> dict[str, Any]:
    """The row of the layers on the leaderboard."""
    assert compared.model is not None
    return {
        "branch": f"{len(compared.model.layers_)} layers",
        "log_inputs": False,
        "scale_inputs": True,
        "log_outputs": False,
        "functions": functions,
        "error": compared.error,
        "alpha": compared.model.layers_[-1]["alpha"],
        "seconds": compared.seconds,
    }


def unaligned_in_words(model: ELMDeepONet, leaderboard: list[dict[str, Any]], training: Training) -> str:
    """The summary if outputs have gaps or are scattered."""
    best, others = leaderboard[0], leaderboard[1:]
    rivals = ", ".join(f"{trial['branch']} {trial['error']:.2g}" for trial in others[:4])
    trunk = model.trunk_
    gaps = "" if training.outputs.scattered else ", some of their values missing"
    return "\n".join(
        [
            f"Data: {best['functions']} functions, inputs {training.inputs.told}, outputs "
            f"{outputs_in_words(training.outputs)}{gaps}.",
            f"Chosen: branch {best['branch']}, trunk {trunk!r} of {trunk.width_} functions, alpha "
            f"{best['alpha']:.2g}.",
            f"Expected error on new functions drawn like these: {best['error']:.3g} (of functions held "
            "out, at the points where they are known).",
            f"Compared on {others[0]['functions']} functions, with a small trunk: {rivals}.",
        ]
    )


def _data(search: Search, repeats: Repeats, span: str) -> list[str]:
    inputs, outputs = search.training.inputs.told, outputs_in_words(search.training.outputs)
    lines = [f"Data: {len(search.X)} functions, inputs {inputs}, outputs {outputs}."]
    if search.training.groups is not None:
        lines.append(search.training.groups.told)
    if repeats.count:
        lines.append(
            f"{repeats.count} inputs repeat others: they were merged, so that leave-one-out leaves "
            f"them out together; their outputs differ by {repeats.spread:.2g} of their size."
        )
    return [*lines, span] if span else lines


def _choice(model: ELMDeepONet, search: Search, best: Trial, expected: Expected) -> list[str]:
    way = search.ways[best.way]
    seen = ["their logarithms"] * way["log_inputs"] + ["standardised"] * way["scale_inputs"]
    solution = model.solution_
    lines = [
        f"Chosen: branch {best.candidate}, inputs {' and '.join(seen) or 'as they are'}, "
        f"{'logarithms of the outputs' if way['log_outputs'] else 'outputs as they are'}, "
        f"{model.trunk_.width_} modes, alpha {solution.alpha:.2g}.",
        error_in_words(expected.error, expected.interval, kind_in_words(solution.error_kind))
        + " It does not hold for functions of another kind: predict warns of them, novelty() measures them.",
    ]
    others: dict[str, Trial] = {}
    for trial in sorted(search.trials, key=lambda trial: (-trial.functions, trial.error)):
        others.setdefault(trial.candidate.family, trial)
    told = [f"{t.candidate} {t.error:.2g} ({t.functions} functions)" for t in others.values()]
    return [*lines, "Best of each family: " + ", ".join(told[:6]) + "."]


def _advice(search: Search, best: Trial, expected: Expected, span: str) -> list[str]:
    """What would help most: more functions, more sensors, less noise?"""
    N = len(search.X)
    if expected.error < _EXACT:
        if span:
            return ["For such functions the data are enough. For others, add training functions like them."]
        return ["Nothing more is needed: the error is near the rounding of the numbers."]
    lines = []
    if N < _FEW:
        lines.append(
            f"With {N} functions the choice itself is uncertain (it hides an error of "
            f"{expected.hidden:.1g}, which is counted above): more functions would help most."
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
            lines.append("Every second sensor would be enough: more of them would not help.")
    return lines


def _more_functions(search: Search, best: Trial) -> list[str]:
    """From how the error fell with more functions, of the same kind of branch."""
    curve = learning_curve(search, best)
    if curve is None:
        return []
    n, N, rate = curve.n, curve.N, curve.rate
    if rate < 0.15:
        return [
            f"From {n} to {N} functions the error hardly fell: more of them would not help. What is left is "
            "noise, or what the sensors do not see; better measurements or more sensors might."
        ]
    return [
        f"From {n} to {N} functions the error fell from {curve.before:.2g} to {curve.now:.2g}: with twice "
        f"as many functions expect about {curve.now * 2.0**-rate:.2g}."
    ]
