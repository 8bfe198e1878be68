"""Many files as one data set: a run per file, and a table with a row for each.

`open_runs` stacks the arrays of the files that `run_files.find_runs` names along a first axis that counts the
runs. Few files are read at once, many when their rows are asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from elmonet.data.formats import open_arrays
from elmonet.data.lazy import Arrays, Lazy, load
from elmonet.data.mesh import DISPLACEMENT, Mesh
from elmonet.data.roles import axis_rank
from elmonet.data.run_files import Runs
from elmonet.data.tables import Join, join_table
from elmonet.errors import ElmonetError, FileError, InputError
from elmonet.memory import available
from elmonet.summary import plural

_IN_MEMORY = 1 << 29  # bytes of files that are read at once
_SMALL = 1 << 14  # bytes of an array that is kept when its file is read for another one
_FEW = 0.2  # part of the runs that may differ from the rest by mistake; if more differ, it is meant
_SHOWN = 3  # runs that a message names
_TIMES = ("t", "time")


@dataclass
class _Found:
    """What was read of the runs: arrays in memory by run, or only those of the first run."""

    files: list[Path]
    contents: list[Arrays]
    bad: dict[Path, str] = field(default_factory=dict)


def open_runs(runs: Runs, max_bytes: Any = None) -> Arrays:
    """Return the arrays of all runs, stacked, and those of the table.

    Arrays of one name have a first axis that counts the runs. Coordinates that are the same in all runs have
    no such axis. Lists (`Arrays.ragged`) hold arrays whose lengths differ. The components of vectors on a
    mesh are arrays of their own, ``velocity_x``, ...; nodes that move are ``displacement_x``, ...

    Raises
    ------
    FileError : if a run cannot be read, or differs from the rest, unless bad runs are left out.
    InputError : if the runs have no arrays in common, or the table does not fit.
    """
    join = None if runs.table is None else join_table(runs.files, runs.table, runs.bad, max_bytes)
    files = list(runs.files) if join is None else [runs.files[i] for i in join.files]
    if not files:
        raise InputError(f"no run of {runs} is left.")
    small = runs.bytes <= min(_IN_MEMORY, available() / 8)
    if small or runs.bad == "skip":
        found = _read_all(files, max_bytes, keep=small)
    else:
        found = _Found(files, [_read(files[0], max_bytes)])
    if found.bad:
        _refuse(runs, found.bad, len(files))
    gaps = _with_gaps(found) if small else {}
    if gaps and runs.bad == "skip":
        kept = [(f, a) for f, a in zip(found.files, found.contents, strict=True) if f not in gaps]
        found = _Found([f for f, _ in kept], [a for _, a in kept], found.bad | gaps)
    arrays = _stacked(runs, found, max_bytes) if small else _lazy(runs, found, max_bytes)
    if found.bad:
        arrays.notes.append(f"left out: {_listed(found.bad)}")
    if gaps and runs.bad == "raise":
        arrays.notes.append(f"{_listed(gaps)}: --missing ignore fits them, --bad-runs skip leaves them out")
    if join is not None:
        _add_table(arrays, join, np.isin(np.array([str(f) for f in files]), [str(f) for f in found.files]))
    _guess_roles(arrays, join)
    return arrays


def _read(path: Path, max_bytes: Any) -> Arrays:
    """Return the arrays of one run in memory."""
    if path.is_file() and path.stat().st_size == 0:
        raise FileError(f"{path.name!r} is empty: it has no bytes.")
    with open_arrays(path, max_bytes) as arrays:
        for name, array in arrays.items():
            arrays[name] = load(array)
    if arrays.steps is not None:
        del arrays["time"]
    if list(arrays) == [path.stem]:  # an array without a name of its own
        arrays["values"] = arrays.pop(path.stem)
    if not arrays:
        raise FileError(f"{path.name!r} holds no array of numbers.")
    if arrays.mesh is not None:
        _split_vectors(arrays)
    return arrays


def split_steps(arrays: Arrays) -> None:
    """Take the steps of one file of a mesh as runs, whose input is the time; vectors by their components."""
    _split_vectors(arrays)
    fields = [name for name in arrays if name not in ("points", "time")]
    on_points = [name for name in fields if name not in arrays.on_cells]
    arrays.roles["output"] = on_points or fields


def _split_vectors(arrays: Arrays) -> None:
    axes = 1 if arrays.steps is None else 2
    for name in [name for name, array in arrays.items() if name != "points" and array.ndim > axes]:
        array = arrays.pop(name)
        n = array.shape[-1]
        letters = "xyz" if n <= 3 else "".join(chr(ord("a") + k) for k in range(n))
        for k in range(n):
            part = f"{name}_{letters[k]}"
            arrays[part] = array[..., k]
            if name in arrays.units:
                arrays.units[part] = arrays.units[name]
            if name in arrays.on_cells:
                arrays.on_cells.add(part)


def _read_all(files: list[Path], max_bytes: Any, *, keep: bool) -> _Found:
    """Read every file; `keep`: and keep what is in it. Runs that differ from the rest are bad."""
    found: list[tuple[Path, Arrays | None]] = []
    bad: dict[Path, str] = {}
    signatures: list[dict[str, tuple[int, ...]]] = []
    for file in files:
        try:
            arrays = _read(file, max_bytes)
        except ElmonetError as error:
            bad[file] = str(error)
            continue
        signatures.append(_signature(arrays))
        found.append((file, arrays if keep or not found else None))
    if not found:
        raise FileError(
            f"none of {plural(len(files), 'run')} can be read; the first: {next(iter(bad.values()))}"
        )
    good = []
    names = Counter(frozenset(s) for s in signatures).most_common(1)[0][0]
    usual = Counter(tuple(sorted(s.items())) for s in signatures if set(s) == names).most_common(1)[0]
    few = len(signatures) - usual[1] <= _FEW * len(signatures)
    on_mesh = any(arrays is not None and arrays.mesh is not None for _, arrays in found)
    for (file, content), signature in zip(found, signatures, strict=True):
        if set(signature) != names:
            odd = sorted(names ^ set(signature))
            has = "has no" if odd[0] in names else "has one more array,"
            bad[file] = f"{file.name!r} {has} {odd[0]!r}"
        elif tuple(sorted(signature.items())) != usual[0] and few and (on_mesh or not keep):
            expected_shapes = dict(usual[0])
            odd = sorted(n for n, shape in expected_shapes.items() if signature[n] != shape)
            name = "points" if "points" in odd else odd[0]
            expected = expected_shapes[name]
            bad[file] = f"{file.name!r} has {name} {signature[name]}, the others have {expected}"
        else:
            good.append((file, content))
    return _Found([f for f, _ in good], [a for _, a in good if a is not None], bad)


def _with_gaps(found: _Found) -> dict[Path, str]:
    """Return the runs with NaN where others have values, if they are few, and where the NaN is."""
    gaps: dict[Path, str] = {}
    for name in found.contents[0]:
        each = [content[name] for content in found.contents]
        if each[0].dtype.kind != "f" or len({one.shape for one in each}) > 1:
            continue
        hole = np.all([np.isnan(one) for one in each], axis=0)
        for file, one in zip(found.files, each, strict=True):
            if (np.isnan(one) & ~hole).any():
                gaps.setdefault(file, f"{file.name!r} has NaN in {name!r}")
    return gaps if len(gaps) <= _FEW * len(found.files) else {}


def _signature(arrays: Arrays) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in arrays.items()}


def _refuse(runs: Runs, bad: dict[Path, str], n: int) -> None:
    """Raise for bad runs, unless these are to be left out."""
    if runs.bad == "skip":
        return
    how = "Mend them, or leave them out: --bad-runs skip, in Python read(..., bad_runs='skip')."
    raise FileError(f"{len(bad)} of {plural(n, 'run')} cannot be used: {_listed(bad)}. {how}")


def _listed(bad: dict[Path, str]) -> str:
    first = [reason.rstrip(".") for reason in list(bad.values())[:_SHOWN]]
    return "; ".join(first) + (f"; and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else "")


def _blank(runs: Runs, first: Arrays) -> Arrays:
    arrays = Arrays()
    arrays.format = f"runs of {first.format}"
    arrays.columns, arrays.units, arrays.on_cells = (
        dict(first.columns),
        dict(first.units),
        set(first.on_cells),
    )
    arrays.mesh, arrays.skipped, arrays.steps = first.mesh, list(first.skipped), first.steps
    return arrays


def _is_coordinate(name: str, first: Arrays) -> bool:
    """Return whether an array of a run holds coordinates; on a mesh, those of its points alone."""
    if first.mesh is not None or first.meshes is not None:
        return name == "points"
    known = name in ("points", "sensors", "coords", "coordinates", "grid")
    return known or (axis_rank(name.lower()) is not None and name != "T")  # T is a temperature


def _stacked(runs: Runs, found: _Found, max_bytes: Any) -> Arrays:
    """Return the arrays of runs in memory."""
    contents, first = found.contents, found.contents[0]
    arrays, n = _blank(runs, first), len(contents)
    arrays.notes.append(
        f"one run per file: {plural(n, 'file')}, {found.files[0].name} to {found.files[-1].name}"
    )
    lengths = {name: {each[name].shape[:1] for each in contents} for name in first}
    meshes = [one.mesh for one in contents if one.mesh is not None]
    apart = bool(meshes) and not all(_same_or_moved(meshes[0], mesh) for mesh in meshes[1:])
    for name in first:
        each = [one[name] for one in contents]
        if apart or len({one.shape for one in each}) > 1:
            arrays.ragged[name] = each
        elif _is_coordinate(name, first) and all(np.array_equal(one, each[0]) for one in each[1:]):
            arrays[name] = each[0]
        else:
            arrays[name] = np.stack(each)
    if arrays.steps is not None:
        _add_steps(arrays, contents)
    if arrays.mesh is not None and not arrays.ragged:
        _add_movement(arrays, meshes)
    elif arrays.mesh is not None:
        arrays.mesh, arrays.meshes = None, tuple(meshes)
    if arrays.ragged:
        longest = {shape[0] for shapes in lengths.values() for shape in shapes if shape}
        span = f"{min(longest)} to {max(longest)} values"
        arrays.notes.append(
            f"the meshes differ from run to run, {span}"
            if arrays.meshes
            else f"lengths differ from run to run: {span}"
        )
        for name in [name for name in arrays if not _is_coordinate(name, first) and arrays[name].ndim > 1]:
            arrays.ragged[name] = list(arrays.pop(name))
    return arrays


def _same_or_moved(first: Mesh, other: Mesh) -> bool:
    """Return whether nodes correspond: they have the same cells, or are at the same places."""
    return first.same_cells(other) or np.array_equal(first.nodes, other.nodes)


def _add_steps(arrays: Arrays, contents: Sequence[Arrays]) -> None:
    """Take the steps of each run as an axis of its fields: points are those of the mesh at all times."""
    first = contents[0]
    assert first.mesh is not None
    assert first.steps is not None
    same = all(np.array_equal(first.steps, one.steps if one.steps is not None else ()) for one in contents)
    meshes = [one.mesh for one in contents if one.mesh is not None]
    if not same or arrays.ragged or not all(np.array_equal(m.nodes, first.mesh.nodes) for m in meshes):
        raise FileError(
            "runs with time steps need the same mesh and the same times in every run. Bring them to common "
            "times, or name single steps."
        )
    arrays.mesh = replace(first.mesh, times=tuple(first.steps))
    fields = [name for name in arrays if name != "points"]
    for name in fields:
        arrays[name] = arrays[name].reshape(len(contents), -1)
    on_cells = all(name in arrays.on_cells for name in fields)
    arrays["points"] = replace(arrays.mesh, on_cells=on_cells).points
    arrays.columns["points"] = arrays.mesh.axes
    arrays.notes.append(f"{len(first.steps)} time steps, {first.steps[0]:g} to {first.steps[-1]:g}: an axis")


def _add_movement(arrays: Arrays, meshes: Sequence[Mesh]) -> None:
    """Take moving nodes as their mean, and their displacement as components of the outputs."""
    if arrays["points"].ndim == 2:
        return
    first = meshes[0]
    nodes = np.stack([mesh.nodes for mesh in meshes])
    mean = nodes.mean(axis=0)
    reference = Mesh(mean, first.cells, moving=True)
    d = np.concatenate([nodes.reshape(-1, nodes.shape[2])])
    varying = [k for k in range(nodes.shape[2]) if np.ptp(d[:, k]) > 0]
    arrays.mesh = reference
    arrays["points"] = mean[:, varying]
    arrays.columns["points"] = tuple("xyz"[k] for k in varying)
    for k in varying:
        arrays[f"{DISPLACEMENT}_{'xyz'[k]}"] = nodes[:, :, k] - mean[:, k]
    largest = np.linalg.norm(nodes - mean, axis=2).max()
    arrays.notes.append(
        f"the nodes move from run to run, by up to {largest:.3g}: their displacement from the mean is "
        "learned with the fields"
    )


class _Files:
    """Rows that are read from files when asked for; small arrays of a file are kept."""

    def __init__(
        self, runs: Runs, files: list[Path], first: Arrays, common: dict[str, np.ndarray], max_bytes: Any
    ):
        self.runs, self.files, self.first, self.common, self.max_bytes = runs, files, first, common, max_bytes
        self.kept: dict[tuple[int, str], np.ndarray] = {}

    def row(self, i: int, name: str) -> np.ndarray:
        """Return one array of one run, checked against the first run."""
        if (i, name) in self.kept:
            return self.kept[i, name]
        arrays = _read(self.files[i], self.max_bytes)
        expected, got = _signature(self.first), _signature(arrays)
        if got != expected:
            odd = next((n for n in expected if got.get(n) != expected[n]), "another array")
            raise FileError(
                f"{str(self.files[i])!r} has {odd} {got.get(odd, '(none)')}, the first run has "
                f"{expected.get(odd)}. Leave such runs out: --bad-runs skip, in Python bad_runs='skip'."
            )
        for shared, values in self.common.items():
            if not np.array_equal(arrays[shared], values):
                raise FileError(
                    f"{str(self.files[i])!r} has other {shared} than the first run. Runs that are read in "
                    "blocks need the same coordinates: bring them to common points first."
                )
        small = {n: a for n, a in arrays.items() if a.nbytes <= _SMALL and n not in self.common}
        self.kept |= {(i, n): a for n, a in small.items()}
        return np.asarray(arrays[name])

    def reader(self, name: str) -> Callable[[int, int, tuple], np.ndarray]:
        """Return the function that reads rows of an array, as `Lazy` wants it."""
        like = self.first[name]

        def read(start: int, stop: int, rest: tuple) -> np.ndarray:
            rows = [self.row(i, name) for i in range(start, stop)]
            stacked = np.stack(rows) if rows else np.empty((0, *like.shape), like.dtype)
            return stacked[(slice(None), *rest)]

        return read


def _lazy(runs: Runs, found: _Found, max_bytes: Any) -> Arrays:
    """Return the arrays of many runs, which are read when rows are asked for."""
    files, first = found.files, found.contents[0]
    arrays, last = _blank(runs, first), _read(files[-1], max_bytes)
    common = {
        name: array
        for name, array in first.items()
        if _is_coordinate(name, first) and np.array_equal(array, last.get(name, np.empty(0)))
    }
    rows = _Files(runs, files, first, common, max_bytes)
    arrays.notes.append(f"one run per file: {plural(len(files), 'file')}, read in blocks")
    for name, array in first.items():
        if name in common:
            arrays[name] = array
        else:
            shape = (len(files), *array.shape)
            arrays[name] = Lazy(shape, array.dtype, rows.reader(name), f"{name} of {runs.name}")
            arrays[name].from_runs = True
    return arrays


def _add_table(arrays: Arrays, join: Join, kept: np.ndarray) -> None:
    """Add the columns of the table, those rows whose run is there, before the arrays of the files."""
    arrays.notes.append(f"table: {join.how}")
    for name, column in join.columns.items():
        if name in arrays or name in arrays.ragged:
            arrays.notes.append(f"{name} is in the table and in the runs: that of the runs is taken")
            continue
        arrays[name] = column[kept]
    arrays.units |= join.units
    arrays.skipped += join.skipped


def _guess_roles(arrays: Arrays, join: Join | None) -> None:
    """Say which arrays are inputs and outputs, where the table or the order of columns says so."""
    table = [name for name in (join.columns if join is not None else ()) if name in arrays]
    table = [name for name in table if name not in getattr(join, "labels", ())]
    fields = [
        name for name in (*arrays.ragged, *arrays) if name not in table and not _is_coordinate(name, arrays)
    ]
    fields = [name for name in fields if join is None or name not in join.columns]
    if arrays.mesh is not None or arrays.meshes is not None:
        on_points = [name for name in fields if name not in arrays.on_cells]
        fields = on_points or fields
    moves = [name for name in fields if name.startswith(f"{DISPLACEMENT}_")]
    if table and fields:
        arrays.roles = {"input": table, "output": [*(n for n in fields if n not in moves), *moves]}
        arrays.roles["points"] = "points" if "points" in arrays else None
    elif arrays.ragged or arrays.format.startswith("runs of csv"):
        names = [*arrays.ragged, *arrays] if join is None else []
        if len(fields) != 2 and any(name.lower() in _TIMES for name in names):
            fields = [name for name in names if name.lower() not in _TIMES]  # a "level" may be one of water
        if len(fields) == 2:
            arrays.roles = {"input": fields[:1], "output": fields[1:]}
