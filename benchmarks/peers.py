"""Automatic choice against what else a user would pick: error, seconds, peak memory, and what was tuned.

    python benchmarks/peers.py [--data FOLDER] [--minutes 1] [--only elmonet] [--datasets darcy]

Every method runs on every data set in a process of its own. With a folder of data files (see datasets.py)
these are used as well. hpelm, deepxde and neuraloperator are used if they can be imported. Results are added
to benchmarks/results/peers.json as they come, with the commit and the date; what this commit has measured
already is not run again. Run it on an idle machine, or on a core of its own (taskset -c 0): two hours.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from datetime import date
from pathlib import Path

import datasets
import rivals

from elmonet import relative_l2

OUT = Path(__file__).parent / "results" / "peers.json"


def measure(name, method, folder, minutes):
    """Fit and predict here and now: a row of the table."""
    data = datasets.load(name, folder)
    row = {"dataset": name, "method": method}
    if isinstance(data, str):
        return row | {"skipped": data}
    row |= {
        "functions": len(data.u_train),
        "inputs": list(data.u_train.shape[1:]),
        "points": len(data.points),
        "tests": len(data.u_test),
    }
    start = time.perf_counter()
    try:
        predict, tuned, more = rivals.METHODS[method](data, minutes)
    except rivals.Skipped as word:
        return row | {"skipped": str(word)}
    seconds = time.perf_counter() - start
    row["error"] = relative_l2(predict(), data.s_test)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return row | {"seconds": seconds, "peak_gib": peak / 2**20, "tuned": tuned} | more


def in_a_process(arguments, name, method):
    command = [
        sys.executable,
        "-W",
        "ignore",
        __file__,
        "--one",
        name,
        method,
        "--minutes",
        str(arguments.minutes),
    ]
    command += ["--data", str(arguments.data)] if arguments.data else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        word = (done.stderr.strip().splitlines() or ["it was killed"])[-1]
        return {"dataset": name, "method": method, "skipped": f"failed: {word}"}
    return json.loads(lines[-1])


def this_commit():
    """The commit that runs, with a word if files differ from it."""
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty=, changed", "--exclude=*"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return told.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with data files")
    parser.add_argument("--minutes", type=float, default=1.0, help="that networks are trained for")
    parser.add_argument("--only", nargs="*", choices=list(rivals.METHODS), help="methods")
    parser.add_argument("--datasets", nargs="*", help="data sets")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(*arguments.one, arguments.data, arguments.minutes)))
        return
    rows = json.loads(arguments.out.read_text()) if arguments.out.exists() else []
    commit = this_commit()
    for name in arguments.datasets or datasets.names(arguments.data):
        for method in arguments.only or rivals.METHODS:
            known = [row for row in rows if (row["dataset"], row["method"]) == (name, method)]
            if known and known[0].get("commit") == commit:
                continue
            row = in_a_process(arguments, name, method)
            row |= {"commit": commit, "date": date.today().isoformat(), "cores": len(os.sched_getaffinity(0))}
            rows = [row if old in known else old for old in rows] + ([] if known else [row])
            arguments.out.parent.mkdir(parents=True, exist_ok=True)
            arguments.out.write_text(json.dumps(rows, indent=1) + "\n")
            told = (
                row.get("skipped")
                or f"{row['error']:.2e}  {row['seconds']:7.1f} s  {row['peak_gib']:.2f} GiB"
            )
            print(f"{name:<32}{method:<24}{told}", flush=True)


if __name__ == "__main__":
    main()
