"""Automatic choice against other methods that a user would pick: error, seconds, peak memory, tuning.

    python benchmarks/peers.py [--data FOLDER] [--minutes 1] [--only elmonet] [--datasets darcy]

Every method runs on every data set in a process of its own. With a folder of data files (see datasets.py)
these are used as well. hpelm, deepxde and neuraloperator are used if they can be imported. Results are added
to benchmarks/results/peers.json, with the commit and the date; what this commit has measured already is not
run again. Run it on an idle machine, or on a core of its own (taskset -c 0): two hours.
"""

import argparse
import json
import os
import subprocess
import warnings
from datetime import date
from functools import partial

import datasets
import rivals
from harness import RESULTS, option_parser, peak_gib, read_results, run_alone, timed, write_results

from elmonet import relative_l2

OUT = RESULTS / "peers.json"


def measure(name, method, folder, minutes):
    """Fit and predict in this process and return a row of the results."""
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
    try:
        seconds, (predict, tuned, more) = timed(partial(rivals.METHODS[method], data, minutes))
    except rivals.Skipped as reason:
        return row | {"skipped": str(reason)}
    row["error"] = relative_l2(predict(), data.s_test)
    return row | {"seconds": seconds, "peak_gib": peak_gib(), "tuned": tuned} | more


def measure_alone(name, method, folder, minutes):
    """Return a row measured in a process of its own; a failure becomes a reason for leaving it out."""
    options = ["--data", folder] if folder else []
    try:
        return run_alone(__file__, "--one", name, method, "--minutes", minutes, *options)
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or ["it was killed"])[-1]
        return {"dataset": name, "method": method, "skipped": f"failed: {reason}"}


def this_commit():
    """Return the commit that runs, marked if files differ from it."""
    command = ["git", "describe", "--always", "--dirty=, changed", "--exclude=*"]
    described = subprocess.run(command, cwd=RESULTS.parent, capture_output=True, text=True, check=True)
    return described.stdout.strip()


def main():
    parser = option_parser(__doc__, data=True, out=OUT)
    parser.add_argument("--minutes", type=float, default=1.0, help="training time of networks")
    parser.add_argument("--only", nargs="*", choices=list(rivals.METHODS), help="methods")
    parser.add_argument("--datasets", nargs="*", help="data sets")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(*arguments.one, arguments.data, arguments.minutes)))
        return
    rows, commit = read_results(arguments.out, []), this_commit()
    for name in arguments.datasets or [*datasets.PAPER, *datasets.file_names(arguments.data)]:
        for method in arguments.only or rivals.METHODS:
            previous = [row for row in rows if (row["dataset"], row["method"]) == (name, method)]
            if previous and previous[0].get("commit") == commit:
                continue
            row = measure_alone(name, method, arguments.data, arguments.minutes)
            row |= {"commit": commit, "date": date.today().isoformat(), "cores": len(os.sched_getaffinity(0))}
            rows = [row if old in previous else old for old in rows] + ([] if previous else [row])
            write_results(arguments.out, rows)
            outcome = row.get("skipped")
            if outcome is None:
                outcome = f"{row['error']:.2e}  {row['seconds']:7.1f} s  {row['peak_gib']:.2f} GiB"
            print(f"{name:<32}{method:<24}{outcome}", flush=True)


if __name__ == "__main__":
    main()
