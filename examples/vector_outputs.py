"""
Vector outputs
==============

Two functions for one, each in its own units, given and predicted by name. Hares and lynxes in a valley
where the growth of grass, u(t), varies: h' = u h - h l, l' = h l - l. Hares are counted one by one,
lynxes in thousands: one number is 10⁵ times the other. Both count the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

from elmonet import ELMDeepONet, relative_l2

times = np.linspace(0, 6, 61)


def years(n, rng):
    """Random growth (n, 61), and what becomes of the animals, a dictionary of (n, 61)."""
    amplitudes = rng.uniform(-0.25, 0.25, size=(n, 4))

    def growth(t):
        return 1 + amplitudes @ np.array([np.sin(t), np.cos(t), np.sin(2 * t), np.cos(2 * t)])

    def rate(t, z):
        hares, lynxes = z.reshape(2, n)
        return np.concatenate([hares * (growth(t) - lynxes), lynxes * (hares - 1)])

    z = solve_ivp(rate, (0, 6), np.full(2 * n, 1.2), "DOP853", times, rtol=1e-8).y.reshape(2, n, -1)
    return growth(times), {"hares": 1e5 * z[0], "lynxes": z[1]}


# %%
# Outputs come as a dictionary, and predictions come back as one.

rng = np.random.default_rng(0)
u, animals = years(300, rng)
new, truth = years(100, rng)
model = ELMDeepONet(random_state=0).fit(u, animals, points=times)
predicted = model.predict(new)
errors = {name: relative_l2(predicted[name], truth[name]) for name in truth}
print("relative error on new functions:", ", ".join(f"{name} {e:.1e}" for name, e in errors.items()))
print(f"expected by leave-one-out, for both together: {model.expected_error_:.1e}")

# %%
# Three new years. Lines are predictions, dots the truth.

fig, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
axes[0].plot(times, new[:3].T)
axes[0].set(title="in: growth of grass", xlabel="t")
for ax, name in zip(axes[1:], predicted, strict=True):
    ax.plot(times, predicted[name][:3].T)
    ax.set_prop_cycle(None)
    ax.plot(times[::4], truth[name][:3, ::4].T, "o", ms=4, mfc="none")
    ax.set(title=f"out: {name}", xlabel="t")
plt.show()

# %%
# Without names: (N, M, c) in, (N, M, c) out. The same model.

stacked = ELMDeepONet(random_state=0).fit(u, np.stack(list(animals.values()), axis=-1), points=times)
same = np.array_equal(stacked.predict(new)[..., 1], predicted["lynxes"])
print(f"as an array {stacked.predict(new).shape}: {'the same' if same else 'another model'}")

# %%
# At other times:

for name, values in model.predict(new[:1], points=[[1.23], [4.56]]).items():
    print(f"{name} at the times 1.23 and 4.56: {values.round(3).tolist()}")
