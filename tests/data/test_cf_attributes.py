"""zarr and HDF5 with the attributes of the CF conventions are read as xarray decodes them."""

import itertools
import shutil

import numpy as np
import pytest

from elmonet import ELMDeepONet, Linear, fit_blocks, problems, read
from elmonet.data.formats import open_arrays
from elmonet.data.lazy import load, unpacked
from elmonet.data.reading import open_pairs
from elmonet.errors import ElmonetError, FileError, InputError

h5py, xarray, zarr = (pytest.importorskip(name) for name in ("h5py", "xarray", "zarr"))
pytest.importorskip("h5netcdf")

PACKED = {"dtype": "int16", "scale_factor": 0.001, "add_offset": 5.0, "_FillValue": -32768}


def dataset(dtype=float):
    u = np.linspace(-1, 1, 60).reshape(12, 5)
    s = np.sin(np.arange(84.0)).reshape(12, 7)
    s[3, 4] = np.nan
    y = xarray.Variable("y", np.linspace(0, 1, 7))
    return xarray.Dataset({"u": (("f", "x"), u), "s": (("f", "y"), s.astype(dtype))}, coords={"y": y})


def written(path, data, encoding, zarr_format=3):
    if path.suffix == ".zarr":
        data.to_zarr(path, encoding=encoding, consolidated=False, zarr_format=zarr_format)
    else:
        data.to_netcdf(path.with_suffix(".nc"), engine="h5netcdf", encoding=encoding)
        shutil.copy(path.with_suffix(".nc"), path)
    return path


KINDS = [("a.h5", 3), ("a.zarr", 2), ("a.zarr", 3)]
ENCODINGS = {
    "packed": PACKED,
    "packed, float32 attributes": PACKED | {"scale_factor": np.float32(0.001), "add_offset": np.float32(5)},
    "no fill value": {"dtype": "int16", "scale_factor": 0.01, "_FillValue": None},
    "fill value alone": {"_FillValue": -9999.0},
    "float32": {"dtype": "float32", "_FillValue": np.float32(1e20)},
    "missing value": {"missing_value": 1e30, "_FillValue": 1e30},
    "NaN": {"_FillValue": np.nan},
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # xarray casts a NaN that has no fill value
@pytest.mark.parametrize(("name", "zarr_format"), KINDS)
@pytest.mark.parametrize("how", ENCODINGS)
def test_as_xarray_decodes_it(tmp_path, name, zarr_format, how):
    data = dataset().fillna(0) if ENCODINGS[how].get("_FillValue", 0) is None else dataset()
    path = written(tmp_path / name, data, {"s": ENCODINGS[how]}, zarr_format)
    options = {"engine": "h5netcdf"} if path.suffix == ".h5" else {"engine": "zarr", "consolidated": False}
    with xarray.open_dataset(path, **options) as truth:
        expected = truth.s.values
    with open_arrays(path) as arrays:
        assert arrays["s"].dtype == expected.dtype
        np.testing.assert_array_equal(arrays["s"][2:5], expected[2:5], strict=True)  # a block
        np.testing.assert_array_equal(load(arrays["s"]), expected, strict=True)
        assert np.isnan(arrays["s"][3, 4]) == np.isnan(expected[3, 4])
    np.testing.assert_array_equal(read(path).s_train, expected, strict=True)


@pytest.mark.parametrize("stored", ["i1", "u1", "i2", "u2", "i4", "f4", "f8"])
def test_every_combination_against_xarrays_rules(stored):
    packed = np.array([[1, 2, 3], [100, 5, 7]], stored)
    numbers = (None, np.float32(0.1), np.float64(0.1))
    for scale, offset, fill in itertools.product(numbers, numbers, (None, 100)):
        attributes = {"scale_factor": scale, "add_offset": offset, "_FillValue": fill}
        attributes = {key: value for key, value in attributes.items() if value is not None}
        variable = xarray.Dataset({"a": (("x", "y"), packed, attributes)})
        expected = xarray.decode_cf(variable).a.values
        found = unpacked(packed, attributes, "a")[:]
        if stored == "f8":  # xarray rounds float64 to the float32 of the attributes
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            assert found.dtype == np.float64
        else:
            np.testing.assert_array_equal(found, expected, strict=True)


def test_wide_integers_keep_their_digits():
    packed = np.array([2**40 + 1, 2**40 + 2, -1])
    attributes = {"scale_factor": np.float32(1), "add_offset": np.float32(0), "missing_value": [-1, -2]}
    np.testing.assert_array_equal(unpacked(packed, attributes, "a")[:], [2.0**40 + 1, 2.0**40 + 2, np.nan])


def test_unsigned_integers_in_signed_bytes():
    packed = np.array([0, 127, -128, -1], np.int8)
    values = unpacked(packed, {"_Unsigned": "true", "_FillValue": np.int8(-1), "scale_factor": 0.5}, "a")[:]
    np.testing.assert_array_equal(values, [0, 63.5, 64, np.nan])
    only = unpacked(packed, {"_Unsigned": "true"}, "a")
    assert only.dtype == np.uint8
    np.testing.assert_array_equal(only[:], [0, 127, 128, 255])


def test_a_fill_value_that_is_rounded_in_the_file():
    values = np.array([1.0, 1e20], np.float32)  # float32(1e20) is not 1e20
    np.testing.assert_array_equal(unpacked(values, {"_FillValue": 1e20}, "a")[:], [1, np.nan])


def test_attributes_that_mark_nothing_leave_the_array_alone():
    numbers = np.arange(3, dtype=np.int16)
    for attributes in ({}, {"_FillValue": np.nan}, {"_FillValue": 1e20}, {"units": "m"}):
        assert unpacked(numbers, attributes, "a") is numbers


def test_attributes_that_are_no_numbers_are_named():
    with pytest.raises(FileError, match=r"a of b has attributes that are not numbers: scale_factor = half"):
        unpacked(np.arange(3), {"scale_factor": "half"}, "a of b")


def test_zeros_of_zarr_2_are_not_missing(tmp_path):
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=2)  # its fill_value is 0
    group.create_array("u", data=np.zeros((4, 3)))
    group.create_array("s", data=np.zeros((4, 3)))
    assert not np.isnan(read(tmp_path / "a.zarr").u_train).any()


def test_stacked_groups_of_hdf5(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for i in range(3):
            data = file.create_dataset(f"{i:04}/data", data=np.full((4, 5), i, np.int16))
            data.attrs["scale_factor"], data.attrs["_FillValue"] = 0.5, np.int16(1)
    with open_arrays(tmp_path / "a.h5") as arrays:
        expected = np.multiply.outer([0, np.nan, 1], np.ones((4, 5)))
        np.testing.assert_array_equal(load(arrays["data"]), expected)


@pytest.mark.parametrize("name", ["a.h5", "a.zarr"])
def test_fits_in_blocks_see_the_unpacked_numbers(tmp_path, name):
    data = problems.antiderivative(40, 1, n_sensors=10, n_points=7)
    whole = xarray.Dataset({"u": (("f", "x"), data.u_train), "s": (("f", "y"), data.s_train)})
    whole = whole.assign(points=(("y", "d"), data.points))
    path = written(tmp_path / name, whole, {"u": PACKED, "s": PACKED | {"scale_factor": 1e-4}})
    memory = read(path)
    expected = ELMDeepONet(Linear()).fit(memory.u_train, memory.s_train, points=data.points)
    u, s, points, _ = open_pairs(path)
    fitted = fit_blocks(ELMDeepONet(Linear()), u, s, points)
    np.testing.assert_allclose(fitted.predict(memory.u_train), expected.predict(memory.u_train), atol=1e-3)
    raw = h5py.File(path) if name == "a.h5" else zarr.open(path, mode="r")  # arrays of the user's own
    fitted = fit_blocks(ELMDeepONet(Linear()), raw["u"], raw["s"], data.points)
    np.testing.assert_allclose(fitted.predict(memory.u_train), expected.predict(memory.u_train), atol=1e-3)
    if name == "a.h5":
        raw.close()


def test_a_missing_value_in_blocks_is_refused(tmp_path):
    path = written(tmp_path / "a.zarr", dataset(), {"s": PACKED})
    u, s, points, _ = open_pairs(path)
    with pytest.raises(InputError, match=r"y holds NaN or Inf in function 3"):
        fit_blocks(ELMDeepONet(Linear()), u, s, points)
    assert issubclass(FileError, ElmonetError)
