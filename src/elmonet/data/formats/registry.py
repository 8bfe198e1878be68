"""The registry of readers, and which of them reads a file: by its content, else by its ending."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from elmonet.data.lazy import Arrays
from elmonet.errors import FileError

AddArrays = Callable[[Arrays, Path], None]
Recognise = Callable[[Path, bytes], bool]

_START = 1 << 13  # bytes at the beginning of a file that readers see to recognise it
_OLD_TORCH = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf")
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_PICKLE_ENDINGS = (".pkl", ".pickle", ".joblib")


@dataclass(frozen=True)
class Reader:
    """A kind of file and the function that reads it; see `register_reader`."""

    kind: str
    add_arrays: AddArrays
    endings: tuple[str, ...]
    recognise: Recognise
    description: str
    on_disk: bool


_readers: dict[str, Reader] = {}


def register_reader(
    kind: str,
    *,
    endings: Iterable[str] = (),
    recognise: Recognise | None = None,
    description: str = "",
    on_disk: bool = False,
) -> Callable[[AddArrays], AddArrays]:
    """Register the decorated function as the reader of a kind of file.

    The function is called with a dictionary of arrays, to which it adds those of the file by name, and with
    the file's path. The reader that was registered last is asked first. A kind that is registered again is
    replaced.

    Parameters
    ----------
    kind : name of the kind of file, as `elmonet info` shows it.
    endings : of the files' names, such as "csv"; they count where no reader recognises the content.
    recognise : function of the path (a file or folder) and the file's first 8 KiB; True if the file is of
        this kind.
    description : what messages call the kind; by default its endings.
    on_disk : the arrays stay on disk and are read by slicing, so that large files can be fitted in blocks.

    Returns
    -------
    decorator : of the function, which it returns unchanged.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> @register_reader("pairs", endings=["pairs"])
    ... def add_pairs(arrays, path):
    ...     arrays["u"], arrays["s"] = np.split(np.loadtxt(path, ndmin=2), 2, axis=1)
    >>> file = Path(tempfile.mkdtemp()) / "a.pairs"
    >>> _ = file.write_text("1 2 3 4")
    >>> from elmonet import read
    >>> read(file)
    OperatorData 'a': 1 function
      u (N, 2) -> s (N, 2)
    """
    endings = tuple(f".{ending.lower().lstrip('.')}" for ending in endings)

    def register(add_arrays: AddArrays) -> AddArrays:
        _readers.pop(kind, None)
        _readers[kind] = Reader(
            kind,
            add_arrays,
            endings=endings,
            recognise=recognise or (lambda path, start: False),
            description=description or " or ".join(ending[1:] for ending in endings) or kind,
            on_disk=on_disk,
        )
        return add_arrays

    return register


def data_endings() -> set[str]:
    """Return the endings, such as ".npz", of all files of data."""
    return {ending for reader in _readers.values() for ending in reader.endings}


def has_known_ending(path: Path) -> bool:
    """Return whether the ending of a file says what it is."""
    return path.suffix.lower() in data_endings().union(_PICKLE_ENDINGS)


def find_reader(path: Path) -> Reader:
    """Return the reader of a file or folder; raise `FileError` if there is none, or the file is refused."""
    if not path.exists():
        raise FileError(f"there is no file or folder {str(path)!r}.")
    if not path.is_dir() and not path.is_file():
        raise FileError(f"{str(path)!r} is not a file of data (a device, for example). Name a file.")
    start = b""
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(_START)
    readers = list(reversed(_readers.values()))
    for reader in readers:
        if reader.recognise(path, start):
            return reader
    supported = ", ".join(dict.fromkeys(reader.description for reader in _readers.values()))
    if path.is_dir():
        raise FileError(
            f"the folder {str(path)!r} holds neither npy files nor a zarr group. elmonet reads {supported}."
        )
    _refuse_known(path, start)
    for reader in readers:
        if path.suffix.lower() in reader.endings:
            return reader
    raise FileError(f"{str(path)!r} is not a kind of file that elmonet reads. It reads: {supported}.")


def _refuse_known(path: Path, start: bytes) -> None:
    """Raise for kinds of files that are known, but never read."""
    if start.startswith(_OLD_TORCH):
        raise FileError(
            f"{str(path)!r} is in PyTorch's old format, which is a pickle. If you trust it, load it with a "
            "current PyTorch, torch.load(file), and write the same again with torch.save(tensors, file)."
        )
    if start.startswith(_COMPRESSED):
        raise FileError(f"{str(path)!r} is a compressed file. Unpack it first, for example with gunzip.")
    if zip_names(path, start) is not None:
        raise FileError(f"{str(path)!r} is a zip file, but neither npz nor PyTorch. Unpack it first.")
    is_pickle = start[:1] == b"\x80" and start[1:2] in b"\x02\x03\x04\x05"
    if (is_pickle and not has_known_ending(path)) or path.suffix.lower() in _PICKLE_ENDINGS:
        raise FileError(
            f"{str(path)!r} is a pickle, which elmonet does not run: such a file can do anything to the "
            "computer that opens it. If you trust it, open it with the program that wrote it and save "
            "plain arrays: np.savez('data.npz', u=u, s=s, points=points)."
        )


def zip_names(path: Path, start: bytes) -> list[str] | None:
    """Return the names of the members of a zip file; None if it is not a zip file, or cannot be opened."""
    if not start.startswith(_ZIP):
        return None
    try:
        with ZipFile(path) as file:
            return file.namelist()
    except (BadZipFile, OSError, ValueError, NotImplementedError, EOFError):
        return None  # the reader says what is wrong
