"""What the winner of a search leaves for the final fit: the same model to the last bit, without its work."""

import numpy as np
import pytest

from elmonet import ELMDeepONet, problems
from elmonet.auto.candidates import Candidate, Transform
from elmonet.auto.search import Search
from elmonet.auto.transformed_data import TransformedData
from elmonet.features import kernels
from elmonet.forms.training import understand
from elmonet.solve import ridge
from elmonet.solve.spectral import Spectrum

TRANSFORM = Transform(log_outputs=False, scale_inputs=True)


@pytest.fixture(scope="module")
def ode():
    return problems.nonlinear_ode(n_train=500, n_test=20, n_points=30)


@pytest.mark.parametrize(
    "candidate",
    [
        Candidate("matern52", 0.3),
        Candidate("rbf", 0.3, True),
        Candidate("tanh", 0.3, True, 200),
        Candidate("none", linear=True),
        Candidate("constant"),
    ],
)
def test_a_model_from_an_evaluation_is_that_of_a_fit(ode, candidate):
    training = understand(ELMDeepONet(), ode.u_train[:80], ode.s_train[:80], ode.points)
    data = TransformedData(training, TRANSFORM)
    reused = data.model(candidate, 0, rank=5, evaluation=data.evaluate(candidate, 0))
    refitted = data.model(candidate, 0, rank=5)
    plain = ELMDeepONet(refitted.branch, refitted.trunk, refitted.solver, random_state=0)
    plain.fit(ode.u_train[:80], ode.s_train[:80], points=ode.points)
    for model in (reused, refitted):
        np.testing.assert_array_equal(model.predict(ode.u_test), plain.predict(ode.u_test))
        assert model.expected_error_ == plain.expected_error_
    np.testing.assert_array_equal(
        reused.interval(ode.u_test, points=[0.5]), plain.interval(ode.u_test, points=[0.5])
    )


def test_the_final_fit_factorises_nothing(ode, monkeypatch):
    training = understand(ELMDeepONet(), ode.u_train, ode.s_train, ode.points)
    search = Search(training, seed=0, time_budget=1e-9, n_jobs=1, progress=None)
    best = search.run()
    assert best.functions == 500

    def refused(*arguments):
        raise AssertionError("the trial has done this")

    for factor in ("Primal", "Tridiagonal", "AtOneAlpha"):
        monkeypatch.setattr(ridge, factor, refused)
    for factor in ("from_svd", "from_gram"):
        monkeypatch.setattr(Spectrum, factor, refused)
    monkeypatch.setattr(kernels, "kernel_features", refused)
    model = search.model(best)
    assert model.expected_error_ == pytest.approx(best.error, rel=0.1)
    with pytest.raises(AssertionError, match="has done this"):  # it is used up, and makes room
        search.model(best)
