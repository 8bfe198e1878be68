"""Which new functions are flagged as extrapolation: those of another kind, and by mistake ordinary ones.

    python benchmarks/novelty.py [--data FOLDER]

`AutoELMDeepONet` without layers chooses the settings. A novelty above 1.5 is flagged. Written to
benchmarks/results/novelty.json.
"""

import warnings
from pathlib import Path

import numpy as np
from harness import RESULTS, fit_auto, option_parser, write_results

from elmonet import problems
from elmonet.uncertainty.novelty import Novelty

OUT = RESULTS / "novelty.json"
THRESHOLD = 1.5  # novelty above which a function is flagged
ALIKE = "drawn alike"


def relative_errors(model, u, s):
    s = s.reshape(len(s), -1)
    residuals = model.predict(u).reshape(len(s), -1) - s
    return np.linalg.norm(residuals, axis=1) / np.linalg.norm(s, axis=1)


def row(model, data, kind, u, s=None):
    """Return the flagged fraction, by the inputs alone and in all, and the median error if it is known."""
    found = model._fitted()
    by_inputs = found.record.novelty(found.query(model, u).Z)
    error = None if s is None else float(np.median(relative_errors(model, u, s)))
    flagged = float(np.mean(model.novelty(u) > THRESHOLD))
    return {
        "data": data,
        "kind": kind,
        "by_inputs": float(np.mean(by_inputs > THRESHOLD)),
        "flagged": flagged,
        "error": error,
    }


def ode():
    d = problems.nonlinear_ode(500, 500, seed=11)
    model = fit_auto(d.u_train, d.s_train, d.points)
    yield row(model, "ODE, length 0.1", ALIKE, d.u_test, d.s_test)
    for length in (0.05, 0.07, 0.2, 0.4):
        other = problems.nonlinear_ode(10, 300, seed=5, length_scale=length)
        yield row(model, "ODE, length 0.1", f"length {length}", other.u_test, other.s_test)
    for times in (1.5, 2, 3):
        yield row(model, "ODE, length 0.1", f"{times} times as large", times * d.u_test)


def burgers():
    d = problems.burgers(500, 500, seed=11)
    model = fit_auto(d.u_train, d.s_train, d.points)
    yield row(model, "Burgers", ALIKE, d.u_test, d.s_test)
    for times in (1.5, 2, 3):
        yield row(model, "Burgers", f"{times} times as large", times * d.u_test)
    yield row(model, "Burgers", "another mean", d.u_test + 1)
    wave = 0.3 * np.sin(32 * np.pi * d.points[:, 0])
    yield row(model, "Burgers", "with a short wave", d.u_test + wave)


def darcy():
    d = problems.darcy(300, 200, seed=11)
    model = fit_auto(d.u_train, d.s_train, d.points)
    yield row(model, "Darcy, length 0.25", ALIKE, d.u_test, d.s_test)
    for length in (0.1, 0.15, 0.4):
        other = problems.darcy(10, 100, seed=5, length_scale=length)
        yield row(model, "Darcy, length 0.25", f"length {length}", other.u_test, other.s_test)
    for power in (1.5, 2, 3):
        yield row(model, "Darcy, length 0.25", f"to the power {power}", d.u_test**power)


def lno(folder):
    with np.load(Path(folder) / "lno_reaction_diffusion.npz") as file:
        z = {key: file[key].astype(float) for key in file.files}
    model = fit_auto(z["u_train"], z["s_train"], z["y"])
    yield row(model, "LNO reaction-diffusion (file)", "its test functions", z["u_test"], z["s_test"])


def false_alarms():
    """Measure how many ordinary functions the inputs flag, for few training functions and many sensors."""
    draws = {
        "ODE inputs, 100 sensors": lambda n, seed: problems.nonlinear_ode(n, 500, seed),
        "final temperatures with 1 % noise": lambda n, seed: problems.inverse_source(
            n, 500, seed, noise=0.01
        ),
        "Burgers inputs, 128 sensors": lambda n, seed: problems.burgers(n, 500, seed),
        "Darcy permeabilities, 900 sensors": lambda n, seed: problems.darcy(n, 100, seed),
    }
    for data, draw in draws.items():
        for n in (20, 50, 100, 400):
            wrong = []
            for seed in range(5):
                d = draw(n, seed)
                train, test = (A.reshape(len(A), -1) for A in (d.u_train, d.u_test))
                wrong.append(Novelty(train).outside(test).mean())
            yield {"data": data, "functions": n, "wrong": float(np.mean(wrong))}


def main():
    arguments = option_parser(__doc__, data=True).parse_args()
    warnings.simplefilter("ignore")
    rows = [*ode(), *burgers(), *darcy(), *(lno(arguments.data) if arguments.data else ())]
    alarms = list(false_alarms())
    write_results(OUT, {"flagged": rows, "wrong": alarms})
    for measured in (*rows, *alarms):
        print(measured)


if __name__ == "__main__":
    main()
