"""What --help shows: one sentence, examples that run, and options in plain words."""

import inspect
import re
import shlex
import shutil

import numpy as np
import pytest
from scipy.io import savemat

from elmonet import ELMDeepONet, Linear, Ridge, cli, problems, read

VERBS = {command.callback.__name__: command.callback for command in cli.app.registered_commands}
SLOW = {"demo", "reproduce"}  # their own tests run them with few functions


def examples(verb):
    return re.findall(r"^elmonet .*$", inspect.getdoc(VERBS[verb]), re.MULTILINE)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """All files that the examples name."""
    folder = tmp_path_factory.mktemp("examples")
    data = problems.antiderivative(n_train=20, n_test=12)
    u, s, points = data.u_train, data.s_train, data.points
    np.savez(folder / "data.npz", **data.to_arrays())
    for name in ("data.mat", "in.mat"):
        savemat(folder / name, {"f_train": u, "u_train": s, "points": points})
    for name in ("new.npz", "pool.npz"):
        np.savez(folder / name, u=data.u_test)
    np.savez(folder / "known.npz", u=data.u_test, s=data.s_test)
    np.save(folder / "measured.npy", s[3])
    np.savetxt(folder / "measured.csv", s[3, ::10])
    np.savetxt(folder / "where.csv", points[::10])
    np.save(folder / "grid.npy", points[::5])
    for name, alpha in (("operator", 1e-9), ("a", 1e-6), ("b", 1e-3), ("c", 1.0)):
        ELMDeepONet(Linear(), solver=Ridge(alpha)).fit(u, s, points).save(folder / f"{name}.elmonet")
    _write_runs(folder)
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(folder / "big.zarr", mode="w")
    for name, array in (("u", u), ("s", s), ("points", points)):
        group.create_array(name, data=array)
    return folder


def _write_runs(folder):
    """A table of parameters with runs on a mesh, and records in time."""
    meshio = pytest.importorskip("meshio")
    for name in ("runs", "records"):
        (folder / name).mkdir()
    nodes, numbers = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]), np.linspace(1, 2, 12)
    for i, k in enumerate(numbers):
        fields = {"T": k * nodes[:, 0] + k**2, "velocity": k * nodes[:, [1, 0, 2]] + [1, 0, 0]}
        mesh = meshio.Mesh(nodes, [("triangle", [[0, 1, 2], [1, 3, 2]])], point_data=fields)
        mesh.write(folder / "runs" / f"{i}.vtu")
    (folder / "design.csv").write_text("\n".join(["k", *map(str, numbers)]))
    flow = read(str(folder / "runs" / "*.vtu"), table=folder / "design.csv")
    fields = {name: flow.s_train[..., i] for i, name in enumerate(flow.components)}
    ELMDeepONet(Linear()).fit(flow.u_train, fields, points=flow.points).save(folder / "flow.elmonet")
    records = problems.duffing(5, 1, n_steps=80)
    for i, (u, s) in enumerate(zip(records.u_train, records.s_train, strict=True)):
        table = np.column_stack([records.points[:, 0], u, s])[: 80 - i]
        header = {"delimiter": ",", "header": "t,force,displacement", "comments": ""}
        np.savetxt(folder / "records" / f"{i}.csv", table, **header)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in SLOW])
def test_examples_run(run, files, tmp_path, verb):
    pytest.importorskip("matplotlib")
    pytest.importorskip("h5py")
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    for example in examples(verb):
        code, _, err = run(*shlex.split(example)[1:])
        assert code == 0, (example, err)
    assert len(examples(verb)) >= 2


@pytest.mark.parametrize("verb", VERBS)
def test_begins_with_one_sentence_and_every_option_is_explained(verb):
    first, _, _ = inspect.getdoc(VERBS[verb]).partition("\n\n")
    assert re.fullmatch(r"[A-Z][^.]*\.", " ".join(first.split()))
    assert len(first) <= 110
    for name, parameter in inspect.signature(VERBS[verb], eval_str=True).parameters.items():
        (option,) = parameter.annotation.__metadata__
        assert option.help.endswith("."), name
