"""Tensors in safetensors files and bfloat16, which NumPy does not have."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from elmonet import read
from elmonet.data.formats import open_arrays
from elmonet.errors import FileError


def bfloat16(values):
    """The upper halves of float32, as bfloat16 is stored; `values` must fit exactly."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    assert not (bits & 0xFFFF).any()
    return (bits >> 16).astype("<u2")


def save_bfloat16(path, **tensors):
    """Write a safetensors file by its specification: length of the header, header, bytes."""
    header, content = {}, b""
    for name, values in tensors.items():
        data = bfloat16(values).tobytes()
        place = [len(content), len(content) + len(data)]
        header[name] = {"dtype": "BF16", "shape": list(np.shape(values)), "data_offsets": place}
        content += data
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content)


def test_safetensors(tmp_path):
    u, s = np.arange(12.0).reshape(4, 3), np.arange(8, dtype=np.int16).reshape(4, 2)
    half, flag = u.astype(np.float16), np.array([True, False])
    save_file({"u": u, "s": s, "half": half, "flag": flag}, tmp_path / "a.safetensors")
    with open_arrays(tmp_path / "a.safetensors") as arrays:
        assert arrays.format == "safetensors"
        np.testing.assert_array_equal(arrays["half"], half, strict=True)
        np.testing.assert_array_equal(arrays["flag"], [1, 0])
    data = read(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(data.u_train, u, strict=True)
    np.testing.assert_array_equal(data.s_train, s, strict=True)


def test_bfloat16_in_safetensors(tmp_path):
    u, s = np.array([[1.5, -0.15625], [3e38, 1e-38]]), np.array([[1.0], [np.inf]])
    u = (u.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)
    save_bfloat16(tmp_path / "a.safetensors", u=u, s=s)
    data = read(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(data.u_train, u, strict=True)
    np.testing.assert_array_equal(data.s_train, s.astype(np.float32), strict=True)


def test_bfloat16_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    u, s = torch.linspace(-1, 1, 12).reshape(4, 3).bfloat16(), torch.ones(4, 2).bfloat16()
    torch.save({"u": u.T.contiguous().T, "s": s}, tmp_path / "a.pt")
    np.testing.assert_array_equal(read(tmp_path / "a.pt").u_train, u.float().numpy(), strict=True)


@pytest.mark.parametrize("cut", [4, 20, -3])
def test_a_damaged_file(tmp_path, cut):
    save_file({"u": np.ones((4, 3))}, tmp_path / "a.safetensors")
    content = (tmp_path / "a.safetensors").read_bytes()
    (tmp_path / "a.safetensors").write_bytes(content[:cut])
    with pytest.raises(FileError, match="cannot be opened"):
        open_arrays(tmp_path / "a.safetensors")
