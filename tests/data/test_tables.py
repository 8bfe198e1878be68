"""Tables as people have them: missing values, decimal commas, text; DataFrames and dictionaries."""

import numpy as np
import pytest

from elmonet import read
from elmonet.data.formats import open_arrays
from elmonet.errors import FileError, InputError


def arrays_of(tmp_path, text, name="a.csv"):
    (tmp_path / name).write_text(text)
    return open_arrays(tmp_path / name)


@pytest.mark.parametrize("word", ["", "NA", "NaN", "n/a", "#N/A", "null", "None", "<NA>", " ", '""'])
def test_missing_values_are_nan(tmp_path, word):
    arrays = arrays_of(tmp_path, f"u0,u1,s\n1,2,3\n4,{word},6\n7,8,9\n")
    np.testing.assert_array_equal(arrays["u"], [[1, 2], [4, np.nan], [7, 8]])
    np.testing.assert_array_equal(arrays["s"], [3, 6, 9])


def test_missing_in_the_first_line_of_a_table_without_names(tmp_path):
    np.testing.assert_array_equal(arrays_of(tmp_path, "1,NA\n3,4\n")["a"], [[1, np.nan], [3, 4]])


def test_a_gap_as_pandas_writes_it(tmp_path):
    pandas = pytest.importorskip("pandas")
    u, s = np.arange(12.0).reshape(4, 3), np.arange(8.0).reshape(4, 2)
    s[2, 1] = np.nan
    table = pandas.DataFrame({f"u{i}": u[:, i] for i in range(3)} | {f"s{i}": s[:, i] for i in range(2)})
    table.to_csv(tmp_path / "gap.csv", index=False)
    data = read(tmp_path / "gap.csv")
    np.testing.assert_array_equal(data.u_train, u)
    np.testing.assert_array_equal(data.s_train, s)


@pytest.mark.parametrize("mark", [";", "\t"])
def test_decimal_commas(tmp_path, mark):
    text = "u0;u1;s\n1,5;2;-0,25\n3;4,125;1,5e-3\n;1;2\n".replace(";", mark)
    arrays = arrays_of(tmp_path, text)
    np.testing.assert_array_equal(arrays["u"], [[1.5, 2], [3, 4.125], [np.nan, 1]])
    np.testing.assert_array_equal(arrays["s"], [-0.25, 0.0015, 2])


def test_decimal_commas_without_names(tmp_path):
    np.testing.assert_array_equal(arrays_of(tmp_path, "0,5;1\n2;3,25\n")["a"], [[0.5, 1], [2, 3.25]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("u;s\n1,234;2\n", r"line 2 of .* has '1,234' in column 'u': it may separate thousands"),
        ("u;s\n1,5;2.5\n", r"line 2 of .* has '1,5' in column 'u': other cells have a decimal point"),
        ("u;s\n1.234,5;2\n", r"line 2 of .* has '1.234,5' in column 'u': it is not a number"),
        ("u,s\n1,2\n\n# a\n3,high\n", r"line 5 of .* has 'high' in column 's': it is not a number"),
        ("1,2\n3,x\n", r"line 2 of .* has 'x' in column 2: it is not a number"),
        ("u0,u1,s\n1,a,3\n", r"line 2 of .* has 'a' in column 'u1': it is not a number"),
        ("u,s\n1,2\n3\n", r"line 3 of .* has 1 cells, where the lines before have 2"),
        ("u,u\n1,2\n", r"has several columns 'u'"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, text, message):
    with pytest.raises(FileError, match=message):
        arrays_of(tmp_path, text)


def test_columns_of_text_are_left_out(tmp_path):
    arrays = arrays_of(tmp_path, 'case,u,s,"a, note"\nrun 1,1,2,"x, y"\nrun 2,3,NA,z\n')
    assert arrays.skipped == ["case", "a, note"]
    np.testing.assert_array_equal(arrays["u"], [1, 3])
    np.testing.assert_array_equal(arrays["s"], [2, np.nan])


def test_read_a_data_frame():
    pandas = pytest.importorskip("pandas")
    u, s = np.arange(12.0).reshape(4, 3), np.arange(8.0).reshape(4, 2)
    columns = {f"u{i}": u[:, i] for i in range(3)} | {f"s{i}": s[:, i] for i in range(2)}
    frame = pandas.DataFrame(columns | {"case": list("abcd")}, index=[5, 3, 9, 1])
    data = read(frame[["case", "s1", "u2", "u0", "s0", "u1"]])  # in any order
    np.testing.assert_array_equal(data.u_train, u)
    np.testing.assert_array_equal(data.s_train, s)
    levels = pandas.DataFrame(np.hstack([u, s]), columns=pandas.MultiIndex.from_tuples(
        [("u", 0), ("u", 1), ("u", 2), ("s", 0), ("s", 1)]))  # fmt: skip
    np.testing.assert_array_equal(read(levels).u_train, u)
    gaps = frame.astype({"s1": "Int64"})
    gaps.loc[3, "s1"] = pandas.NA
    np.testing.assert_array_equal(read(gaps).s_train, [[0, 1], [2, np.nan], [4, 5], [6, 7]])
    with pytest.raises(InputError, match="different names, got a, a"):
        read(pandas.DataFrame([[1, 2]], columns=["a", "a"]))


def test_read_a_dictionary(tmp_path):
    u, s, points = np.arange(12.0).reshape(4, 3), np.arange(8).reshape(4, 2), np.array([0.0, 1.0])
    data = read({"u": u, "s": s.tolist(), "points": points, "note": "text", "__version__": 1.0, "none": None})
    np.testing.assert_array_equal(data.u_train, u)
    np.testing.assert_array_equal(data.s_train, s)
    np.testing.assert_array_equal(data.points, points[:, None])
    nested = read({"u": {"a": u, "b": u[:, :1]}, "s": s})
    assert list(nested.u_train) == ["a", "b"]
    np.savez(tmp_path / "a.npz", f=u, g=s)
    with np.load(tmp_path / "a.npz") as file:
        np.testing.assert_array_equal(read(file, input="f", output="g").s_train, s)
    with pytest.raises(InputError, match=r"cannot tell which arrays .* There are: a \(4, 3\)"):
        read({"a": u})


@pytest.mark.parametrize("source", [3, None, [1, 2], np.ones((2, 3))])
def test_read_what_is_no_data(source):
    with pytest.raises(InputError, match="expected a file, a dictionary of arrays"):
        read(source)


def test_read_a_dictionary_of_arrays_on_disk(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["u"], file["s"] = np.ones((3, 4)), np.array([[1, 2], [3, 4], [5, -1]])
        file["s"].attrs["_FillValue"] = -1
        data = read({"u": file["u"], "s": file["s"]})
        from_file = read(file)  # an open file is a dictionary, too
    for found in (data, from_file):
        np.testing.assert_array_equal(found.s_train, [[1, 2], [3, 4], [5, np.nan]])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_text_as_spreadsheets_write_it(tmp_path, encoding, end):
    """With a mark of the byte order, and the ends of lines of any system."""
    rows = ["ü0\tü1\ts", *(f"{i}\t{2 * i}\t{3 * i}" for i in range(5))]
    (tmp_path / "table.txt").write_bytes((end.join(rows) + end).encode(encoding))
    data = read(tmp_path / "table.txt", input="ü", output="s")
    np.testing.assert_array_equal(data.u_train, np.outer(np.arange(5), [1, 2]))


@pytest.mark.parametrize("names", [("a", "b"), ("k", "width"), ("p", "q"), ("u", "w")])
def test_one_of_several_columns_of_numbers_is_not_taken_alone_for_its_name(tmp_path, names):
    """With a and b beside the output, a was the input and b ignored."""
    first, second = names
    (tmp_path / "a.csv").write_text(
        f"{first},{second},drag\n" + "".join(f"{i},{i * i},3\n" for i in range(5))
    )
    with pytest.raises(InputError, match=rf"There are: {first} \(5,\), {second} \(5,\).*--input NAME"):
        read(tmp_path / "a.csv", output="drag")
    assert read(tmp_path / "a.csv", input=[first, second], output="drag").s_train.shape == (5, 1)
