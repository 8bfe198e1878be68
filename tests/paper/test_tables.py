"""Tables and verdicts, from invented results with known answers."""

import copy

import numpy as np
import pytest

from elmonet.paper.tables import Table, markdown_table, sensitivity_mean, summary, tables, verdicts


def a_run(**done):
    return {"done": done, "effort": {"epochs": 10_000, "seconds": None, "functions": 1000}}


def network(seconds, error, stopped="epochs", epochs=10_000):
    return {"parameters": 23_232, "seconds": seconds, "error": error, "stopped": stopped, "epochs": epochs}


def closed(seconds, error):
    return {"p1": 10, "p2": 5, "parameters": 50, "seconds": seconds, "error": error}


def test_each_row_has_the_papers_figure_and_ours_in_four_columns():
    run = a_run(
        **{
            "inverse_source/DeepONet": network(30.0, 0.041),
            "inverse_source/ELM-DeepONet/printed": closed(0.5, 0.03),
            "inverse_source/ELM-DeepONet/ours": closed(0.1, 0.025),
        }
    )
    (table,) = tables(run)
    assert table.title == "Inverse source"
    assert table.columns == ("model", "parameters", "paper", "as printed", "our solver", "trained")
    none = "–"  # noqa: RUF001
    assert table.rows == [
        ("DeepONet", "23K, 23,232", "5.04 %, 104 s", none, none, "4.10 %, 30.0 s"),
        ("ELM-DeepONet", "500K, 50", "2.77 %, 0.15 s", "3.00 %, 0.50 s", "2.50 %, 0.10 s", none),
    ]
    assert markdown_table(table).splitlines()[2] == "| " + " | ".join(table.rows[0]) + " |"


def test_without_torch_the_table_says_how_to_get_it():
    (table,) = tables(a_run(**{"inverse_source/DeepONet": {"skipped": "needs PyTorch: pip install it"}}))
    assert table.rows[0][-1] == "not run"
    assert "pip install it" in table.notes[0]


@pytest.mark.parametrize(
    ("ours", "trains", "errs"),
    [
        (closed(0.1, 0.02), "300 x DeepONet", "2.00 % < 4.00 %, DeepONet"),
        (closed(1.0, 0.05), "NO: 30 x DeepONet", "NO: 5.00 % > 4.00 %, DeepONet"),
    ],
)
def test_verdicts_say_where_it_is_not_so(ours, trains, errs):
    run = a_run(**{"inverse_source/DeepONet": network(30.0, 0.04), "inverse_source/ELM-DeepONet/ours": ours})
    assert verdicts(run).rows == [("Inverse source", "ELM-DeepONet", trains, errs)]


def test_the_strictest_of_two_networks_counts():
    run = a_run(
        **{
            "antiderivative/DeepONet M1": network(20.0, 0.06),
            "antiderivative/DeepONet M2": network(90.0, 0.01),
            "antiderivative/ELM-DeepONet/ours": closed(0.1, 0.02),
        }
    )
    (row,) = verdicts(run).rows
    assert row[2:] == ("200 x DeepONet M1", "NO: 2.00 % > 1.00 %, DeepONet M2")


def test_darcy_models_compete_with_their_own_branch():
    run = a_run(
        **{
            "darcy/DeepONet MLP": network(100.0, 0.1),
            "darcy/DeepONet CNN": network(1.0, 0.001),
            "darcy/ELM-DeepONet MLP/ours": closed(1.0, 0.05),
        }
    )
    (row,) = verdicts(run).rows
    assert row[2:] == ("100 x DeepONet MLP", "5.00 % < 10.0 %, DeepONet MLP")


def test_a_training_that_was_cut_is_counted_to_its_end_and_marked():
    run = a_run(
        **{
            "inverse_source/DeepONet": network(15.0, 0.05, stopped="seconds", epochs=5000),
            "inverse_source/ELM-DeepONet/ours": closed(0.1, 0.02),
        }
    )
    table = verdicts(run)
    assert table.rows[0][2] == "~300 x DeepONet"
    assert any("cut short" in note for note in table.notes)


def test_growth_with_p2_is_judged():
    record = {"p1": [10, 20], "p2": [50, 100, 500], "printed": [[1, 1, 1], [1, 1, 1]]}
    flat = {**record, "ours": [[9.0, 1.0, 1.1], [9.0, 0.5, 0.4]]}
    grown = {**record, "ours": [[0.1, 1.0, 1.0], [0.1, 0.5, 0.7]]}
    (note,) = verdicts(a_run(**{"sensitivity/ELM-DeepONet/0": flat})).notes[1:]
    assert "at most 10.0% above" in note
    assert "NO" not in note
    (note,) = verdicts(a_run(**{"sensitivity/ELM-DeepONet/0": grown})).notes[1:]
    assert "40.0%" in note
    assert "NO" in note


def test_trials_are_averaged():
    records = {
        f"sensitivity/ELM-DeepONet/{i}": {"p1": [50], "p2": [100], "printed": [[0.2]], "ours": [[value]]}
        for i, value in enumerate((0.1, 0.3))
    }
    mean = sensitivity_mean("ELM-DeepONet", "ours", records)
    assert mean["trials"] == 2
    np.testing.assert_allclose(mean["mean"], [[0.2]])
    np.testing.assert_allclose(mean["std"], [[0.1]])
    (table,) = tables(a_run(**records))
    assert table.rows == [("50", "15, 20, 20")]
    assert "2 draws" in table.notes[0]


def test_a_whole_run_makes_every_table(results):
    titles = [table.title for table in tables(results)]
    assert titles == [
        "Antiderivative",
        "Nonlinear ODE",
        "Sensitivity of the ELM-DeepONet",
        "Sensitivity of the Sinusoidal ELM-DeepONet",
        "Darcy flow",
        "Inverse source",
    ]
    assert len(verdicts(results).rows) == 12
    assert len(summary(results).rows) == 12
    for table in (*tables(results), verdicts(results), summary(results)):
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_half_a_run_makes_what_it_can(results):
    half = copy.deepcopy(results)
    for name in list(half["done"])[::2]:
        del half["done"][name]
    assert tables(half)
    assert isinstance(verdicts(half), Table)
    assert tables({**results, "done": {}}) == []
