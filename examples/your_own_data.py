"""
Your own data, from a file to a prediction
==========================================

A body is heated with the power u(t) and radiates: T' = u - T⁴, T(0) = 0. We have pairs of functions in a
file, the power at 50 times and the temperature at 40. From these we learn the operator that takes one to
the other, ask how good it is, save it, and use it at new times.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from elmonet import AutoELMDeepONet, load, plot, read, relative_l2

# %%
# The data
# --------
# Yours come from measurements or from a solver. Here the method of Runge and Kutta makes them.


def temperatures(n, seed, steps=390):
    """Random powers (n, 50) and their temperatures (n, steps + 1), and the times of the latter."""
    rng = np.random.default_rng(seed)
    amplitudes = rng.uniform(-0.5, 0.5, size=(n, 4)) / np.arange(1, 5)

    def power(t):
        return 1 + amplitudes @ np.sin(2 * np.pi * np.arange(1, 5)[:, None] * t)[:, 0]

    h, T = 1 / steps, np.zeros((steps + 1, n))
    for i in range(steps):
        u = [power(h * (i + part)) for part in (0, 0.5, 1)]
        k1 = u[0] - T[i] ** 4
        k2 = u[1] - (T[i] + h / 2 * k1) ** 4
        k3 = u[1] - (T[i] + h / 2 * k2) ** 4
        k4 = u[2] - (T[i] + h * k3) ** 4
        T[i + 1] = T[i] + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    sensors = np.linspace(0, 1, 50)
    return np.stack([power(t) for t in sensors], axis=1), T.T, np.linspace(0, 1, steps + 1)


u, T, times = temperatures(100, seed=0)
u_new, T_new, _ = temperatures(50, seed=1)

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
left.plot(np.linspace(0, 1, 50), u[:8].T, lw=1)
left.set(title="inputs: power u(t)", xlabel="t")
right.plot(times[::10], T[:8, ::10].T, ".-", lw=1, ms=3)
right.set(title="outputs: temperature T(t)", xlabel="t")
plt.show()

# %%
# The file
# --------
# What is needed: input functions u (N, m), output functions s (N, M), and where the outputs are known.
# `read` takes npz, mat, h5, zarr, pt, nc, csv and more, and guesses what is what from names and shapes.

folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "heating.npz"
np.savez(file, u=u, s=T[:, ::10], points=times[::10])

data = read(file)
print(data)

# %%
# The model
# ---------
# Nothing is to be chosen. The summary says what was chosen, and what error to expect.

model = AutoELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
print(model.summary())

# %%
# Each dot is a model that was tried. Its error is by leave-one-out: exact, and without test data.

plot.leaderboard(model)
plt.show()

# %%
# Later, in another script
# ------------------------
# The file of a model holds all that is needed for predictions and their bands. It holds no pickle: nothing
# runs when it is read.

model.save(Path(folder.name) / "heating.elmonet")
again = load(Path(folder.name) / "heating.elmonet")
folder.cleanup()

errors = [relative_l2(again.predict(u_new, points=times[::n]), T_new[:, ::n]) for n in (10, 1)]
print(f"Relative error on new functions, at the {len(data.points)} times of the data: {errors[0]:.1e}")
print(f"Expected by leave-one-out, read from the file: {again.expected_error_:.1e}")
print(f"At {len(times)} times, mostly between those of the data, by splines: {errors[1]:.1e}")

# %%
# A prediction with its band, which holds the whole function for 90 % of new functions. It is so narrow
# that it is seen only in the lower panel: there the prediction is taken off.

# sphinx_gallery_thumbnail_number = 3
plot.band(again, u_new, T_new[:, ::10], index=3, coverage=0.9)
plt.show()
