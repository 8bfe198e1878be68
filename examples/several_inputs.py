"""Several inputs: a source f(x) and a number k in, a temperature out, and how their features are combined.

-s'' + k s = f on [0, 1], s = 0 at both ends: a rod with the source f, which loses heat at the rate k. The
temperature is linear in f, with factors that depend on k: a sum of products.
"""

import numpy as np

from elmonet import SLFN, ELMDeepONet, Linear, Several, relative_l2

x = np.linspace(0, 1, 41)


def rods(n, rng):
    """Inputs by name, each with its own shape, (n, 41) and (n,), and temperatures (n, 41)."""
    waves = np.pi * np.arange(1, 7)
    amplitudes, loss = rng.normal(size=(n, 6)), rng.uniform(0, 30, size=n)
    inputs = {"source": amplitudes @ np.sin(np.outer(waves, x)), "loss": loss}
    return inputs, amplitudes / (waves**2 + loss[:, None]) @ np.sin(np.outer(waves, x))


def main():
    rng = np.random.default_rng(0)
    inputs, temperatures = rods(400, rng)
    new, truth = rods(100, rng)
    branches = {
        "one network for all inputs (default)": None,
        "a map for each, side by side": Several({"source": Linear(), "loss": SLFN(10, "tanh", 2.0)}),
        "a map for each, multiplied (MIONet)": Several(
            {"source": SLFN(1000, "tanh", 0.1), "loss": SLFN(1000, "tanh", 1.0)}, combine="product"
        ),
    }
    errors = {}
    print("relative error on new functions, and the expected error (leave-one-out):")
    for name, branch in branches.items():
        model = ELMDeepONet(branch, random_state=0).fit(inputs, temperatures, points=x)
        errors[name] = relative_l2(model.predict(new), truth)
        print(f"{name:37} {errors[name]:7.2%} {model.expected_error_:7.2%}")
    print("Side by side, features give a function of f plus one of k. Multiplied, they give products.")
    return list(errors.values())


if __name__ == "__main__":
    main()
