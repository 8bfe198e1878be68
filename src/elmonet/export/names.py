"""Names that come from data, made harmless in generated text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from elmonet.description import Description, Port

# fmt: off
_WORDS = frozenset({
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
    "extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return",
    "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void",
    "volatile", "while", "end", "function", "otherwise", "global", "persistent", "parfor", "try",
    "catch", "classdef", "spmd", "elseif", "main", "affine", "dots", "scale", "gather", "kernel",
    "amplitude", "exp", "log", "sin", "cos", "tanh", "sqrt", "acos", "erfc", "log1p", "expm1",
    "fabs",
})
# fmt: on


def identifier(name: str) -> str:
    """Return a name of letters, digits and underscores that is no word of C or MATLAB.

    >>> identifier("2 fast */ <b>"), identifier("while"), identifier("operator")
    ('x2_fast_____b_', 'while_', 'operator')
    """
    found = re.sub(r"[^A-Za-z0-9_]", "_", name) or "x"
    found = found if found[0].isalpha() else f"x{found}"
    return f"{found[:50]}_" if found in _WORDS else found[:50]


def unique_identifiers(ports: Sequence[Port], taken: Sequence[str] = ()) -> list[str]:
    """Return one identifier for each port, all different."""
    found: list[str] = []
    for port in ports:
        own = base = identifier(port.name)
        count = 1
        while own in found or own in taken:
            count += 1
            own = f"{base}_{count}"
        found.append(own)
    return found


def in_comment(text: str) -> str:
    """Return text on one line of ASCII that ends no comment of C, MATLAB or XML.

    >>> in_comment('a */ b' + chr(10) + '%} -->')
    '"a * / b\\\\n% } - ->"'
    """
    escaped = json.dumps(text, ensure_ascii=True).replace("*/", "* /").replace("/*", "/ *")
    return re.sub(r"-(?=-)", "- ", escaped.replace("%}", "% }").replace("%{", "% {").replace("??", "? ?"))


def record(description: Description) -> dict[str, Any]:
    """Return what a file says of itself, for JSON."""
    return {
        "made by": "elmonet",
        "inputs": [{"name": port.name, "shape": list(port.shape)} for port in description.inputs],
        "outputs": [{"name": port.name, "shape": list(port.shape)} for port in description.outputs],
        **description.facts,
    }


def header_lines(description: Description) -> list[str]:
    """Return lines for the head of generated source: what goes in and out, and what error to expect."""
    lines = ["Written by elmonet: a fitted operator. Do not edit.", ""]
    for what, ports in (("Inputs", description.inputs), ("Outputs", description.outputs)):
        lines.append(f"{what}, one after another, each in C order (last index fastest):")
        at = 0
        for port in ports:
            shape = " x ".join(map(str, port.shape)) or "1"
            lines.append(f"  {at} to {at + port.size - 1}: {in_comment(port.name)}, shape {shape}")
            at += port.size
    for what, value in description.facts.items():
        lines.append(f"{in_comment(str(what))}: {in_comment(str(value))}")
    return lines
