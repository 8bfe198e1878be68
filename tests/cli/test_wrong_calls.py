"""Every mistake gets a plain answer: what was expected, what came, what to do."""

import re
import sys
from importlib import import_module

import pytest

READER = import_module("elmonet.data.reading")
FORMATS = r"npz, npy or a folder of npy .*zarr"
ENDINGS = r"ending must be one of \.npz.*\.h5.*\.zarr"
LISTED = r"There are: u_train \(20, 100\), s_train"
WHICH = r"cannot tell which arrays are the input and the output.*--input NAME --output NAME"
NO_FOLDER = "must name a file in a folder that exists"
SAMPLED = (
    r"takes input functions \(N, 100\).*there is none, but {}.* at the sensors of the training functions"
)

# What is typed in the folder `desk`, and what the answer must say. The exit code is 2 if it is the command
# that is wrong, and the answer then says where its help is; 1 if it is a file or what is in it.
COMMAND = [
    ("fitt data.npz -o m.elmonet", "'fitt'.* Did you mean 'fit'"),
    ("--fit data.npz", "No such option: --fit"),
    ("fit", "Missing argument 'DATA': a file of functions"),
    ("fit data.npz", "Missing option.* '-o': file of the model"),
    ("fit data.npz -o", "'-o' requires an argument"),
    ("fit data.npz -o m --outputs s", "--outputs.* --output"),
    ("fit data.npz -o m --seed many", "--seed.*integer.*many|--seed.*many.*integer"),
    ("fit data.npz -o m --seed -1", "--seed.*-1"),
    ("fit data.npz -o m --width 0", "--width.*1.*0"),
    ("fit data.npz -o m --workers=-2", "--workers.*-2"),
    ("fit data.npz -o m --time-budget -1", "--time-budget.*-1"),
    ("predict model.elmonet", "Missing argument 'DATA': file of input functions"),
    ("predict model.elmonet data.npz", "Missing option.* '-o': file of the predictions"),
    ("predict model.elmonet data.npz -o p.npz --interval much", "--interval.*(number.*much|much.*float)"),
    ("plot model.elmonet data.npz", "Missing option.* '-o': picture to write: png, pdf or svg"),
    ("plot model.elmonet data.npz -o p.png --function -1", "--function.*-1"),
    ("info", "Missing argument 'FILE': a model, a file of functions, or files"),
    ("make", "Missing argument 'PROBLEM': one of antiderivative"),
    ("make darcy", "Missing option.* '-o': file to write: npz, h5"),
    ("make darcy -o d.npz --n-train -3", "--n-train.*-3"),
    ("make darcy -o d.npz --n-test 0", "--n-test.*0"),
    ("make darcy -o d.npz --n-train 1e3", "--n-train.*1e3"),
    ("convert data.npz", "Missing argument 'SOURCE': a file of functions"),
    ("convert data.npz -o d.h5", "No such option: -o"),
    ("reproduce --functions 1", "--functions.*1"),
    ("fit -dash.npz -o m", "No such option: -d. .* begins with a hyphen is written './-dash.npz'"),
    ("data.npz", "No such command 'data.npz'. Say what to do with the file, such as: elmonet info data.npz"),
    ("demo --functions 5", "--functions.*20.*'5'"),
    ("suggest model.elmonet data.npz -n 0", "'-n'.* 1; got '0'"),
    ("doctor now", "unexpected extra argument.*now"),
]
CONTENT = [
    # What is read.
    ("fit dta.npz -o m", "there is no file or folder 'dta.npz'. Did you mean 'data.npz'"),
    ("fit data.npz more.npz -o m", "there is no file or folder 'more.npz'"),
    ("fit data.h5 -o m", "there is no file or folder 'data.h5'. Did you mean 'data.npz'"),
    ("fit folder -o m", f"'folder' holds neither npy files nor a zarr group.*{FORMATS}"),
    ("fit poem.md -o m", f"'poem.md' is not a kind of file that elmonet reads.*{FORMATS}"),
    ("fit thing.pkl -o m", r"thing\.pkl.* does not run.* save plain arrays: np\.savez"),
    ("fit empty.npz -o m", "'empty.npz' is empty.* Write or download it again"),
    ("fit half.npz -o m", "'half.npz' cannot be opened.* damaged, truncated .* again"),
    ("fit table.csv -o m", "line 3 of 'table.csv' has 2 cells, where the lines before have 3"),
    ("fit words.npz -o m", "There are: none|no array|not numbers"),
    (
        "fit latin.csv -o m",
        "'latin.csv' is not text in UTF-8: it has the byte 0xfc.* Save the table as UTF-8",
    ),
    ("fit units.csv -o m", "line 2 of 'units.csv' has 'm' in column 'u0': .* units in the header line alone"),
    ("fit dates.csv -o m --points t", "--points t: it holds no numbers. Convert dates and times to seconds"),
    ("fit dates.npz -o m --points points", "--points points: it holds no numbers. Convert dates and times"),
    ("fit gone.npz -o m", "'gone.npz' is a link to 'nowhere.npz', which leads to no file"),
    ("fit https://example.org/d.npz -o m", "'https://example.org/d.npz' is an address.* Download it first"),
    ("fit holed -o m", "'holed/u.npy' is empty: it has no bytes"),
    ("fit model.elmonet data.npz -o m", "'model.elmonet' is a model, not a file of functions"),
    ("fit never.npz -o m --missing ignore", "output functions hold no value: all are NaN. Check how"),
    ("fit none.npz -o m", "holds no array of numbers. It must hold input and output functions, one per row"),
    ("fit scalars.npz -o m", r"u is empty: its shape is \(\)"),
    ("fit no_rows.npz -o m", r"u is empty: its shape is \(0, 100\). It must hold functions"),
    ("fit head.csv -o m", "'head.csv' must be a table of numbers, and it has no row of them"),
    ("fit blank.csv -o m", "'blank.csv' must be a table of numbers, and it has no row of them"),
    (
        "fit infinite.npz -o m",
        "output functions hold NaN or infinity in 20 of 20.*row 0. Remove these functions",
    ),
    ("fit infinite.npz -o m --missing ignore", "hold NaN or infinity .* Remove these functions"),
    ("fit groups.npz -o m --groups nowhere", r"--groups nowhere: .*There are: u \(20, 100\).*g \(20,\)"),
    ("fit groups.npz -o m --groups names", "--groups names: there is no such array of numbers.*There are: u"),
    ("fit groups.npz -o m --groups few", r"one label for each of the 20 functions.*got the shape \(3,\)"),
    ("predict model.elmonet none.npz -o p.npz", r"takes input functions \(N, 100\).* there is none. Sample"),
    ("predict model.elmonet no_rows.npz -o p.npz", SAMPLED.format(r"u \(0, 100\), s \(0, 100\)")),
    ("predict model.elmonet complex.npz -o p.npz", "complex numbers. Give real and imaginary parts"),
    ("plot model.elmonet complex.npz -o p.png", "complex numbers. Give real and imaginary parts"),
    ("predict model.elmonet columns.npz -o p.npz", "If each column of u is a function: --transpose"),
    ("fit columns.npz -o m", "same number of functions, got 100 and 34.* --transpose"),
    ("fit complex.npz -o m", "input functions are complex numbers. Give real and imaginary parts"),
    ("fit model.elmonet -o m", "'model.elmonet' is a model, not a file of functions. Give the file"),
    ("fit strange.npz -o m", rf"There are: first \(20, 100\), second .*--input NAME|{WHICH}"),
    ("fit outputs.npz -o m", r"s \(20, 100\), points \(100, 1\).*--input NAME"),
    ("fit rows.npz -o m", r"u \(20, 100\), s \(17, 100\)|20 .*17"),
    ("fit rows.npz -o m --input u --output s", "same number of functions, got 20 and 17"),
    ("fit ragged.npz -o m", r"u\[0\] \(50,\)|different lengths"),
    ("fit gaps.npz -o m", "output functions hold NaN .* 2 of 20 .* row 3. With --missing ignore"),
    ("fit gaps.npz -o m --memory 1GB", "output functions hold NaN .*function 3.*remove these functions"),
    ("fit gaps.npz -o m --memory 1GB --missing ignore", "in blocks, with --memory.* Remove the functions"),
    ("fit gaps.npz -o m --missing drop", "--missing must be one of 'raise', 'ignore'; got 'drop'"),
    ("fit holes.npz -o m", "input functions hold NaN .* 2 of 20 .* row 3. Remove these functions"),
    ("fit points_missing.npz -o m", r"where the output functions, of shape \(34,\), are .*--points NAME"),
    # Names.
    ("fit data.npz -o m --input u_tain", f"--input u_tain: .* Did you mean 'u_train'.*{LISTED}"),
    ("fit data.npz -o m --input u_train --input nowhere", f"--input nowhere: .*{LISTED}"),
    ("fit data.npz -o m --output zzz", f"--output zzz: .*{LISTED}"),
    ("fit data.npz -o m --points line.npy", r"do not fit s_train \(20, 100\).*100 values.*\(7, 1\)"),
    ("fit data.npz -o m --points nowhere.npy", "--points nowhere.npy: there is no such"),
    ("fit data.npz -o m --sensors points_", "--sensors points_: .* Did you mean 'points'"),
    ("fit data.npz -o m --sensors line.npy", r"\(7, 1\) do not fit the inputs u_train.*100 rows"),
    ("fit data.npz -o m --index u_train", r"--index u_train: expected one integer .* array \(20, 100\)"),
    ("fit data.npz -o m --index points", r"do not fit s_train \(20, 100\)|--index points"),
    # Other options, looked at before anything is read.
    ("fit data.npz -o m --time-budget 0", "--time-budget must be a finite number above 0, got 0"),
    ("fit data.npz -o m --max-size much", "--max-size. must be a number of bytes or .*2GB.*much"),
    ("fit data.npz -o m --memory much", "memory must be a number of bytes or a text such as \"2GB\".*'much'"),
    ("fit data.npz -o m --memory 1MB", "needs at least .* may take 1 MiB. Allow more memory"),
    ("fit data.npz -o m --activation cubic", "activation must be one of 'relu'.*'cubic'"),
    ("fit data.npz -o m --scale 0", "--scale must be a finite number above 0, got 0"),
    ("fit data.npz -o m --width 20 --time-budget 3", "--time-budget .*--width.* Remove one of these"),
    (
        "fit two.npz -o m --input a --input b --memory 1GB",
        "several input functions .*remove --memory.*--workers",
    ),
    ("fit triples.npz -o m --memory 2GB", "scattered outputs are .*remove --memory"),
    # Where to write.
    ("fit data.npz -o nowhere/m.elmonet", f"'nowhere/m.elmonet': it {NO_FOLDER}"),
    ("fit data.npz -o data.npz/m", NO_FOLDER),
    ("fit data.npz -o folder", "'folder': it is a folder. Name a file in it"),
    (
        "fit data.npz -o data.npz",
        "'data.npz': it is an input of this command and would be lost",
    ),
    ("fit data.npz -o m.npz", "'m.npz'.* Name it 'm.elmonet'"),
    ("fit data.npz -o m --checkpoint m", "must be different files; got 'm', 'm'. Name one file for each"),
    ("fit data.npz -o m --report r --checkpoint r", "must be different files; got 'm', 'r', 'r'"),
    ("fit data.npz -o m --report ./m", "must be different files; got 'm', 'm'"),
    ("fit data.npz -o m --checkpoint poem.md", "'poem.md' is there and is no checkpoint.* Name a new file"),
    ("fit data.npz -o m --points line.csv --report line.csv", "'line.csv': it is an input of this command"),
    ("fit data.npz -o m --sensors line.csv --checkpoint line.csv", "'line.csv': it is an input of this"),
    ("predict model.elmonet data.npz -o line.csv --points line.csv", "'line.csv': it is an input of this"),
    ("predict model.elmonet data.npz -o p.npy --interval 0.9", "one array, .*: bands. Name it 'p.npz'"),
    ("predict vector.elmonet vector.npz -o p.npy", "one array, .*: components. Name it 'p.npz'"),
    ("convert data.npz line.csv --points line.csv", "'line.csv': it is an input of this command"),
    ("reproduce darcy -o data.npz/new", "'data.npz/new': '.*data.npz' is a file. Name a folder"),
    ("reproduce darcy -o new --json new", "--json and --out are the same, 'new'.* Name two"),
    ("demo -o data.npz", "'data.npz': it is a file. Name a folder"),
    ("info model.elmonet --input u", "'model.elmonet' is a model; --input and the like are for files of"),
    ("fit data.npz -o m --checkpoint nowhere/c", f"'nowhere/c': it {NO_FOLDER}"),
    ("predict model.elmonet data.npz -o p.xlsx", f"'p.xlsx': its {ENDINGS}"),
    ("predict model.elmonet data.npz -o folder", "'folder'.* would be lost. Name a file, such as 'folder/"),
    ("predict model.elmonet data.npz -o data.npz", "'data.npz': it is an input of this command"),
    ("predict model.elmonet data.npz -o nowhere/p.npz", "there is no folder 'nowhere'"),
    ("predict model.elmonet data.npz -o folder.npz", "it is a folder. Name a file in it"),
    ("plot model.elmonet data.npz -o p.jpeg", "'p.jpeg': a picture is a png, pdf or svg"),
    ("plot model.elmonet data.npz -o nowhere/p.png", NO_FOLDER),
    ("make darcy -o d.xlsx", f"'d.xlsx': its {ENDINGS}"),
    ("make darcy -o d.csv", "'d.csv'.* Name it 'd.npz'"),
    ("make darcy -o folder", "'folder'.* would be lost"),
    ("make darcy -o nowhere/d.npz", "there is no folder 'nowhere'"),
    ("convert data.npz d.xlsx", f"'d.xlsx': its {ENDINGS}"),
    ("convert data.npz data.npz", "'data.npz': it is an input of this command"),
    ("convert data.npz folder", "'folder'.* would be lost"),
    ("reproduce inverse_source --functions 9 -o data.npz", "'data.npz': it is a file. Name a folder"),
    ("reproduce inverse_source --functions 9 --json nowhere/n.json", NO_FOLDER),
    # Models.
    ("predict nowhere.elmonet data.npz -o p.npz", "there is no file or folder 'nowhere.elmonet'"),
    (
        "predict data.npz model.elmonet -o p.npz",
        "'data.npz' is a file of functions .npz. and not a model.* first",
    ),
    ("predict poem.md data.npz -o p.npz", "'poem.md' is not a model.*elmonet fit makes"),
    ("predict half.elmonet data.npz -o p.npz", "'half.elmonet' is not a complete elmonet model.*truncated"),
    ("predict empty.elmonet data.npz -o p.npz", "'empty.elmonet' is empty"),
    ("predict model.elmonet model.elmonet -o p.npz", "'model.elmonet' is a model, not a file of functions"),
    ("plot data.npz model.elmonet -o p.png", "'data.npz' is a file of functions .npz. and not a model"),
    ("info half.elmonet", "'half.elmonet' is not a complete elmonet model"),
    ("info model.elmont", "no file or folder 'model.elmont'. Did you mean 'model.elmonet'"),
    # What a model is given.
    (
        "predict model.elmonet alone.npz -o p.npz",
        r"u \(100,\)\. It is one function: save it as a row, u\[None\]",
    ),
    ("predict model.elmonet short.npz -o p.npz", SAMPLED.format(r"u \(20, 50\)")),
    ("predict model.elmonet data.npz -o p.npz --input points", SAMPLED.format(r"points \(100, 1\)")),
    ("predict model.elmonet alike.npz -o p.npz", "several .*: one, other. Say which: --input NAME"),
    ("predict model.elmonet data.npz -o p.npz --input u_tset", "--input u_tset: .* Did you mean 'u_test'"),
    ("predict model.elmonet data.npz -o p.npz --output zzz", f"--output zzz: .*{LISTED}"),
    ("predict model.elmonet data.npz -o p.npz --points plane.npy", r"plane.npy: .*\(M, 1\) .*got \(7, 2\)"),
    ("predict model.elmonet data.npz -o p.npz --points nowhere", f"nowhere: .* no such array .*{LISTED}"),
    (
        "predict model.elmonet data.npz -o p.npz --points data.npz",
        r"data.npz: it must hold one list .*\(M, d\)",
    ),
    (
        "predict model.elmonet holes.npz -o p.npz",
        r"input functions hold 2 NaN .*\(3, 4\).*remove these functions",
    ),
    ("predict scattered.elmonet inputs.npz -o p.npz", r"Say where to predict: --points FILE.*\(M, 1\)"),
    ("predict two.elmonet inputs.npz -o p.npz", "2 input functions, a, b; .* has u. .*--input NAME --input"),
    ("predict two.elmonet two.npz -o p.npz --input a", "a, b; .* you named a. Name them in this order"),
    # Bands.
    ("predict model.elmonet data.npz -o p.npz --interval 90", "between 0 and 1, such as 0.9 .*; got 90"),
    ("predict model.elmonet data.npz -o p.npz --interval 1", "--interval must be between 0 and 1.*; got 1"),
    ("predict model.elmonet data.npz -o p.npz --interval nan", "--interval must be between .*; got nan"),
    ("predict model.elmonet data.npz -o p.npz --interval 0.9 --of all", "'points', 'function'; got 'all'"),
    ("predict model.elmonet data.npz -o p.npz --of function", "--of function .* how often: --interval 0.9"),
    ("predict model.elmonet data.npz -o p.npz --interval 0.99", "at least 99 .* functions; there are 20"),
    ("plot model.elmonet data.npz -o p.png --interval 0", "--interval must be between 0 and 1.*; got 0"),
    ("plot model.elmonet data.npz -o p.png --of points", "--of points .* how often: --interval 0.9"),
    ("plot vector.elmonet vector.npz -o p.png --interval 0.9 --component r", "'r'; there are p, q"),
    ("plot scattered.elmonet inputs.npz -o p.png --interval 0.9", "where to draw: it needs points and index"),
    (
        "plot model.elmonet data.npz -o p.png --function 5",
        "--function 5: the file has 5 functions.* last is --function 4",
    ),
    ("plot model.elmonet data.npz -o p.png --component 1", "no component '1'; .* remove --component"),
    ("plot vector.elmonet vector.npz -o p.png --component r", "'r'; there are p, q"),
    ("plot model.elmonet vector.npz -o p.png --output p --output q", "other output functions.*--output NAME"),
    ("plot model.elmonet inputs.npz -o p.png", r"needs output functions.*'inputs.npz'.*u \(20, 100\)"),
    ("plot model.elmonet short.npz -o p.png", SAMPLED.format(r"u \(20, 50\)")),
    # The other verbs.
    ("info nowhere.npz", "there is no file or folder 'nowhere.npz'"),
    ("info poem.md", f"'poem.md' is not a kind of file that elmonet reads.*{FORMATS}"),
    ("info data.npz --input u_tran", "--input u_tran: .* Did you mean 'u_train'"),
    ("make navier_stokes -o d.npz", "problem must be one of 'antiderivative'.*'navier_stokes'"),
    ("make darcy -o d.npz --noise 0.1", "--noise is for inverse_source; darcy"),
    ("convert data.npz d.csv", r"same number of rows, got u_train \(20, 100\).* Write npz"),
    ("convert strange.npz d.h5", r"There are: first \(20, 100\).*--input NAME"),
    ("convert model.elmonet d.npz", "'model.elmonet' is a model, not a file of functions"),
    ("convert thing.pkl d.npz", r"thing\.pkl.* does not run"),
    ("reproduce burgers", "experiment must be one of 'antiderivative'.*'burgers'"),
]
CALLS = [
    *((call, 2, message) for call, message in COMMAND),
    *((call, 1, message) for call, message in CONTENT),
]


@pytest.mark.parametrize(("call", "code", "message"), CALLS, ids=[call for call, _, _ in CALLS])
def test_a_wrong_call(run, desk, monkeypatch, call, code, message):
    monkeypatch.chdir(desk)
    before = sorted(desk.rglob("*"))
    ended, out, err = run(*call.split())
    assert ended == code
    (answer,) = [line for line in err.splitlines() if line.strip() and not re.match(r" *\d+% ", line)]
    assert answer.startswith("elmonet: ")
    assert re.search(message, answer), answer
    assert "bug in elmonet" not in answer
    assert "Traceback" not in out + err
    assert "wrote" not in out
    assert sorted(desk.rglob("*")) == before
    if code == 2:
        verb = call.split()[0]
        help_of = "elmonet" if verb in ("fitt", "--fit", "data.npz") else f"elmonet {verb}"
        assert answer.endswith(f" See: {help_of} --help")


@pytest.mark.parametrize("call", ["fit dta.npz -o m", "predict model.elmonet short.npz -o p.npz --json"])
def test_with_json_too_standard_output_stays_empty(run, desk, monkeypatch, call):
    monkeypatch.chdir(desk)
    code, out, _ = run(*call.split())
    assert (code, out) == (1, "")


def test_debug_shows_where_it_happened(run, desk, monkeypatch):
    monkeypatch.chdir(desk)
    with pytest.raises(ValueError, match="there is no file or folder"):
        run("fit", "dta.npz", "-o", "m", "--debug")


def test_an_error_of_the_library_asks_for_a_report(run, desk, monkeypatch):
    def fail(*_, **__):
        raise KeyError("surprise")

    monkeypatch.chdir(desk)
    monkeypatch.setattr(READER, "describe_file", fail)
    code, _, err = run("info", "data.npz")
    assert code == 1
    assert re.fullmatch("elmonet: KeyError: 'surprise'. .* bug in elmonet.* --debug.\n", err)


def test_ctrl_c_anywhere(run, desk, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.chdir(desk)
    monkeypatch.setattr(READER, "describe_file", stop)
    assert run("info", "data.npz") == (130, "", "Stopped.\n")


def test_ctrl_c_in_a_fit_says_what_to_do(run, desk, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.chdir(desk)
    monkeypatch.setattr("elmonet.AutoELMDeepONet.fit", stop)
    code, _, err = run("fit", "data.npz", "-o", "m.elmonet")
    assert code == 130
    assert "--time-budget SECONDS" in err


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            PermissionError(13, "Permission denied", "data.npz"),
            "'data.npz' cannot be read or written: permission",
        ),
        (OSError("no space"), "no space"),
        (MemoryError(), "there is not enough memory.*--memory 2GB"),
    ],
)
def test_what_the_system_refuses(run, desk, monkeypatch, error, message):
    def fail(*_, **__):
        raise error

    monkeypatch.chdir(desk)
    monkeypatch.setattr(READER, "describe_file", fail)
    code, _, err = run("info", "data.npz")
    assert code == 1
    assert re.match(f"elmonet: {message}", err)


def test_an_empty_argument(run, desk, monkeypatch):
    monkeypatch.chdir(desk)
    told = "elmonet: argument {} is empty. Give a name, or leave it out. See: elmonet --help\n"
    assert run("fit", "", "-o", "m") == (2, "", told.format(2))
    assert run("fit", "data.npz", "-o", "") == (2, "", told.format(4))


@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("predict model.elmonet data.npz -o p.h5", "h5py"),
        ("predict model.elmonet data.npz -o p.zarr", "zarr"),
        ("suggest model.elmonet data.npz -o p.nc", "xarray"),
        ("convert data.npz d.h5", "h5py"),
        ("make darcy -o d.zarr", "zarr"),
        ("fit data.npz -o m --report r.html", "matplotlib"),
    ],
)
def test_a_missing_package_is_found_before_the_work(run, desk, monkeypatch, command, module):
    monkeypatch.chdir(desk)
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, f"{module}.figure", None)
    code, out, err = run(*command.split())
    assert (code, out) == (1, "")
    assert re.search(rf"needs? {module}: pip install .elmonet\[", err)
