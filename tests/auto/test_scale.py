"""The search for the best scale, on errors whose minimum is known."""

from itertools import pairwise

import numpy as np
import pytest

from elmonet.auto.candidates import falls_downwards, next_scale
from elmonet.auto.search import _rounds


def search(function, scales, steps):
    scales = list(scales)
    for _ in range(steps):
        scale = next_scale(scales, [function(s) for s in scales])
        if scale is None:
            break
        scales.append(scale)
    return min(scales, key=function)


@pytest.mark.parametrize("least", [0.02, 0.5, 7.0])
def test_finds_the_vertex_from_one_scale_or_a_grid(least):
    def error(scale):
        return np.exp(np.log(scale / least) ** 2)

    assert search(error, [0.03, 0.1, 0.3, 1.0, 3.0], 4) == pytest.approx(least, rel=0.05)
    assert search(error, [least * 1.2], 4) == pytest.approx(least, rel=0.1)


def test_a_parabola_is_exact():
    scales = [0.1, 0.2, 0.8]
    errors = [np.exp(np.log(s / 0.25) ** 2) for s in scales]
    assert next_scale(scales, errors) == pytest.approx(0.25)


def test_stops_where_nothing_is_to_gain():
    assert next_scale([0.5, 1.0, 2.0], [2.0, 1.0, 2.0]) is None  # the vertex is known
    assert np.isfinite(next_scale([1.0], [0.0]))


@pytest.mark.parametrize("least", [0.05, 0.2])
def test_the_first_step_goes_to_the_side_of_the_minimum(least):
    """What an earlier round knows of the scales saves a trial: of a parabola, the side is exact."""
    scales = [0.03, 0.1, 0.3]
    down = falls_downwards(scales, [np.exp(np.log(s / least) ** 2) for s in scales])
    assert down == (least < 0.1)
    assert (next_scale([0.1], [1.0], down=down) < 0.1) == down
    assert falls_downwards([0.1, 0.3], [1.0, 2.0])  # nothing is known below
    assert not falls_downwards([0.1, 0.3], [2.0, 1.0])
    assert not falls_downwards([0.1], [1.0])


@pytest.mark.parametrize("n", [1, 300, 450, 451, 1000, 2000, 4000])
def test_rounds_about_double(n):
    sizes = _rounds(n)
    assert sizes[-1] == n
    assert len(sizes) == 1 or sizes[0] == 300
    assert all(1.4 < after / before < 2.9 for before, after in pairwise(sizes))
