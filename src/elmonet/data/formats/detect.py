"""Which kind of file this is: by its first bytes, else by its name."""

from __future__ import annotations

from pathlib import Path
from zipfile import BadZipFile, ZipFile

from elmonet.errors import FileError

__all__ = ["SUPPORTED", "ZARR_MARKS", "file_format"]

SUPPORTED = (
    "npz, npy or a folder of npy (NumPy), pt or pth (PyTorch), mat (MATLAB), h5 or hdf5 (HDF5), zarr, nc "
    "(NetCDF), csv, tsv or txt (tables of numbers)"
)
_SUFFIXES = {
    "npz": ("npz",),
    "npy": ("npy",),
    "torch": ("pt", "pth"),
    "matlab": ("mat",),
    "hdf5": ("h5", "hdf5", "hdf", "he5"),
    "zarr": ("zarr",),
    "netcdf": ("nc", "nc4", "cdf", "netcdf"),
    "csv": ("csv", "tsv", "txt", "dat"),
    "pickle": ("pkl", "pickle", "joblib"),
}
_BY_SUFFIX = {f".{suffix}": kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes}
_HDF5 = b"\x89HDF\r\n\x1a\n"
_OLD_TORCH = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
_START = 1 << 13
ZARR_MARKS = ("zarr.json", ".zgroup", ".zarray", ".zmetadata")


def file_format(path: Path) -> str:
    """One of the names that `formats.READERS` has, or `FileError`."""
    if not path.exists():
        raise FileError(f"there is no file or folder {str(path)!r}.")
    by_name = _BY_SUFFIX.get(path.suffix.lower())
    if path.is_dir():
        return _folder(path, by_name)
    if not path.is_file():
        raise FileError(f"{str(path)!r} is not a file of data (a device, for example). Name a file.")
    with path.open("rb") as file:
        start = file.read(_START)
    kind = _by_content(path, start, by_name) or by_name or ("csv" if _is_table(start) else None)
    if kind == "pickle":
        raise FileError(
            f"{str(path)!r} is a pickle, which elmonet does not run: such a file can do anything to the "
            "computer that opens it. If you trust it, open it with the program that wrote it and save "
            "plain arrays: np.savez('data.npz', u=u, s=s, points=points)."
        )
    if kind is None:
        raise FileError(f"{str(path)!r} is not a kind of file that elmonet reads. It reads: {SUPPORTED}.")
    return kind


def _folder(path: Path, by_name: str | None) -> str:
    if by_name == "zarr" or any((path / mark).exists() for mark in ZARR_MARKS):
        return "zarr"
    if any(path.glob("*.npy")):
        return "npy folder"
    raise FileError(
        f"the folder {str(path)!r} holds neither npy files nor a zarr group. elmonet reads {SUPPORTED}."
    )


def _by_content(path: Path, start: bytes, by_name: str | None) -> str | None:
    if start.startswith(b"\x93NUMPY"):
        return "npy"
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip(path, by_name)
    if any(start[at : at + 8] == _HDF5 for at in (0, 512, 1024, 2048, 4096)):
        matlab = by_name == "matlab" or start.startswith(b"MATLAB 7.3")
        return "matlab 7.3" if matlab else "netcdf" if by_name == "netcdf" else "hdf5"
    if start[:4] in (b"CDF\x01", b"CDF\x02", b"CDF\x05"):
        return "netcdf"
    if start.startswith(b"MATLAB 5.0"):
        return "matlab"
    if start.startswith(_OLD_TORCH):
        raise FileError(
            f"{str(path)!r} is in PyTorch's old format, which is a pickle. If you trust it, load it with a "
            "current PyTorch, torch.load(file), and write the same again with torch.save(tensors, file)."
        )
    if start.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf")):
        raise FileError(f"{str(path)!r} is packed as a whole. Unpack it first, for example with gunzip.")
    return (
        "pickle" if start[:1] == b"\x80" and start[1:2] in b"\x02\x03\x04\x05" and by_name is None else None
    )


def _zip(path: Path, by_name: str | None) -> str | None:
    try:
        with ZipFile(path) as file:
            names = file.namelist()
    except (BadZipFile, OSError, ValueError, NotImplementedError, EOFError):
        return by_name  # whose reader says what is wrong
    if any(name.split("/")[-1] == "data.pkl" for name in names):
        return "torch"
    if any(name.endswith(".npy") for name in names) or by_name == "npz":
        return "npz"
    raise FileError(f"{str(path)!r} is a zip file, but neither npz nor PyTorch. Unpack it first.")


def _is_table(start: bytes) -> bool:
    """Whether this begins as lines of numbers, with or without one line of names above."""
    try:
        lines = [line for line in start.decode("ascii").splitlines() if line.strip() and line[0] != "#"]
        cells = lines[min(1, len(lines) - 1)].replace(",", " ").replace(";", " ").split()
        return bool(cells) and all(float(cell) is not None for cell in cells[:-1] or cells)
    except (ValueError, IndexError):
        return False
