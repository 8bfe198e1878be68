"""The trained DeepONet: the sizes of the paper, budget, history, and that it learns."""

import subprocess
import sys

import numpy as np
import pytest

from elmonet import InputError, NotFittedError, baselines, problems, relative_l2
from elmonet.baselines import DeepONet
from elmonet.paper.models import PROBLEMS, TRAINED, printed_row

torch = pytest.importorskip("torch")

SMALL = {"branch": (16, 16), "trunk": (16, 16)}


@pytest.fixture(scope="module")
def data():
    return problems.antiderivative(n_train=40, n_test=10)


def fit(data, **settings):
    model = DeepONet(**{**SMALL, "epochs": 5, **settings})
    return model.fit(data.u_train, data.s_train, data.points, validation=(data.u_test, data.s_test))


@pytest.mark.parametrize(
    ("problem", "model", "count"),
    [
        ("antiderivative", "DeepONet M1", 23_232),
        ("nonlinear_ode", "DeepONet M2", 289_536),
        ("darcy", "DeepONet MLP", 181_760),
        ("darcy", "DeepONet CNN", 67_680),
        ("inverse_source", "DeepONet", 23_232),
    ],
)
def test_has_as_many_parameters_as_the_paper_says(problem, model, count):
    data = PROBLEMS[problem](n_train=3, n_test=2)
    network = DeepONet(**TRAINED[problem][model], epochs=1).fit(data.u_train, data.s_train, data.points)
    assert network.n_parameters_ == count
    printed = 1000 * int(printed_row(problem, model)["parameters"].removesuffix("K"))
    assert abs(count - printed) < 1000
    assert network.predict(data.u_test).shape == data.s_test.shape


def test_one_epoch_is_one_step_of_adam_on_the_mean_squared_error(data):
    """By hand: Adam's first step moves a weight by the learning rate, against its gradient's sign."""
    model = fit(data, epochs=2, learning_rate=1e-4)  # the loss falls, so the weights between the two are kept
    torch.manual_seed(0)
    branch = [torch.nn.Linear(100, 16), torch.nn.Linear(16, 16)]
    trunk = [torch.nn.Linear(1, 16), torch.nn.Linear(16, 16)]
    u, s, points = (torch.tensor(A, dtype=torch.float32) for A in (data.u_train, data.s_train, data.points))

    def loss():
        b = branch[1](torch.relu(branch[0](u)))
        t = trunk[1](torch.relu(trunk[0](points)))
        return ((b @ t.T - s) ** 2).mean()

    loss().backward()
    layers = [
        model.network_.branch[1],
        model.network_.branch[3],
        model.network_.trunk[0],
        model.network_.trunk[2],
    ]
    for layer, by_hand in zip(layers, [*branch, *trunk], strict=True):
        gradient = by_hand.weight.grad
        clear = gradient.abs() > 1e-5
        by_hand.weight.data -= 1e-4 * torch.sign(gradient)
        by_hand.bias.data -= 1e-4 * torch.sign(by_hand.bias.grad)
        torch.testing.assert_close(layer.weight[clear], by_hand.weight[clear], rtol=0, atol=2e-6)
    assert model.history_.loss[-1] == pytest.approx(loss().item(), rel=1e-3)


def test_learns(data):
    model, beginner = fit(data, epochs=300), fit(data, epochs=1)
    after, before = (relative_l2(m.predict(data.u_train), data.s_train) for m in (model, beginner))
    assert after < 0.3 * before
    assert model.epochs_ == 300
    assert model.stopped_ == "epochs"


def test_the_same_seed_gives_the_same_bits_and_leaves_the_global_one_alone(data):
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    first, second, other = fit(data), fit(data), fit(data, random_state=1)
    assert torch.equal(torch.rand(1), expected)
    np.testing.assert_array_equal(first.predict(data.u_test), second.predict(data.u_test))
    assert not np.array_equal(first.predict(data.u_test), other.predict(data.u_test))


def test_budgets(data):
    assert fit(data, seconds=1e-9).stopped_ == "seconds"
    assert fit(data, seconds=1e-9).epochs_ == 1
    # With a learning rate of nothing the loss never falls again.
    patient = fit(data, learning_rate=1e-30, patience=3, epochs=100)
    assert (patient.stopped_, patient.epochs_) == ("patience", 4)


def test_a_run_that_diverges_keeps_its_best_weights(data):
    wild = fit(data, learning_rate=1e30, epochs=50)
    assert wild.stopped_ == "diverged"
    assert np.isfinite(wild.predict(data.u_test)).all()


def test_history_and_progress(data):
    seen = []
    model = DeepONet(**SMALL, epochs=4)
    model.fit(data.u_train, data.s_train, data.points, progress=seen.append)
    assert seen[-1] == 1.0
    assert seen == sorted(seen)
    history = model.history_
    assert len(history.seconds) == len(history.loss) > 0
    assert history.error == []
    assert history.seconds[-1] == model.seconds_


def test_batches_bound_the_memory(data, monkeypatch):
    sizes = []
    original = DeepONet._step

    def step(self, optimiser, u, s, P, rows):
        sizes.append(len(s[rows]))
        return original(self, optimiser, u, s, P, rows)

    monkeypatch.setattr(DeepONet, "_step", step)
    fit(data, epochs=1)
    model = fit(data, epochs=1, batch_size=15)
    assert sizes == [40, 15, 15, 10]
    whole = model.predict(data.u_test)
    sizes.clear()
    # One function makes 100 (flat) + 3 * 16 values in the branch and 100 outputs, 16 bytes each.
    monkeypatch.setattr(baselines, "_STEP_MEMORY", 16 * 248 * 12)
    fit(data, epochs=1)
    assert sizes == [12, 12, 12, 4]
    np.testing.assert_allclose(model.predict(data.u_test), whole, rtol=1e-5, atol=1e-6)


def test_images_with_channels_and_other_points():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 2, 9, 7)), rng.normal(size=(6, 5))
    model = DeepONet((8, 8), (8,), channels=(3, 4), epochs=2).fit(X, y, np.linspace(0, 1, 5))
    assert model.predict(X, points=[[0.1], [0.2]]).shape == (6, 2)
    assert model.predict(X).dtype == np.float64
    assert DeepONet((8,), (8,), epochs=1).fit(X, y[:, 0], [[0.5]]).predict(X).shape == (6, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"branch": (16, 8)}, "same width"),
        ({"trunk": ()}, "same width"),
        ({"channels": (4,)}, "convolutions need images"),
        ({"epochs": 0}, "epochs must be"),
        ({"seconds": -1.0}, "seconds must be"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"learning_rate": 0.0}, "learning_rate must be"),
        ({"patience": 0}, "patience must be"),
    ],
)
def test_wrong_settings(data, settings, message):
    with pytest.raises(InputError, match=message):
        fit(data, **settings)


def test_wrong_input(data):
    with pytest.raises(NotFittedError):
        DeepONet().predict(data.u_test)
    with pytest.raises(InputError, match="same number of functions"):
        DeepONet().fit(data.u_train, data.s_train[:3], data.points)
    with pytest.raises(InputError, match="one row for each"):
        DeepONet().fit(data.u_train, data.s_train, data.points[:3])


def test_without_torch_the_message_says_how_to_install_it():
    script = """
import sys

class NoTorch:
    def find_spec(self, name, *_):
        if name == "torch":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NoTorch())
from elmonet import MissingExtra
try:
    import elmonet.baselines
except MissingExtra as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert 'pip install "elmonet[baselines]"' in ran.stdout
