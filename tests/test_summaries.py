"""Summaries: accuracy first, one fact a line, lines that fit a terminal."""

from elmonet.summary import Fact, Summary, in_lines, percent


def test_headings_come_in_a_fixed_order():
    summary = Summary(details=(Fact("Alpha", "0.1"),)).telling("error", Fact("Expected error", "2 %"))
    assert str(summary).splitlines() == [
        "Accuracy",
        "  Expected error:  2 %",
        "Details",
        "  Alpha:           0.1",
    ]


def test_a_new_fact_replaces_that_of_the_same_name():
    summary = Summary(error=(Fact("a", "old"), Fact("b", "kept"))).telling("error", Fact("a", "new"))
    assert summary.error == (Fact("a", "new"), Fact("b", "kept"))


def test_lines_are_short_and_indented_to_the_text():
    lines = in_lines((Fact("Name", "word " * 40 + "7 %"), Fact("List", "one\ntwo"))).splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line.startswith("       word") for line in lines[1:-2])
    assert lines[-2:] == ["List:  one", "       two"]
    for spaces in range(60, 80):  # a number and its sign stay together
        assert "7 %" in in_lines((Fact("A", "x" * spaces + " 7 %"),))


def test_an_equation_with_most_of_the_error_is_the_recommendation():
    fit = Summary(help=(Fact("More data", "not needed"),))
    assert "not needed" not in str(fit.with_equation((), 0.01, 0.011))
    assert "1 % of the expected 1.1 %" in str(fit.with_equation((), 0.01, 0.011))
    assert fit.with_equation((), 0.001, 0.011).help == fit.help


def test_percent_of_all_sizes():
    assert [percent(error) for error in (0.0, 1e-5, 0.5, 1.234, 12.34)] == [
        "0",
        "0.001 %",
        "50 %",
        "123 %",
        "1234 %",
    ]
