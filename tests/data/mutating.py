"""Run by test_mutations.py in a process of its own: open damaged copies of some files.

Each must open, or raise an error of the library; nothing may crash or take more memory than it is given.
"""

import contextlib
import shutil
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np

from elmonet import ElmonetError
from elmonet.data.formats import open_arrays
from elmonet.data.reading import describe_file, read

MEMORY = 2 << 30
HUGE = (b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\x00\x00\x00\x40", b"\xff" * 8, b"\x00" * 7 + b"\x10")


def damaged(content, rng):
    """A damaged copy of some bytes, the beginning more often than the rest."""
    content = bytearray(content)
    kind = rng.integers(7)
    for _ in range(rng.integers(1, 5)):
        n = len(content)
        if n == 0:
            break
        at = int(rng.integers(n + 1 if rng.random() < 0.4 else min(n, 600) + 1))
        if kind == 0:
            return bytes(content[:at])
        if kind == 1:
            content[min(at, n - 1)] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            content[at : at + 8] = rng.bytes(8)
        elif kind == 3:
            huge = HUGE[rng.integers(len(HUGE))]
            content[at : at + len(huge)] = huge
        elif kind == 4:
            content[at : at + int(rng.integers(1, 40))] = b""
        elif kind == 5:
            digits = [i for i, byte in enumerate(content[:5000]) if 48 <= byte < 58]
            if digits:
                place = int(rng.choice(digits))
                content[place : place + 1] = b"9" * int(rng.integers(1, 12))
        else:
            content[at:at] = content[at : at + 20]
    return bytes(content)


def damage_zip(path, rng):
    """Damage one member and pack it again, so that the sums of the frame are right."""
    with zipfile.ZipFile(path) as file:
        members = {info.filename: file.read(info) for info in file.infolist()}
    name = str(rng.choice(list(members)))
    members[name] = damaged(members[name], rng)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for member, content in members.items():
            file.writestr(member, content)


def damage(path, rng):
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        path = files[rng.integers(len(files))]
    if zipfile.is_zipfile(path) and rng.random() < 0.7:
        damage_zip(path, rng)
    else:
        path.write_bytes(damaged(path.read_bytes(), rng))


def outcome(path, readers):
    """Call each of the readers; return whether the first has read or refused the file."""
    outcomes = []
    for reader in readers:
        try:
            reader(path)
            outcomes.append("read")
        except ElmonetError:
            outcomes.append("refused")
    return outcomes[0]


def read_all(path):
    with open_arrays(path) as arrays:
        for array in arrays.values():
            np.asarray(array)


def main(count, *samples):
    warnings.simplefilter("error")
    for sample in samples:
        outcome(sample, (read_all, read))  # imports what it needs
    with contextlib.suppress(ImportError):  # Windows cannot limit it
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for sample in samples:
        open_damaged(sample, count)


def open_damaged(sample, count):
    copy, outcomes = sample.with_name(f"damaged-{sample.name}"), []
    for seed in range(count):
        print(sample.parent.name, seed, flush=True)  # the last one that is printed is the one that crashed
        if sample.is_dir():
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(sample, copy)
        else:
            shutil.copy(sample, copy)
        damage(copy, np.random.default_rng(seed))
        outcomes.append(outcome(copy, (read_all, read if seed % 2 else describe_file)))
    print(f"{sample.parent.name}: read {outcomes.count('read')} refused {outcomes.count('refused')}")


if __name__ == "__main__":
    main(int(sys.argv[1]), *map(Path, sys.argv[2:]))
