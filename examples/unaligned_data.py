"""
Scattered outputs
=================

Each function is known at its own points. A population u(x) grows by the logistic law, s(x, t) = u eᵗ /
(1 + u (eᵗ - 1)). Of each, 20 to 40 counts are known, each at its own place x and time t, with errors of
1 %. The models give s everywhere.
"""

import matplotlib.pyplot as plt
import numpy as np

from elmonet import SLFN, ELMDeepONet, Legendre, Linear, Scattered, relative_l2

x = np.linspace(0, 1, 30)  # the sensors of u: the same for all functions


def populations(n, rng):
    """Random populations as functions of x."""
    a, b, c = 0.4 * rng.normal(size=(3, n, 1))
    return lambda x: 0.4 * np.exp(a * np.cos(np.pi * x) + b / 2 * np.cos(2 * np.pi * x) + c)


def growth(u, t):
    return u * np.exp(t) / (1 + u * (np.exp(t) - 1))


rng = np.random.default_rng(0)
u = populations(150, rng)
points = [rng.random((rng.integers(20, 41), 2)) for _ in range(150)]  # (M_i, 2): places x and times t
counts = [growth(u(p[:, 0])[i], p[:, 1]) * rng.normal(1, 0.01, len(p)) for i, p in enumerate(points)]

# %%
# As lists, with one entry for each function. The trunk's degree is chosen by functions held out.

branch = Linear() + SLFN(100, "tanh", 0.5)
lists = ELMDeepONet(branch, random_state=0).fit(u(x), counts, points=points)

# %%
# The same as triples, one for each count, in any order: which function, where, how many.

index = np.repeat(np.arange(150), [len(p) for p in points])
triples = Scattered(index, np.concatenate(points), np.concatenate(counts))
given = ELMDeepONet(branch, Legendre(4), random_state=0).fit(u(x), triples)

# %%
# Predictions for new functions, on a grid. The expected error is that of counts which were held out; these
# have errors of 1 % themselves.

new = populations(50, rng)
grid = np.stack(np.meshgrid(x, np.linspace(0, 1, 20), indexing="ij"), axis=-1)  # (30, 20, 2)
truth = growth(new(x)[:, :, None], grid[..., 1])  # (50, 30, 20)
print(f"{triples}; predictions for new functions on a grid {truth.shape}:")
errors = []
for how, model in (("from lists, trunk chosen", lists), ("from triples, trunk given", given)):
    errors.append(relative_l2(model.predict(new(x), points=grid), truth))
    expected = model.expected_error_
    print(f"{how:26} {model.trunk_!s:19} relative error {errors[-1]:.2%}, expected {expected:.2%}")

# %%
# Three training functions: the counts are all that is known of each (dots), the field is the model's.

fields = lists.predict(u(x)[:3], points=grid)
fig, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
for i, ax in enumerate(axes):
    limits = {"vmin": fields.min(), "vmax": fields.max()}
    image = ax.pcolormesh(x, np.linspace(0, 1, 20), fields[i].T, shading="gouraud", **limits)
    ax.scatter(*points[i].T, c=counts[i], edgecolor="white", **limits)
    ax.set(title=f"{len(counts[i])} counts", xlabel="place x", ylabel="time t")
fig.colorbar(image, ax=axes, label="population")
plt.show()
