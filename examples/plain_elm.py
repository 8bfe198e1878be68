"""
A plain extreme learning machine
================================

A random hidden layer, then least squares for the output. With H = SLFN(X), the hidden layer's values at
the training inputs, training is W = pinv(H) y. As a feature map is a scikit-learn transformer, that is a
pipeline of two steps. Here it learns an ordinary function of two numbers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from elmonet import SLFN


def function(X):
    return np.sin(3 * X[:, 0]) + X[:, 1] ** 2


X, X_test = np.random.default_rng(0).uniform(-1, 1, size=(2, 500, 2))
y, y_test = function(X), function(X_test)

model = make_pipeline(SLFN(100, "tanh", scale=8, random_state=0), LinearRegression(fit_intercept=False))
model.fit(X, y)
print(f"R^2 on 500 test points: {model.score(X_test, y_test):.5f}")

# %%
# The training points on the prediction, and the error: it is largest in corners, where points are few.

axis = np.linspace(-1, 1, 100)
grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
predicted = model.predict(grid)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
image = left.pcolormesh(axis, axis, predicted.reshape(100, 100))
left.plot(*X.T, ".", color="white", ms=2)
left.set(title="prediction, and the training points", xlabel="x1", ylabel="x2")
fig.colorbar(image, ax=left)
missed = predicted - function(grid)
most = np.abs(missed).max()
image = right.pcolormesh(axis, axis, missed.reshape(100, 100), cmap="RdBu_r", vmin=-most, vmax=most)
right.set(title="error", xlabel="x1")
fig.colorbar(image, ax=right)
plt.show()
