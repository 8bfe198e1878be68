"""Folders of simulations: meshes whose nodes move, large meshes, many CSV files, files in blocks.

    python benchmarks/folders.py [--data FOLDER] [--parts holed fuel_rod csv blocks] [--files N]

`holed` and `fuel_rod` need the data folder (`holed_poisson.npz`, `fuel_rod.npz`), which are written as VTU
files first. `blocks` writes `--files` files of 1 MB to a temporary folder and fits them within 2 GiB.
Written to benchmarks/results/folders.json.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
from harness import RESULTS, option_parser, peak_gib, print_row, read_results, write_results

from elmonet import (
    SLFN,
    AutoELMDeepONet,
    ELMDeepONet,
    Legendre,
    Linear,
    Scattered,
    fit_blocks,
    read,
    relative_l2,
)
from elmonet.data.reading import open_pairs
from elmonet.data.run_files import find_runs

OUT = RESULTS / "folders.json"
PARTS = ("holed", "fuel_rod", "csv", "blocks")


def write_runs(folder, nodes, triangles, fields, first=0):
    """Write a VTU file for each run: fields (n, P) or (n, P, k) on nodes (P, d) or (n, P, d)."""
    import meshio

    for i in range(len(next(iter(fields.values())))):
        own = nodes if nodes.ndim == 2 else nodes[i]
        data = {name: pad(values[i].astype(float)) for name, values in fields.items()}
        mesh = meshio.Mesh(pad(own.astype(float)), [("triangle", triangles)], point_data=data)
        mesh.write(folder / f"run_{first + i:04d}.vtu")


def pad(array):
    """Return vectors with three components, as VTK has them."""
    return np.column_stack([array, np.zeros(len(array))]) if array.shape[-1:] == (2,) else array


def write_table(path, numbers, first=0):
    lines = ["run,a,b", *(f"{first + i},{a:.9g},{b:.9g}" for i, (a, b) in enumerate(numbers))]
    path.write_text("\n".join(lines))


def holed(data):
    """Return errors of the field, of the nodes and of both, from 36 of 121 VTU files with moved nodes."""
    from scipy.spatial import Delaunay

    d = np.load(data / "holed_poisson.npz")
    triangles = Delaunay(d["y"]).simplices
    with tempfile.TemporaryDirectory() as name:
        parts = {part: Path(name) / part for part in ("train", "test")}
        for part, folder in parts.items():
            folder.mkdir()
            write_runs(folder, d[f"y_{part}"], triangles, {"u": d[f"s_{part}"]})
            write_table(folder / "design.csv", d[f"u_{part}"])
        train, test = (read(folder) for folder in parts.values())
    test = test.relative_to(train.mesh)
    start = time.process_time()
    model = AutoELMDeepONet(random_state=0).fit(train)
    seconds = time.process_time() - start
    predicted = model.predict(test.u_train)
    k = train.components.index("u")
    found = np.asarray(predicted)
    moves = [i for i in range(len(train.components)) if i != k]
    nodes = train.mesh.points[None] + found[:, :, moves]
    true = train.mesh.points[None] + test.s_train[:, :, moves]
    points = Scattered.of(list(d["s_train"].astype(float)), list(d["y_train"].astype(float)))
    scattered = AutoELMDeepONet(random_state=0).fit(d["u_train"].astype(float), points)
    where = Scattered.of(list(d["s_test"].astype(float)), list(d["y_test"].astype(float)))
    there = scattered.predict(d["u_test"].astype(float), points=where)
    values = np.asarray(getattr(there, "values", there)).reshape(d["s_test"].shape)
    return {
        "field": relative_l2(found[:, :, k], test.s_train[:, :, k]),
        "nodes": relative_l2(nodes.reshape(len(nodes), -1), true.reshape(len(true), -1)),
        "expected": float(model.expected_error_),
        "scattered": relative_l2(values, d["s_test"]),
        "cpu_seconds": seconds,
    }


def fuel_rod(data):
    """Return errors of temperature and velocity on 40,510 nodes."""
    from scipy.spatial import Delaunay

    d = np.load(data / "fuel_rod.npz")
    triangles = Delaunay(d["y"]).simplices
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_runs(folder, d["y"], triangles, {"T [K]": d["s_train"], "velocity [m/s]": d["velocity_train"]})
        write_table(folder / "design.csv", d["u_train"])
        start = time.process_time()
        train = read(folder)
        reading = time.process_time() - start
    start = time.process_time()
    model = AutoELMDeepONet(random_state=0).fit(train)
    seconds = time.process_time() - start
    u = {"a": d["u_test"][:, 0], "b": d["u_test"][:, 1]}
    predicted = model.predict(u)
    assert train.components == ("T", "velocity_x", "velocity_y")
    return {
        "T": relative_l2(predicted[:, :, 0], d["s_test"]),
        "velocity": relative_l2(predicted[:, :, 1:], d["velocity_test"]),
        "expected": float(model.expected_error_),
        "reading_cpu_seconds": reading,
        "cpu_seconds": seconds,
    }


def csv(n=1000, rows=1000):
    """Return the CPU time of reading n CSV files, relative to that of pandas.read_csv alone."""
    import pandas

    rng, t = np.random.default_rng(0), np.linspace(0, 1, rows)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for i in range(n):
            table = np.column_stack([t, rng.standard_normal(rows), rng.standard_normal(rows)])
            np.savetxt(
                folder / f"run_{i:04d}.csv",
                table,
                delimiter=",",
                header="t,force,disp",
                comments="",
                fmt="%.9g",
            )
        times = {}
        for what in ("pandas", "elmonet", "pandas again"):
            start = time.process_time()
            if what == "elmonet":
                data = read(str(folder / "*.csv"), input="force", output="disp")
                assert len(data.s_train) == n
            else:
                for file in sorted(folder.glob("*.csv")):
                    pandas.read_csv(file)
            times[what] = time.process_time() - start
    return times | {"ratio": times["elmonet"] / min(times["pandas"], times["pandas again"])}


def blocks(n):
    """Return peak memory and CPU time of a fit to n files of 1 MB, in blocks with a limit of 2 GiB."""
    rng, m = np.random.default_rng(0), 62_500  # with the coordinates, 1 MB
    x = np.linspace(0, 1, m)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "runs").mkdir()
        numbers = rng.random((n, 2))
        for i, (a, b) in enumerate(numbers):
            np.savez(folder / "runs" / f"run_{i:05d}.npz", s=np.sin((1 + a) * x) + b * x**2, x=x)
        write_table(folder / "design.csv", numbers)
        before, start = peak_gib(), time.process_time()
        u, s, points, _ = open_pairs(find_runs(str(folder / "runs" / "*.npz"), str(folder / "design.csv")))
        reading, start = time.process_time() - start, time.process_time()
        model = ELMDeepONet(Linear() + SLFN(200, "tanh", 0.5), Legendre(12), random_state=0)
        fit_blocks(model, u, s, points, memory="2GiB")
        fitting = time.process_time() - start
        error = relative_l2(model.predict(u[:20]), np.asarray(s[:20]))
    return {
        "files": n,
        "peak_gib": peak_gib(),
        "before_gib": before,
        "reading_cpu_seconds": reading,
        "fitting_cpu_seconds": fitting,
        "error": error,
    }


if __name__ == "__main__":
    parser = option_parser(__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--files", type=int, default=10_000)
    options = parser.parse_args()
    results = read_results(OUT, {})
    for part in options.parts:
        if part in ("holed", "fuel_rod"):
            if options.data is None:
                continue
            row = {"holed": holed, "fuel_rod": fuel_rod}[part](options.data)
        else:
            row = csv() if part == "csv" else blocks(options.files)
        results[part] = row
        print_row({"part": part} | row)
        write_results(OUT, results)
