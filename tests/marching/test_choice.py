"""Which candidates the choice of a step goes on to try."""

import numpy as np

from elmonet.marching.choice import StepCandidate, StepSearch
from elmonet.marching.records import Records
from elmonet.marching.step import Settings


def searched(*candidates):
    """Return a search over 12 records of 500 steps that has found errors of some settings."""
    u = list(np.random.default_rng(0).normal(size=(12, 500, 1)))
    records = Records(u, u, np.empty((12, 0)), np.arange(12), 1.0, 0.0, level=np.zeros(1))
    search = StepSearch(records)
    search.candidates = [
        StepCandidate(settings, alpha, np.full(12, error), 1, 0.0) for settings, alpha, error in candidates
    ]
    return search


def test_wide_features_of_each_kind_among_the_best_and_a_scale_between():
    search = searched(
        (Settings(3, 4, "cubic"), 1e-10, 0.1),
        (Settings(3, 4, "tanh", 300, 0.1), 1e-12, 0.11),
        (Settings(3, 4, "hysteretic", 600, 0.1), 1e-8, 0.05),
        (Settings(3, 4, "hysteretic", 600, 0.03), 1e-12, 0.06),
        (Settings(4, 4, "hysteretic", 600, 0.3), 1e-12, 0.055),
    )
    between = float(np.sqrt(0.1 * 0.03))
    wide = [Settings(3, 4, "hysteretic", 1000, 0.1), Settings(3, 4, "hysteretic", 1000, between)]
    assert search._wide() == wide  # the tanh features err more than twice as much
    assert search._alphas(wide[0]) == (1e-12, 1e-10, 1e-8, 1e-6)  # around that of 600, mostly below


def test_no_wide_features_where_random_ones_are_not_among_the_best():
    search = searched((Settings(3, 4, "cubic"), 1e-10, 0.01), (Settings(3, 4, "tanh", 300, 0.1), 1e-12, 0.03))
    assert search._wide() == []
