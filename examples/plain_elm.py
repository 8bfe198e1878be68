"""A plain extreme learning machine: a random hidden layer, then least squares for the output.

With H = SLFN(X), the hidden layer's values at the training inputs, training is W = pinv(H) y. As a
feature map is a scikit-learn transformer, that is a pipeline of two steps.
"""

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from elmonet import SLFN


def main():
    X = np.random.default_rng(0).uniform(-1, 1, size=(1000, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
    train, test = slice(500), slice(500, None)

    hidden = SLFN(100, "tanh", scale=8, random_state=0)
    model = make_pipeline(hidden, LinearRegression(fit_intercept=False))
    model.fit(X[train], y[train])

    print(f"R^2 on 500 test points: {model.score(X[test], y[test]):.5f}")
    return model, X[train], y[train], X[test], y[test]


if __name__ == "__main__":
    main()
