"""One small run of all experiments, shared by the tests of the paper's reproduction."""

import pytest

from elmonet.paper import Effort, reproduce

TINY = Effort(
    functions=20,
    epochs=3,
    seconds=None,
    batch_size=None,
    trials=2,
    widths=(20, 50, 100),
    branch_widths=(10, 20, 40),
    darcy_p1=(30, 60),
    darcy_p2=(16, 24),
)


@pytest.fixture(scope="session")
def tiny():
    return TINY


@pytest.fixture(scope="session")
def results():
    pytest.importorskip("torch")  # trains the DeepONets that the paper compares with
    return reproduce(effort=TINY)
