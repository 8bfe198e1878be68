"""ELMDeepONet: a DeepONet trained by one linear solve."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score

from elmonet import _check
from elmonet._blas import product
from elmonet._check import FileError, InputError, coordinates, functions, outputs
from elmonet._fitted import require_fitted
from elmonet.data.blocks import is_dask, is_stored
from elmonet.data.scattered import Scattered
from elmonet.features import POD, SLFN, Linear, Masked, PerComponent, Several
from elmonet.features.base import features_times, fit_features, seed_from
from elmonet.gaps import fit_scattered, fit_with_gaps, predict_scattered
from elmonet.interpolation import interpolate
from elmonet.layout import (
    Inputs,
    Layout,
    count,
    is_list_of_points,
    named_components,
    place_points,
    scattered_outputs,
    training_points,
)
from elmonet.lift import lift_at
from elmonet.metrics import function_norms, loo_errors, overall
from elmonet.novelty import Novelty
from elmonet.parts import checked_features, features_of, require_methods, seeded
from elmonet.saving import restored, to_store
from elmonet.scaling import Affine, LogOutputs, log_inputs, log_outputs, standardise, unit_box
from elmonet.solve import Ridge, Solution, left_out_predictions
from elmonet.store import read, write
from elmonet.stream.blockwise import fit_blocks
from elmonet.stream.distributed import fit_dask, predict_dask
from elmonet.stream.partial import StreamingFit

__all__ = ["ELMDeepONet", "load"]


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
        ``Linear() + SLFN(2000, "tanh", scale=0.5)``. For several input functions, `Several`.
    trunk : feature map of output points, likewise. None: `POD()`, the training outputs' own modes; for
        outputs that are known at different points for every function, `Legendre`, its degree chosen by
        functions held out. ``trunk.zero_on_boundary()`` makes predictions vanish there.
    solver : object with ``solve(T, B, G) -> Solution``. None: ``Ridge("loo")``.
    scale_inputs : standardise the inputs at every sensor, and map the bounding box of the points to the
        unit cube, before branch and trunk see them. The paper's recipes use False.
    log_inputs : take logarithms of the inputs before that; for positive inputs that vary by factors.
    log_outputs : learn the logarithms of positive outputs (which may all vanish at the same points, as on a
        boundary). Errors in `solution_` are those of the outputs themselves, not of the logarithms.
    missing : "raise" refuses NaN in the outputs, "ignore" leaves these values out of the fit.
    lift : function of points (M, d) to (M,), or of inputs and points to (N, M), that is added to the outputs
        of the network: with a trunk that vanishes on a boundary, predictions take its values there, exactly.
    points : where the outputs are known, if not given to `fit`; for tools that call ``fit(X, y)`` only.
    random_state : seed of branch and trunk; each gets its own child of it, unless it has its own seed.

    Attributes
    ----------
    W_ : (p2, p1), the learned matrix.
    solution_ : `Solution`: ranks, condition, residual, alpha, leave-one-out error, seconds.
    branch_, trunk_ : the fitted feature maps.
    points_ : (M, d), the training points; for c components (c M, d + 1), the component's number last.

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

    _novelty: Novelty | None = None

    def __init__(
        self,
        branch: Any = None,
        trunk: Any = None,
        solver: Any = None,
        *,
        scale_inputs: bool = True,
        log_inputs: bool = False,
        log_outputs: bool = False,
        missing: str = "raise",
        lift: Any = None,
        points: Any = None,
        random_state: Any = None,
    ):
        self.branch = branch
        self.trunk = trunk
        self.solver = solver
        self.scale_inputs = scale_inputs
        self.log_inputs = log_inputs
        self.log_outputs = log_outputs
        self.missing = missing
        self.lift = lift
        self.points = points
        self.random_state = random_state

    def fit(self, X: Any, y: Any, points: Any = None, *, sample_weight: Any = None) -> Self:
        """Learn W from pairs of functions.

        Parameters
        ----------
        X : (N, m), input functions at the sensors, or images (N, H, W) or (N, C, H, W); several input
            functions come as a dictionary or list of such arrays.
        y : (N, M), output functions at the points; (N,) for an operator whose output is a number; (N, H, W)
            for fields on a grid; (N, M, c), or a dictionary of (N, M), for outputs with c components.
            If every function is known at points of its own: a list of arrays (M_i,), or a `Scattered`.
        points : (M, d), or (M,) if d = 1, or (H, W, d) for a grid. May be left out if M = 1, or if inputs and
            outputs have the same shape: then they are taken to live on the same uniform grid of the unit
            cube. For outputs in a list, a list of (M_i, d).
        sample_weight : (N,), how much each function counts.
        """
        if is_dask(X) or is_dask(y) or is_stored(X) or is_stored(y):
            return self._fit_stored(X, y, points, sample_weight)
        given, X = X, self._packed_functions(X, reset=True, n=count(y))
        weights = None if sample_weight is None else _check.weights(sample_weight, len(X))
        self.__dict__.pop("_sums", None)
        scattered = scattered_outputs(y, points)
        if scattered is not None:
            fit_scattered(self, given, X, scattered, weights)
            return self
        names, y = named_components(y)
        y = outputs(y, len(X), gaps=_check.choice(self.missing, "missing", ("raise", "ignore")) == "ignore")
        X, y = (A.astype(np.result_type(X, y), copy=False) for A in (X, y))
        y = self.lay_out(X, y, points, names)
        if self.lift is not None:
            y = y - self._lifted(given, self._places_given, len(X))
        if weights is not None:
            X, y, weights = X[weights > 0], y[weights > 0], np.sqrt(weights[weights > 0])
        self._prepare_scaling(X)
        if np.isnan(y).any():
            fit_with_gaps(self, X, y, weights)
            return self
        self._log_y = log_outputs(y) if self.log_outputs else None
        X, P = self._scaled(X), self._scaled_points(self.points_).astype(X.dtype)
        solver = self._solver()
        self.branch_, trunk = self._parts()
        z = y if self._log_y is None else self._log_y(y, self.points_)
        B = checked_features(fit_features(self.branch_, X, z), self.branch_, X, "branch").T
        self.trunk_ = trunk.fit(P, z.T)
        self._T = features_of(self.trunk_, P, "trunk")
        self.solution_ = self._solve(solver, B, z, y, weights)
        self._TW = self._readout()
        return self

    def predict(self, X: Any, points: Any = None) -> Any:
        """Output functions at the training points, in the shape of the training outputs, or at other points.

        At points (M, d), the outputs are (N, M), at points (H, W, d) they are (N, H, W), with components
        (N, M, c) or a dictionary. At a `Scattered`, one value for each of its places; at a list of points,
        one array a function. For a Dask array X, a Dask array that is computed when it is needed; for arrays
        on disk see `predict_blocks`.
        """
        require_fitted(self, "solution_")
        if is_dask(X):
            return predict_dask(self, X, points)
        given, X = X, self._packed_functions(X, reset=False)
        Z = self._scaled(X.astype(self.W_.dtype, copy=False))
        if self._novelty is not None:
            self._novelty.warn(Z)
        if isinstance(points, Scattered) or is_list_of_points(points, len(X), self._places_given.shape[1]):
            return predict_scattered(self, given, Z, points)
        if points is None and self._needs_points:
            raise InputError(
                "this model was fitted to outputs at scattered points: say where to predict, points=(M, d)."
            )
        grid = None
        if points is not None:
            points, grid = place_points(points)
            points = self._own_points(points)
            grid = grid or (len(points),)
        if points is None and self._TW is not None:
            predicted = features_times(self.branch_, Z, self._TW.T)
        else:
            T = self._T if points is None else self._trunk_at_places(self._layout.places(points))
            predicted = product(features_times(self.branch_, Z, self.W_.T), T.T)
        if self._log_y is not None:
            centre = self._log_y.centre if points is None else self._centre_at(points, self._log_y)
            predicted = self._log_y.inverse(predicted, centre)
        if self.lift is not None:
            predicted += self._lifted(given, self._places_given if points is None else points, len(X))
        return self._layout.outputs(predicted, grid)

    def output_shape(self, points: Any = None) -> tuple[int, ...]:
        """The shape of one prediction, if it is an array: at the training points, or at others."""
        require_fitted(self, "solution_")
        nowhere = points is None and self._needs_points
        if self._layout.names is not None or isinstance(points, Scattered) or nowhere:
            raise InputError(
                "this prediction is not one array (N, ...): predict a block of functions at a time, at "
                "points (M, d)."
            )
        P, grid = (None, None) if points is None else place_points(points)
        n = len(self._places_given) if P is None else len(P)
        rows = np.empty((1, n * max(1, self._layout.components)))
        return self._layout.outputs(rows, grid or (None if P is None else (n,))).shape[1:]

    def transformed(self, X: np.ndarray) -> np.ndarray:
        """The inputs as the branch sees them: after logarithms and scaling."""
        require_fitted(self, "solution_")
        return self._scaled(X)

    def remember_inputs(self, X: np.ndarray) -> None:
        """Keep of the training inputs X what it takes to warn of others that are unlike them."""
        self._novelty = Novelty(self.transformed(X))

    def novelty(self, X: Any) -> np.ndarray:
        """How far each input (N,) is from the training functions: above 1, beyond all of them."""
        require_fitted(self, "solution_")
        if self._novelty is None:
            raise InputError(
                "this model does not remember its training inputs: call remember_inputs(X) first."
            )
        return self._novelty(self.transformed(self._packed_functions(X, reset=False)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 over all functions and points together; `relative_l2` is the usual error."""
        predicted = np.asarray(named_components(self.predict(X))[1])
        y = outputs(named_components(y)[1], len(predicted))
        if predicted.shape != y.shape:
            raise InputError(
                f"y must have the shape of the predictions, {predicted.shape}, got {y.shape}. To compare at "
                "other points, use relative_l2(model.predict(X, points=points), y)."
            )
        predicted, y = (A.reshape(len(A), -1) for A in (predicted, y))
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
        write(path, *to_store(self, weights, sums))

    def lay_out(self, X: np.ndarray, y: np.ndarray, points: Any, names: Any = None) -> np.ndarray:
        """Find the points and how the outputs lie on them; the outputs as rows."""
        if points is not None and self.points is not None:
            raise InputError("points came twice, in ELMDeepONet(points=...) and in fit: give them once.")
        shape = y.shape[1:-1] if names else y.shape[1:]
        points = training_points(self.points if points is None else points, shape, X.shape[1:])
        self._layout, self._needs_points = Layout.of(y, len(points), names), False
        if self._layout.components and self.log_outputs:
            raise InputError("log_outputs is for outputs without components: fit one model for each.")
        self.points_ = self._layout.places(points)
        return self._layout.rows(y)

    def _prepare_scaling(self, X: np.ndarray, scale: Affine | None = None) -> None:
        """From the training inputs X, or as given; the box of the points becomes the unit cube."""
        self._scale_X = self._log_y = self._scale_points = self._novelty = None
        if self.scale_inputs:
            self._scale_X = standardise(self._scaled(X)) if scale is None else scale
            if self._inputs is not None and not isinstance(self.branch, Several):
                self._scale_X = Affine(self._scale_X.shift, self._scale_X.scale / self._inputs.balance())
            if not isinstance(self.trunk, Masked):
                self._scale_points = unit_box(self.points_)

    def _parts(self) -> tuple[Any, Any]:
        """Branch and trunk, seeded and not fitted."""
        branch = Linear() + SLFN(2000, "tanh", 0.5) if self.branch is None else self.branch
        trunk = POD() if self.trunk is None else self.trunk
        if self._layout.components:
            trunk = PerComponent(trunk)
        if isinstance(branch, Several):
            branch = self._with_shapes(branch)
        seeds = np.random.SeedSequence(seed_from(self.random_state)).spawn(2)
        return seeded(branch, seeds[0], "branch"), seeded(trunk, seeds[1], "trunk")

    def _with_shapes(self, branch: Several) -> Several:
        """The branch of several inputs, its maps in their order."""
        names = () if self._inputs is None else self._inputs.names
        maps = dict(branch.maps)
        if self._inputs is None or set(maps) != set(names):
            raise InputError(
                f"the branch has maps for the inputs {', '.join(maps)}, but X holds "
                f"{', '.join(names) if names else 'a single array'}: give a dictionary with the same names."
            )
        return Several([(name, maps[name]) for name in names], branch.combine, self._inputs.shapes)

    def _solver(self) -> Any:
        solver = Ridge("loo") if self.solver is None else self.solver
        require_methods(solver, "solver", "solve")
        return solver

    def _solve(self, solver: Any, B: np.ndarray, z: np.ndarray, y: np.ndarray, weights: Any) -> Solution:
        """Solve for W; with logarithms z of the outputs y, account for the errors of y."""
        if weights is not None:  # a column of B and G times w counts w^2 times
            weights = weights.astype(B.dtype)
            B, z = B * weights, z * weights[:, None]
        if self._log_y is None:
            return solver.solve(self._T, B, z.T)
        # A small error e of z is a relative error e of y, wherever z is: so it counts as it is.
        counts = np.ones(len(z)) if weights is None else weights
        solution = solver.solve(self._T, B, z.T, reference=counts * np.sqrt(z.shape[1]))
        left_out = left_out_predictions(self._T, B, z.T, solution.alpha).T / counts[:, None]
        fitted = product(product(self._T, solution.W), B).T / counts[:, None]
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
        return np.maximum(interpolate(self.points_, log_y.centre[:, None], points)[:, 0], 0)

    def _scaled_points(self, points: np.ndarray) -> np.ndarray:
        return points if self._scale_points is None else self._scale_points(points)

    def _readout(self) -> np.ndarray | None:
        """T W (M, p1), which saves a product at the training points, if it is no larger than W."""
        return product(self._T, self.W_) if len(self._T) <= len(self.W_) else None

    def _trunk_at_places(self, places: np.ndarray) -> np.ndarray:
        return features_of(self.trunk_, self._scaled_points(places).astype(self.W_.dtype), "trunk")

    def _own_points(self, points: Any) -> np.ndarray:
        """Points (M, d) of the user, of the dimension seen in fit."""
        return coordinates(points, dimension=self.points_.shape[1] - (self._layout.axis is not None))

    @property
    def _places_given(self) -> np.ndarray:
        """The training points (M, d) as they were given."""
        c = self._layout.components
        return self.points_[: len(self.points_) // c, :-1] if c else self.points_

    def _packed_functions(self, X: Any, reset: bool, n: int | None = None) -> np.ndarray:
        """Input functions as one checked array, whatever form they came in; n: how many, if it is known."""
        if reset:
            self._inputs = Inputs.of(X, n)
        if self._inputs is not None:
            X = self._inputs.pack(X)
        return functions(self, X, reset=reset)

    def _lifted(self, X: Any, points: np.ndarray, n: int) -> np.ndarray:
        """The lift as rows (n or 1, c M)."""
        if self._layout.components:
            raise InputError("lift is for outputs without components: fit one model for each.")
        return lift_at(self.lift, X, points, n)

    def _fit_stored(self, X: Any, y: Any, points: Any, sample_weight: Any) -> Self:
        """Fit to arrays on disk or Dask's, a block at a time."""
        for name, given in (("sample_weight", sample_weight), ("lift", self.lift)):
            if given is not None:
                raise InputError(f"{name} is for arrays in memory; these are read in blocks.")
        self._inputs = None
        how = fit_dask if is_dask(X) or is_dask(y) else fit_blocks
        return how(self, X, y, points)


def load(path: str | os.PathLike[str]) -> ELMDeepONet:
    """Read a model that `ELMDeepONet.save` wrote; it predicts the same, bit for bit.

    Raises `FileError` for anything but a whole model's file.
    """
    header, arrays = read(path)
    try:
        return restored(ELMDeepONet, header, arrays)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise FileError(
            f"{str(path)!r} does not describe a model that this elmonet knows ({type(error).__name__}: "
            f"{error}). It may come from a development version; fit and save the model again."
        ) from error
