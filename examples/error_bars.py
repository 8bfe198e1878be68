"""
Error bars, and whether they hold
=================================

Burgers' equation on a circle, u_t + u u_z = 0.1 u_zz: from u at time 0 to u at time 1. Some functions
end in steep fronts, and are hard. How wrong may a prediction be? What the fit misses of training
functions that are left out tells, without test data.
"""

import matplotlib.pyplot as plt
import numpy as np

from elmonet import AutoELMDeepONet, plot, problems

data = problems.burgers(n_train=300, n_test=300, n_points=65)
model = AutoELMDeepONet(layers=0, random_state=0).fit(data.u_train, data.s_train, points=data.points)
print(f"expected error: {model.expected_error_:.1%}")

# %%
# The easiest and the hardest of the test functions, as the model itself states it. Each band holds the
# whole function for 90 % of new functions; it is wide where the model knows little.

_, std = model.predict(data.u_test, return_std=True)
stated = np.sqrt(np.mean(std**2, axis=1))
fig, axes = plt.subplots(1, 2, figsize=(10, 3.5), sharey=True, layout="constrained")
for ax, index in zip(axes, (stated.argmin(), stated.argmax()), strict=True):
    plot.band(model, data.u_test, data.s_test, index=index, ax=ax)
plt.show()

# %%
# Do they hold? Coverage asked against coverage found, and the stated error of each function against the
# true one.

calibration = model.calibration(data.u_test, data.s_test)
print(calibration)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
plot.calibration(calibration, ax=left)
plot.stated_error(calibration, ax=right)
plt.show()
