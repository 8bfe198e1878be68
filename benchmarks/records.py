"""Records in time: free runs of measured and simulated records, beside other methods.

    python benchmarks/records.py [--data FOLDER] [--parts PART ...]

Parts are silverbox, bouc_wen, chaos, noise, noise_fresh_seed, bands, lengths, stream, beside and speed.
Silverbox needs the data folder (`silverbox_records.npz`); SysIdentPy and PyTorch are used if they are
installed, the LSTM for `--lstm` times the seconds of our fit; seconds are CPU seconds. `stream` writes
`--steps` steps (16 bytes each) to a temporary folder.
Written to benchmarks/results/records.json.
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
import time
import warnings

import datasets
import numpy as np
from harness import RESULTS, option_parser, print_row, read_results, timed, write_results

from elmonet import AutoELMDeepONet, InputError, MarchingELMDeepONet, OperatorData, problems
from elmonet.auto import model as auto
from elmonet.marching.free_run import Runner
from elmonet.marching.step import Series, Settings, Step

OUT = RESULTS / "records.json"
KNOWN = 5  # first values of the outputs that are given
PARTS = (
    "silverbox",
    "bouc_wen",
    "chaos",
    "noise",
    "noise_fresh_seed",
    "bands",
    "lengths",
    "stream",
    "beside",
    "speed",
)


def errors_of(model, data):
    missed = np.linalg.norm(model.predict(data.u_test) - data.s_test, axis=1)
    return missed / np.linalg.norm(data.s_test, axis=1)


def silverbox(folder, lstm_times):
    """Return free-run errors in mV rms on the tenth multisine and on the arrow."""
    z = np.load(folder / "silverbox_records.npz")
    u, s, tests = (
        z["u_train"],
        z["s_train"],
        {"multisine": ("u_test", "s_test"), "arrow": ("u_arrow", "s_arrow")},
    )
    tests = {name: (np.atleast_2d(z[a]), np.atleast_2d(z[b])) for name, (a, b) in tests.items()}

    def row(method, run, seconds):
        found = {
            name: 1e3 * float(np.sqrt(np.mean((run(v, r[:, :KNOWN]) - r)[:, KNOWN:] ** 2)))
            for name, (v, r) in tests.items()
        }
        return {"method": method, **found, "seconds": seconds}

    t = float(z["dt"]) * np.arange(u.shape[1])
    ours, model = cpu_timed(lambda: MarchingELMDeepONet(random_state=0).fit(u, s, points=t))
    yield {**row("elmonet", lambda v, first: model.predict(v, start=first), ours), "step": model.step_}
    seconds, arx = cpu_timed(lambda: linear_arx(u, s, 2, 3))
    yield row("linear ARX (2, 3)", arx, seconds)
    if importlib.util.find_spec("sysidentpy"):
        seconds, narx = cpu_timed(lambda: sysidentpy_narx(u, s))
        yield row("SysIdentPy, FROLS, degree 3", narx, seconds)
    if importlib.util.find_spec("torch"):
        seconds, network = cpu_timed(lambda: lstm(u, s, lstm_times * ours))
        yield row("LSTM, 32 units", network, seconds)


def cpu_timed(call):
    """Return the CPU seconds that a call takes, and what it returns."""
    start = time.process_time()
    value = call()
    return time.process_time() - start, value


def linear_arx(u, s, h, inputs):
    mean_u, mean_s = u.mean(), s.mean()
    u, s, m = u - mean_u, s - mean_s, max(h, inputs - 1)
    k = np.arange(m, u.shape[1])
    A = np.stack([s[:, k - i - 1] for i in range(h)] + [u[:, k - i] for i in range(inputs)], axis=-1)
    c = np.linalg.lstsq(A.reshape(-1, h + inputs), s[:, k].ravel(), rcond=None)[0]

    def run(v, first):
        v, out = v - mean_u, np.zeros_like(v)
        out[:, : first.shape[1]] = first - mean_s
        for j in range(first.shape[1], v.shape[1]):
            out[:, j] = (
                np.stack([out[:, j - i - 1] for i in range(h)] + [v[:, j - i] for i in range(inputs)], 1) @ c
            )
        return out + mean_s

    return run


def sysidentpy_narx(u, s):
    """Return free runs; its lags begin at 1, so inputs are moved ahead by a step: otherwise runs diverge."""
    from sysidentpy.basis_function import Polynomial
    from sysidentpy.model_structure_selection import FROLS
    from sysidentpy.parameter_estimation import LeastSquares

    def ahead(one):
        return np.append(one[1:], one[-1])

    basis, estimator = Polynomial(degree=3), LeastSquares()
    given = {"order_selection": True, "n_info_values": 40, "info_criteria": "bic", "ylag": 3, "xlag": 3}
    model = FROLS(**given, basis_function=basis, estimator=estimator)
    model.fit(X=np.concatenate([ahead(one) for one in u])[:, None], y=s.reshape(-1, 1))

    def run(v, first):
        out = []
        for one, begin in zip(v, first, strict=True):
            y = np.zeros((len(one), 1))
            y[: len(begin), 0] = begin
            out.append(model.predict(X=ahead(one)[:, None], y=y[: model.max_lag])[:, 0])
        return np.array(out)

    return run


def lstm(u, s, seconds, units=32, window=400):
    import torch

    torch.manual_seed(0)
    size_u, size_s, mean_u, mean_s = u.std(), s.std(), u.mean(), s.mean()
    network, head = torch.nn.LSTM(1, units, batch_first=True), torch.nn.Linear(units, 1)
    optimiser = torch.optim.Adam([*network.parameters(), *head.parameters()], 3e-3)
    U = torch.tensor((u - mean_u) / size_u, dtype=torch.float32)
    S = torch.tensor((s - mean_s) / size_s, dtype=torch.float32)
    torch.set_num_threads(1)
    rng, end = np.random.default_rng(0), time.process_time() + seconds
    while time.process_time() < end:
        at = [(rng.integers(len(u)), rng.integers(u.shape[1] - window)) for _ in range(32)]
        x = torch.stack([U[i, k : k + window] for i, k in at])[..., None]
        y = torch.stack([S[i, k : k + window] for i, k in at])
        optimiser.zero_grad()
        loss = ((head(network(x)[0])[..., 0] - y)[:, window // 4 :] ** 2).mean()
        loss.backward()
        optimiser.step()

    def run(v, first):
        with torch.no_grad():
            x = torch.tensor((v - mean_u) / size_u, dtype=torch.float32)[..., None]
            return head(network(x)[0])[..., 0].numpy() * size_s + mean_s

    return run


def bouc_wen(seeds=range(10, 20)):
    """Return errors of 100 new records, and which of them were named beforehand, by warning or band."""
    for seed in seeds:
        data = problems.bouc_wen(10, 100, seed=seed)
        seconds, model = cpu_timed(
            lambda data=data: MarchingELMDeepONet(random_state=0).fit(data.u_train, data.s_train, data.points)
        )
        errors, novelty = errors_of(model, data), model.novelty(data.u_test)
        low, high = model.interval(data.u_test, 0.9, "function")
        stated = np.linalg.norm((high - low) / 2, axis=1) / np.linalg.norm(data.s_test, axis=1)
        large, named = errors > 0.05, (novelty > 1.2) | (stated > 0.05)
        yield {
            "seed": seed,
            "step": model.step_,
            "median": float(np.median(errors)),
            "mean": float(errors.mean()),
            "largest": float(errors.max()),
            "above_5_percent": int(large.sum()),
            "of_these_named": int((large & named).sum()),
            "warned": int((novelty > 1.2).sum()),
            "expected": model.expected_error_,
            "interval": list(model.expected_error_interval_),
            "seconds": seconds,
        }


def chaos(seeds=range(30, 40)):
    """Return when bands and errors of runs first exceed 10 %, for runs whose errors do, of all seeds."""
    found = {"points": [], "function": []}
    true = []
    for seed in seeds:
        data = problems.duffing(10, 100, seed=seed, stiffness=-1)
        model = MarchingELMDeepONet(random_state=0).fit(data.u_train, data.s_train, data.points)
        limit = 0.1 * np.sqrt(np.mean(data.s_test**2))
        when = first_above(np.abs(model.predict(data.u_test) - data.s_test), limit)
        lost = when < data.s_test.shape[1]
        true.append(when[lost])
        for of, ratios in found.items():  # the first time above 10 % is a statement on whole records
            low, high = model.interval(data.u_test, 0.9, of)
            ratios.append(first_above((high - low) / 2, limit)[lost] / when[lost])
    for of, ratios in found.items():
        within = [float(np.mean((ratio < 1.5) & (ratio > 1 / 1.5))) for ratio in ratios]
        together = np.concatenate(ratios)
        yield {
            "band": of,
            "records_lost": len(together),
            "median_steps": float(np.median(np.concatenate(true))),
            "ratio": np.quantile(together, [0.05, 0.5, 0.95]).tolist(),
            "within_1.5": float(np.mean((together < 1.5) & (together > 1 / 1.5))),
            "each": np.round(within, 3).tolist(),
        }


def first_above(sizes, limit):
    """Return the first step (n,) at which sizes (n, T) exceed a limit; T if none does."""
    return np.where((sizes > limit).any(axis=1), (sizes > limit).argmax(axis=1), sizes.shape[1])


def noise_fresh_seed():
    """Return the same as `noise` of records that nobody looked at while the choice was designed."""
    yield from noise(seed=70)


def noise(seed=0):
    """Return errors against the clean truth: as chosen, with feedback, without."""
    for name in ("bouc_wen", "duffing", "tanks"):
        for level in (0.01, 0.03, 0.1):
            data = getattr(problems, name)(10, 40, seed=seed, noise=level)
            chosen = MarchingELMDeepONet(random_state=0).fit(data.u_train, data.s_train, data.points)
            kind = "with feedback" in chosen.step_
            other = MarchingELMDeepONet(feedback=not kind, random_state=0)
            other.fit(data.u_train, data.s_train, data.points)
            each = {one: float(errors_of(one, data).mean()) for one in (chosen, other)}
            yield {
                "problem": name,
                "noise": level,
                "step": chosen.step_,
                "chosen": each[chosen],
                "feedback": each[chosen if kind else other],
                "without": each[other if kind else chosen],
                "ratio": each[chosen] / min(each.values()),
            }


def bands(seeds=range(60, 70)):
    """Return the coverage of 90 % bands: of values measured like those of training, and of clean ones."""
    for name, more in (("bouc_wen", {}), ("tanks", {}), ("duffing", {"noise": 0.01})):
        found = []
        for seed in seeds:
            data = getattr(problems, name)(10, 40, seed=seed, n_steps=400, **more)
            model = MarchingELMDeepONet(random_state=0).fit(data.u_train, data.s_train, data.points)
            size = np.sqrt(np.mean((data.s_test - data.s_test[:, :1]) ** 2, axis=1, keepdims=True))
            errors = more.get("noise", 0.0) * np.random.default_rng(seed).normal(size=data.s_test.shape)
            held = []
            for truth in (data.s_test + size * errors, data.s_test):
                for of in ("points", "function"):
                    low, high = model.interval(data.u_test, 0.9, of)
                    inside = (low <= truth) & (truth <= high)
                    held.append(inside.mean() if of == "points" else inside.all(axis=1).mean())
            found.append(held)
        values, whole, *clean = np.mean(found, axis=0).tolist()
        row = {"problem": name, "values": values, "whole_records": whole}
        yield {**row, "of_clean_truth": clean, "each": np.round(found, 3)[:, :2].tolist()}


def cubic_filter(T, seed, last=0.0):
    """Return inputs and outputs (T,) of s(k) = 0.9 s(k-1) - 0.05 s(k-1)^3 + 0.2 u(k)."""
    rng, s = np.random.default_rng(seed), []
    u = np.convolve(rng.normal(size=T + 9), np.ones(10) / 3, "valid")
    for value in u.tolist():
        last = 0.9 * last - 0.05 * last**3 + 0.2 * value
        s.append(last)
    return u, np.array(s)


def stream(steps):
    """Return error, seconds and peak memory of a fit to one record in a zarr store, in its own process."""
    import zarr

    with tempfile.TemporaryDirectory() as folder:
        root = zarr.open_group(folder, mode="w")
        u, s = (root.create_array(name, shape=(steps,), chunks=(1_000_000,), dtype="f8") for name in "us")
        last = 0.0
        for k in range(0, steps, 1_000_000):
            own = slice(k, min(steps, k + 1_000_000))
            u[own], s[own] = cubic_filter(own.stop - k, k, last)
            last = float(s[own.stop - 1])
        v, r = cubic_filter(10_000, 1)
        np.savez(f"{folder}/new.npz", v=v, r=r)
        run = subprocess.run(
            [sys.executable, "-c", _STREAMED, folder], check=True, capture_output=True, text=True
        )
        yield {"steps": steps, **json.loads(run.stdout.splitlines()[-1])}


_STREAMED = """
import json, resource, sys, time
import numpy as np, zarr
from elmonet import MarchingELMDeepONet
root, new = zarr.open_group(sys.argv[1], mode="r"), np.load(sys.argv[1] + "/new.npz")
begin = time.perf_counter()
model = MarchingELMDeepONet(random_state=0).fit(root["u"], root["s"])
seconds = time.perf_counter() - begin
error = float(np.linalg.norm(model.predict(new["v"]) - new["r"]) / np.linalg.norm(new["r"]))
fitted = next(line for line in model.summary().splitlines() if "were fitted" in line)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
found = {"step": model.step_, "fitted": " ".join(fitted.split()), "error": error}
print(json.dumps({**found, "seconds": seconds, "GiB": peak}))
"""


def beside(folder=None):
    """Return the share of the automatic choice's CPU seconds that trying steps in time takes.

    On all sets of peers.py whose inputs and outputs have one axis, and on others of which some are causal.
    """
    compare, spent, used = auto.compare_with_marching, [], []

    def counted(*arguments, **settings):
        seconds, found = cpu_timed(lambda: compare(*arguments, **settings))
        spent.append(seconds)
        used.append(found is not None and found.model is not None)
        return found

    data = problems.antiderivative(500, 1)
    noise = np.random.default_rng(0).normal(size=data.s_train.shape) * data.s_train.std()
    u, s, points = data.u_train, data.s_train, data.points
    sets = {
        "antiderivative, noise 1 %": (u, s + 0.01 * noise, points),
        "its square": (u, s**2, points),
        "input times antiderivative": (u, u * s, points),
    }
    for name in ("burgers", *datasets.PAPER, *datasets.file_names(folder)):
        try:
            data = datasets.load(name, folder)
        except (InputError, KeyError):
            continue  # inputs are numbers, or records of a form of their own
        if isinstance(data, OperatorData) and np.shape(data.points) == (*data.u_train.shape[1:], 1):
            sets[name] = data.u_train, data.s_train, data.points
    auto.compare_with_marching = counted
    for name, given in sets.items():
        spent.clear()
        used.clear()
        total, _ = cpu_timed(lambda given=given: AutoELMDeepONet(random_state=0).fit(*given))
        more = sum(spent)
        yield {"data": name, "cpu_seconds": total, "growth": more / (total - more), "used": any(used)}
    auto.compare_with_marching = compare


def lengths():
    """Return errors for records of 200 to 5000 steps in one list, and for one record of a million steps."""
    data = problems.duffing(12, 10, n_steps=5000)
    ends = np.linspace(200, 5000, 12).astype(int)
    u, s = ([one[:end] for one, end in zip(A, ends, strict=True)] for A in (data.u_train, data.s_train))
    seconds, model = timed(lambda: MarchingELMDeepONet(random_state=0).fit(u, s))
    yield {"records": 12, "steps": "200 to 5000", "error": float(errors_of(model, data).mean())} | {
        "expected": model.expected_error_,
        "seconds": seconds,
    }

    (u, s), (v, r) = cubic_filter(1_000_000, 0), cubic_filter(10_000, 1)
    seconds, model = timed(lambda: MarchingELMDeepONet(random_state=0).fit(u, s))
    error = float(np.linalg.norm(model.predict(v) - r) / np.linalg.norm(r))
    yield {"records": 1, "steps": 1_000_000, "error": error, "expected": model.expected_error_} | {
        "seconds": seconds
    }


def speed():
    """Return CPU seconds of free runs, and of their matrix products alone."""
    for n, T, settings in (
        (1000, 1000, Settings(5, 5, "tanh", 200, 0.1)),
        (1000, 1000, Settings(3, 4, "tanh", 1000, 0.1)),
        (1000, 1000, Settings(3, 4, "cubic")),
        (1, 20_000, Settings(5, 5, "tanh", 200, 0.1)),
    ):
        rng, h, m = np.random.default_rng(0), settings.outputs, settings.inputs
        series = [
            Series(rng.normal(size=(T + m - 1, 1)), rng.normal(size=(T + h, 1)), np.empty(0))
            for _ in range(n)
        ]
        step = Step.of(settings, series[:3], 0)
        C = 1e-3 * rng.normal(size=(step.count, 1))
        runner = Runner(step, np.array([[-9.0], [9.0]]))
        seconds = cpu_timed(lambda runner=runner, series=series, C=C: runner.run(series, C))[0]
        # Coordinates of past outputs and inputs, random features of them or products by Horner's scheme, and
        # the sum with coefficients.
        rows = settings.width or (h + m) * (h + m + 1) // 2
        A, M, N = (rng.normal(size=size) for size in ((rows, h + m), (h + m, h), (h + m, m)))
        Z, B, S, U = (rng.normal(size=(k, n)) for k in (h + m, step.count, h, m))

        def products(A=A, M=M, N=N, Z=Z, B=B, S=S, U=U, C=C, T=T):
            for _ in range(T):
                M @ S, N @ U, A @ Z, C.T @ B

        alone = cpu_timed(products)[0]
        kilohertz = T / seconds / 1e3
        yield {
            "records": n,
            "steps": T,
            "kind": settings.kind,
            "width": settings.width,
            "seconds": seconds,
            "products": alone,
        } | {
            "ratio": seconds / alone,
            "kHz": kilohertz,
        }


if __name__ == "__main__":
    parser = option_parser(__doc__, data=True, out=OUT)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--steps", type=int, default=100_000_000, help="steps of the streamed record")
    parser.add_argument("--lstm", type=float, default=10.0, help="seconds of the LSTM, in units of ours")
    options = parser.parse_args()
    results = read_results(options.out, {})
    warnings.simplefilter("ignore")
    given = {
        "silverbox": (options.data, options.lstm),
        "stream": (options.steps,),
        "beside": (options.data,),
    }
    for part in options.parts:
        if part == "silverbox" and options.data is None:
            print("silverbox needs --data")
            continue
        results[part] = []
        given = {
            "silverbox": (options.data, options.lstm),
            "stream": (options.steps,),
            "beside": (options.data,),
        }.get(part, ())
        for found in globals()[part](*given):
            print_row(found)
            results[part].append(found)
            write_results(options.out, results)
