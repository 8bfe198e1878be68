"""The numerical tests with kernels of OpenBLAS that people have, on one thread, and on two: a table.

    python tests/kernels.py                     # as in CI
    python tests/kernels.py Zen Sandybridge     # all tests with some kernels, on one thread

An outcome that depends on the kernel is a defect, of the code or of the test. `make test` takes this
machine's kernel on one thread. All tests run with the two kernels that differ most from each other: SSE
(Nehalem), and AVX2 with fused products (Haswell). Another kernel, and two threads, which share the work alike
for every kernel, run those of linear algebra, features and fits: everything else is made of these.
"""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).parent
MARKED = sorted(path for path in TESTS.rglob("test_*.py") if "mark.numerics" in path.read_text("utf-8"))
CORE = [path for path in MARKED if path.parent.name in ("solve", "features", "fitting")]
NATIVE = "native"  # whatever OpenBLAS finds this machine to be
RUNS = {  # by the number of threads; the longest first
    1: [("Nehalem", MARKED), ("Haswell", MARKED), ("Sandybridge", CORE)],
    2: [(NATIVE, CORE)],
}
ASK = "import json, numpy, scipy.linalg, threadpoolctl; print(json.dumps(threadpoolctl.threadpool_info()))"


def environment(kernel, threads):
    chosen = {} if kernel == NATIVE else {"OPENBLAS_CORETYPE": kernel}
    return {**os.environ, **chosen, "OPENBLAS_NUM_THREADS": str(threads)}


def in_use(env):
    """The kernels that NumPy's and SciPy's libraries really take."""
    told = subprocess.run([sys.executable, "-c", ASK], env=env, capture_output=True, text=True, check=True)
    return sorted({library.get("architecture", "?") for library in json.loads(told.stdout)})


def tested(kernel, threads, files):
    """Run the tests: a line of the table, and what they printed if some failed."""
    env = environment(kernel, threads)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-m",
        "numerics",
        "-p",
        "no:cacheprovider",
        *map(str, files),
    ]
    ran = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    outcome = re.sub(r"[=\s]*(.*?) in .*", r"\1", ran.stdout.strip().splitlines()[-1])
    line = f"{kernel:12} {', '.join(in_use(env)):24} {threads:7}  {outcome}"
    return line, ran.stdout[-5000:] + ran.stderr[-2000:] if ran.returncode else ""


def main(names):
    ran = failed = 0
    print(f"{'kernel':12} {'in use':24} threads  outcome", flush=True)
    for threads, runs in {1: [(name, MARKED) for name in names]}.items() if names else RUNS.items():
        # As many at a time as leave each its threads.
        with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // threads)) as pool:
            results = [pool.submit(tested, kernel, threads, files) for kernel, files in runs]
            for line, printed in (result.result() for result in results):
                print(line, printed, sep="\n" if printed else "", flush=True)
                ran, failed = ran + 1, failed + bool(printed)
    print(f"{ran - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
