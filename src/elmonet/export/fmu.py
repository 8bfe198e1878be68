"""Functional Mock-up Units: a fitted model for co-simulation by the FMI 2.0 standard.

An FMU is a zip archive: a description in XML, the C sources, and a library for this platform if there is a C
compiler. Nothing is compiled where it runs. A record in time makes one step in each communication step and
keeps its memory; any other model is a function of its inputs, at each time.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

from elmonet.description import Description, Port
from elmonet.description.operations import March
from elmonet.description.stepwise import Stepwise, stepwise
from elmonet.errors import NoCompilerWarning, warn
from elmonet.export import c_source
from elmonet.export.names import in_comment, record, unique_identifiers

_COMPILERS = ("cc", "gcc", "clang")
_NO_NAME = "FMI 2.0 has no name for this platform"
_LIBRARIES = {  # FMI 2.0 knows no others
    ("linux", "x86_64"): ("linux64", ".so"),
    ("darwin", "x86_64"): ("darwin64", ".dylib"),
    ("darwin", "arm64"): ("darwin64", ".dylib"),
    ("win32", "amd64"): ("win64", ".dll"),
}


def archive(description: Description, name: str) -> bytes:
    """Return the content of an FMU of this name, an identifier.

    A description of a record has one step, and its `interval` is that between steps.
    """
    one = stepwise(description) if _is_record(description) else None
    sources = _sources(description, one, name)
    guid = hashlib.sha256("".join(sources.values()).encode()).hexdigest()[:32]
    sources[f"{name}_fmu.c"] = f'#define FMU_GUID "{guid}"\n' + sources[f"{name}_fmu.c"]
    content: dict[str, bytes] = {
        "modelDescription.xml": _model_description(description, name, guid, list(sources)),
        "resources/description.json": json.dumps(record(description)).encode(),
        **{f"sources/{file}": text.encode() for file, text in sources.items()},
        **_library(sources, name),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for place, own in content.items():  # the same time for all, so that equal models give equal files
            packed.writestr(zipfile.ZipInfo(place, (1980, 1, 1, 0, 0, 0)), own, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _is_record(description: Description) -> bool:
    return any(isinstance(op, March) for op in description.operations)


def _sources(description: Description, one: Stepwise | None, name: str) -> dict[str, str]:
    """Return the C sources by file name, the one with the interface last."""
    source, header = c_source.sources(one.description if one else description, name, f"{name}.h")
    inputs, outputs = description.input_size, description.output_size
    sizes = {
        "INPUTS": inputs,
        "OUTPUTS": outputs,
        "PAST": one.past if one else 0,
        "RESULT": one.result if one else 0,
        "BEFORE": one.before if one else 0,
        "SEEN": one.seen if one else 0,
        "INTERVAL": repr(float(description.interval)) if one and description.interval else "0.0",
    }
    lines = [
        f'#include "{name}.h"',
        *(f"#define FMU_{key} {value}" for key, value in sizes.items()),
        f"#define FMU_WORK {name.upper()}_WORK",
        f"#define FMU_MODEL {name}",
    ]
    interface = "\n".join(lines) + "\n" + files("elmonet.export").joinpath("fmi2.c").read_text()
    return {f"{name}.c": source, f"{name}.h": header, f"{name}_fmu.c": interface}


def _library(sources: dict[str, str], name: str) -> dict[str, bytes]:
    """Return the library for this platform; nothing, with a warning, if it cannot be compiled."""
    system = _LIBRARIES.get((sys.platform, platform.machine().lower()))
    compiler = next((found for own in _COMPILERS if (found := shutil.which(own))), None)
    if system is None or compiler is None:
        _without_library(f"there is no C compiler ({', '.join(_COMPILERS)})" if system else _NO_NAME)
        return {}
    folder, ending = system
    with tempfile.TemporaryDirectory() as place:
        for file, text in sources.items():
            (Path(place) / file).write_text(text)
        library = f"{name}{ending}"
        code = [file for file in sources if file.endswith(".c")]
        flags = ["-std=c99", "-O2", "-shared", *([] if sys.platform == "win32" else ["-fPIC"])]
        done = subprocess.run(
            [compiler, *flags, *code, "-o", library, "-lm"], cwd=place, capture_output=True, check=False
        )
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            _without_library(f"{compiler} failed: {lines[-1] if lines else done.returncode}")
            return {}
        return {f"binaries/{folder}/{library}": (Path(place) / library).read_bytes()}


def _without_library(why: str) -> None:
    warn(
        f"the FMU holds C sources and no library: {why}. Some programs compile the sources on import; for "
        "others, export where there is a compiler.",
        NoCompilerWarning,
    )


def _model_description(description: Description, name: str, guid: str, sources: list[str]) -> bytes:
    """Return modelDescription.xml: one variable for each value of an input or output."""
    root = ElementTree.Element(
        "fmiModelDescription",
        fmiVersion="2.0",
        modelName=name,
        guid=guid,
        description="; ".join(f"{key}: {value}" for key, value in _facts(description).items()),
        generationTool="elmonet",
        variableNamingConvention="flat",
    )
    simulation = ElementTree.SubElement(
        root,
        "CoSimulation",
        modelIdentifier=name,
        canHandleVariableCommunicationStepSize="false" if description.interval else "true",
        canBeInstantiatedOnlyOncePerProcess="false",
    )
    listed = ElementTree.SubElement(simulation, "SourceFiles")
    for file in sources:
        if file.endswith(".c"):
            ElementTree.SubElement(listed, "File", name=file)
    if description.interval:
        ElementTree.SubElement(
            root, "DefaultExperiment", startTime="0", stepSize=repr(float(description.interval))
        )
    variables = ElementTree.SubElement(root, "ModelVariables")
    given = unique_identifiers(description.inputs, ["time"])
    results = unique_identifiers(description.outputs, ["time", *given])
    count = 0
    for causality, names, ports in (
        ("input", given, description.inputs),
        ("output", results, description.outputs),
    ):
        for own, port in zip(names, ports, strict=True):
            for value in _values(own, port):
                variable = ElementTree.SubElement(
                    variables,
                    "ScalarVariable",
                    name=value,
                    valueReference=str(count),
                    causality=causality,
                    variability="continuous",
                    description=in_comment(port.name),
                )
                ElementTree.SubElement(variable, "Real", {"start": "0"} if causality == "input" else {})
                count += 1
    structure = ElementTree.SubElement(root, "ModelStructure")
    for kind in ("Outputs", "InitialUnknowns"):
        unknowns = ElementTree.SubElement(structure, kind)
        for i in range(description.input_size, count):
            ElementTree.SubElement(unknowns, "Unknown", index=str(i + 1))
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="UTF-8", xml_declaration=True))


def _facts(description: Description) -> dict[str, str]:
    return {in_comment(key): in_comment(str(value)) for key, value in description.facts.items()}


def _values(name: str, port: Port) -> list[str]:
    """Return a name for each value of an input or output: with indices from 1, unless there is one value."""
    if port.size == 1:
        return [name]
    names = [""]
    for length in port.shape:
        names = [f"{before}{',' if before else ''}{i + 1}" for before in names for i in range(length)]
    return [f"{name}[{index}]" for index in names]
