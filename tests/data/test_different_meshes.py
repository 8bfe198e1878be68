"""Runs on meshes of their own: taken as scattered points, or brought to one mesh."""

import numpy as np
import pytest
from scipy.spatial import Delaunay

from elmonet import AutoELMDeepONet, ElmonetError, read

meshio = pytest.importorskip("meshio")

DESIGN = np.random.default_rng(1).uniform(1, 2, (16, 2))


def linear(k, q, x, y):
    return k * x + q * y + 1


def smooth(k, q, x, y):
    return 1 + k * x**3 + q * x * y**3


def kinked(k, q, x, y):
    return 1 + k * np.abs(x - 0.5) + q * np.abs(y - 0.4) + k * q * np.maximum(x - y, 0)


def write(folder, field, sizes, also=None):
    rng = np.random.default_rng(0)
    for i, (k, q) in enumerate(DESIGN):
        n = sizes[i % len(sizes)]
        inner = rng.uniform(0, 1, (n, 2))
        side = np.linspace(0, 1, 5)
        edge = [[a, b] for a in side for b in (0, 1)] + [[b, a] for a in side[1:-1] for b in (0, 1)]
        nodes = np.concatenate([inner, edge])
        fields = {"T [K]": field(k, q, *nodes.T)} | ({"p": also(k, q, *nodes.T)} if also else {})
        three = np.column_stack([nodes, np.zeros(len(nodes))])
        mesh = meshio.Mesh(three, [("triangle", Delaunay(nodes).simplices)], point_data=fields)
        mesh.write(folder / f"run_{i}.vtu")
    (folder / "design.csv").write_text("\n".join(["k,q", *(f"{k},{q}" for k, q in DESIGN)]))


@pytest.mark.parametrize("sizes", [(60, 70, 80), (60,)])
def test_each_run_has_its_own_mesh(tmp_path, sizes):
    write(tmp_path, linear, sizes, kinked)
    data = read(tmp_path)
    assert len(data.meshes) == 16
    assert data.components == ("T", "p")
    assert data.s_train.n_functions == 16
    common, error = data.on_common_mesh()
    assert len(common.points) == max(sizes) + 16
    expected = linear(*DESIGN[3], *common.points.T)
    np.testing.assert_allclose(common.s_train[3, :, 0], expected, rtol=1e-9)  # which interpolation keeps
    assert 0 < error < 0.05
    with pytest.raises(ElmonetError, match="do not have meshes of their own"):
        common.on_common_mesh()


@pytest.mark.parametrize(
    ("field", "taken"), [(smooth, "treated as scattered points"), (kinked, "interpolated to the finest")]
)
def test_left_out_functions_say_how_meshes_are_taken(tmp_path, field, taken):
    write(tmp_path, field, (60, 70, 80) if field is smooth else (120, 130, 140))
    model = AutoELMDeepONet(random_state=0).fit(read(tmp_path))
    words = " ".join(model.summary().split())
    assert f"Meshes: {taken}" in words
    where = np.random.default_rng(2).uniform(0.05, 0.95, (40, 2))
    found = model.predict({"k": [1.4], "q": [1.6]}, points=where)
    true = field(1.4, 1.6, *where.T)
    assert np.linalg.norm(found - true) < 0.05 * np.linalg.norm(true)
    assert (model.labels_.mesh is not None) == (field is kinked)
