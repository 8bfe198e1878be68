"""The numerical tests with kernels of OpenBLAS that people have, on one thread, and on two: a table.

    python tests/kernels.py                     # as in CI
    python tests/kernels.py Zen Sandybridge     # all tests with some kernels, on one thread

An outcome that depends on the kernel is a defect, of the code or of the test. All tests run with the two
kernels that differ most from each other: SSE (Nehalem), and AVX2 with fused products (Haswell). This
machine's own kernel, on two threads, runs those of linear algebra, features and fits: everything else is made
of these. The kernel of `make test`, this machine's own or that of OPENBLAS_CORETYPE, is not run again.

Each run is spread over all cores, so that no core waits for the longest run.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
MARKED = sorted(path for path in TESTS.rglob("test_*.py") if "mark.numerics" in path.read_text("utf-8"))
CORE = [path for path in MARKED if path.parent.name in ("solve", "features", "fitting")]
NATIVE = "native"  # whatever OpenBLAS finds this machine to be
RUNS = [  # a kernel, the number of threads, files
    ("Nehalem", 1, MARKED),
    ("Haswell", 1, MARKED),
    (NATIVE, 2, CORE),
]
ASK = "import json, numpy, scipy.linalg, threadpoolctl; print(json.dumps(threadpoolctl.threadpool_info()))"


def environment(kernel, threads):
    chosen = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    if kernel != NATIVE:
        chosen["OPENBLAS_CORETYPE"] = kernel
    return {**chosen, "OPENBLAS_NUM_THREADS": str(threads)}


def in_use(env):
    """The kernels that NumPy's and SciPy's libraries really take."""
    told = subprocess.run([sys.executable, "-c", ASK], env=env, capture_output=True, text=True, check=True)
    return sorted({library.get("architecture", "?") for library in json.loads(told.stdout)})


def tested(kernel, threads, files):
    """Run the tests: their outcome in a few words, and what they printed if some failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "numerics", "-p", "no:cacheprovider"]
    processes = (os.cpu_count() or 1) // threads  # as many as leave each its threads
    spread = ["-n", str(processes if processes > 1 else 0), "--dist", "loadfile"]
    ran = subprocess.run(
        [*command, *spread, *map(str, files)],
        env=environment(kernel, threads),
        capture_output=True,
        text=True,
        check=False,
    )
    outcome = re.sub(r"[=\s]*(.*?) in .*", r"\1", ran.stdout.strip().splitlines()[-1])
    return outcome, ran.stdout[-5000:] + ran.stderr[-2000:] if ran.returncode else ""


def main(names):
    ran = failed = 0
    own = in_use(dict(os.environ))
    print(f"{'kernel':12} {'in use':24} threads  outcome", flush=True)
    for kernel, threads, files in [(name, 1, MARKED) for name in names] or RUNS:
        used = in_use(environment(kernel, threads))
        line = f"{kernel:12} {', '.join(used):24} {threads:7} "
        if used == own and threads == 1 and not names:
            print(line, "as in make test", flush=True)
            continue
        outcome, printed = tested(kernel, threads, files)
        print(line, outcome, f"\n{printed}" if printed else "", flush=True)
        ran, failed = ran + 1, failed + bool(printed)
    print(f"{ran - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
