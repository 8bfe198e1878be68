"""elmonet doctor."""

from __future__ import annotations

import platform
from typing import Annotated, Any

import typer

from elmonet import __version__
from elmonet.cli.machine import EXTRAS, REQUIRED, about_machine, libraries, versions
from elmonet.cli.self_test import self_test
from elmonet.cli.telling import Told

__all__ = ["doctor"]


def doctor(
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object and nothing else: elmonet, python, versions, extras, machine, "
            "libraries, self_test.",
        ),
    ] = False,
) -> None:
    """Show what elmonet runs on, and test it: for a report of a bug.

    Shows versions, optional parts, system, memory and the libraries that compute. It names no users, hosts or
    folders. The test takes a second: a small fit with a known answer. The exit code is 0 if all is fine, and
    1 if the test fails.

    **Examples**

    elmonet doctor

    elmonet doctor --json
    """
    from elmonet.memory import readable

    told = Told(json)
    required, machine, blas = versions(REQUIRED), about_machine(), libraries()
    extras = {extra: versions(packages) for extra, packages in EXTRAS.items()}
    told.fact(elmonet=__version__, python=platform.python_version(), versions=required, extras=extras)
    told.fact(machine=machine, libraries=blas)
    told.line(
        f"elmonet {__version__}, Python {platform.python_version()} ({platform.python_implementation()})"
    )
    told.line("  " + ", ".join(f"{name} {number or 'not found'}" for name, number in required.items()))
    told.line("optional parts:")
    for extra, packages in extras.items():
        told.line(f"  {extra}: {_in_words(extra, packages)}")
    told.line(f"system: {machine['system']}")
    told.line(
        f"  {machine['cores']} cores, {machine['usable_cores']} for this process; "
        f"{readable(machine['free_memory'])} of memory free"
    )
    told.line("libraries:")
    for library in blas:
        told.line(f"  {_library(library)}")
    for name, value in machine["settings"].items():
        told.line(f"  {name}={value}")
    tested = self_test()
    told.fact(self_test=tested)
    told.line(f"self-test: {'passed' if tested['passed'] else 'FAILED'}")
    for sentence in tested["told"]:
        told.line(f"  {sentence}")
    told.end()
    if not tested["passed"]:
        raise typer.Exit(1)


def _in_words(extra: str, packages: dict[str, str | None]) -> str:
    there = ", ".join(f"{name} {number}" for name, number in packages.items() if number is not None)
    missing = ", ".join(name for name, number in packages.items() if number is None)
    if not missing:
        return there
    return (f"{there}; " if there else "") + f'no {missing}: pip install "elmonet[{extra}]"'


def _library(one: dict[str, Any]) -> str:
    """One library, in words."""
    kernel = f", kernel {one['kernel']}" if one["kernel"] else ""
    threads = f", threads: {one['threads']}" if one["threads"] else ""
    return f"{one['library']} {one['version'] or ''}".strip() + f" of {one['of']}{kernel}{threads}"
