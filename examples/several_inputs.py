"""
Several inputs
==============

A source f(x) and a number k in, a temperature out: -s'' + k s = f on [0, 1], s = 0 at both ends. This is
a rod with the source f, which loses heat at the rate k. The temperature is linear in f, with factors
that depend on k: a sum of products. So it matters how the features of the two inputs are combined.
"""

import matplotlib.pyplot as plt
import numpy as np

from elmonet import SLFN, ELMDeepONet, Linear, Several, relative_l2

x = np.linspace(0, 1, 41)


def rods(n, rng):
    """Inputs by name, each with its own shape, (n, 41) and (n,), and temperatures (n, 41)."""
    waves = np.pi * np.arange(1, 7)
    amplitudes, loss = rng.normal(size=(n, 6)), rng.uniform(0, 30, size=n)
    inputs = {"source": amplitudes @ np.sin(np.outer(waves, x)), "loss": loss}
    return inputs, amplitudes / (waves**2 + loss[:, None]) @ np.sin(np.outer(waves, x))


# %%
# Inputs come as a dictionary. Without more, one network sees them all. `Several` has a map for each; their
# features are put side by side, or multiplied.

rng = np.random.default_rng(0)
inputs, temperatures = rods(400, rng)
new, truth = rods(100, rng)
branches = {
    "one network for all (default)": None,
    "side by side": Several({"source": Linear(), "loss": SLFN(10, "tanh", 2.0)}),
    "multiplied (MIONet)": Several(
        {"source": SLFN(1000, "tanh", 0.1), "loss": SLFN(1000, "tanh", 1.0)}, combine="product"
    ),
}
errors, predicted = {}, {}
print("relative error on new functions, and the expected error (leave-one-out):")
for name, branch in branches.items():
    model = ELMDeepONet(branch, random_state=0).fit(inputs, temperatures, points=x)
    predicted[name] = model.predict(new)
    errors[name] = relative_l2(predicted[name], truth)
    print(f"{name:30} {errors[name]:7.2%} {model.expected_error_:7.2%}")

# %%
# Side by side, features give a function of f plus one of k. Multiplied, they give products, as the truth
# has.

fig, axes = plt.subplots(1, 3, figsize=(11, 3), sharey=True, layout="constrained")
for ax, (name, values) in zip(axes, predicted.items(), strict=True):
    for i, colour in enumerate(("tab:blue", "tab:orange", "tab:green")):
        ax.plot(x, truth[i], color=colour, lw=4, alpha=0.3, label=f"truth, k = {new['loss'][i]:.0f}")
        ax.plot(x, values[i], "--", color=colour)
    ax.set(title=f"{name}: {errors[name]:.1%}", xlabel="x")
axes[0].legend(fontsize="small")
plt.show()
