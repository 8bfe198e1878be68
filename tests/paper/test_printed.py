"""Spot checks of the printed numbers, typed a second time from the paper."""

import numpy as np

from elmonet.paper.models import CLOSED_FORM, TRAINED, printed, printed_row


def test_every_printed_row_has_a_recipe():
    for problem, rows in printed()["tables"].items():
        known = {*TRAINED[problem], *CLOSED_FORM[problem]}
        assert {row["model"] for row in rows} <= known
        extra = known - {row["model"] for row in rows}
        assert all(model.startswith("Tensor-sine") for model in extra)


def test_spot_checks():
    assert printed_row("antiderivative", "DeepONet M1") == {
        "model": "DeepONet M1",
        "parameters": "23K",
        "seconds": 437,
        "error": 0.0412,
    }
    assert printed_row("nonlinear_ode", "Sinusoidal ELM-DeepONet")["error"] == 0.0339
    assert printed_row("inverse_source", "ELM-DeepONet")["seconds"] == 0.15
    assert printed_row("darcy", "Tensor-sine ELM-DeepONet MLP") is None
    total = {problem: sum(row["error"] for row in rows) for problem, rows in printed()["tables"].items()}
    assert total == {
        "antiderivative": np.sum([0.0412, 0.0719, 0.0212, 0.0245]),
        "nonlinear_ode": np.sum([0.0487, 0.0521, 0.0291, 0.0339]),
        "darcy": np.sum([0.1177, 0.0632, 0.0565, 0.0680, 0.1524, 0.1501]),
        "inverse_source": np.sum([0.0504, 0.0277, 0.0252]),
    }


def test_sensitivity_tables_are_square_and_in_order():
    table = printed()["sensitivity"]
    assert table["p1"] == table["p2"] == [50, 100, 500, 1000, 5000, 10_000]
    for errors in table["error"].values():
        assert np.shape(errors) == (6, 6)
    assert table["error"]["ELM-DeepONet"][2][3] == 0.081
    assert table["error"]["Sinusoidal ELM-DeepONet"][4] == [0.006, 0.006, 0.006, 0.006, 0.007, 0.008]
