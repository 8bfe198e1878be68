"""Pictures of fields on meshes: triangles in the plane, surfaces of solids, vectors, meshes that move."""

import numpy as np
import pytest

from elmonet import ELMDeepONet, InputError, Linear, OperatorData, plot
from elmonet.data.mesh import Mesh
from elmonet.plot.fields import _TOWARDS, in_picture

pyplot = pytest.importorskip("matplotlib.pyplot")

SIDE = np.linspace(0, 1, 4)
AT = np.arange(64).reshape(4, 4, 4)
CORNERS = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
BLOCKS = [AT[i : i + 3, j : j + 3, k : k + 3] for i, j, k in CORNERS]
SOLID = Mesh(
    [[x, y, z] for x in SIDE for y in SIDE for z in SIDE],
    [("hexahedron", np.stack(BLOCKS, axis=-1).reshape(-1, 8))],
)
SQUARE = Mesh(
    [[x, y] for x in SIDE for y in SIDE],
    [("triangle", [c for i in (0, 1, 2, 4, 5, 6, 8, 9, 10) for c in ([i, i + 4, i + 5], [i, i + 5, i + 1])])],
)
INPUTS = np.random.default_rng(0).uniform(1, 2, (24, 2))


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")


def fitted(mesh, moving=False):
    """A model of T [K], and of a velocity; its nodes move upwards with the second input, if at all."""
    x, (a, b) = mesh.nodes, INPUTS.T
    T = a[:, None] * x[:, 0] + b[:, None]
    velocity = [a[:, None] * x[:, 0], b[:, None] * x[:, 1]]
    names, parts = ["T", "velocity_x", "velocity_y"], [T, *velocity]
    if moving:
        names, parts = [*names, "displacement_x", "displacement_y"], [*parts, 0 * T, b[:, None] * x[:, 1]]
        mesh = Mesh(mesh.nodes, mesh.cells, moving=True)
    data = OperatorData(
        INPUTS,
        np.stack(parts, axis=-1),
        points=mesh.points,
        mesh=mesh,
        components=tuple(names),
        axes=mesh.axes,
        units={"T": "K", "velocity_x": "m/s", "velocity_y": "m/s", "x": "mm"},
    )
    return ELMDeepONet(Linear(), random_state=0).fit(data), data


def colours(ax):
    return next(c for c in ax.collections if c.get_array() is not None)


def test_vectors_are_arrows_over_their_length():
    model, data = fitted(SQUARE)
    axes = plot.vectors(model, INPUTS, data.s_train, index=3, name="velocity")
    assert len(axes) == 3
    arrows = axes[1].collections[-1]
    a, b = INPUTS[3]
    found = {(x, y): (u, v) for x, y, u, v in zip(arrows.X, arrows.Y, arrows.U, arrows.V, strict=True)}
    for (x, y), vector in found.items():  # every node is in a square of its own
        np.testing.assert_allclose(vector, (a * x, b * y), atol=1e-6)
    assert len(found) == 16
    np.testing.assert_allclose(colours(axes[1]).get_array().max(), np.hypot(a, b), rtol=1e-6)
    labels = [ax.get_xlabel() for ax in axes[0].figure.axes]
    assert "|velocity| [m/s]" in labels
    assert axes[0].get_xlabel() == "x [mm]"
    assert len(plot.vectors(model, INPUTS, name="velocity")) == 1
    with pytest.raises(InputError, match="there is no vector 'flow'; there are velocity"):
        plot.vectors(model, INPUTS, name="flow")


def test_a_mesh_that_moves_is_drawn_where_it_is_predicted():
    model, data = fitted(SQUARE, moving=True)
    axes = plot.band_field(model, INPUTS, data.s_train, index=2, component="T")
    drawn = colours(axes[0])._triangulation
    np.testing.assert_allclose(drawn.y, SQUARE.nodes[:, 1] * (1 + INPUTS[2, 1]), atol=1e-6)
    np.testing.assert_allclose(drawn.x, SQUARE.nodes[:, 0], atol=1e-6)


def test_the_surface_of_a_solid_with_what_is_near_over_what_is_far():
    model, data = fitted(SOLID)
    axes = plot.band_field(model, INPUTS, data.s_train, index=1, component="T")
    drawn = colours(axes[0])
    assert len(drawn.get_paths()) == 6 * 9 * 2
    # The last triangle is nearest: at the corner (1, 0, 1), towards the viewer.
    (nearest, _) = in_picture(np.array([[1.0, 0.0, 1.0]]), None)
    last = drawn.get_paths()[-1].vertices
    assert np.abs(last - nearest).sum(axis=1).min() < 1e-12
    assert max(_TOWARDS @ corner for corner in CORNERS) == _TOWARDS @ [1, 0, 1]
    a, b = INPUTS[1]
    np.testing.assert_allclose(drawn.get_array()[-1], a * 8 / 9 + b, atol=a / 9 + 1e-9)
    assert not axes[0].axison
    assert {"x [mm]", "y", "z"} <= {text.get_text() for text in axes[0].texts}


def test_a_clipped_solid_shows_its_inside():
    half = SOLID.clipped(1, 0.5)
    assert len(half.cells[0][1]) == 18
    assert half.centres[:, 1].max() < 0.5 + 1e-12
    inner = half.nodes[half.triangles].mean(axis=1)
    assert np.isclose(inner[:, 1], 2 / 3).any()  # the cut, between two layers of cells
    on_cells = Mesh(SOLID.nodes, SOLID.cells, on_cells=True)
    faces = on_cells.nodes[on_cells.triangles].mean(axis=1)
    away = np.abs(on_cells.centres[on_cells.cell_of_triangles] - faces).max(axis=1)
    assert away.max() <= 1 / 6 + 1e-12  # each triangle is a part of a face of its own cell
    with pytest.raises(InputError, match="cannot be clipped"):
        on_cells.clipped(0, 0.5)


def test_data_relative_to_another_mean():
    _, data = fitted(SQUARE, moving=True)
    other = Mesh(SQUARE.nodes + np.array([0.0, 0.25]), SQUARE.cells)
    again = data.relative_to(other)
    assert again.components == data.components
    np.testing.assert_allclose(again.s_train[..., 4], data.s_train[..., 4] - 0.25)
    np.testing.assert_allclose(again.mesh.points, other.points)
    still = fitted(SQUARE)[1].relative_to(other)
    np.testing.assert_allclose(still.s_train[..., 4], -0.25)
    with pytest.raises(InputError, match="same cells"):
        data.relative_to(SOLID)
