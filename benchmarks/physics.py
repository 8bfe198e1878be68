"""The gallery of equations: errors and seconds of operators that are learned without output data.

    python benchmarks/physics.py [--functions 100] [--seed 0] [--out results/physics.json]

The numbers of ``elmonet reproduce physics``, without its pictures. Run it on an idle machine: about 15
minutes on two cores.
"""

from harness import RESULTS, option_parser

from elmonet.paper.physics import reproduce_physics
from elmonet.paper.run import as_json
from elmonet.progress import progress_bar

OUT = RESULTS / "physics.json"


def main():
    parser = option_parser(__doc__, out=OUT)
    parser.add_argument("--functions", type=int, help="of each problem; by default, its own number")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with progress_bar() as progress:
        results = reproduce_physics(functions=arguments.functions, seed=arguments.seed, progress=progress)
    arguments.out.write_text(as_json(results))


if __name__ == "__main__":
    main()
