"""
The paper's four problems
=========================

Four operators, learned twice: by the recipe of the paper (a wide random branch, a sinusoidal trunk,
pseudoinverses), and with this library's parts (a linear block beside smooth random features, the
outputs' own modes as trunk, a ridge by leave-one-out). Scales of the features were picked by hand;
`AutoELMDeepONet` would choose them. ``elmonet reproduce`` measures all of the paper's tables.
"""

from dataclasses import replace
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from elmonet import MLP, POD, SLFN, ELMDeepONet, Linear, Pinv, Ridge, Sinusoid, plot, problems, relative_l2

n = 300  # training functions, and as many test functions; the paper has 1000
table = []


def paper(branch):
    """The paper's recipe."""
    return ELMDeepONet(branch, Sinusoid(100), Pinv(), scale_inputs=False, random_state=0)


def ours(branch):
    """This library's parts; the ridge is chosen by leave-one-out."""
    return ELMDeepONet(Linear() + branch, POD(), Ridge("loo"), random_state=0)


def fitted(data, method, model):
    """Fit a model, and add its errors to the table."""
    begun = perf_counter()
    model.fit(data.u_train, data.s_train, points=data.points)
    seconds = perf_counter() - begun
    error = relative_l2(model.predict(data.u_test), data.s_test)
    table.append((data.name, method, error, model.expected_error_, seconds))
    print(f"{method:17} error {error:.1e}, expected {model.expected_error_:.1e}, {seconds:.1f} s")
    return model


# %%
# An antiderivative
# -----------------
# s' = u, s(0) = 0: a linear operator. The linear block learns it; the random features alone do not.

data = problems.antiderivative(n, n)
fitted(data, "paper", paper(SLFN(5000)))
model = fitted(data, "ours", ours(SLFN(2000, "cos", scale=0.1)))
plot.prediction(model, data)
plt.show()

# %%
# A nonlinear equation
# --------------------
# s' = -0.1 s² + u. Mildly nonlinear: small scales of a smooth activation suit it.

data = problems.nonlinear_ode(n, n)
fitted(data, "paper", paper(SLFN(5000)))
model = fitted(data, "ours", ours(SLFN(2000, "cos", scale=0.1)))
plot.prediction(model, data)
plt.show()

# %%
# An inverse problem
# ------------------
# From the temperature u(1, x) back to the source s(x) in u_t = 0.01 u_xx + 0.01 u² + s. With exact inputs
# it is easy. With errors of 1 %, as measurements have, nobody does much better than this.

data = problems.inverse_source(n, n)
fitted(data, "paper", paper(SLFN(5000)))
fitted(data, "ours", ours(SLFN(2000, "cos", scale=0.1)))

# %%
# The noise is in the inputs below, and the prediction is smooth: the ridge has averaged it out.

data = replace(problems.inverse_source(n, n, noise=0.01), name="noisy_source")
fitted(data, "paper", paper(SLFN(5000)))
model = fitted(data, "ours", ours(SLFN(2000, "cos", scale=0.1)))
plot.prediction(model, data)
plt.show()

# %%
# Darcy flow
# ----------
# -div(κ grad s) = 1 on a square: from an image of the permeability κ to the pressure s. The paper's trunk
# alone has an error of 18 %, whatever the branch. A permeability is positive and varies by factors: its
# logarithm is the natural input.

data = problems.darcy(n, n)
fitted(data, "paper", paper(MLP(2000, hidden=256)))
fitted(data, "ours", ours(SLFN(2000, "tanh", scale=0.5)))
data = replace(data, u_train=np.log(data.u_train), u_test=np.log(data.u_test))
model = fitted(data, "ours, log(kappa)", ours(SLFN(2000, "tanh", scale=0.5)))
# sphinx_gallery_thumbnail_number = 4
plot.field(model, data, index=2)
plt.show()

# %%
# How the ridge of that last model was chosen: one factorisation gives the whole curve.

plot.ridge_path(model)
plt.show()

# %%
# All together
# ------------
# The expected error (a line across the bar) comes from the training functions alone, each left out of the
# solve.

print(f"{'problem':15} {'method':17} {'test error':>10} {'expected':>10} {'seconds':>8}")
for name, method, error, expected, seconds in table:
    print(f"{name:15} {method:17} {error:10.1e} {expected:10.1e} {seconds:8.2f}")

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for place, (_, method, error, expected, _) in enumerate(table[::-1]):
    ax.barh(place, error, left=1e-16, color="tab:gray" if method == "paper" else "tab:blue")
    ax.plot([expected, expected], [place - 0.4, place + 0.4], color="black")
ax.set_yticks(range(len(table)), [f"{name}, {method}" for name, method, *_ in table[::-1]])
ax.set(xscale="log", xlim=(1e-12, 1), xlabel="relative error on new functions")
plt.show()
