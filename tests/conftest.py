"""Tests are deterministic, the property tests too; and the command line, run in this process."""

import sys
from pathlib import PurePosixPath

import pytest
from hypothesis import settings

from elmonet import cli

settings.register_profile("deterministic", derandomize=True, deadline=None)
settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=2000)
settings.load_profile("deterministic")

SHARING = ("cli", "paper")  # folders whose files use the same fitted models


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Fail where a test file cannot be imported; the option for modules of src without torch skips it."""
    report = yield
    if report.skipped and "unable to import" in str(report.longrepr):
        report.outcome = "failed"
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let tests that share models run in one process: those of a file, and of some folders."""
    from xdist.scheduler import LoadFileScheduling

    class ByModels(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = PurePosixPath(super()._split_scope(nodeid))
            return str(file.parent if file.parent.name in SHARING else file)

    return ByModels(config, log)


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


@pytest.fixture
def quick_pictures(monkeypatch):
    """Pictures are drawn, but not laid out and rendered: that is most of the time of a report."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    monkeypatch.setattr(Figure, "draw_without_rendering", lambda self: None)
    monkeypatch.setattr(Figure, "savefig", lambda self, out, **how: out.write(b"\x89PNG\r\n\x1a\n"))
