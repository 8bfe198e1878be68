"""The reference is complete: every public name, with a type and a description of each parameter."""

import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import elmonet
from elmonet import physics, plot, problems

REFERENCE = Path(__file__).parents[1] / "docs" / "api"
MODULES = {"elmonet": elmonet, "elmonet.physics": physics, "elmonet.plot": plot, "elmonet.problems": problems}
PUBLIC = {
    f"{module}.{name}": getattr(MODULES[module], name)
    for module in MODULES
    for name in MODULES[module].__all__
    if not inspect.ismodule(getattr(MODULES[module], name))
}


def methods(cls):
    """Yield name and function of the public methods and properties that this library defines."""
    for name in dir(cls):
        made_by = next(base for base in cls.__mro__ if name in vars(base))
        thing = vars(made_by)[name]
        if name.startswith("_") or not made_by.__module__.startswith("elmonet"):
            continue
        if isinstance(thing, property):
            yield name, thing.fget
        elif isinstance(thing, classmethod | staticmethod) or inspect.isfunction(thing):
            yield name, getattr(cls, name)


CALLABLE = {
    **{
        name: thing
        for name, thing in PUBLIC.items()
        if not (inspect.isclass(thing) and issubclass(thing, Exception))
    },
    **{
        f"{name}.{method}": function
        for name, thing in PUBLIC.items()
        if inspect.isclass(thing)
        for method, function in methods(thing)
    },
}


def doc_of(name, seen=()):
    """Return a docstring and those that it refers to: "as in `predict`", "those of `ELMDeepONet.fit`"."""
    doc = inspect.getdoc(CALLABLE[name])
    owner = name.rpartition(".")[0]
    for other in re.findall(r"\b(?:as in|as by|those of|see) `([\w.]+)`", doc):
        for full in {f"{owner}.{other}", f"elmonet.{other}"} & CALLABLE.keys() - {name, *seen}:
            doc += "\n" + doc_of(full, (name, *seen))
    return doc


SHOWN = [
    name
    for page in sorted(REFERENCE.glob("*.rst"))
    for name in re.findall(
        r"^\.\. auto(?:class|function|exception|data)\w*:: (\S+)", page.read_text("utf-8"), re.M
    )
]


def test_every_name_is_in_the_reference():
    assert sorted(PUBLIC) == sorted(name for name in SHOWN if name in PUBLIC)


@pytest.mark.parametrize("name", [name for name in SHOWN if name not in PUBLIC])
def test_other_names_of_the_reference_exist(name):
    assert pkgutil.resolve_name(name)


def test_everything_public_has_a_docstring():
    silent = [name for name, thing in (PUBLIC | CALLABLE).items() if not inspect.getdoc(thing)]
    assert not silent


@pytest.mark.parametrize("name", CALLABLE)
def test_every_parameter_has_a_type_and_a_description(name):
    parameters = [
        p for p in inspect.signature(CALLABLE[name]).parameters.values() if p.name not in ("self", "cls")
    ]
    assert not [p.name for p in parameters if p.annotation is p.empty], "without a type"
    doc = doc_of(name)
    assert not [p.name for p in parameters if not re.search(rf"\b{p.name}\b", doc)], "not described"
    if name in PUBLIC and len(parameters) > 2:  # a list is easier to read than a sentence
        entries = re.findall(r"^((?:\w+, )*\w+) :", doc, re.MULTILINE)
        listed = {name for entry in entries for name in entry.split(", ")}
        assert not {p.name for p in parameters} - listed, "not in the list of parameters"


def test_docstrings_become_restructured_text(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(REFERENCE.parent)
    from scripts.sphinx_site import as_restructured_text

    doc = """Fit a_b.

        y = a_b x

    Parameters
    ----------
    X, y : inputs,
        and outputs.

    Returns
    -------
    self : the fitted *model*.

    Raises
    ------
    InputError : if `X` has NaN.

    Examples
    --------
    >>> 1 * 1
    1
    """
    made = "\n".join(as_restructured_text(inspect.cleandoc(doc).splitlines()))
    assert made.startswith("Fit a\\_b.\n\n::\n\n    y = a_b x\n")
    for title in ("Parameters", "Returns", "Raises", "Examples"):
        assert f".. rubric:: {title}\n\n" in made
    assert "**X**, **y**\n    inputs,\n    and outputs.\n" in made
    assert "**self**\n    the fitted \\*model\\*.\n" in made
    assert "**InputError**\n    if `X` has NaN.\n" in made
    assert made.endswith(">>> 1 * 1\n1")


def test_pages_and_estimators_begin_with_tables(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(REFERENCE.parent)
    from scripts.sphinx_site import methods_table, with_contents

    page = (REFERENCE / "features.rst").read_text("utf-8")
    before, _, after = with_contents(page).partition("\n.. list-table::\n")
    assert page.startswith(before.rstrip("\n"))
    assert "autoclass" not in before
    for name in ("Linear", "InfiniteWidth", "Masked"):
        assert f"   * - `~elmonet.{name}`\n     - " in after.split("Branches\n---")[0]
    few = (REFERENCE / "auto.rst").read_text("utf-8")
    assert with_contents(few) == few
    rows = methods_table("elmonet.ELMDeepONet", elmonet.ELMDeepONet)
    for name, doc in (("predict", elmonet.ELMDeepONet.predict.__doc__), ("partial_fit", "Learn from more")):
        at = rows.index(f"   * - `~elmonet.ELMDeepONet.{name}`")
        assert rows[at + 1].strip("- ").startswith(doc.strip()[:15])
    assert not any("set_fit_request" in row or "get_params" in row for row in rows)
