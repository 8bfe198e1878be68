"""Inverse problems with known answers."""

import warnings

import numpy as np
import pytest
from scipy.stats import chisquare

from elmonet import (
    SLFN,
    ContradictionWarning,
    ELMDeepONet,
    InfiniteWidth,
    InputError,
    Legendre,
    Linear,
    NumericsWarning,
    Ridge,
    problems,
)
from elmonet.inversion import convergence
from elmonet.prior import Prior

m, M, NOISE = 8, 10, 0.1
rng = np.random.default_rng(0)
A = rng.normal(size=(M, m))
POINTS = np.linspace(0, 1, M)
MEAN, FACTOR = rng.normal(size=m), rng.normal(size=(m, m)) / 2
COVARIANCE = FACTOR @ FACTOR.T


@pytest.fixture(scope="module")
def linear():
    """Return a model that is a known linear operator, up to rounding."""
    u = np.random.default_rng(1).normal(size=(60, m))
    return ELMDeepONet(Linear(), Legendre(M - 1), Ridge(1e-14)).fit(u, u @ A.T, points=POINTS)


def closed_form(y, noise=NOISE, which=slice(None)):
    """Return mean and covariance of the input behind y, for the linear operator and the Gaussian prior."""
    own, precision = A[which], 1 / np.broadcast_to(noise, (M,))[which] ** 2
    S = np.linalg.inv(np.linalg.inv(COVARIANCE) + (own.T * precision) @ own)
    return S @ (own.T @ (precision * y[which]) + np.linalg.solve(COVARIANCE, MEAN)), S


def measured(seed=2):
    own = np.random.default_rng(seed)
    x = MEAN + FACTOR @ own.normal(size=m)
    return x, A @ x + NOISE * own.normal(size=M)


@pytest.mark.numerics
def test_a_linear_operator_and_a_gaussian_prior_have_the_closed_form(linear):
    _, y = measured()
    post = linear.invert(y, noise=NOISE, prior=(MEAN, COVARIANCE), random_state=0, n_samples=4000)
    mean, S = closed_form(y)
    np.testing.assert_allclose(post.estimate, mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(post.predicted, A @ mean, rtol=0, atol=1e-8)
    sd = np.sqrt(np.diag(S))
    np.testing.assert_allclose(post.mean, mean, rtol=0, atol=4 * sd.max() / np.sqrt(4000))
    np.testing.assert_allclose(post.std, sd, rtol=0.06)
    assert post.acceptance > 0.99
    assert post.r_hat < 1.01
    # Information: trace of H_data (H_data + prior precision)^-1
    data = A.T @ A / NOISE**2
    assert post.determined == pytest.approx(np.trace(data @ S), rel=1e-6)
    assert post.information.shape == (M,)
    assert post.information.sum() == pytest.approx(post.determined)


def test_what_was_not_measured_noise_of_each_and_repeats(linear):
    x, y = measured(3)
    noise = np.linspace(0.05, 0.5, M)
    gaps = y.copy()
    gaps[[1, 4, 8]] = np.nan
    post = linear.invert(gaps, noise=noise, prior=(MEAN, COVARIANCE), random_state=0, n_samples=50)
    mean, _ = closed_form(y, noise, np.flatnonzero(~np.isnan(gaps)))
    np.testing.assert_allclose(post.estimate, mean, rtol=0, atol=1e-8)
    # The mean of four measurements has half the noise.
    repeats = A @ x + NOISE * np.random.default_rng(4).normal(size=(4, M))
    post = linear.invert(repeats, noise=NOISE, prior=(MEAN, COVARIANCE), random_state=0, n_samples=50)
    np.testing.assert_allclose(post.estimate, closed_form(repeats.mean(axis=0), NOISE / 2)[0], atol=1e-8)


def test_measurements_elsewhere(linear):
    _, y = measured()
    some = [7, 2, 5]
    post = linear.invert(
        y[some], POINTS[some], noise=NOISE, prior=(MEAN, COVARIANCE), random_state=0, n_samples=50
    )
    mean, _ = closed_form(y, which=np.array(some))
    np.testing.assert_allclose(post.estimate, mean, rtol=0, atol=1e-6)


def test_contradictions_are_told(linear):
    _, y = measured()
    wrong = y.copy()
    wrong[3] += 100
    with pytest.warns(ContradictionWarning, match="no input explains"):
        post = linear.invert(wrong, noise=NOISE, prior=(MEAN, COVARIANCE), random_state=0, n_samples=50)
    assert post.contradiction < 1e-10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fine = linear.invert(y, noise=NOISE, prior=(MEAN, COVARIANCE), random_state=0, n_samples=50)
    assert 0.01 < fine.contradiction < 1
    assert "directions" in str(fine)


@pytest.fixture(scope="module")
def nonlinear():
    """Return a model of two numbers, of which the second does not matter, and a third with a component."""
    own = np.random.default_rng(5)
    k, idle = own.uniform(1, 3, 200), own.uniform(-1, 1, 200)
    s = np.exp(-k[:, None] * POINTS)
    model = ELMDeepONet(Linear() + SLFN(80, "tanh", random_state=0), Legendre(6))
    return model.fit({"k": k, "idle": idle}, {"s": s, "square": s**2}, points=POINTS)


def test_numbers_within_bounds_and_what_the_data_do_not_determine(nonlinear):
    y = np.exp(-2.2 * POINTS) + 0.01 * np.random.default_rng(6).normal(size=M)
    post = nonlinear.invert({"s": y}, noise=0.01, random_state=0, n_samples=1500)
    assert post.undetermined == ("idle",)
    assert post.estimate["k"] == pytest.approx(2.2, abs=0.06)
    low, high = post.interval(0.95)
    assert low["k"] < 2.2 < high["k"]
    assert (post.samples["k"] >= 1).all()
    assert (post.samples["k"] <= 3).all()
    assert post.std["idle"] == pytest.approx(2 / np.sqrt(12), rel=0.1)  # as before the measurement
    assert post.r_hat < 1.05
    assert post.ess > 200
    # Against the posterior on a grid of k, with the exact operator.
    k = np.linspace(1, 3, 4001)
    weights = np.exp(-0.5 * np.sum((y - np.exp(-k[:, None] * POINTS)) ** 2, axis=1) / 0.01**2)
    mean = np.average(k, weights=weights)
    sd = np.sqrt(np.average((k - mean) ** 2, weights=weights))
    assert post.mean["k"] == pytest.approx(mean, abs=0.3 * sd)
    assert post.std["k"] == pytest.approx(sd, rel=0.25)
    with pytest.warns(ContradictionWarning):
        told = nonlinear.invert({"s": y}, noise=0.01, prior={"k": (2.5, 3.0)}, random_state=0, n_samples=100)
    assert 2.5 <= told.estimate["k"] <= 2.7


def test_the_same_seed_gives_the_same_samples(nonlinear):
    y = {"square": np.exp(-3.0 * POINTS)}
    first, again = (nonlinear.invert(y, noise=0.01, random_state=1, n_samples=20) for _ in range(2))
    np.testing.assert_array_equal(first.samples["k"], again.samples["k"])


def test_wrong_measurements_are_refused(nonlinear, linear):
    _, y = measured()
    for arguments, message in (
        ({"s": y[:-1], "noise": 0.1}, r"shape \(10,\)"),
        ({"s": y * np.nan, "noise": 0.1}, "no measurement"),
        ({"s": y, "noise": 0.0}, "standard deviation"),
        ({"s": y, "noise": -1.0}, "standard deviation"),
        ({"s": y, "noise": "2 %"}, "standard deviation"),
        ({"s": y, "noise": 0.1, "prior": (0.0, -1.0)}, "low must be below"),
        ({"s": y, "noise": 0.1, "prior": (MEAN, -COVARIANCE)}, "positive semi-definite"),
        ({"s": y, "noise": 0.1, "prior": {"q": (0, 1)}}, "'q'"),
        ({"s": y, "noise": 0.1, "n_samples": 0}, "n_samples"),
    ):
        with pytest.raises(InputError, match=message):
            linear.invert(**arguments)
    with pytest.raises(InputError, match="dictionary with some of the components"):
        nonlinear.invert(np.exp(-POINTS), noise=0.1)
    with pytest.raises(InputError, match="'t'"):
        nonlinear.invert({"t": np.exp(-POINTS)}, noise=0.1)
    with pytest.raises(InputError, match="coverage"):
        linear.invert(y, noise=NOISE, prior=(MEAN, COVARIANCE), random_state=0).interval(90)


@pytest.mark.filterwarnings("ignore::elmonet.errors.NumericsWarning")
def test_a_file_without_its_inputs_needs_a_prior(linear, tmp_path):
    from elmonet import load

    _, y = measured()
    linear.save(tmp_path / "a.elmonet", inputs=False)
    loaded = load(tmp_path / "a.elmonet")
    with pytest.raises(InputError, match="prior"):
        loaded.invert(y, noise=NOISE)
    post = loaded.invert(y, noise=NOISE, prior=(MEAN, COVARIANCE), random_state=0, n_samples=20)
    np.testing.assert_allclose(post.estimate, closed_form(y)[0], rtol=0, atol=1e-3)


def test_convergence_of_chains_with_known_correlation():
    own, rho = np.random.default_rng(7), 0.8
    chains = np.empty((8, 4000, 1))
    chains[:, 0] = own.normal(size=(8, 1))
    for t in range(1, chains.shape[1]):
        chains[:, t] = rho * chains[:, t - 1] + np.sqrt(1 - rho**2) * own.normal(size=(8, 1))
    r_hat, ess = convergence(chains)
    assert r_hat < 1.02
    assert ess == pytest.approx(8 * 4000 * (1 - rho) / (1 + rho), rel=0.2)
    apart = chains + 3 * np.arange(8)[:, None, None]
    assert convergence(apart)[0] > 2


@pytest.fixture(scope="module")
def ode():
    """Return a model of the nonlinear ODE whose errors are far below the noise, and its prior."""
    data = problems.nonlinear_ode(150, 1, n_sensors=20, n_points=15, length_scale=0.5, seed=5)
    model = ELMDeepONet(InfiniteWidth(), Legendre(14), Ridge("loo"), random_state=0)
    model.fit(data.u_train, data.s_train, points=data.points)
    return model, Prior.learned(model.inputs_, data.u_train)


def ranks_of_the_truth(model, prior, told, cases=80, samples=199):
    """Return ranks (cases, 4) of true inputs among samples of their posteriors, for noise as it is told."""
    own = np.random.default_rng(6)
    x = prior.inputs(own.standard_normal((cases, prior.directions)))
    y = model.predict(x) + NOISE * own.normal(size=(cases, 15))
    ranks = []
    for i in range(cases):
        with warnings.catch_warnings():  # noise that is told wrong contradicts the data; R-hat of few samples
            warnings.simplefilter("ignore", NumericsWarning)
            post = model.invert(y[i], noise=told, random_state=i, n_samples=samples)
        ranks.append(np.sum(post.samples[:, ::6] < x[i, ::6], axis=0))
    return np.array(ranks)


@pytest.mark.parametrize(("told", "uniform"), [(NOISE, True), (NOISE / 3, False)])
def test_ranks_of_the_truth_among_samples_are_uniform(ode, told, uniform):
    """Simulation-based calibration (Talts et al. 2018): uniform just where noise and prior are right."""
    ranks = ranks_of_the_truth(*ode, told)
    least = min(chisquare(np.histogram(own, bins=5, range=(0, 200))[0]).pvalue for own in ranks.T)
    assert least > 0.01 if uniform else least < 1e-6
