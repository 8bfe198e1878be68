"""
Noise, gaps, and what error to expect
=====================================

s' = -0.1 s² + u, with noise in the outputs or in the inputs, of different strength, and with missing
values. The expected error compares predictions with the data, which are noisy: so it is the error
against new noisy data. The error against the truth is smaller, and in practice nobody can measure it.
"""

import matplotlib.pyplot as plt
import numpy as np

from elmonet import SLFN, ELMDeepONet, Linear, problems, relative_l2

data = problems.nonlinear_ode(n_train=500, n_test=500, n_sensors=50, n_points=50)
rng = np.random.default_rng(0)
size = data.s_train.std()
table = {}


def fit(name, u, s, noise=0.0, noise_in=0.0, weights=None, **settings):
    """Fit a model; its errors: expected, against noisy test functions, against the truth."""
    model = ELMDeepONet(Linear() + SLFN(500, "tanh", 0.5), random_state=0, **settings)
    model.fit(u, s, points=data.points, sample_weight=weights)
    u_test = data.u_test + noise_in * rng.normal(size=data.u_test.shape)
    noisy = data.s_test + noise * size * rng.normal(size=data.s_test.shape)
    predicted = model.predict(u_test)
    row = model.expected_error_, relative_l2(predicted, noisy), relative_l2(predicted, data.s_test)
    table[name] = row
    print(f"{name:44} expected {row[0]:.2%}, on noisy {row[1]:.2%}, on truth {row[2]:.2%}")
    return model


# %%
# Noise is given in parts of the root mean square of all outputs.

u, s = data.u_train, data.s_train
fit("clean", u, s)
noisy = s + 0.1 * size * rng.normal(size=s.shape)
fit("outputs with 10 % noise", u, noisy, noise=0.1)
fit("inputs with 10 % noise", u + 0.1 * rng.normal(size=u.shape), s, noise_in=0.1)

# %%
# Missing values are NaN, and are left out of the fit.

gaps = np.where(rng.random(s.shape) < 0.3, np.nan, noisy)
model = fit("10 % noise, 30 % of the values missing", u, gaps, noise=0.1, missing="ignore")

x = data.points[:, 0]
fig, axes = plt.subplots(1, 3, figsize=(11, 2.8), sharey=True, layout="constrained")
for i, ax in enumerate(axes):
    ax.plot(x, gaps[i], ".", color="tab:gray", label="what the fit sees")
    ax.plot(x, s[i], color="black", lw=1, label="truth")
    ax.plot(x, model.predict(u[i : i + 1])[0], "--", color="tab:blue", label="prediction")
    ax.set(title=f"training function {i}", xlabel="x")
axes[0].legend()
plt.show()

# %%
# Every second function was measured with a poor instrument: 20 % noise instead of 5 %. Weights of
# 1 / variance make the best of both.

strength = np.where(np.arange(500) % 2, 0.2, 0.05)
mixed = s + strength[:, None] * size * rng.normal(size=s.shape)
fit("5 % and 20 % noise, all count the same", u, mixed, noise=0.05)
fit("5 % and 20 % noise, weights 1 / variance", u, mixed, noise=0.05, weights=1 / strength**2)
fit("5 % noise, the poor half left out", u[::2], mixed[::2], noise=0.05)

# %%
# Without weights or with them, the expected error is a mean over all training functions, also the noisy
# ones: compare on data like those you need.

fig, ax = plt.subplots(figsize=(9, 3.5), layout="constrained")
rows = np.arange(len(table))[::-1]
expected, on_noisy, on_truth = np.array(list(table.values())).T
ax.barh(rows, on_noisy, color="lightgray", label="against new noisy data")
ax.barh(rows, on_truth, height=0.4, color="tab:blue", label="against the truth")
ax.plot(expected, rows, "|", color="black", ms=22, label="expected")
ax.set_yticks(rows, table)
ax.set(xscale="log", xlabel="relative error", xlim=(1e-4, None))
ax.legend(loc="lower left")
plt.show()
