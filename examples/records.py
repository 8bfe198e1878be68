"""
Twelve records of an oscillator with hysteresis
===============================================

Ground motion in, displacement out. Twelve records are few functions, and a model of whole functions learns
little from them. But physics is the same at every instant: each time step is a sample. One linear solve over
all steps of all records gives a step that is fed back on itself.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from elmonet import ELMDeepONet, MarchingELMDeepONet, plot, problems, relative_l2

data = problems.bouc_wen(n_train=12, n_test=20, n_steps=300)
model = MarchingELMDeepONet(memory=(3, 4), random_state=0)  # without memory, it is chosen
model.fit(data.u_train, data.s_train, points=data.points)
error = relative_l2(model.predict(data.u_test), data.s_test)
print(f"free runs: error {error:.2%}, expected {model.expected_error_:.2%}")

# %%
# The same records as whole functions: the model warns that it has learned nothing.

warnings.simplefilter("ignore")
whole = ELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
whole_error = relative_l2(whole.predict(data.u_test), data.s_test)
print(f"whole functions: error {whole_error:.0%}")

# %%
# A free run with its band, which is wider where runs of records left out went wrong. Below: the same minus
# the prediction.

largest = int(np.argmin(np.abs(model.novelty(data.u_test) - 1)))  # near the end of the training range
plot.band(model, data.u_test, data.s_test, index=largest)
plt.show()

# %%
# An earthquake three times as strong leaves what the training records cover. The model says so, names the
# time, and its band grows from there.

strong = 3 * data.u_test[largest : largest + 1]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    low, high = model.interval(strong, coverage=0.9)
    run = model.predict(strong)
print(caught[0].message)
t = data.points[:, 0]
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.fill_between(t, low[0], high[0], alpha=0.3, label="90 % band")
ax.plot(t, run[0], label="free run")
ax.set(xlabel="time", ylabel="displacement", title="three times the ground motion")
ax.legend()
plt.show()
