"""
Images in, fields out
=====================

The pressure s in porous rock from an image of its permeability κ: -div(κ grad s) = 1 on the unit square,
s = 0 on its boundary. Inputs are images (N, 16, 16), outputs are fields (N, 15, 15). The trunk vanishes
on the boundary, so that predictions do, exactly, also on a finer grid.
"""

import matplotlib.pyplot as plt
import numpy as np

from elmonet import POD, SLFN, ELMDeepONet, Linear, problems, relative_l2

data = problems.darcy(n_train=400, n_test=100, n_sensors=16, n_points=29)
fine = data.points.reshape(29, 29, 2)
s_train, s_test = (s.reshape(-1, 29, 29) for s in (data.s_train, data.s_test))
coarse = fine[::2, ::2]  # train on every second point: (15, 15, 2)

# %%
# Images and grids are given as they are: the first axis counts the functions.

branch = Linear() + SLFN(2000, "tanh", 0.5)
trunk = POD().zero_on_boundary()
model = ELMDeepONet(branch, trunk, log_inputs=True, random_state=0)  # kappa varies by factors
model.fit(data.u_train, s_train[:, ::2, ::2], points=coarse)

on_coarse = model.predict(data.u_test)
on_fine = model.predict(data.u_test, points=fine)
errors = relative_l2(on_coarse, s_test[:, ::2, ::2]), relative_l2(on_fine, s_test)
print(f"images {data.u_test.shape} -> fields {on_coarse.shape}: relative error {errors[0]:.2%}")
print(f"expected, by leave-one-out: {model.expected_error_:.2%}")
print(f"on a finer grid, {on_fine.shape}: {errors[1]:.2%}")

# %%
# An image, the prediction on the training grid and on a grid twice as fine, and its error.

pictures = {
    "image of κ": data.u_test[0],
    "prediction, 15 x 15": on_coarse[0],
    "prediction, 29 x 29": on_fine[0],
    "error, 29 x 29": on_fine[0] - s_test[0],
}
fig, axes = plt.subplots(2, 2, figsize=(7, 5.6), layout="constrained")
for ax, (title, values) in zip(axes.flat, pictures.items(), strict=True):
    largest = np.abs(values).max()
    colours = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest} if "error" in title else {}
    image = ax.imshow(values.T, origin="lower", extent=(0, 1, 0, 1), **colours)
    fig.colorbar(image, ax=ax, shrink=0.8)
    ax.set(title=title, xticks=[], yticks=[])
plt.show()

# %%
# On the boundary predictions vanish, at any point of it.

along, zero = np.linspace(0, 1, 1001), np.zeros(1001)
sides = [(along, zero), (along, zero + 1), (zero, along), (zero + 1, along)]
boundary = np.concatenate([np.column_stack(side) for side in sides])
largest = np.abs(model.predict(data.u_test, points=boundary)).max()
print(f"largest value at {len(boundary)} points of the boundary: {largest}")
