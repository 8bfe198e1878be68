"""Summaries of an automatic choice: its accuracy, what would improve it, and what was chosen and why."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from elmonet.auto.candidates import Candidate, Transform
from elmonet.auto.diagnostics import Repeats, narrow_span, noise_facts, recommendations, relative_noise
from elmonet.auto.layers import Comparison
from elmonet.auto.search import Search, Trial
from elmonet.estimators.deeponet import ELMDeepONet
from elmonet.forms.training import Training
from elmonet.solve.streamed import ValidatedRidge
from elmonet.summary import Fact, Summary, percent, plural, rounded
from elmonet.uncertainty.error_estimate import ErrorEstimate

_LISTED_FAMILIES = 6  # families of branches whose best trial is listed


def summary_of_choice(
    model: ELMDeepONet, search: Search, best: Trial, expected: ErrorEstimate, repeats: Repeats
) -> Summary:
    """Return the summary of a model that was chosen among many candidates."""
    span, solution = narrow_span(search.training), model.solution_
    return Summary(
        error=(
            *expected.facts(),
            *_limitations(search, repeats, span, expected.error or 0.0),
        ),
        help=recommendations(search, best, expected, bool(span)),
        choice=_choice(search, best),
        details=(
            *_data(search, repeats),
            Fact("Output modes", str(model.trunk_.width_)),
            Fact("Ridge alpha", rounded(solution.alpha, 2)),
        ),
    )


def summary_before_layers(search: Search, best: Trial, compared: Comparison, repeats: Repeats) -> Summary:
    """Return what a model with layers reports of its data and of the best model without layers."""
    return Summary(
        error=_limitations(search, repeats, narrow_span(search.training), compared.error or 0.0),
        choice=(
            Fact("Model", "layers with weights shared by all points"),
            Fact("Without layers", f"error {percent(compared.before)}, with branch {best.candidate}"),
        ),
        details=_data(search, repeats),
    )


def layers_not_used(compared: Comparison) -> Fact:
    """Report that layers were tried, and why they are not used."""
    found = "no gain on few functions" if compared.error is None else f"error {percent(compared.error)}"
    trial = f"A trial of {compared.seconds:.1f} s gave {found}"
    return Fact("Layers", f"not used. {trial}; without layers {percent(compared.before)}")


def layers_on_leaderboard(compared: Comparison, functions: int) -> dict[str, Any]:
    """Return the row of the layers on the leaderboard."""
    assert compared.model is not None
    return {
        "branch": plural(len(compared.model.layers_), "layer"),
        "log_inputs": False,
        "scale_inputs": True,
        "log_outputs": False,
        "functions": functions,
        "error": compared.error,
        "alpha": compared.model.layers_[-1]["alpha"],
        "seconds": compared.seconds,
    }


@dataclass(frozen=True)
class FinishTrial:
    """A branch summed over some functions, with its error on held-out functions.

    width : number of landmarks or random features that were asked for.
    features : number of all features, p1.
    """

    candidate: Candidate
    width: int
    features: int
    functions: int
    error: float
    ridge: ValidatedRidge = field(repr=False)
    seconds: float

    def row(self, transform: Transform) -> dict[str, Any]:
        """Return the row of the leaderboard."""
        numbers = {"functions": self.functions, "error": self.error, "loo_error": self.error}
        more = {"alpha": self.ridge.alpha, "seconds": self.seconds}
        return {"branch": described(self.candidate, self.width), **transform.row(), **numbers, **more}


def described(candidate: Candidate, width: int) -> str:
    """Return a candidate with its number of features, as `Candidate` does."""
    if candidate.width or not candidate.has_scale:
        return str(replace(candidate, width=width) if candidate.width else candidate)
    return f"{candidate}, {width} landmarks"


@dataclass(frozen=True)
class LargeResult:
    """What a large fit chose, for its summary.

    functions, total : those that were summed, and all.
    """

    best: FinishTrial
    trials: list[FinishTrial]
    functions: int
    total: int
    searched: int
    grouping: str


def summary_of_large(model: ELMDeepONet, search: Search, best: Trial, result: LargeResult) -> Summary:
    """Return the summary of a model that was chosen on a sample and fitted to all of many functions."""
    fitted, finish = model._fitted(), result.best
    some = "" if result.functions == result.total else f" of {result.total:,}, for which there was time"
    tried = sorted(result.trials, key=lambda trial: (-trial.functions, trial.error))[:_LISTED_FAMILIES]
    rivals = [(t.error, f"{described(t.candidate, t.width)} on {t.functions:,} functions") for t in tried]
    searched = f"{plural(len(search.trials), 'candidate')} on up to {result.searched:,} functions of a sample"
    compared = f"{searched}; then {len(result.trials)}, by functions held out of larger samples:"
    return Summary(
        error=(
            *fitted.estimate.facts(),
            *((Fact("Groups", result.grouping),) if result.grouping else ()),
        ),
        choice=(
            Fact("Model", f"{described(finish.candidate, finish.width)}, {finish.candidate.description}"),
            _transforms(search, best),
            *_parts(search, search.transforms[best.transform]),
            Fact("Compared", "\n".join([compared, *_columns(rivals)])),
        ),
        details=(
            Fact("Training data", f"{result.functions:,} functions{some}, read in blocks"),
            Fact("Inputs", fitted.inputs.describe()),
            Fact("Outputs", fitted.outputs.describe()),
            Fact("Features", f"{finish.features:,}"),
            Fact("Output modes", str(model.trunk_.width_)),
            Fact("Ridge alpha", rounded(model.solution_.alpha, 2)),
        ),
    )


def summary_of_unaligned(
    model: ELMDeepONet, leaderboard: list[dict[str, Any]], training: Training
) -> Summary:
    """Return the summary of a model for outputs with gaps or at scattered points."""
    best, *others = leaderboard
    compared = others or leaderboard
    rivals = _columns([(trial["error"], trial["branch"]) for trial in compared[:4]])
    gaps = [] if training.outputs.scattered else [Fact("Gaps", "some output values are missing")]
    tried = f"on {plural(compared[0]['functions'], 'function')}, with a small trunk:"
    return Summary(
        error=(
            *ErrorEstimate(best["error"], None, "held out").facts(),
            Fact("Evaluated at", "the points where the held-out functions are known"),
        ),
        choice=(Fact("Model", str(best["branch"])), Fact("Compared", "\n".join([tried, *rivals]))),
        details=(
            *_functions(best["functions"], training),
            *gaps,
            Fact("Trunk", f"{model.trunk_!r}, {plural(model.trunk_.width_, 'function')}"),
            Fact("Ridge alpha", rounded(best["alpha"], 2)),
        ),
    )


def _limitations(search: Search, repeats: Repeats, span: str, error: float) -> tuple[Fact, ...]:
    """Report what the expected error does not show: groups, other functions, noise."""
    groups = search.training.groups
    return (
        *([] if groups is None else [Fact("Groups", groups.reason)]),
        *([Fact("Limitation", span)] if span else []),
        *noise_facts(relative_noise(search.training, repeats), error),
    )


def _data(search: Search, repeats: Repeats) -> tuple[Fact, ...]:
    data = _functions(len(search.X), search.training)
    if not repeats.count:
        return data
    merged = f"{repeats.count} inputs repeat others and were merged with them"
    if repeats.count == 1:
        merged = "1 input repeats another and was merged with it"
    spread = f"outputs of the same input differ by {percent(repeats.spread, 2)} of their size"
    return *data, Fact("Repeats", f"{merged}; {spread}")


def _functions(count: int, training: Training) -> tuple[Fact, ...]:
    return (
        Fact("Training data", plural(count, "function")),
        Fact("Inputs", training.inputs.describe()),
        Fact("Outputs", training.outputs.describe()),
    )


def _transforms(search: Search, best: Trial) -> Fact:
    transform = search.transforms[best.transform]
    inputs = ["logarithm"] * (bool(transform.logarithms) and not transform.learned)
    inputs += ["standardised"] * transform.scale_inputs
    inputs += ["a metric from the gradients of a fit"] * (transform.metric is not None)
    outputs = "logarithm" if transform.log_outputs else "unchanged"
    return Fact("Transforms", f"inputs: {', '.join(inputs) or 'unchanged'}; outputs: {outputs}")


def _choice(search: Search, best: Trial) -> tuple[Fact, ...]:
    families: dict[str, Trial] = {}
    for trial in sorted(search.trials, key=lambda trial: (-trial.functions, trial.error)):
        families.setdefault(trial.candidate.family, trial)
    rivals = []
    for t in families.values():
        fewer = f" on {t.functions} functions" if t.functions < best.functions else ""
        rivals.append((t.stated_error, f"{t.candidate}{fewer}"))
    tried = f"{plural(len(search.trials), 'candidate')}. The best of each family:"
    return (
        Fact("Model", f"{best.candidate}, {best.candidate.description}"),
        _transforms(search, best),
        *_parts(search, search.transforms[best.transform]),
        Fact("Compared", "\n".join([tried, *_columns(rivals[:_LISTED_FAMILIES])])),
    )


def _parts(search: Search, transform: Transform) -> tuple[Fact, ...]:
    """Report how each part of the inputs is seen, and how much it matters; parts that have no names."""
    facts = []
    parts = transform.parts or ()
    if transform.learned and sum(part.groups for part in parts) > 1:
        largest = max(max(part.relevance) for part in parts) or 1.0
        lines = []
        for part in sorted(parts, key=lambda part: -max(part.relevance)):
            each = " and ".join(f"{r / largest:.2g}" for r in part.relevance)
            if any(part.relevance):
                lines.append(f"{part.name or 'input'}: {part.describe()}, relevance {each}")
        hidden = [part.name for part in parts if not any(part.relevance)]
        if hidden:
            lines.append(f"left out, since the outputs do not depend on them: {', '.join(hidden)}")
        facts.append(Fact("Parts of the inputs", "\n".join(lines)))
    if search.training.inputs.names is None and len(parts) > 1 and any(part.size > 1 for part in parts):
        found = ", ".join(part.name for part in parts)
        word = "were found by their correlations. Give a dictionary of named arrays to be sure"
        facts.append(Fact("Columns", f"{found} {word}"))
    return tuple(facts)


def _columns(rivals: list[tuple[float, str]]) -> list[str]:
    """Return lines of two columns, errors and what has them."""
    errors = [percent(error) for error, _ in rivals]
    width = max(map(len, errors))
    return [f"{error:>{width}}  {rival}" for error, (_, rival) in zip(errors, rivals, strict=True)]
