"""OpenFOAM cases as runs: a small case of two cells, written by hand."""

import numpy as np
import pytest

from elmonet import read

pytest.importorskip("pyvista")

HEAD = "FoamFile {{ version 2.0; format ascii; class {kind}; object {name}; }}\n"
NODES = [(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1, 3)]
# The face between the cells first, as OpenFOAM has them; a face is owned by its cell of the smaller number.
FACES = [
    (1, 4, 10, 7),
    (0, 6, 9, 3),
    (2, 5, 11, 8),
    (0, 1, 7, 6),
    (1, 2, 8, 7),
    (3, 9, 10, 4),
    (4, 10, 11, 5),
    (0, 3, 4, 1),
    (1, 4, 5, 2),
    (6, 7, 10, 9),
    (7, 8, 11, 10),
]
OWNER = [0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]


def write(path, name, kind, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD.format(kind=kind, name=name) + text + "\n")


def listed(rows):
    return f"{len(rows)}\n(\n" + "\n".join(map(str, rows)) + "\n)"


def write_case(case, T, U):
    mesh = case / "constant" / "polyMesh"
    write(mesh / "points", "points", "vectorField", listed([f"({x} {y} {z})" for x, y, z in NODES]))
    write(mesh / "faces", "faces", "faceList", listed([f"4({a} {b} {c} {d})" for a, b, c, d in FACES]))
    write(mesh / "owner", "owner", "labelList", listed(OWNER))
    write(mesh / "neighbour", "neighbour", "labelList", listed([1]))
    walls = "1\n(\nwalls { type wall; nFaces 10; startFace 1; }\n)"
    write(mesh / "boundary", "boundary", "polyBoundaryMesh", walls)
    end = "boundaryField { walls { type zeroGradient; } }"
    values = "internalField nonuniform List<{}> 2({});\n"
    scalar = "dimensions [0 0 0 1 0 0 0];\n" + values.format("scalar", " ".join(map(str, T))) + end
    vectors = " ".join(f"({a} {b} {c})" for a, b, c in U)
    vector = "dimensions [0 1 -1 0 0 0 0];\n" + values.format("vector", vectors) + end
    write(case / "2" / "T", "T", "volScalarField", scalar)
    write(case / "2" / "U", "U", "volVectorField", vector)
    write(case / "system" / "controlDict", "controlDict", "dictionary", "startTime 0; endTime 2; deltaT 1;")


def test_a_folder_of_cases(tmp_path):
    for i in range(4):
        write_case(tmp_path / f"case_{i}", [300 + i, 310 + i], [(i, 0, 1), (2 * i, 1, 0)])
    data = read(str(tmp_path / "case_*"), table={"a": np.arange(4.0)})
    assert data.components == ("T", "U_x", "U_y", "U_z")
    assert data.mesh.on_cells
    np.testing.assert_allclose(data.mesh.volumes, [1, 2])
    np.testing.assert_allclose(data.points[:, 0], [0.5, 2])
    np.testing.assert_allclose(data.s_train[3], [[303, 3, 0, 1], [313, 6, 1, 0]])
