"""`suggest` chooses what brute force chooses, and never what is known already."""

import json
import sys

import numpy as np
import pytest

from elmonet import AutoELMDeepONet, ELMDeepONet, InputError, LayeredELMDeepONet, Linear, cli, load
from elmonet.estimators.active_learning import _NOISE, _SCALE, most_informative, suggest
from elmonet.uncertainty.novelty import TrainingRecord

pytestmark = pytest.mark.numerics


def functions(n, m=12, seed=0):
    """Smooth functions: few waves of random size."""
    x = np.linspace(0, 1, m)
    waves = np.stack([np.sin((k + 1) * np.pi * x) / (k + 1) for k in range(5)])
    return np.random.default_rng(seed).normal(size=(n, 5)) @ waves


def matern52(X, Y):
    r = _SCALE * np.sqrt(((X[:, None] - Y) ** 2).mean(axis=2))
    return (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)


def variance(known, pool):
    """Of each function of the pool, from scratch."""
    K, k = matern52(known, known) + _NOISE * np.eye(len(known)), matern52(known, pool)
    return 1 - np.sum(k * np.linalg.solve(K, k), axis=0)


def by_brute_force(known, pool, n):
    taken = []
    for _ in range(n):
        known_and = [np.concatenate([known, pool[[*taken, j]]]) for j in range(len(pool))]
        taken.append(int(np.argmin([variance(more, pool).sum() for more in known_and])))
    return taken


def test_greedy_choice_is_that_of_brute_force():
    known, pool = functions(8), functions(40, seed=1)
    np.testing.assert_array_equal(most_informative(known, pool, 6), by_brute_force(known, pool, 6))


def test_a_part_of_a_large_pool_stands_for_all(monkeypatch):
    known, pool = functions(8), functions(60, seed=1)
    monkeypatch.setattr("elmonet.estimators.active_learning._MAX_ENTRIES", 0)
    monkeypatch.setattr("elmonet.estimators.active_learning._MIN_PART", 10)
    part = np.sort(np.random.default_rng(0).permutation(60)[:10])
    taken = []
    for _ in range(6):
        before, gain = variance(np.concatenate([known, pool[taken]]), pool), []
        for j in range(60):
            fall = before - variance(np.concatenate([known, pool[[*taken, j]]]), pool)
            gain.append(fall[j] + 59 * fall[part[part != j]].mean())
        taken.append(int(np.argmax(gain)))
    assert not set(taken) <= set(part.tolist())  # all candidates can be chosen
    np.testing.assert_array_equal(most_informative(known, pool, 6), taken)


@pytest.fixture(scope="module")
def model():
    u = functions(30)
    return ELMDeepONet(Linear(), random_state=0).fit(u, np.cumsum(u, axis=1))


def test_inputs_are_standardised_over_training_functions_and_pool(model):
    u, pool = functions(30), functions(40, seed=1)
    both = np.concatenate([u, pool])
    deviation = both.std(axis=0)
    X = (both - both.mean(axis=0)) / np.where(deviation > 1e-12, deviation, 1)
    np.testing.assert_array_equal(model.suggest(pool, n=5), by_brute_force(X[:30], X[30:], 5))


def test_neither_training_functions_nor_repeats_are_suggested(model):
    new = functions(15, seed=1)
    pool = np.concatenate([new, functions(30), new])
    found = model.suggest(pool, n=15)
    assert sorted(found) == list(range(15))
    with pytest.raises(InputError, match=r"n = 16 .* of the 60 candidates only 15 .* give more candidates"):
        model.suggest(pool, n=16)


def test_near_repeats_come_last(model):
    new = functions(4, seed=1)
    pool = np.concatenate([functions(30) * (1 + 1e-9), new, new * (1 + 1e-9)])
    found = model.suggest(pool, n=4)
    assert sorted((found - 30) % 4) == [0, 1, 2, 3]


# The last value of a function is zero up to rounding: in these units it might be a number of its own.
@pytest.mark.filterwarnings("ignore:column 11 of X varies")
def test_units_of_sensors_make_no_difference(model):
    u, pool = functions(30), functions(50, seed=1)
    factor = np.geomspace(1e-3, 1e3, 12)
    other = ELMDeepONet(Linear()).fit(u * factor, np.cumsum(u, axis=1))
    np.testing.assert_array_equal(model.suggest(pool), other.suggest(pool * factor))


def test_the_rare_are_suggested_from_an_uneven_pool(model):
    """90 % of the pool is near one function; a tenth of what is suggested would be random choice."""
    corner, even = functions(1, seed=5) + 0.1 * functions(180, seed=2), functions(20, seed=3)
    found = model.suggest(np.concatenate([corner, even]), n=10)
    assert np.sum(found >= 180) >= 8


def test_after_load_without_inputs_and_of_fits_in_blocks(model, tmp_path):
    pool = functions(40, seed=1)
    model.save(tmp_path / "with")
    np.testing.assert_array_equal(load(tmp_path / "with").suggest(pool), model.suggest(pool))
    model.save(tmp_path / "without", inputs=False)
    assert (tmp_path / "without").stat().st_size < (tmp_path / "with").stat().st_size - 8 * 30 * 12
    without = load(tmp_path / "without")
    assert without.is_training_function(functions(30)).all()
    with pytest.raises(InputError, match=r"inputs=False .*remember_inputs"):
        without.suggest(pool)
    without.remember_inputs(functions(30))
    np.testing.assert_array_equal(without.suggest(pool), model.suggest(pool))
    u = functions(30)
    in_blocks = ELMDeepONet(Linear()).partial_fit(u, np.cumsum(u, axis=1))
    with pytest.raises(InputError, match="a fit in blocks does not keep them"):
        in_blocks.suggest(pool)


def test_several_inputs_by_their_names():
    rng = np.random.default_rng(0)
    f, k = functions(30), rng.uniform(1, 2, size=(30, 1))
    model = ELMDeepONet(Linear()).fit({"f": f, "k": k}, np.cumsum(f, axis=1) * k, np.arange(12))
    pool = {"f": functions(50, seed=1), "k": rng.uniform(1, 2, size=(50, 1))}
    pool["f"][7], pool["k"][7] = f[3], k[3]
    found = model.suggest(pool, n=49)
    assert sorted(found) == [i for i in range(50) if i != 7]


def test_images_and_logarithms():
    u = np.exp(functions(30)).reshape(30, 3, 4)
    model = ELMDeepONet(Linear(), log_inputs=True).fit(u, u)
    plain = ELMDeepONet(Linear()).fit(np.log(u), u)
    pool = functions(50, seed=1).reshape(50, 3, 4)
    np.testing.assert_array_equal(model.suggest(np.exp(pool)), plain.suggest(pool))


def test_auto_and_layers_suggest_the_same_after_load_too(tmp_path):
    u, pool = functions(60, m=16), functions(50, m=16, seed=1)
    s = np.cumsum(u, axis=1)
    layered = LayeredELMDeepONet(layers=1, width=20, periodic=False, random_state=0).fit(u, s)
    auto = AutoELMDeepONet(layers=0, random_state=0, log_inputs=False).fit(u, s)
    found = ELMDeepONet(Linear()).fit(u, s).suggest(pool)
    for name, model in (("layered", layered), ("auto", auto)):
        np.testing.assert_array_equal(model.suggest(pool), found)
        model.save(tmp_path / name)
        np.testing.assert_array_equal(load(tmp_path / name).suggest(pool), found)
        model.save(tmp_path / name, inputs=False)
        with pytest.raises(InputError, match="inputs=False"):
            load(tmp_path / name).suggest(pool)


def test_of_very_many_training_functions_some_are_kept(model, monkeypatch):
    monkeypatch.setattr("elmonet.uncertainty.novelty._MAX_INPUTS", 50)
    u = functions(120)
    memory = TrainingRecord.of(u)
    assert memory.inputs.shape == (50, 12)
    assert memory.has(u).all()
    found = suggest(model.inputs_, memory, functions(20, seed=1), 3)
    assert len(set(found)) == 3


def test_on_the_command_line(model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pool = np.concatenate([functions(20, seed=1), functions(30)[:2]])
    model.save("operator.elmonet")
    np.savez("pool.npz", u=pool)
    expected = model.suggest(pool, n=3)

    def run(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["elmonet", "suggest", "operator.elmonet", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        assert end.value.code == code, printed
        return printed

    lines = run("pool.npz", "-n", "3").out.splitlines()
    assert lines[-3:] == [str(j) for j in expected]
    assert "2 training functions of the model among" in lines[0]
    told = json.loads(run("pool.npz", "-n", "3", "-o", "next.npz", "--json").out)
    assert told["indices"] == expected.tolist()
    assert (told["candidates"], told["training_functions"], told["wrote"]) == (22, 2, "next.npz")
    with np.load("next.npz") as written:
        np.testing.assert_array_equal(written["index"], expected)
        np.testing.assert_array_equal(written["u"], pool[expected])
    run("pool.npz", "-n", "3", "-o", "next.csv")
    np.testing.assert_array_equal(np.loadtxt("next.csv", delimiter=",", skiprows=1), expected)
    assert "only 20 are neither" in run("pool.npz", "-n", "21", code=1).err
    assert "is an input of this command" in run("pool.npz", "-o", "pool.npz", code=1).err
