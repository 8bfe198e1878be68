"""The gallery: which example comes first."""

FIRST = [
    "your_own_data",
    "four_problems",
    "error_bars",
    "images_to_fields",
    "several_inputs",
    "vector_outputs",
    "unaligned_data",
    "noise",
    "time_steps",
    "physics_heat",
    "physics_channel_flow",
    "physics_own_domain",
    "next_simulation",
    "optimisation_loop",
    "plain_elm",
]


class Order:
    """Sorts file names; those that are not in the list come last."""

    def __init__(self, folder):
        self.folder = folder

    def __repr__(self):
        return "Order"

    def __call__(self, file):
        name = file.removesuffix(".py")
        return (FIRST.index(name) if name in FIRST else len(FIRST), name)
