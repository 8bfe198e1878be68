"""ELMDeepONet: a DeepONet trained by one linear solve."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.metrics import r2_score

from elmonet._blas import product
from elmonet._check import FileError, InputError, coordinates, functions, outputs
from elmonet._fitted import require_fitted
from elmonet.data.blocks import is_dask, is_stored
from elmonet.features import POD, SLFN, Linear
from elmonet.features.base import features_times, fit_features, seed_from
from elmonet.interpolation import interpolate
from elmonet.metrics import function_norms, loo_errors, overall
from elmonet.parts import checked_features, features_of, require_methods, seeded
from elmonet.recipe import build, describe, describe_map, restore_map
from elmonet.scaling import Affine, LogOutputs, log_inputs, log_outputs, standardise, unit_box
from elmonet.solve import Ridge, Solution, left_out_predictions
from elmonet.store import read, write
from elmonet.stream.blockwise import fit_blocks
from elmonet.stream.distributed import fit_dask, predict_dask
from elmonet.stream.partial import StreamingFit

__all__ = ["ELMDeepONet", "load"]

_ARRAYS_OF_SOLUTION = ("W", "loo_errors", "alphas", "path")


class ELMDeepONet(StreamingFit, RegressorMixin, MultiOutputMixin, BaseEstimator):
    """A DeepONet with fixed branch and trunk, trained by one linear solve.

    The output function at a point y, for the input function u, is

        G(u)(y) = sum_kl t_k(y) W_kl b_l(u) ,      W = argmin ||T W B - G||_F ,

    where b (p1 features of u, the branch) and t (p2 functions of y, the trunk) are fixed and the matrix
    W (p2, p1) is all that is learned. With N training functions known at M points, T is (M, p2), B is
    (p1, N) and G is (M, N).

    A scikit-learn regressor: `clone`, `GridSearchCV` (``branch__width``, ``solver__alpha``) and
    `Pipeline` work.

    Parameters
    ----------
    branch : feature map of input functions, or any object with `fit` and `transform`. None:
        ``Linear() + SLFN(2000, "tanh", scale=0.5)``.
    trunk : feature map of output points, likewise. None: `POD()`, the training outputs' own modes.
    solver : object with ``solve(T, B, G) -> Solution``. None: ``Ridge("loo")``.
    scale_inputs : standardise the inputs at every sensor, and map the bounding box of the points to the
        unit cube, before branch and trunk see them. The paper's recipes use False.
    log_inputs : take logarithms of the inputs before that; for positive inputs that vary by factors.
    log_outputs : learn the logarithms of positive outputs (which may all vanish at the same points, as on a
        boundary). Errors in `solution_` are those of the outputs themselves, not of the logarithms.
    points : where the outputs are known, if not given to `fit`; for tools that call ``fit(X, y)`` only.
    random_state : seed of branch and trunk; each gets its own child of it, unless it has its own seed.

    Attributes
    ----------
    W_ : (p2, p1), the learned matrix.
    solution_ : `Solution`: ranks, condition, residual, alpha, leave-one-out error, seconds.
    branch_, trunk_ : the fitted feature maps.
    points_ : (M, d), the training points.

    Examples
    --------
    >>> from elmonet import problems
    >>> data = problems.antiderivative(n_train=200, n_test=50)
    >>> model = ELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
    >>> model.predict(data.u_test).shape, model.predict(data.u_test, points=[[0.123], [0.9]]).shape
    ((50, 100), (50, 2))
    >>> model.solution_.loo_error < 1e-2
    True
    """

    def __init__(
        self,
        branch: Any = None,
        trunk: Any = None,
        solver: Any = None,
        *,
        scale_inputs: bool = True,
        log_inputs: bool = False,
        log_outputs: bool = False,
        points: Any = None,
        random_state: Any = None,
    ):
        self.branch = branch
        self.trunk = trunk
        self.solver = solver
        self.scale_inputs = scale_inputs
        self.log_inputs = log_inputs
        self.log_outputs = log_outputs
        self.points = points
        self.random_state = random_state

    def fit(self, X: Any, y: Any, points: Any = None) -> Self:
        """Learn W from pairs of functions.

        Parameters
        ----------
        X : (N, m), input functions at the sensors, or images (N, H, W) or (N, C, H, W).
        y : (N, M), output functions at the points; (N,) for an operator whose output is a number.
        points : (M, d), or (M,) if d = 1. May be left out if M = 1, or if M = m: then inputs and
            outputs are taken to live on the same uniform grid of [0, 1].
        """
        if is_dask(X) or is_dask(y):
            return fit_dask(self, X, y, points)
        if is_stored(X) or is_stored(y):
            return fit_blocks(self, X, y, points)
        X = functions(self, X, reset=True)
        y = outputs(y, len(X))
        X, y = (A.astype(np.result_type(X, y), copy=False) for A in (X, y))
        self._scalar_output = y.ndim == 1
        y = y.reshape(len(y), -1)
        self.points_ = self.training_points(points, y, X)

        self.__dict__.pop("_sums", None)
        self._prepare_scaling(X)
        self._log_y = log_outputs(y) if self.log_outputs else None
        X, P = self._scaled(X), self._scaled_points(self.points_).astype(X.dtype)
        solver = self._solver()
        self.branch_, trunk = self._parts()
        z = y if self._log_y is None else self._log_y(y, self.points_)
        B = checked_features(fit_features(self.branch_, X, z), self.branch_, X, "branch").T
        self.trunk_ = trunk.fit(P, z.T)
        self._T = features_of(self.trunk_, P, "trunk")
        self.solution_ = self._solve(solver, B, z, y)
        self._TW = self._readout()
        return self

    def predict(self, X: Any, points: Any = None) -> np.ndarray:
        """Output functions (N, M) at the training points, or at other points (M, d).

        For a Dask array X, a Dask array that is computed when it is needed; for arrays on disk see
        `predict_blocks`.
        """
        require_fitted(self, "solution_")
        if is_dask(X):
            return predict_dask(self, X, points)
        X = functions(self, X, reset=False).astype(self.W_.dtype, copy=False)
        X = self._scaled(X)
        if points is None and self._TW is not None:
            predicted = features_times(self.branch_, X, self._TW.T)
        else:
            T = self._T if points is None else self._trunk_at(points)
            predicted = product(features_times(self.branch_, X, self.W_.T), T.T)
        if self._log_y is not None:
            centre = self._log_y.centre if points is None else self._centre_at(points, self._log_y)
            predicted = self._log_y.inverse(predicted, centre)
        return predicted[:, 0] if self._scalar_output and points is None else predicted

    def transformed(self, X: np.ndarray) -> np.ndarray:
        """The inputs as the branch sees them: after logarithms and scaling."""
        require_fitted(self, "solution_")
        return self._scaled(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 over all functions and points together; `relative_l2` is the usual error."""
        X = functions(self, X, reset=False)
        predicted, y = self.predict(X), outputs(y, len(X))
        if predicted.shape != y.shape:
            raise InputError(
                f"y must have the shape of the predictions, {predicted.shape}, got {y.shape}. To compare at "
                "other points, use relative_l2(model.predict(X, points=points), y)."
            )
        return float(r2_score(y, predicted, sample_weight=sample_weight, multioutput="variance_weighted"))

    @property
    def W_(self) -> np.ndarray:
        """The learned matrix, (p2, p1)."""
        require_fitted(self, "solution_")
        return self.solution_.W

    def save(self, path: str | os.PathLike[str], weights: bool = False, sums: bool = False) -> None:
        """Write the fitted model to one file, from which `load` gives the same predictions bit for bit.

        Random weights are stored as their seed, so that the file stays small, or in full with
        ``weights=True``. The file is safetensors: no pickle, and nothing runs on loading. With
        ``sums=True``, a model that was fitted in blocks can go on after loading, by `partial_fit` or `merge`.
        """
        require_fitted(self, "solution_")
        solution = asdict(self.solution_)
        arrays = {f"solution.{k}": solution.pop(k) for k in _ARRAYS_OF_SOLUTION}
        arrays = {name: array for name, array in arrays.items() if array is not None}
        arrays["points"] = self.points_
        for name, affine in (("X", self._scale_X), ("points", self._scale_points)):
            if affine is not None:
                arrays |= {f"scale_{name}.shift": affine.shift, f"scale_{name}.scale": affine.scale}
        if self._log_y is not None:
            arrays["log_y.centre"] = self._log_y.centre
        header = {
            "model": "ELMDeepONet",
            "scale_inputs": bool(self.scale_inputs),
            "log_inputs": bool(self.log_inputs),
            "log_outputs": None if self._log_y is None else [self._log_y.low, self._log_y.high],
            "scalar_output": self._scalar_output,
            "input_shape": list(self.input_shape_),
            "solver": None if self.solver is None else describe(self.solver),
            "branch": describe_map(self.branch_, "branch", arrays, weights),
            "trunk": describe_map(self.trunk_, "trunk", arrays, weights),
            "solution": solution,
        }
        if sums:
            header["sums"] = self.sums_to_store(arrays)
        write(path, header, arrays)

    def training_points(self, points: Any, y: np.ndarray, X: np.ndarray) -> np.ndarray:
        """The points (M, d) of outputs y: given, or set on the model, or guessed if that is safe."""
        M = y.size // len(y)
        if points is not None and self.points is not None:
            raise InputError("points came twice, in ELMDeepONet(points=...) and in fit: give them once.")
        points = self.points if points is None else points
        if points is not None:
            return coordinates(points, n_points=M)
        if M != 1 and X.shape[1:] != (M,):
            raise InputError(
                f"points is missing: y has M = {M} columns and X has functions of shape {X.shape[1:]}, so "
                f"it cannot be guessed where the outputs live. Give fit points of shape ({M}, d)."
            )
        return np.linspace(0, 1, M)[:, None]

    def _prepare_scaling(self, X: np.ndarray, scale: Affine | None = None) -> None:
        """From the training inputs X, or as given; the box of the points becomes the unit cube."""
        self._scale_X = self._log_y = self._scale_points = None
        if self.scale_inputs:
            self._scale_X = standardise(self._scaled(X)) if scale is None else scale
            self._scale_points = unit_box(self.points_)

    def _parts(self) -> tuple[Any, Any]:
        """Branch and trunk, seeded and not fitted."""
        branch = Linear() + SLFN(2000, "tanh", 0.5) if self.branch is None else self.branch
        trunk = POD() if self.trunk is None else self.trunk
        seeds = np.random.SeedSequence(seed_from(self.random_state)).spawn(2)
        return seeded(branch, seeds[0], "branch"), seeded(trunk, seeds[1], "trunk")

    def _solver(self) -> Any:
        solver = Ridge("loo") if self.solver is None else self.solver
        require_methods(solver, "solver", "solve")
        return solver

    def _solve(self, solver: Any, B: np.ndarray, z: np.ndarray, y: np.ndarray) -> Solution:
        """Solve for W; with logarithms z of the outputs y, account for the errors of y."""
        if self._log_y is None:
            return solver.solve(self._T, B, y.T)
        # A small error e of z is a relative error e of y, wherever z is: so it counts as it is.
        solution = solver.solve(self._T, B, z.T, reference=np.full(len(z), np.sqrt(z.shape[1])))
        left_out = left_out_predictions(self._T, B, z.T, solution.alpha).T
        fitted = product(product(self._T, solution.W), B).T
        residual = np.linalg.norm(self._log_y.inverse(fitted) - y) / (np.linalg.norm(y) or 1.0)
        missed = function_norms(self._log_y.inverse(left_out) - y)
        errors = loo_errors(missed, function_norms(y), y.shape[1])
        return replace(
            solution,
            loo_error=float(overall(errors, y.shape[1])),
            loo_errors=errors,
            residual=float(residual),
        )

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        if self.log_inputs:
            X = log_inputs(X)
        return X if self._scale_X is None else self._scale_X(X)

    def _centre_at(self, points: Any, log_y: LogOutputs) -> np.ndarray:
        """The geometric mean of the training outputs at other points; it is not negative."""
        P = coordinates(points, dimension=self.points_.shape[1])
        return np.maximum(interpolate(self.points_, log_y.centre[:, None], P)[:, 0], 0)

    def _scaled_points(self, points: np.ndarray) -> np.ndarray:
        return points if self._scale_points is None else self._scale_points(points)

    def _readout(self) -> np.ndarray | None:
        """T W (M, p1), which saves a product at the training points, if it is no larger than W."""
        return product(self._T, self.W_) if len(self._T) <= len(self.W_) else None

    def _trunk_at(self, points: Any) -> np.ndarray:
        P = self._scaled_points(coordinates(points, dimension=self.points_.shape[1]))
        return features_of(self.trunk_, P.astype(self.W_.dtype), "trunk")


def load(path: str | os.PathLike[str]) -> ELMDeepONet:
    """Read a model that `ELMDeepONet.save` wrote; it predicts the same, bit for bit.

    Raises `FileError` for anything but a whole model's file.
    """
    header, arrays = read(path)
    try:
        return _restored(header, arrays)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise FileError(
            f"{str(path)!r} does not describe a model that this elmonet knows ({type(error).__name__}: "
            f"{error}). It may come from a development version; fit and save the model again."
        ) from error


def _restored(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> ELMDeepONet:
    branch = restore_map(header["branch"], "branch", arrays)
    trunk = restore_map(header["trunk"], "trunk", arrays)
    solver = None if header["solver"] is None else build(header["solver"])
    settings = {name: bool(header[name]) for name in ("scale_inputs", "log_inputs", "log_outputs")}
    model = ELMDeepONet(clone(branch), clone(trunk), solver, **settings)
    model._log_y = LogOutputs(arrays["log_y.centre"], *header["log_outputs"]) if model.log_outputs else None
    model.branch_, model.trunk_ = branch, trunk
    model.input_shape_ = tuple(header["input_shape"])
    model.n_features_in_ = model.input_shape_[0]
    model._scalar_output = header["scalar_output"]
    model.points_ = arrays["points"]
    model._scale_X, model._scale_points = (
        Affine(arrays[f"scale_{name}.shift"], arrays[f"scale_{name}.scale"])
        if f"scale_{name}.shift" in arrays
        else None
        for name in ("X", "points")
    )
    kept: dict[str, Any] = {name: arrays.get(f"solution.{name}") for name in _ARRAYS_OF_SOLUTION}
    model.solution_ = Solution(**kept, **header["solution"])
    model._T = model._trunk_at(model.points_)
    model._TW = model._readout()
    if "sums" in header:
        model.restore_sums(header["sums"], arrays)
    return model
