"""A small file that unpacks to much is refused before it does; so is one that lies about its size."""

import pickle
import tracemalloc
import zlib
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest

from elmonet import FileError, InputError, read
from elmonet.data import limits as size_limit
from elmonet.data.formats import open_arrays
from elmonet.data.formats.pickled import NUMPY, unpickle
from elmonet.data.limits import SizeLimit
from elmonet.data.reading import open_pairs

ZEROS = np.zeros((1000, 1000))  # 7.63 MiB, of which deflate makes some 8 KiB
REFUSED = r"unpacks to .* or more; the limit is 977 KiB.*--max-size \d+GB, or max_bytes"


@pytest.fixture
def npz(tmp_path):
    np.savez_compressed(tmp_path / "bomb.npz", u=ZEROS, s=ZEROS)
    return tmp_path / "bomb.npz"


def peak(call, *arguments, **options):
    """The most memory that a call took that raises `FileError`."""
    tracemalloc.start()
    try:
        with pytest.raises(FileError):
            call(*arguments, **options)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_npz(npz):
    assert npz.stat().st_size < 40_000
    with pytest.raises(FileError, match=rf"bomb.npz' has 1[0-9.]+ KiB and {REFUSED}"):
        read(npz, max_bytes=10**6)
    assert peak(read, npz, max_bytes=10**6) < 10**6
    assert read(npz).u_train.shape == (1000, 1000)  # 1 GiB passes
    assert read(npz, max_bytes="20MB").u_train.shape == (1000, 1000)


def test_the_limit_without_a_setting(npz, monkeypatch):
    size = npz.stat().st_size
    assert SizeLimit(npz).limit == 2**30
    monkeypatch.setattr(size_limit, "_ALWAYS_ALLOWED", 1000)
    assert SizeLimit(npz).limit == 200 * size
    with pytest.raises(FileError, match="may be an attack"):
        read(npz)
    packed = np.random.default_rng(0).integers(0, 2, ZEROS.shape).astype(float)  # two values pass
    np.savez_compressed(npz, u=packed, s=packed)
    assert read(npz).u_train.shape == (1000, 1000)


def test_a_limit_that_is_no_size(npz):
    for wrong in ("much", -1, 0):
        with pytest.raises(InputError, match=r"max_bytes \(--max-size\) must be .* such as \"2GB\", got"):
            read(npz, max_bytes=wrong)


def test_a_zip_that_declares_less_than_it_holds(npz):
    """The sizes in both headers of a member say 1000 bytes."""
    content = npz.read_bytes()
    true = (ZEROS.nbytes + 128).to_bytes(4, "little")
    lying = content.replace(true, (1000).to_bytes(4, "little"))
    assert lying != content
    npz.write_bytes(lying)
    assert peak(read, npz, max_bytes=10**6) < 10**6


def test_a_zip_that_declares_more_than_it_can_hold(npz):
    content = npz.read_bytes()
    true = (ZEROS.nbytes + 128).to_bytes(4, "little")
    npz.write_bytes(content.replace(true, (2**30 - 1).to_bytes(4, "little")))
    with pytest.raises(FileError, match="can hold"):
        read(npz, max_bytes="8GB")


def test_tensors(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.tensor(ZEROS), tmp_path / "a.pt")
    with ZipFile(tmp_path / "a.pt") as plain, ZipFile(tmp_path / "b.pt", "w", ZIP_DEFLATED) as packed:
        for info in plain.infolist():
            packed.writestr(info.filename, plain.read(info))
    assert open_arrays(tmp_path / "b.pt")["tensor"].shape == ZEROS.shape
    with pytest.raises(FileError, match=REFUSED):
        open_arrays(tmp_path / "b.pt", max_bytes=10**6)
    torch.save([torch.zeros(1).expand(10**5) for _ in range(9)], tmp_path / "c.pt")  # 4 bytes, shown often
    with pytest.raises(FileError, match=REFUSED):
        open_arrays(tmp_path / "c.pt", max_bytes=10**6)


def test_matlab(tmp_path):
    from scipy.io import savemat

    savemat(tmp_path / "a.mat", {"u": ZEROS, "s": ZEROS}, do_compression=True)
    assert read(tmp_path / "a.mat").u_train.shape == (1000, 1000)
    with pytest.raises(FileError, match=REFUSED):
        read(tmp_path / "a.mat", max_bytes=10**6)
    with pytest.raises(FileError, match=r"the limit is 11\.4 MiB"):  # each passes, both do not
        read(tmp_path / "a.mat", max_bytes=12 * 10**6)


def test_matlab_that_lies_about_its_size(tmp_path):
    def element(kind, size, content):
        return kind.to_bytes(4, "little") + size.to_bytes(4, "little") + content

    flags = element(6, 8, (6).to_bytes(4, "little") + bytes(4))
    name = element(1, 1, b"u".ljust(8, b"\0"))
    sizes = element(5, 8, np.array([1000, 1000], "<i4").tobytes())
    matrix = flags + sizes + name + element(9, ZEROS.nbytes, ZEROS.tobytes())
    for declared in (100, len(matrix), 2 * len(matrix)):
        packed = zlib.compress(element(14, declared, matrix))
        header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
        (tmp_path / "a.mat").write_bytes(header + element(15, len(packed), packed))
        assert peak(open_arrays, tmp_path / "a.mat", max_bytes=10**6) < 10**6


class Again:
    """An array of its own that shares its pickled bytes with all others of the kind."""

    numbers = np.zeros(10_000)
    content = numbers.tobytes()

    def __reduce__(self):
        build, arguments, state = self.numbers.__reduce__()
        return build, arguments, (*state[:4], self.content)


@pytest.mark.parametrize("protocol", [2, 4])
def test_pickled_arrays_that_share_their_bytes(tmp_path, protocol):
    many = np.empty(1000, object)
    many[:] = [Again() for _ in range(1000)]
    pickled = pickle.dumps(many, protocol)
    assert len(pickled) < 200_000
    assert len(unpickle(pickled, NUMPY).value.items) == 1000
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1000,), }".ljust(117) + b"\n"
    npy = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + pickled
    (tmp_path / "a.npy").write_bytes(npy)
    with ZipFile(tmp_path / "a.npz", "w", ZIP_DEFLATED) as file:
        file.writestr("X.npy", npy)
    for name in ("a.npy", "a.npz"):
        assert len(open_arrays(tmp_path / name)) == 1000
        with pytest.raises(FileError, match=REFUSED):
            open_arrays(tmp_path / name, max_bytes=10**6)


def test_pickled_lists_that_are_used_again(tmp_path):
    numbers = [float(i) for i in range(1000)]
    many = np.empty(5000, object)
    many[:] = [[numbers] for _ in range(5000)]
    np.save(tmp_path / "a.npy", many, allow_pickle=True)
    with pytest.raises(FileError, match=REFUSED):
        open_arrays(tmp_path / "a.npy", max_bytes=10**6)


def test_hdf5_is_refused_when_it_is_read_as_a_whole(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name in ("u", "s"):
            file.create_dataset(name, shape=(1000, 1000), dtype="f8", compression="gzip")  # all fill values
    with pytest.raises(FileError, match=REFUSED):
        read(tmp_path / "a.h5", max_bytes=10**6)
    u, _, _, _ = open_pairs(tmp_path / "a.h5", max_bytes=10**6)  # in blocks it may be of any size
    assert u[:2].shape == (2, 1000)


def test_points_beside_the_file_have_the_limit_too(tmp_path, npz):
    np.savez(tmp_path / "data.npz", u=np.ones((5, 3)), s=np.ones((5, 1000)))
    with pytest.raises(FileError, match=REFUSED):
        read(tmp_path / "data.npz", points=str(npz), max_bytes=10**6)
