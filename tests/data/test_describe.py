import json

import numpy as np
import pytest

from elmonet.data.reading import describe_file


def test_every_array_with_its_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("elmonet.data.reading._BLOCK_BYTES", 64)  # several blocks
    u = np.arange(40.0).reshape(5, 8)
    u[3, 2] = np.nan
    for name, array in {
        "u": u,
        "s": np.ones((5, 3), np.float32),
        "c": np.ones(2) * 1j,
        "m": np.ones(2, bool),
    }.items():
        np.save(tmp_path / f"{name}.npy", array)
    np.save(tmp_path / "gone.npy", np.full(3, np.nan))
    told = describe_file(tmp_path)
    assert told["format"] == "npy folder"
    assert told["bytes"] > 500
    by_name = {entry.pop("name"): entry for entry in told["arrays"]}
    assert by_name["u"] == {"shape": (5, 8), "dtype": "float64", "min": 0.0, "max": 39.0, "nan": 1}
    assert by_name["gone"]["nan"] == 3
    assert by_name["gone"]["min"] is None
    assert by_name["c"]["max"] is None
    assert by_name["m"]["max"] == 1.0
    assert told["reasons"][0] == "input functions: u (5, 8)"
    assert told["roles"]["s_train"] == "s"
    assert told["error"] is None
    json.dumps(told)


def test_roles_that_cannot_be_found_are_said_not_raised(tmp_path):
    np.savez(tmp_path / "a.npz", alpha=np.ones((5, 8)), beta=np.ones((5, 3)), n=np.array(2))
    told = describe_file(tmp_path / "a.npz")
    assert told["roles"] is None
    assert "cannot tell" in told["error"]
    assert told["arrays"][2]["max"] == 2.0
    assert describe_file(tmp_path / "a.npz", input="alpha", output="beta")["roles"]["u_train"] == "alpha"


def test_arrays_on_disk(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["u"], file["s"] = np.ones((5, 8)), np.zeros((5, 3))
    assert describe_file(tmp_path / "a.h5")["arrays"][1]["min"] == 1.0
