"""Other methods, each tuned or trained as its users would: `METHODS[name](data, minutes)`.

A method returns a function that predicts the test outputs, a text on what was tuned, and further entries of
its row. Where it cannot be used it raises `Skipped` with the reason.
"""

import importlib
import os
import time

import numpy as np
from scipy.linalg import qr, solve_triangular
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.gaussian_process.kernels import Matern
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from elmonet import AutoELMDeepONet
from elmonet.metrics import neg_relative_l2

SCALES = np.geomspace(0.03, 3, 7)  # of frequencies times the root-mean-square distance of two functions
ALPHAS = np.geomspace(1e-12, 1, 7)
WIDTH = 2000  # random cosines
FOLDS = 3
MANY_SENSORS = 2000  # from here on a Matern kernel takes scikit-learn seconds
RANDONETS = {"trunk": 200, "branch": 1000, "cut_off": 1e-13}


class Skipped(Exception):
    """The reason why a method was not run."""


class OneScale(TransformerMixin, BaseEstimator):
    """Subtract the mean of each column and divide by one number, the standard deviation of all values."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        self.scale_ = (X - self.mean_).std() or 1.0
        return self

    def transform(self, X):
        return (X - self.mean_) / self.scale_


class Logarithm(OneScale):
    """Take logarithms, then apply `OneScale`."""

    def fit(self, X, y=None):
        return super().fit(np.log(X))

    def transform(self, X):
        return super().transform(np.log(X))


def elmonet(data, minutes):
    model = AutoELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
    first = model.leaderboard_[0]["branch"]
    tuned = f"everything ({len(model.leaderboard_)} trials); chose {first}"
    more = {"expected_error": model.expected_error_, "error_kind": model.error_kind_}
    return lambda: model.predict(data.u_test), tuned, more


def least_squares(data, minutes):
    u, u_test = (np.hstack([A, np.ones((len(A), 1))]) for A in _flat(data))
    C = np.linalg.lstsq(u, data.s_train, rcond=None)[0]
    return lambda: u_test @ C, "nothing", {}


def linear_ridge(data, minutes):
    model = Pipeline([("scaler", StandardScaler()), ("ridge", RidgeCV(np.geomspace(1e-14, 1e3, 18)))])
    u, u_test = _flat(data)
    model.fit(u, data.s_train)
    return lambda: model.predict(u_test), f"alpha {model['ridge'].alpha_:.1g} of 18", {}


def rbf_sampler(data, minutes):
    steps = [("sampler", RBFSampler(n_components=WIDTH, random_state=0)), ("ridge", RidgeCV(ALPHAS))]
    return _searched(data, steps, {"sampler__gamma": SCALES**2 / (2 * data.u_train[0].size)})


def kernel_ridge_rbf(data, minutes):
    grid = {"ridge__gamma": SCALES**2 / (2 * data.u_train[0].size), "ridge__alpha": ALPHAS}
    return _searched(data, [("ridge", KernelRidge(kernel="rbf"))], grid)


def kernel_ridge_matern(data, minutes):
    root = np.sqrt(data.u_train[0].size)
    smoothness = (0.5, 1.5, 2.5) if root**2 < MANY_SENSORS else (2.5,)
    kernels = [Matern(root / scale, nu=nu) for nu in smoothness for scale in SCALES]
    return _searched(data, [("ridge", KernelRidge())], {"ridge__kernel": kernels, "ridge__alpha": ALPHAS})


def randonets(data, minutes):
    """RandONets (G. Fabiani and others, J. Comput. Phys. 520, 2025) with the defaults of its toolbox.

    Cosines of the inputs in the branch, tanh of the points in the trunk, and the pseudoinverses of both from
    complete orthogonal decompositions: W = pinv(T) G pinv(B). Weights of the trunk are uniform in (-a, a) /
    length of the domain, a = 8 + 0.18 p2, with centres inside it; those of the branch are normal, with a
    standard deviation of sqrt(2 / p1) / (m range(u)). The paper's trunk is for one coordinate; for more,
    each coordinate has its own weights, and the centres are random.
    """
    rng = np.random.default_rng(0)
    u, u_test = _flat(data)
    p2, p1 = RANDONETS["trunk"], RANDONETS["branch"]
    low, high = data.points.min(axis=0), data.points.max(axis=0)
    d = len(low)
    slopes = (8 + 0.18 * p2) * rng.uniform(-1, 1, (d, p2)) / (high - low)[:, None]
    places = np.linspace(0, 1, p2)[None] if d == 1 else rng.random((d, p2))
    centres = low[:, None] + (high - low)[:, None] * places
    T = np.tanh(data.points @ slopes - (slopes * centres).sum(axis=0))
    weights = rng.normal(size=(u.shape[1], p1)) * np.sqrt(2 / p1) / (u.shape[1] * np.ptp(u))
    shift = rng.uniform(0, 2 * np.pi, p1)
    B, B_test = np.cos(u @ weights + shift), np.cos(u_test @ weights + shift)
    W = _orthogonal_solve(B, _orthogonal_solve(T, data.s_train.T).T)
    return lambda: B_test @ W @ T.T, f"nothing; {p1} cosines, {p2} tanh", {}


def _orthogonal_solve(A, Y):
    """Return pinv(A) Y by a complete orthogonal decomposition: A P = Q R with pivots, then R' = Z L."""
    Q, R, order = qr(A, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    rank = int((size > RANDONETS["cut_off"] * size[0]).sum())
    Z, L = qr(R[:rank].T, mode="economic")
    X = np.empty((A.shape[1], Y.shape[1]))
    X[order] = Z @ solve_triangular(L, Q[:, :rank].T @ Y, trans="T")
    return X


def hpelm(data, minutes):
    ELM = _imported("hpelm").ELM
    u, u_test = _flat(data)
    scale = StandardScaler().fit(u)
    model = ELM(u.shape[1], data.s_train.shape[1])
    model.add_neurons(min(len(u) // 2, 1000), "tanh")
    if u.shape[1] < len(u) // 2:
        model.add_neurons(u.shape[1], "lin")
    model.train(scale.transform(u), data.s_train, "LOO")
    return lambda: model.predict(scale.transform(u_test)), f"{model.nnet.L} neurons, by leave-one-out", {}


def deepxde_deeponet(data, minutes):
    os.environ["DDE_BACKEND"] = "pytorch"
    dde = _imported("deepxde")
    dde.config.set_random_seed(0)
    (u, u_test), points = _flat(data), StandardScaler().fit_transform(data.points)
    inputs, outputs = StandardScaler().fit(u), OneScale().fit(data.s_train)
    arrays = [inputs.transform(A).astype("float32") for A in (u, u_test)]
    triples = dde.data.TripleCartesianProd(
        (arrays[0], points.astype("float32")),
        outputs.transform(data.s_train).astype("float32"),
        (arrays[1], points.astype("float32")),
        outputs.transform(data.s_test).astype("float32"),
    )
    layers = [128, 128, 128]
    net = dde.nn.DeepONetCartesianProd(
        [u.shape[1], *layers], [points.shape[1], *layers], "relu", "Glorot normal"
    )
    model = dde.Model(triples, net)
    model.compile("adam", lr=1e-3, decay=("step", 2000, 0.7), verbose=0)
    timer = dde.callbacks.Timer(minutes)
    model.train(
        iterations=10**7, batch_size=min(128, len(u)), callbacks=[timer], display_every=10**6, verbose=0
    )
    steps = model.train_state.step

    def predict():
        z = model.predict((arrays[1], points.astype("float32")))
        return z * outputs.scale_ + outputs.mean_

    return predict, f"nothing; layers of 128, {minutes:g} min, {steps} steps", {}


def fno(data, minutes, kind="FNO", **settings):
    shape = _grid(data)
    models, torch = _imported("neuralop.models"), _imported("torch")
    torch.manual_seed(0)
    u, u_test = _flat(data)
    inputs, outputs = OneScale().fit(u), OneScale().fit(data.s_train)

    def images(A):
        return torch.tensor(A.reshape(len(A), 1, *shape), dtype=torch.float32)

    modes = tuple(min(16 if len(shape) == 1 else 12, n // 2) for n in shape)
    net = getattr(models, kind)(n_modes=modes, hidden_channels=32, in_channels=1, out_channels=1, **settings)
    x, y = images(inputs.transform(u)), images(outputs.transform(data.s_train))
    optimiser = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1e-5)
    started, epochs, cores = time.process_time(), 0, len(os.sched_getaffinity(0))
    while (spent := (time.process_time() - started) / cores) < 60 * minutes:  # all cores at work
        for group in optimiser.param_groups:  # cosine to zero over the training time
            group["lr"] = 2e-3 * 0.5 * (1 + np.cos(np.pi * spent / (60 * minutes)))
        for rows in torch.randperm(len(x)).split(32):
            optimiser.zero_grad()
            errors = (net(x[rows]) - y[rows]).flatten(1).norm(dim=1) / y[rows].flatten(1).norm(dim=1)
            errors.mean().backward()
            optimiser.step()
        epochs += 1

    def predict():
        with torch.no_grad():
            z = torch.cat([net(part) for part in images(inputs.transform(u_test)).split(100)])
        return z.numpy().reshape(len(u_test), -1) * outputs.scale_ + outputs.mean_

    return predict, f"nothing; {minutes:g} min, {epochs} epochs", {}


def tfno(data, minutes):
    if len(_grid(data)) < 2:
        raise Skipped("a Tucker factorisation is for images; see FNO")
    return fno(data, minutes, "TFNO", rank=0.42)


METHODS = {
    "elmonet": elmonet,
    "least squares": least_squares,
    "linear ridge": linear_ridge,
    "RBFSampler + RidgeCV": rbf_sampler,
    "kernel ridge, RBF": kernel_ridge_rbf,
    "kernel ridge, Matern": kernel_ridge_matern,
    "RandONets": randonets,
    "hpelm": hpelm,
    "DeepXDE DeepONet": deepxde_deeponet,
    "neuraloperator FNO": fno,
    "neuraloperator TFNO": tfno,
}


def _flat(data):
    return tuple(A.reshape(len(A), -1) for A in (data.u_train, data.u_test))


def _searched(data, steps, grid):
    """Choose the settings of a pipeline and the scaling of its inputs by cross-validation."""
    pipeline = Pipeline([("scaler", StandardScaler()), *steps])
    u, u_test = _flat(data)
    positive = u.min() > 0 and u_test.min() > 0
    grid = {"scaler": [StandardScaler(), OneScale(), *([Logarithm()] if positive else [])], **grid}
    search = GridSearchCV(pipeline, grid, cv=FOLDS, scoring=neg_relative_l2).fit(u, data.s_train)
    chosen = ", ".join(f"{key.split('__')[-1]} {_short(value)}" for key, value in search.best_params_.items())
    tuned = f"{chosen}, of {len(search.cv_results_['params'])} by {FOLDS} folds"
    return lambda: search.predict(u_test), tuned, {}


def _short(value):
    return f"{value:.2g}" if isinstance(value, float) else str(value).removesuffix("()")


def _grid(data):
    """Return the shape of the grid that inputs and outputs share."""
    shape = data.u_train.shape[1:]
    if data.s_train.shape[1] != np.prod(shape):
        raise Skipped("inputs and outputs are not on the same grid")
    return shape


def _imported(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Skipped(f"{name.split('.')[0]} cannot be imported ({error})") from error
