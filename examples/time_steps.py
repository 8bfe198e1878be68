"""
A learned time step, again and again
====================================

Burgers' equation once more, but we learn a short step: from u(., t) to u(., t + dt). Physics is the same
at every point of the circle, and layers make use of that: random local features, one vector of weights
for all points, each layer one linear solve. Then the step is applied again and again.
"""

import matplotlib.pyplot as plt
import numpy as np

from elmonet import LayeredELMDeepONet, problems, relative_l2

steps = 20
data = problems.burgers_steps(n_train=30, n_test=5, n_steps=steps, dt=0.05, n_points=65)
model = LayeredELMDeepONet("nothing", layers=2, width=200, random_state=0)
model.fit(data.u_train, data.s_train, points=data.points)
one_step = relative_l2(model.predict(data.u_test), data.s_test)
print(f"one step: error {one_step:.2%}, expected {model.expected_error_:.2%}")

# %%
# Twenty steps from initial values that the model has not seen.

truth = data.s_test.reshape(5, steps, 65)
found = model.rollout(data.u_test[::steps], steps=steps)
for step in (1, 5, 20):
    print(f"after {step:2} steps: error {relative_l2(found[:, step - 1], truth[:, step - 1]):.2%}")

# %%
# One of them over place and time: waves steepen, and diffusion eats them. Right: the last step.

x, times = data.points[:, 0], 0.05 * np.arange(1, steps + 1)
most = np.abs(truth[1]).max()
fig, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
for ax, title, values in ((axes[0], "truth", truth[1]), (axes[1], "20 learned steps", found[1])):
    image = ax.pcolormesh(x, times, values, cmap="RdBu_r", vmin=-most, vmax=most, shading="gouraud")
    ax.set(title=title, xlabel="x", ylabel="t")
fig.colorbar(image, ax=axes[:2])
axes[2].plot(x, data.u_test[steps], color="lightgray", label="t = 0")
axes[2].plot(x, truth[1, -1], color="black", label="t = 1, truth")
axes[2].plot(x, found[1, -1], "--", color="tab:blue", label="t = 1, learned")
axes[2].set(xlabel="x")
axes[2].legend()
plt.show()
