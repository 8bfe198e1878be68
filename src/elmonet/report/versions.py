"""What a fit was made with."""

from __future__ import annotations

import platform
from importlib import metadata

__all__ = ["versions"]

_PACKAGES = ("elmonet", "numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that numbers depend on, and the system."""
    found = {"Python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    return found | {name: _version(name) for name in _PACKAGES}


def _version(package: str) -> str:
    if package == "elmonet":
        from elmonet import __version__

        return __version__
    return metadata.version(package)
