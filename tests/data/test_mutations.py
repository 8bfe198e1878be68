"""Damaged files of every kind: each opens, or raises an error of the library, in little memory."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from elmonet.data.write import write_data

COUNT = 200
rng = np.random.default_rng(0)
ARRAYS = {
    "u": rng.normal(size=(6, 8)),
    "s": rng.normal(size=(6, 4, 3)),
    "x": np.arange(4.0),
    "t": np.arange(3.0),
}


def npz(path):
    np.savez(path, **ARRAYS)


def packed_npz(path):
    np.savez_compressed(path, **ARRAYS)


def object_npz(path):
    parts = np.empty(2, object)
    parts[:] = [ARRAYS["u"], ARRAYS["x"][:, None]]
    np.savez(path, X=parts, y=ARRAYS["s"][:, :, 0])


def npy(path):
    np.save(path, ARRAYS["s"])


def torch_file(path):
    torch = pytest.importorskip("torch")
    torch.save({"x": torch.tensor(ARRAYS["s"]), "y": {"a": torch.tensor(ARRAYS["u"]).T}}, path)


def matlab(path):
    write_data(path, ARRAYS)


def plain_matlab(path):
    from scipy.io import savemat

    savemat(path, ARRAYS)


def matlab4(path):
    from scipy.io import savemat

    savemat(path, {name: array for name, array in ARRAYS.items() if array.ndim < 3}, format="4")


def hdf5(path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for name, array in ARRAYS.items():
            file[name] = array
        file.create_dataset("packed", data=ARRAYS["s"], compression="gzip", chunks=(2, 4, 3))


def grouped_hdf5(path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for i, function in enumerate(ARRAYS["s"]):
            file[f"{i:04d}/data"], file[f"{i:04d}/grid/x"] = function, np.arange(3.0)


def matlab73(path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in ARRAYS.items():
            file[name] = array.T
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def zarr3(path):
    pytest.importorskip("zarr")
    write_data(path, ARRAYS)


def zarr2(path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(path, mode="w", zarr_format=2)
    for name, array in ARRAYS.items():
        group.create_array(name, data=array)


def netcdf(path):
    pytest.importorskip("h5netcdf")
    write_data(path, ARRAYS)


def classic_netcdf(path):
    xarray = pytest.importorskip("xarray")
    variables = {"u": (("n", "m"), ARRAYS["u"]), "s": (("n", "x", "t"), ARRAYS["s"])}
    coordinates = {"x": ARRAYS["x"], "t": ARRAYS["t"]}
    xarray.Dataset(variables, coordinates).to_netcdf(path, engine="scipy")


def csv(path):
    write_data(path, {"u": ARRAYS["u"], "s": ARRAYS["s"][:, :, 0]})


def messy_csv(path):
    rows = [";".join(f"{x:.3f}".replace(".", ",") for x in row) for row in ARRAYS["u"]]
    path.write_text("\n".join(["u0;u1;u2;u3;u4;u5;u6;u7", *rows, ";;;;;;;"]))


def safetensors(path):
    save_file({name: np.ascontiguousarray(array) for name, array in ARRAYS.items()}, path)


def packed_hdf5(path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for name, array in ARRAYS.items():
            file[name] = np.asarray(100 * array).astype(np.int16)
            attributes = {
                "scale_factor": 0.01,
                "add_offset": 1.0,
                "_FillValue": np.int16(-1),
                "missing_value": [7, 8],
            }
            file[name].attrs.update(attributes)


KINDS = {
    npz: "a.npz",
    packed_npz: "a.npz",
    object_npz: "a.npz",
    npy: "a.npy",
    torch_file: "a.pt",
    matlab: "a.mat",
    plain_matlab: "a.mat",
    matlab4: "a.mat",
    matlab73: "a.mat",
    hdf5: "a.h5",
    grouped_hdf5: "a.h5",
    zarr3: "a.zarr",
    zarr2: "a.zarr",
    netcdf: "a.nc",
    classic_netcdf: "a.nc",
    csv: "a.csv",
    messy_csv: "a.csv",
    safetensors: "a.safetensors",
    packed_hdf5: "a.h5",
}


@pytest.mark.parametrize("write", KINDS, ids=lambda write: write.__name__)
def test_damaged_files(write, tmp_path):
    path = tmp_path / KINDS[write]
    write(path)
    command = [sys.executable, Path(__file__).with_name("mutating.py"), path, str(COUNT)]
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ | one_thread)
    assert done.returncode == 0, (
        f"damage {done.stdout.split()[-1:]}: {done.returncode}\n{done.stderr[-3000:]}"
    )
    outcome = done.stdout.split()[-4:]
    assert outcome[::2] == ["read", "refused"]
    assert int(outcome[3]) > COUNT // 20  # the damage is found often enough to matter
