"""Comparisons of finishes, on errors that are known at every scale and width."""

from types import SimpleNamespace

import numpy as np
import pytest

from elmonet.auto import comparison
from elmonet.auto.candidates import Candidate
from elmonet.auto.comparison import FinishComparison
from elmonet.auto.summary import FinishTrial

SENSORS = 100


def best_scale(width):
    """The best scale grows with the number of features."""
    return 0.05 * (width / 1000) ** 0.6


def smooth_kernel(candidate, width):
    """Errors are least at the best scale; a small one has few features, and an error that they limit."""
    features = int(min(width, width * candidate.scale / (0.7 * best_scale(width))))
    away = np.log(candidate.scale / best_scale(width))
    return features, 1e-3 * (1000 / width) ** 2 * (1 + 3 * away**2) * (1.0 if candidate.linear else 2.5)


@pytest.fixture
def compare(monkeypatch):
    """Return a function that compares by a known surface of (features, error)."""

    def compare(surface, begin, *, functions=10**6, rest=15_000, left=lambda: (np.inf, np.inf)):
        def tried(self, candidate, width, on):
            features, error = surface(candidate, width)
            features += candidate.linear * SENSORS
            seconds = 1e-10 * on * features**2
            ridge = SimpleNamespace(relative=1e-12)
            self.trials.append(FinishTrial(candidate, width, features, on, error, ridge, seconds))
            return self.trials[-1]

        monkeypatch.setattr(FinishComparison, "_try", tried)
        sample = SimpleNamespace(rest=np.arange(rest), inputs=SimpleNamespace(shape=(SENSORS,)), workers=2)
        trials = [
            SimpleNamespace(candidate=c, transform=0, functions=1000, error=i) for i, c in enumerate(begin)
        ]
        search = SimpleNamespace(trials=trials)
        own = FinishComparison(sample, functions, search, trials[0], left=left, tell=lambda what, part: None)
        return own.run(), own.trials

    return compare


@pytest.mark.parametrize("scale", [0.01, 0.02, 0.05, 0.2])
@pytest.mark.parametrize("linear", [False, True])
def test_the_finish_has_the_scale_of_its_own_width(compare, scale, linear):
    found, trials = compare(smooth_kernel, [Candidate("rbf", scale, linear)])
    assert found.width == 4000
    assert found.candidate.linear
    assert 1 / 1.5 < found.candidate.scale / best_scale(4000) < 1.5
    assert found.error == min(trial.error for trial in trials)
    assert len(trials) < 20


def test_a_larger_error_does_not_end_the_path_while_features_are_missing(compare):
    """Errors grow with the scale until it has all features, and fall then."""

    def bump(candidate, width):
        features, error = smooth_kernel(candidate, width)
        missing = features < 0.9 * width
        return features, 1e-2 * (1 + candidate.scale) if missing else error

    found, _ = compare(bump, [Candidate("rbf", 0.005, True)])
    assert 1 / 1.5 < found.candidate.scale / best_scale(4000) < 1.5


def test_features_that_gain_nothing_are_not_taken(compare):
    found, _ = compare(lambda candidate, width: (width, 0.1), [Candidate("matern52", 1.0, False)])
    assert found.width == 500
    found, _ = compare(
        lambda candidate, width: (width, 0.1 if width < 4000 else 0.12 if width == 4000 else 1.0),
        [Candidate("matern52", 1.0, False)],
    )
    assert found.error == 0.1


@pytest.mark.parametrize("functions", [10_000, 100_000, 1_000_000])
def test_more_functions_have_no_fewer_features(compare, functions):
    rest = min(functions - 1000, 15_000)
    found, _ = compare(smooth_kernel, [Candidate("rbf", 0.05, True)], functions=functions, rest=rest)
    assert found.width == comparison._WIDEST


def test_with_little_time_there_are_fewer_trials_and_features(compare):
    every = compare(smooth_kernel, [Candidate("rbf", 0.05, True)])[1]
    spent = iter(range(10**6))

    def left():  # seconds for comparisons, and for the finish of a million functions
        used = 0.1 * next(spent)
        return 2.0 - used, 500.0 - used

    found, trials = compare(smooth_kernel, [Candidate("rbf", 0.05, True)], left=left)
    assert len(trials) < len(every)
    # 2 passes over 10^6 functions at 1e-10 p^2 each, in 500 s: p = 1580
    assert max(trial.width for trial in trials) <= found.width <= 1600
