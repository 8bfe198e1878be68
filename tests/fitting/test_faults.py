"""Things that go wrong in the middle of a long fit: killed, disk full, a truncated file."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from elmonet import SLFN, ELMDeepONet, InputError, Linear, Ridge, fit_blocks, load, problems
from elmonet.data.lazy import Blocks
from elmonet.fitting.executors import OnThreads

SCRIPT = """
import sys, time
import numpy as np
import elmonet.fitting.checkpoint, elmonet.memory, elmonet.fitting.executors
from elmonet import SLFN, ELMDeepONet, Linear, Ridge, fit_blocks, problems

elmonet.fitting.checkpoint._SECONDS_BETWEEN_WRITES = 0.0
elmonet.memory._MOST_ROWS = 20
elmonet.fitting.executors._BLOCKS_PER_ROUND = 1

class Slow:
    def __init__(self, array, seconds):
        self.array, self.shape, self.dtype, self.seconds = array, array.shape, array.dtype, seconds
    def __getitem__(self, rows):
        time.sleep(self.seconds)
        return self.array[rows]

data = problems.nonlinear_ode(n_train=600, n_test=5)
model = ELMDeepONet(Linear() + SLFN(20, "tanh"), solver=Ridge(1e-4), scale_inputs=False, random_state=0)
seconds, checkpoint, out = sys.argv[1:]
u = Slow(data.u_train, float(seconds))
fit_blocks(model, u, data.s_train, data.points, checkpoint=checkpoint, workers=1).save(out)
"""


def run(seconds, folder, **options):
    command = [sys.executable, "-c", SCRIPT, str(seconds), str(folder / "fit.ckpt"), str(folder / "model")]
    return subprocess.Popen(command, stderr=subprocess.PIPE, **options)


def whole():
    data = problems.nonlinear_ode(n_train=600, n_test=5)
    model = ELMDeepONet(Linear() + SLFN(20, "tanh"), solver=Ridge(1e-4), scale_inputs=False, random_state=0)
    return model.fit(data.u_train, data.s_train, points=data.points), data


def test_killed_again_and_again(tmp_path):
    """Each time it is killed at another moment, perhaps while it writes: the file is whole or not there."""
    checkpoint = tmp_path / "fit.ckpt"
    for wait in (0.15, 0.4):
        process = run(0.05, tmp_path)
        deadline = time.monotonic() + 60
        while not checkpoint.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(wait)
        process.kill()
        process.communicate()
        assert checkpoint.exists()
    process = run(0.0, tmp_path)
    _, complaint = process.communicate(timeout=120)
    assert process.returncode == 0, complaint.decode()
    reference, data = whole()
    missed = load(tmp_path / "model").predict(data.u_test) - reference.predict(data.u_test)
    assert np.linalg.norm(missed) < 1e-8 * np.linalg.norm(data.s_test)
    assert not checkpoint.exists()


def test_a_full_disk(tmp_path):
    """No file may grow beyond 20 kB: a clear error, and nothing half-written is left."""
    resource = pytest.importorskip("resource")  # not on Windows

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    process = run(0.0, tmp_path, preexec_fn=limited)
    _, complaint = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "File too large" in complaint.decode()
    assert list(tmp_path.iterdir()) == []


def test_a_truncated_file(tmp_path):
    data = problems.antiderivative(n_train=400, n_test=5)
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "data.h5", "w") as file:
        for name, array in (("u", data.u_train), ("s", data.s_train)):
            file.create_dataset(name, data=array, chunks=(50, 100), compression="gzip")
        offset = file["s"].id.get_chunk_info(5).byte_offset
    with open(tmp_path / "data.h5", "r+b") as file:
        file.seek(offset)
        file.write(b"\0" * 200)  # the sixth block
    with (
        h5py.File(tmp_path / "data.h5") as file,
        pytest.raises(InputError, match="y cannot be read from function"),
    ):
        fit_blocks(ELMDeepONet(SLFN(20)), file["u"], file["s"], data.points)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no such signal on Windows")
def test_ctrl_c_ends_all_threads_with_their_block():
    """Each of two threads is given sixteen blocks; the signal comes during the third."""
    added = []

    class Counted:
        needs_outputs = True

        def empty(self):
            return None

        def add(self, part, start, X, y):
            added.append(start)
            if len(added) == 3:
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            time.sleep(0.02)

    blocks = Blocks(np.zeros((1000, 2)), np.zeros((1000, 2)), 10)
    source = OnThreads(blocks, 2, None)
    with pytest.raises(KeyboardInterrupt):
        source.reduce("", Counted())
    assert 3 <= len(added) < 16
