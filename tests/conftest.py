"""Tests are deterministic, the property tests too; and the command line, run in this process."""

import sys

import pytest
from hypothesis import settings

from elmonet import cli

settings.register_profile("deterministic", derandomize=True, deadline=None)
settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=2000)
settings.load_profile("deterministic")


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run the command line in an empty folder: exit code, what it printed, what it complained."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["elmonet", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code, *capsys.readouterr()

    return run
