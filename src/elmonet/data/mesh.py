"""A mesh: where its values are known, how much volume each stands for, and how it is drawn and stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from elmonet.errors import InputError

# Corners of the kinds of cells, by the names of meshio; nodes beyond the corners lie on edges and faces.
_CORNERS = {"vertex": 1, "line": 2, "triangle": 3, "quad": 4, "tetra": 4, "pyramid": 5, "wedge": 6}
_CORNERS |= {"hexahedron": 8}
_DIMENSION = {"vertex": 0, "line": 1, "triangle": 2, "quad": 2, "polygon": 2} | dict.fromkeys(
    ("tetra", "pyramid", "wedge", "hexahedron"), 3
)
# Simplices that a cell is divided into, by its corners.
_SIMPLICES = {
    "line": [[0, 1]],
    "triangle": [[0, 1, 2]],
    "quad": [[0, 1, 2], [0, 2, 3]],
    "tetra": [[0, 1, 2, 3]],
    "pyramid": [[0, 1, 2, 4], [0, 2, 3, 4]],
    "wedge": [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]],
    "hexahedron": [[0, 1, 3, 4], [1, 2, 3, 6], [1, 3, 4, 6], [1, 4, 5, 6], [3, 4, 6, 7]],
}
_FACES = {
    "triangle": [[0, 1, 2]],
    "quad": [[0, 1, 2, 3]],
    "tetra": [[0, 1, 2], [0, 1, 3], [1, 2, 3], [0, 2, 3]],
    "pyramid": [[0, 1, 2, 3], [0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]],
    "wedge": [[0, 1, 2], [3, 4, 5], [0, 1, 4, 3], [1, 2, 5, 4], [2, 0, 3, 5]],
    "hexahedron": [[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]],
}
DISPLACEMENT = "displacement"  # name of the components that move the nodes


@dataclass(frozen=True, eq=False)
class Mesh:
    """Nodes and cells that the values of output functions belong to.

    Parameters
    ----------
    nodes : (P, 2) or (P, 3), coordinates as the file has them.
    cells : pairs of a kind of cell, as meshio calls it ("triangle", "hexahedron", ...), and the nodes of
        each cell, (n, k) integers.
    on_cells : values belong to cells, and not to nodes.
    moving : the nodes move with the inputs: the last components of the outputs are their displacement.
    times : values are known at these times, those of the first one first; the time is the first coordinate
        of `points`.

    Raises
    ------
    InputError : if cells name nodes that are not there.

    Examples
    --------
    >>> mesh = Mesh([[0, 0], [1, 0], [1, 1], [0, 1]], [("triangle", [[0, 1, 2], [0, 2, 3]])])
    >>> mesh.volumes.round(3).tolist()
    [0.333, 0.167, 0.333, 0.167]
    """

    nodes: np.ndarray
    cells: tuple[tuple[str, np.ndarray], ...]
    on_cells: bool = False
    moving: bool = False
    times: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        nodes = np.asarray(self.nodes, dtype=np.float64)
        if nodes.ndim != 2 or nodes.shape[1] not in (1, 2, 3) or not np.isfinite(nodes).all():
            raise InputError(
                f"the nodes of a mesh must be finite numbers (P, 2) or (P, 3), got {nodes.shape}."
            )
        cells = tuple((str(kind), np.asarray(each, dtype=np.int64)) for kind, each in self.cells)
        for kind, each in cells:
            if each.ndim != 2 or (each.size and not 0 <= each.min() <= each.max() < len(nodes)):
                raise InputError(
                    f"cells ({kind}) must be (n, k) numbers of the {len(nodes)} nodes, from 0; got "
                    f"{each.shape}" + (f" with {each.min()} to {each.max()}." if each.size else ".")
                )
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "cells", cells)

    @cached_property
    def coordinates(self) -> tuple[int, ...]:
        """Coordinates in which the nodes differ: (0, 1) for a mesh in the plane z = 0."""
        spread = np.ptp(self.nodes, axis=0)
        varying = np.flatnonzero(spread > 1e-12 * max(1e-300, float(np.abs(self.nodes).max())))
        return tuple(int(k) for k in varying) or (0,)

    @property
    def points(self) -> np.ndarray:
        """Where values are known (M, d), in the coordinates in which nodes differ."""
        where = (self.centres if self.on_cells else self.nodes)[:, self.coordinates]
        if self.times is None:
            return np.ascontiguousarray(where)
        return np.column_stack([np.repeat(self.times, len(where)), np.tile(where, (len(self.times), 1))])

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the coordinates of `points`."""
        return (*(("time",) if self.times is not None else ()), *("xyz"[k] for k in self.coordinates))

    @property
    def centres(self) -> np.ndarray:
        """Centres of the cells, the means of their corners."""
        each = [self._centres(kind, own) for kind, own in self.cells]
        return np.concatenate([np.empty((0, self.nodes.shape[1])), *each])

    def _centres(self, kind: str, own: np.ndarray) -> np.ndarray:
        centres: np.ndarray = self.nodes[own[:, : _corners(kind, own)]].mean(axis=1)
        return centres

    @property
    def dimension(self) -> int:
        """Dimension of the cells: 2 for surfaces, 3 for solids."""
        return max((_DIMENSION.get(_base(kind), 0) for kind, _ in self.cells), default=0)

    @cached_property
    def volumes(self) -> np.ndarray:
        """Length, area or volume (M,) that each value stands for; a cell is divided among its corners.

        Cells of a smaller dimension than the others, such as those of a boundary, have none.
        """
        nodal, each = np.zeros(len(self.nodes)), []
        for kind, own in self.cells:
            size = self._sizes(kind, own)
            each.append(size)
            corners = own[:, : _corners(kind, own)]
            np.add.at(nodal, corners, np.repeat(size[:, None] / corners.shape[1], corners.shape[1], axis=1))
        own = np.concatenate(each) if self.on_cells and each else nodal
        return own if self.times is None else np.tile(own, len(self.times))

    def _sizes(self, kind: str, own: np.ndarray) -> np.ndarray:
        base, size = _base(kind), np.zeros(len(own))
        if _DIMENSION.get(base, 0) < self.dimension or self.dimension == 0:
            return size
        n = own.shape[1]
        fan = [[0, i, i + 1] for i in range(1, n - 1)] if base == "polygon" else _SIMPLICES.get(base, [])
        for simplex in fan:
            corners = self.nodes[own[:, simplex]]
            edges = corners[:, 1:] - corners[:, :1]
            k = edges.shape[1]
            gram = np.einsum("nid,njd->nij", edges, edges)
            size += np.sqrt(np.maximum(np.linalg.det(gram), 0)) / (1, 1, 2, 6)[k]
        return size

    @property
    def boundary(self) -> list[np.ndarray]:
        """Faces (n, 3) and (n, 4) to draw: all cells of a surface, those faces of solids that are outside."""
        return [faces for faces, _ in self._faces]

    @cached_property
    def _faces(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The faces of `boundary`, those with three corners first, and the cell of each."""
        faces: dict[int, list[np.ndarray]] = {3: [], 4: []}
        cells: dict[int, list[np.ndarray]] = {3: [], 4: []}
        begin = 0
        for kind, own in self.cells:
            base, numbers = _base(kind), np.arange(begin, begin + len(own))
            begin += len(own)
            if _DIMENSION.get(base, 0) != self.dimension or base not in _FACES:
                continue
            for face in _FACES[base]:
                faces[len(face)].append(own[:, face])
                cells[len(face)].append(numbers)
        found = []
        for corners, parts in faces.items():
            if not parts:
                continue
            each, cell = np.concatenate(parts), np.concatenate(cells[corners])
            if self.dimension == 3:
                _, first, count = np.unique(
                    np.sort(each, axis=1), axis=0, return_index=True, return_counts=True
                )
                outside = np.sort(first[count == 1])
                each, cell = each[outside], cell[outside]
            found.append((each, cell))
        return found

    @property
    def triangles(self) -> np.ndarray:
        """Triangles (T, 3) that cover the faces of `boundary`."""
        each = [f if f.shape[1] == 3 else np.concatenate([f[:, :3], f[:, [0, 2, 3]]]) for f in self.boundary]
        return np.concatenate([np.empty((0, 3), np.int64), *each])

    @property
    def cell_of_triangles(self) -> np.ndarray:
        """The cell (T,) of each of the `triangles`."""
        each = [cell if faces.shape[1] == 3 else np.tile(cell, 2) for faces, cell in self._faces]
        return np.concatenate([np.empty(0, np.int64), *each])

    def clipped(self, axis: int, at: float) -> Mesh:
        """Return the mesh without the cells whose centres are beyond a plane, to see inside.

        Parameters
        ----------
        axis : coordinate that is constant on the plane, 0 to 2.
        at : its value there.

        Returns
        -------
        mesh : the same nodes, with fewer cells.
        """
        if self.on_cells:
            raise InputError("a mesh with values on cells cannot be clipped: they would lose their cells.")
        kept = [own[self._centres(kind, own)[:, axis] <= at] for kind, own in self.cells]
        cells = [(kind, own) for (kind, _), own in zip(self.cells, kept, strict=True)]
        return replace(self, cells=tuple(cells))

    def moved(self, displacement: ArrayLike) -> Mesh:
        """Return the mesh with its nodes moved.

        Parameters
        ----------
        displacement : (P, d), in the coordinates in which nodes differ.

        Returns
        -------
        mesh : the same cells, with other nodes.
        """
        nodes = self.nodes.copy()
        nodes[:, self.coordinates] += np.asarray(displacement).reshape(len(nodes), -1)
        return replace(self, nodes=nodes, moving=False)

    def same_cells(self, other: Mesh) -> bool:
        """Return whether another mesh has the same cells, whatever its nodes."""
        return self.nodes.shape == other.nodes.shape and (
            [kind for kind, _ in self.cells] == [kind for kind, _ in other.cells]
            and all(np.array_equal(a, b) for (_, a), (_, b) in zip(self.cells, other.cells, strict=True))
        )

    def to_store(self, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        """Return the record of the mesh for a file; its arrays go to `arrays`."""
        arrays["mesh.nodes"] = self.nodes
        arrays |= {f"mesh.cells.{i}": each for i, (_, each) in enumerate(self.cells)}
        kinds, times = [kind for kind, _ in self.cells], None if self.times is None else list(self.times)
        return {"kinds": kinds, "on_cells": self.on_cells, "moving": self.moving, "times": times}

    @classmethod
    def from_store(cls, record: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Invert `to_store`."""
        cells = tuple((str(kind), arrays[f"mesh.cells.{i}"]) for i, kind in enumerate(record["kinds"]))
        times = record.get("times")
        times = None if times is None else tuple(map(float, times))
        return cls(arrays["mesh.nodes"], cells, bool(record["on_cells"]), bool(record["moving"]), times)

    def __repr__(self) -> str:
        count = ", ".join(f"{len(each)} {kind}" for kind, each in self.cells)
        more = ", moving" if self.moving else "" if self.times is None else f" at {len(self.times)} times"
        return f"Mesh of {len(self.nodes)} nodes ({count})" + more


def _base(kind: str) -> str:
    """Return the kind of a cell without the number of its nodes: "triangle6" is a triangle."""
    return kind.rstrip("0123456789")


def _corners(kind: str, cells: np.ndarray) -> int:
    n: int = cells.shape[1]
    return _CORNERS.get(_base(kind), n)
