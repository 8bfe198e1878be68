"""Values by colour on a plane, a mesh or a surface in space, and vectors as arrows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from elmonet.data.mesh import Mesh
from elmonet.plot.axes import on_a_plane, similar_extents

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection

_FEWEST_CELLS = 0.7  # part of a grid that must have values, for it to be drawn as a grid
_VERTICAL = ("y", "z", "lat", "latitude", "height", "depth", "level")  # coordinates that are drawn upwards
_ARROWS = 22  # along the longer side of a plane
# A body in space is seen from in front, from the right and from above: directions in its picture.
_TOWARDS = np.array([1.0, -1.0, 0.8]) / np.sqrt(2.64)  # the viewer
_RIGHT = np.array([1.0, 1.0, 0.0]) / np.sqrt(2)
_UP = np.cross(_TOWARDS, _RIGHT)


def in_picture(
    points: np.ndarray, names: tuple[str, ...] | None
) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Return points (M, 2) of the picture, and the names of its axes, the horizontal one first.

    Grids in files are often (y, x): x is drawn to the right and y upwards all the same. Points in space are
    seen from above, in front and to the right; then the names remain three.
    """
    if points.shape[1] == 3:
        return points @ np.column_stack([_RIGHT, _UP]), names or ("x", "y", "z")
    if names is None or points.shape[1] != 2:
        return points, names
    bare = [name.split(" [")[0].lower() for name in names]
    turned = bare[0] in _VERTICAL and bare[1] not in _VERTICAL
    return (points[:, ::-1], names[::-1]) if turned else (points, names)


def coloured(
    ax: Axes, points: np.ndarray, values: np.ndarray, mesh: Mesh | None = None, **settings: Any
) -> Collection:
    """Draw values (M,) at points (M, 2) of the picture by colour, leaving out NaN.

    Points on a grid become cells, white where a point of the grid is missing; the triangles of a mesh are
    drawn as they are, and other points are triangulated and interpolated linearly.
    """
    if mesh is not None and is_drawn(mesh, points):
        return _on_triangles(ax, points, values, mesh, settings)
    x, y = (np.unique(column) for column in points.T)
    if _FEWEST_CELLS * len(x) * len(y) <= len(points) == len(np.unique(points, axis=0)):
        grid = np.full((len(y), len(x)), np.nan)
        grid[np.searchsorted(y, points[:, 1]), np.searchsorted(x, points[:, 0])] = values
        return ax.pcolormesh(x, y, grid, shading="nearest", rasterized=True, **settings)
    known = np.isfinite(values)
    x, y = points[known].T
    return ax.tripcolor(x, y, values[known], shading="gouraud", rasterized=True, **settings)


def is_drawn(mesh: Mesh | None, points: np.ndarray) -> bool:
    """Return whether a mesh has these points, and cells that can be drawn."""
    if mesh is None or mesh.times is not None:
        return False
    return len(points) == len(mesh.points) and len(mesh.triangles) > 0


def _on_triangles(
    ax: Any, points: np.ndarray, values: np.ndarray, mesh: Mesh, settings: dict[str, Any]
) -> Collection:
    """Draw values at the nodes of a mesh, or of its cells, on its own triangles; without those with NaN."""
    triangles, solid = mesh.triangles, len(mesh.coordinates) == 3
    corners = points
    if mesh.on_cells:
        corners, _ = in_picture(mesh.nodes[:, mesh.coordinates], None)
        turned = not solid and not np.allclose(mesh.points, points)
        corners = corners[:, ::-1] if turned else corners
    each = values[mesh.cell_of_triangles][:, None] if mesh.on_cells else values[triangles]
    known = np.isfinite(each).all(axis=1)
    if not (solid or mesh.on_cells):
        return ax.tripcolor(
            *corners.T,
            triangles[known],
            np.nan_to_num(values),
            shading="gouraud",
            rasterized=True,
            **settings,
        )
    order = np.flatnonzero(known)
    if solid:  # what is near is drawn over what is far
        order = order[np.argsort((mesh.nodes @ _TOWARDS)[triangles[order]].mean(axis=1), kind="stable")]
    return ax.tripcolor(
        *corners.T,
        triangles[order],
        facecolors=each[order].mean(axis=1),
        edgecolors="face",
        linewidth=0.2,
        rasterized=True,
        **settings,
    )


def coloured_error(
    ax: Axes, points: np.ndarray, error: np.ndarray, cmap: str, mesh: Mesh | None = None
) -> Collection:
    """Draw an error (M,) with a colour range that is symmetric about zero."""
    largest = float(np.nanmax(np.abs(error))) or 1.0
    return coloured(ax, points, error, mesh, vmin=-largest, vmax=largest, cmap=cmap)


def finish_fields(axes: np.ndarray, titles: tuple[str, ...], names: tuple[str, ...] | None) -> np.ndarray:
    """Finish axes with coloured fields: titles and axes; for bodies in space, a small cross of axes."""
    on_a_plane(axes, titles, names)
    if names is None or len(names) < 3:
        return axes
    for ax in axes:
        ax.set(xlabel="", ylabel="", aspect="equal")
        ax.set_axis_off()
    origin, length = np.array([0.86, 0.06]), 0.09
    for k, name in enumerate(names):
        towards = np.array([_RIGHT[k], _UP[k]])
        arrow = {"arrowstyle": "->", "color": "black"}
        ends = {"xy": origin + length * towards, "xytext": origin, "xycoords": "axes fraction"}
        axes[0].annotate("", **ends, arrowprops=arrow)
        axes[0].annotate(
            name, origin + 1.4 * length * towards, xycoords="axes fraction", fontsize="small", ha="center"
        )
    return axes


def arrows(
    ax: Any,
    points: np.ndarray,
    vectors: np.ndarray,
    mesh: Mesh | None = None,
    scale: float | None = None,
) -> float | None:
    """Draw vectors (M, 2) at points (M, 2) as arrows, one in each cell of a coarse grid of the picture.

    It begins at the point nearest to the middle of the cell; on the surface of a solid, at the node
    nearest to the viewer. Returns the scale of the arrows, for another picture in the same scale.
    """
    seen = np.isfinite(vectors).all(axis=1)
    solid = mesh is not None and len(mesh.coordinates) == 3
    if mesh is not None and solid:
        seen &= np.isin(np.arange(len(seen)), mesh.cell_of_triangles if mesh.on_cells else mesh.triangles)
    known = np.flatnonzero(seen)
    points, vectors = points[known], vectors[known]
    low, size = points.min(axis=0), np.ptp(points, axis=0)
    stretched = not similar_extents(ax)  # then the axes do not share a scale
    side = np.where(size > 0, size if stretched else size.max(), 1.0) / _ARROWS
    square = np.floor((points - low) / side).astype(np.int64)
    away = np.linalg.norm((points - low) / side - square - 0.5, axis=1)
    if mesh is not None and solid:
        away = -((mesh.centres if mesh.on_cells else mesh.nodes) @ _TOWARDS)[known]
    number = square @ [1, _ARROWS + 2]
    order = np.lexsort((away, number))
    first = order[np.r_[True, np.diff(number[order]) > 0]]
    if scale is None:  # the longest is as long as two cells
        unit = 1 / _ARROWS if stretched else side[0]
        scale = float(np.linalg.norm(vectors[first], axis=1).max()) / (2 * unit) or None
    units = {"angles": "uv", "scale_units": "width"} if stretched else {"angles": "xy", "scale_units": "xy"}
    drawn = {**units, "scale": scale, "color": "white", "width": 0.004}
    outline = {"edgecolor": "black", "linewidth": 0.3}
    ax.quiver(*points[first].T, *vectors[first].T, **drawn, **outline)
    return scale
