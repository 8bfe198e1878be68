"""Dask: the same as in memory, on threads, on processes, and when a worker dies."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from elmonet import SLFN, AutoELMDeepONet, ELMDeepONet, InputError, Linear, Ridge, Sinusoid, problems
from elmonet.auto import comparison, large
from elmonet.auto import model as auto_model
from elmonet.fitting.executors import OnDask

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def data():
    return problems.nonlinear_ode(n_train=600, n_test=20)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def model(solver=None, trunk=None):
    return ELMDeepONet(Linear() + SLFN(60, "tanh", 0.5), trunk, solver, random_state=0)


def lazily(data, rows=90, pause=0.0):
    """Dask arrays of the data; reading a block of the inputs takes a while."""

    def slow(block):
        time.sleep(pause)
        return block

    u, s = (da.from_array(A, chunks=(rows, A.shape[1])) for A in (data.u_train, data.s_train))
    return (u.map_blocks(slow) if pause else u), s


def difference(a, b, u):
    first, second = np.asarray(a.predict(u)), np.asarray(b.predict(u))
    return np.linalg.norm(first - second) / np.linalg.norm(second)


@pytest.mark.parametrize("sums", ["gram", "tsqr"])
@pytest.mark.parametrize("trunk", [None, Sinusoid(16)])
def test_threads(data, sums, trunk):
    whole = model(Ridge(1e-4), trunk).fit(data.u_train, data.s_train, points=data.points)
    lazy = model(Ridge(1e-4, sums=sums), trunk).fit(*lazily(data), points=data.points)
    assert difference(lazy, whole, data.u_test) < (1e-8 if sums == "gram" else 1e-10)
    assert lazy.solution_.method == sums


def test_blocks_of_another_kind(data):
    """Columns in chunks, rows of inputs and outputs in different ones."""
    u = da.from_array(data.u_train, chunks=(100, 30))
    s = da.from_array(data.s_train, chunks=(250, 100))
    whole = model(Ridge(1e-4)).fit(data.u_train, data.s_train, points=data.points)
    assert difference(model(Ridge(1e-4)).fit(u, s, points=data.points), whole, data.u_test) < 1e-8


def test_leave_one_out(data):
    noisy = data.s_train + 0.01 * np.random.default_rng(0).normal(size=data.s_train.shape)
    lazy = model().fit(lazily(data)[0], da.from_array(noisy, chunks=(90, 100)), points=data.points)
    whole = model(Ridge(lazy.solution_.alpha)).fit(data.u_train, noisy, points=data.points)
    assert lazy.solution_.loo_error == pytest.approx(whole.solution_.loo_error, rel=1e-6)


def test_processes(data, client):
    whole = model(Ridge(1e-4)).fit(data.u_train, data.s_train, points=data.points)
    assert difference(model(Ridge(1e-4)).fit(*lazily(data), points=data.points), whole, data.u_test) < 1e-8


def test_a_killed_worker_changes_nothing(data, client):
    whole = model(Ridge(1e-4)).fit(data.u_train, data.s_train, points=data.points)
    before = set(client.run(os.getpid).values())

    def kill():
        time.sleep(1.0)  # in the middle: the blocks below take about five seconds
        os.kill(min(before), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    survived = model(Ridge(1e-4, sums="gram")).fit(*lazily(data, rows=30, pause=0.2), points=data.points)
    killer.join()
    assert difference(survived, whole, data.u_test) < 1e-8
    client.wait_for_workers(2)
    assert set(client.run(os.getpid).values()) != before


def test_a_worker_that_is_killed_during_the_finish_of_a_choice(data, client, monkeypatch):
    """Everything is chosen on a sample; the sums of all functions survive the loss of a worker."""
    for module in (large, auto_model):
        monkeypatch.setattr(module, "LARGE", 300)
    for name in ("_SEARCHED", "_HELD_OUT"):
        monkeypatch.setattr(large, name, 60)
    for name, value in (("_WIDTHS", (20, 20, 20)), ("_WIDEST", 40)):
        monkeypatch.setattr(comparison, name, value)
    u, s = lazily(data, rows=30)
    whole = AutoELMDeepONet(random_state=0).fit(u, s, points=data.points)
    before, reduce, killers = set(client.run(os.getpid).values()), OnDask.reduce, []

    def kill():
        time.sleep(0.3)
        os.kill(min(before), signal.SIGKILL)

    def watched(self, what, task, **more):
        if what == "summing up":
            killers.append(threading.Thread(target=kill))
            killers[0].start()
            self.u = self.u.map_blocks(lambda block: (time.sleep(0.1), block)[1])
        return reduce(self, what, task, **more)

    monkeypatch.setattr(OnDask, "reduce", watched)
    survived = AutoELMDeepONet(random_state=0).fit(u, s, points=data.points)
    killers[0].join()
    assert difference(survived, whole, data.u_test) < 1e-8
    client.wait_for_workers(2)
    assert set(client.run(os.getpid).values()) != before


def test_predictions_are_lazy(data):
    fitted = model().fit(data.u_train, data.s_train, points=data.points)
    predicted = fitted.predict(lazily(data)[0])
    assert isinstance(predicted, da.Array)
    assert predicted.shape == (600, 100)
    np.testing.assert_allclose(predicted.compute(), fitted.predict(data.u_train), rtol=1e-12)


def test_wrong_blocks(data):
    u, s = lazily(data)
    s = da.from_array(np.where(np.arange(600)[:, None] == 431, np.nan, data.s_train), chunks=(90, 100))
    with pytest.raises(InputError, match="function 431"):
        model(Ridge(1e-4)).fit(u, s, points=data.points)
    with pytest.raises(InputError, match="the same number of functions"):
        model().fit(u, s[:500], points=data.points)
    with pytest.raises(InputError, match="compute_chunk_sizes"):
        model().fit(u[u[:, 0] > 0], s, points=data.points)


def test_shapes_of_predictions_and_of_outputs_that_are_not_rows():
    data = problems.nonlinear_ode(n_train=60, n_test=20)
    both = np.stack([data.s_train, data.s_train**2], axis=-1)
    u = da.from_array(data.u_test, chunks=(7, 100))
    fitted = ELMDeepONet(SLFN(30), random_state=0).fit(data.u_train, both, points=data.points)
    for points in (None, [[0.2], [0.4], [0.7]]):
        predicted = fitted.predict(u, points)
        expected = fitted.predict(data.u_test, points)
        assert predicted.shape == expected.shape
        np.testing.assert_allclose(predicted.compute(), expected)
    lazy = ELMDeepONet(SLFN(30), solver=Ridge(1e-4), random_state=0).fit(
        da.from_array(data.u_train, chunks=(7, 100)), da.from_array(both), points=data.points
    )
    whole = ELMDeepONet(SLFN(30), solver=Ridge(1e-4), random_state=0).fit(
        data.u_train, both, points=data.points
    )
    # Components are divided by the size that the first functions have, so that the penalty differs a little.
    np.testing.assert_allclose(lazy.predict(data.u_test), whole.predict(data.u_test), atol=1e-3)
