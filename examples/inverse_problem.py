"""
The source behind measurements
==============================

A fitted operator predicts what a source causes. Turned around, it tells the source from noisy measurements
of the effect, and how well these determine it.
"""

import matplotlib.pyplot as plt
import numpy as np

from elmonet import AutoELMDeepONet, problems, relative_l2

# %%
# The problem's pairs are u(1, x) and the source s(x) of a reaction-diffusion equation. Here the source is the
# input: the forward operator.

data = problems.inverse_source(n_train=200, n_test=10)
x = data.points[:, 0]
model = AutoELMDeepONet(layers=0, random_state=0).fit(data.s_train, data.u_train, points=x)

# %%
# Twenty measurements of one effect, with noise of one per cent.

rng = np.random.default_rng(0)
truth, where = data.s_test[2], np.linspace(0.03, 0.97, 20)[:, None]
sigma = 0.01 * np.sqrt(np.mean(data.u_train**2))
measured = model.predict(truth[None], points=where)[0] + sigma * rng.normal(size=20)
posterior = model.invert(measured, where, noise=sigma, random_state=0)
low, high = posterior.interval(0.9)
error = relative_l2(posterior.mean[None], truth[None])
inside = np.mean((low <= truth) & (truth <= high))
print(posterior)
print(f"error of the mean {error:.1%}; {inside:.0%} of the truth is inside the 90 % band")

# %%
# The source, and how much each measurement said about it.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
left.fill_between(x, low, high, alpha=0.3, label="90 % band")
left.plot(x, posterior.mean, label="mean")
left.plot(x, truth, "k--", label="truth")
left.set(xlabel="x", ylabel="source", title="The source")
left.legend()
right.bar(where[:, 0], posterior.information, width=0.03)
right.set(xlabel="where it was measured", ylabel="directions determined", title="What each measurement said")
plt.show()
