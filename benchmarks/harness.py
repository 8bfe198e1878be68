"""Shared by the benchmarks: options, result files, timing, and measurements in a process of their own."""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from elmonet import AutoELMDeepONet, relative_l2

RESULTS = Path(__file__).parent / "results"


def option_parser(doc, *, data=False, out=None):
    """Return a parser described by the first line of `doc`, with --data and --out where they apply."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    if data:
        parser.add_argument("--data", type=Path, help="folder with data files, see datasets.py")
    if out is not None:
        parser.add_argument("--out", type=Path, default=out)
    return parser


def read_results(path, default):
    """Return the results in a file, or the default if there is none."""
    return json.loads(path.read_text()) if path.exists() else default


def write_results(path, results):
    """Write results as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")


def print_row(row):
    """Print a row of results at once, numbers with three digits."""
    print({key: f"{v:.3g}" if isinstance(v, float) else v for key, v in row.items()}, flush=True)


def timed(call):
    """Return the seconds that a call takes, and what it returns."""
    start = time.perf_counter()
    value = call()
    return time.perf_counter() - start, value


def median_seconds(call, repeats):
    """Return the median seconds of a call."""
    return medians_in_turn([call], repeats)[0]


def medians_in_turn(calls, repeats):
    """Return the median seconds of each call; in every repetition all of them run, one after the other."""
    return np.median([[timed(call)[0] for call in calls] for _ in range(repeats)], axis=0).tolist()


def peak_gib():
    """Return the peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def run_alone(script, *arguments):
    """Run a script in a process of its own and return what it prints last, as JSON."""
    command = [sys.executable, "-W", "ignore", str(script), *map(str, arguments)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(printed.splitlines()[-1])


def fit_auto(u, s, points, *, layers=0, seed=0):
    """Fit `AutoELMDeepONet`, without layers unless layers=None."""
    return AutoELMDeepONet(layers=layers, random_state=seed).fit(u, s, points=points)


def test_error(model, data):
    """Return the relative error on the test functions."""
    return relative_l2(model.predict(data.u_test), data.s_test)
