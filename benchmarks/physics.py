"""The gallery of equations: errors and seconds of operators that are learned without outputs.

    python benchmarks/physics.py [--functions 100] [--seed 0] [--out results/physics.json]

The numbers of ``elmonet reproduce physics``, without its pictures. Run it on an idle machine: about 15
minutes on two cores.
"""

import argparse
from pathlib import Path

from elmonet.paper.physics import reproduce_physics
from elmonet.paper.run import as_json
from elmonet.progress import progress_bar

OUT = Path(__file__).parent / "results" / "physics.json"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--functions", type=int, help="of each problem; its own number if not given")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    with progress_bar() as progress:
        results = reproduce_physics(functions=given.functions, seed=given.seed, progress=progress)
    given.out.write_text(as_json(results))


if __name__ == "__main__":
    main()
