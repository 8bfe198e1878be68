"""What was chosen and why, in words."""

from __future__ import annotations

from typing import Any

from elmonet.auto.diagnostics import Repeats, advice, noise_in_words, noise_of, span_in_words
from elmonet.auto.error_estimate import Expected
from elmonet.auto.layers import Comparison
from elmonet.auto.search import Search, Trial
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.forms.training import Training
from elmonet.summary import Fact, Summary, percent
from elmonet.uncertainty.error_estimate import ErrorEstimate

__all__ = [
    "in_words",
    "layers_not_used",
    "layers_on_leaderboard",
    "unaligned_in_words",
    "words_before_layers",
]

_FAMILIES = 6  # whose best are named


def in_words(
    model: ELMDeepONet, search: Search, best: Trial, expected: Expected, repeats: Repeats
) -> Summary:
    """The summary of a model that was chosen among many, with its expected error."""
    span, solution = span_in_words(search.training), model.solution_
    return Summary(
        error=(
            *ErrorEstimate(expected.error, expected.interval, solution.error_kind).facts(),
            *_limits(search, repeats, span, expected.error),
        ),
        help=advice(search, best, expected, bool(span)),
        choice=_choice(search, best),
        details=(
            *_data(search, repeats),
            Fact("Output modes", str(model.trunk_.width_)),
            Fact("Ridge alpha", f"{solution.alpha:.2g}"),
        ),
    )


def words_before_layers(search: Search, best: Trial, compared: Comparison, repeats: Repeats) -> Summary:
    """What is said of the data and of the best global model, where layers are used."""
    return Summary(
        error=_limits(search, repeats, span_in_words(search.training), compared.error or 0.0),
        choice=(
            Fact("Model", "layers that all points share"),
            Fact("Without layers", f"error {percent(compared.before)}, with branch {best.candidate}"),
        ),
        details=_data(search, repeats),
    )


def layers_not_used(compared: Comparison) -> Fact:
    """That layers were tried, and why they are not used."""
    found = "no gain on few functions" if compared.error is None else f"error {percent(compared.error)}"
    return Fact(
        "Layers",
        f"not used. Tried for {compared.seconds:.1f} s: {found}; without layers {percent(compared.before)}",
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


def unaligned_in_words(model: ELMDeepONet, leaderboard: list[dict[str, Any]], training: Training) -> Summary:
    """The summary if outputs have gaps or are scattered."""
    best, others = leaderboard[0], leaderboard[1:]
    rivals = _ranked([(trial["error"], trial["branch"]) for trial in others[:4]])
    gaps = [] if training.outputs.scattered else [Fact("Gaps", "some output values are missing")]
    tried = f"on {others[0]['functions']} functions, with a small trunk:"
    return Summary(
        error=(
            *ErrorEstimate(best["error"], None, "held out").facts(),
            Fact("Measured", "at the points where these functions are known"),
        ),
        choice=(Fact("Model", str(best["branch"])), Fact("Compared", "\n".join([tried, *rivals]))),
        details=(
            *_functions(best["functions"], training),
            *gaps,
            Fact("Trunk", f"{model.trunk_!r}, {model.trunk_.width_} functions"),
            Fact("Ridge alpha", f"{best['alpha']:.2g}"),
        ),
    )


def _limits(search: Search, repeats: Repeats, span: str, error: float) -> tuple[Fact, ...]:
    """What the expected error does not tell: groups, other functions, noise."""
    groups = search.training.groups
    return (
        *([] if groups is None else [Fact("Groups", groups.reason)]),
        *([Fact("Cannot be known", span)] if span else []),
        *noise_in_words(noise_of(search.training, repeats), error),
    )


def _data(search: Search, repeats: Repeats) -> tuple[Fact, ...]:
    data = _functions(len(search.X), search.training)
    if not repeats.count:
        return data
    merged = (
        f"{repeats.count} inputs repeat others and were merged with them. Their outputs differ by "
        f"{percent(repeats.spread, 2)} of their size"
    )
    return *data, Fact("Repeats", merged)


def _functions(count: int, training: Training) -> tuple[Fact, ...]:
    return (
        Fact("Training data", f"{count} functions"),
        Fact("Inputs", training.inputs.describe()),
        Fact("Outputs", training.outputs.describe()),
    )


def _choice(search: Search, best: Trial) -> tuple[Fact, ...]:
    way = search.ways[best.way]
    seen = ["logarithms"] * way["log_inputs"] + ["centred and scaled"] * way["scale_inputs"]
    outputs = "logarithms" if way["log_outputs"] else "as they are"
    others: dict[str, Trial] = {}
    for trial in sorted(search.trials, key=lambda trial: (-trial.functions, trial.error)):
        others.setdefault(trial.candidate.family, trial)
    rivals = [
        (t.error, f"{t.candidate}" + (f" on {t.functions} functions" if t.functions < best.functions else ""))
        for t in others.values()
    ]
    tried = f"{len(search.trials)} candidates. The best of each kind:"
    return (
        Fact("Model", f"{best.candidate}, {best.candidate.explained}"),
        Fact("Data used as", f"inputs: {', '.join(seen) or 'as they are'}; outputs: {outputs}"),
        Fact("Compared", "\n".join([tried, *_ranked(rivals[:_FAMILIES])])),
    )


def _ranked(rivals: list[tuple[float, str]]) -> list[str]:
    """Errors and what has them, in two columns."""
    errors = [percent(error) for error, _ in rivals]
    width = max(map(len, errors))
    return [f"{error:>{width}}  {rival}" for error, (_, rival) in zip(errors, rivals, strict=True)]
