"""ELMDeepONet: a DeepONet trained by one linear solve; scikit-learn's face over forms, fits and operators."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from elmonet.checks import choice, coordinates, outputs
from elmonet.data.lazy import is_dask, is_stored
from elmonet.errors import InputError, NotFittedError
from elmonet.estimators.active_learning import suggest
from elmonet.estimators.base import FittedAttributes, WithBands, size_of_error, summary_of
from elmonet.fitting.fitted import Fitted
from elmonet.fitting.in_memory import fit_training
from elmonet.fitting.prepare import Prepared, prepare
from elmonet.fitting.streamed import BlockFit, fit_stored, predict_dask
from elmonet.forms.outputs import named_components, r2_of
from elmonet.forms.training import Training, place_points, points_once, understand
from elmonet.forms.transforms import Affine
from elmonet.modelfile.saving import to_store
from elmonet.modelfile.store import write
from elmonet.physics import PDE
from elmonet.reporting.data import Account, account_of
from elmonet.reporting.report import Reporting
from elmonet.summary import Fact, Summary
from elmonet.uncertainty.error_estimate import Promise
from elmonet.uncertainty.novelty import Memory

__all__ = ["ELMDeepONet"]


class ELMDeepONet(FittedAttributes, WithBands, Reporting, RegressorMixin, MultiOutputMixin, BaseEstimator):
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
    solver : object with ``solve(T, B, G) -> Solution``; ``Solution(W)`` is enough. If `solve` has a keyword
        `sizes` (N,), errors are relative to these where a fit wants that. None: ``Ridge("loo")``.
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
    expected_error_ : the relative error to expect on new functions that are drawn alike.
    expected_error_interval_ : (low, high), between which it lies in 90 of 100 cases.
    solution_ : `Solution`: ranks, condition, residual, alpha, errors and of what kind they are, seconds.
    inputs_, outputs_ : the form of the data on each side: shapes, names, points.
    operator_ : `Operator`: branch, trunk and coefficients, from rows to values.
    W_ : (p2, p1), the learned matrix.
    branch_, trunk_ : the fitted feature maps.
    points_ : (M, d), the training points; for c components (c M, d + 1), the component's number last.

    Data in float32 give predictions in float32; everything in between is computed in float64, unless the
    solver keeps the precision of the data (`Pinv`, the paper's recipe).

    Examples
    --------
    >>> from elmonet import problems
    >>> data = problems.antiderivative(n_train=200, n_test=50)
    >>> model = ELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
    >>> model.predict(data.u_test).shape, model.predict(data.u_test, points=[[0.123], [0.9]]).shape
    ((50, 100), (50, 2))
    >>> model.expected_error_ < 1e-2
    True
    """

    _found: Fitted | None = None  # what the last fit gave
    _training: Training | None = None  # the functions of a fit in memory, for partial_fit to go on with
    _blocks: BlockFit | None = None  # a fit in blocks, which can go on
    _memory: Memory = Memory()
    _promise: Promise | None = None  # of whoever chose this model

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

    def fit(
        self,
        X: Any,
        y: Any,
        points: Any = None,
        *,
        sensors: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Self:
        """Learn W from pairs of functions.

        Parameters
        ----------
        X : (N, m), input functions at the sensors, or images (N, H, W) or (N, C, H, W); several input
            functions come as a dictionary or list of such arrays.
        y : (N, M), output functions at the points; (N,) for an operator whose output is a number; (N, H, W)
            for fields on a grid; (N, M, c), or a dictionary of (N, M), for outputs with c components.
            If every function is known at points of its own: a list of arrays (M_i,), or a `Scattered`.
        points : (M, d), or (M,) if d = 1, or (H, W, d) for a grid. May be left out if M = 1, or if inputs and
            outputs have the same shape: then they are taken to live at the same sensors, or, without
            sensors, on the same uniform grid of the unit cube. For outputs in a list, a list of (M_i, d).
        sensors : (m, d), where the inputs are known, in any order. If these form a grid of two or more axes,
            the branch sees the inputs as images (N, H, W), as it does if there are as many points and these
            form a grid. `summary` says so.
        sample_weight : (N,), how much each function counts.
        groups : (N,), labels of functions that belong together, such as the number of the run they come from:
            they are left out together. None: steps of trajectories and near repeats are found.
        """
        points = points_once(self.points, points, "ELMDeepONet")
        if isinstance(y, PDE):
            raise InputError(
                "an equation is for AutoELMDeepONet. Here, use data = pde.solve(u, sensors, points) and "
                "give data.u_train and data.s_train."
            )
        if any(is_dask(A) or is_stored(A) for A in (X, y)):
            for name, given in (("sample_weight", sample_weight), ("groups", groups), ("lift", self.lift)):
                if given is not None:
                    raise InputError(f"{name} is for arrays in memory; these are read in blocks.")
            return self._fit_stored(X, y, points, sensors)
        gaps = choice(self.missing, "missing", ("raise", "ignore")) == "ignore"
        settings = {"sensors": sensors, "sample_weight": sample_weight, "groups": groups}
        return self._fit(understand(self, X, y, points, gaps=gaps, lift=self.lift, **settings))

    def partial_fit(self, X: Any, y: Any, points: Any = None, *, sensors: Any = None) -> Self:
        """Learn from more functions; the arguments are those of `fit`, and points are needed once.

        Only sums over the functions are kept, of the size of p1 x p1 and M x p1: memory does not grow.
        Inputs are scaled as the first call's are (``scale_inputs=False`` leaves them as they are); from then
        on, the order and the size of batches make no difference. W is found when it is next needed. With
        ``Ridge("loo")``, alpha is chosen by GCV once there are more functions than features: leave-one-out
        would need the functions again. It goes on after `fit` too, if its branch does not learn from
        data, and after `load` of a file with sums; otherwise it refuses.
        """
        if not self.__sklearn_is_fitted__():
            training = understand(
                self, X, y, points_once(self.points, points, "ELMDeepONet"), sensors=sensors, lift=self.lift
            )
            self._blocks = self._begun(training)
            self._blocks.add(training.X, training.y)
            return self
        fit = self._blocks or self._as_blocks()
        if points is not None and not np.array_equal(
            coordinates(place_points(points)[0]), fit.outputs.points
        ):
            raise InputError(
                "the points differ from those of the first batch: all functions of one model are known at "
                "the same points. Do not give other points, or interpolate the outputs."
            )
        X = fit.reduction.inputs.rows(self, X)
        y = outputs(named_components(y)[1], len(X))
        if y.shape[1:] != fit.outputs.shape:
            raise InputError(
                f"all functions of one model have outputs of the shape {fit.outputs.shape}, as the first "
                f"batch; got {y.shape[1:]}."
            )
        fit.add(X, fit.outputs.rows(y))
        self._forget()
        self._blocks = fit
        return self

    def merge(self, other: ELMDeepONet) -> Self:
        """Take in the functions of another model, `other`, with the same features, both fitted in blocks."""
        if self._blocks is None or other._blocks is None:
            raise InputError(f"merge joins {_NO_SUMS}")
        self._blocks.merge(other._blocks)
        self._found = self._confidence = None
        return self

    def predict(self, X: Any, points: Any = None, *, return_std: bool = False, derivative: Any = None) -> Any:
        """Output functions at the training points, in the shape of the training outputs, or at other points.

        Parameters
        ----------
        X : input functions, in the form of those that `fit` was given. For a Dask array, the outputs are a
            Dask array that is computed when it is needed; for arrays on disk see `predict_blocks`.
        points : None: the training points. At points (M, d), the outputs are (N, M), at points (H, W, d) they
            are (N, H, W), with components (N, M, c) or a dictionary. At a `Scattered`, one value for each of
            its places; at a list of points, one array a function.
        return_std : give the predictions and the standard deviations of their errors, in the same shape; see
            `interval` for bands.
        derivative : (d,), derivatives instead, so often in each coordinate, as (1, 0): exact ones of the
            prediction, if the trunk has them (`Legendre`, `Sinusoid`, smooth networks).
        """
        fitted = self._fitted()
        if is_dask(X):
            if return_std or derivative is not None:
                raise InputError(
                    "return_std and derivative are for arrays in memory: predict some functions at a time."
                )
            return predict_dask(self, fitted, X, points)
        Z = fitted.seen(fitted.inputs.rows(self, X))
        self._memory.warn(Z)
        if derivative is not None:
            if return_std:
                raise InputError("standard deviations of derivatives are not known: remove return_std.")
            return fitted.derivative(X, Z, points, derivative)
        if return_std:
            return fitted.with_std(X, Z, points, self._confident())
        return fitted.predict(X, Z, points)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of predictions for X against y, over all functions and points; weights `sample_weight` (N,).

        `relative_l2` is the usual error.
        """
        return r2_of(self.predict(X), y, sample_weight)

    def summary(self) -> str:
        """In words: the data, what was fitted, and what error to expect."""
        return str(summary_of(self._fitted()) if self._promise is None else self._promise.words)

    def remember_inputs(self, X: Any) -> None:
        """Keep of the training inputs X what it takes to warn of others that are unlike them."""
        fitted = self._fitted()
        rows = fitted.inputs.rows(self, X)
        self._memory = Memory.of(rows, fitted.seen(rows))

    def novelty(self, X: Any) -> np.ndarray:
        """How far each input of X is from the training functions, (N,): above 1, beyond all of them.

        The larger of two: its leverage among the training inputs, and its standard deviation given them (see
        `interval`), each compared with the largest of a training function that is left out.
        """
        fitted = self._fitted()
        Z = fitted.seen(fitted.inputs.rows(self, X))
        novelty, confidence = self._memory.novelty(Z), self._confidence_if_any()
        if confidence is None or confidence.variance is None:
            return novelty
        return np.maximum(novelty, confidence.variance.novelty(fitted.operator, Z))

    def is_training_function(self, X: Any) -> np.ndarray:
        """Which of the inputs X are training functions, (N,), to the last bit; after `load` too."""
        return self._remembered().has(self._fitted().inputs.rows(self, X))

    def suggest(self, candidates: Any, n: int = 10) -> np.ndarray:
        """Which n of the candidate inputs to simulate next: their indices (n,), the most telling first.

        Chosen is what lowers the variance summed over all candidates most; training functions and repeats
        are never chosen. After `load` too, if the training inputs were saved.

        Parameters
        ----------
        candidates : inputs, in the form of those that `predict` takes.
        n : how many.
        """
        fitted = self._fitted()
        return suggest(fitted.inputs, self._remembered(), fitted.inputs.rows(self, candidates), n)

    def save(
        self,
        path: str | os.PathLike[str],
        weights: bool = False,
        sums: bool = False,
        bands: bool = True,
        inputs: bool = True,
    ) -> None:
        """Write the fitted model to one file, from which `load` gives the same predictions bit for bit.

        The file is safetensors: no pickle, and nothing runs on loading.

        Parameters
        ----------
        path : of the file, as ``"operator.elmonet"``.
        weights : store random weights in full; otherwise as their seed, so that the file stays small.
        sums : a model that was fitted in blocks can go on after loading, by `partial_fit` or `merge`.
        bands : keep what bands need, 48 numbers for each feature of the branch.
        inputs : keep the training inputs, which `suggest` needs.
        """
        fitted = self._fitted()
        if sums and self._blocks is None:
            raise InputError("this model keeps no sums: it was fitted in memory. Save it without sums=True.")
        blocks = self._blocks if sums else None
        write(path, *to_store(self, fitted, blocks, weights, bands=bands, inputs=inputs))

    @property
    def expected_error_(self) -> float | None:
        """The relative error to expect on new functions that are drawn alike; None if nothing tells."""
        return self._promise.error if self._promise is not None else self.solution_.expected_error

    @property
    def expected_error_interval_(self) -> tuple[float, float] | None:
        """Between what that error lies, in 90 of 100 cases; None if nothing tells."""
        return (
            self._fitted(AttributeError).error_interval if self._promise is None else self._promise.interval
        )

    def __sklearn_is_fitted__(self) -> bool:
        return self._found is not None or self._blocks is not None

    def __getstate__(self) -> dict[str, Any]:
        """Without what is only there to go on with: the factor and the training functions."""
        state = super().__getstate__() | {"_training": None, "_memory": self._remembered()}
        state["_held_out"] = None
        state["_confidence"] = self._confidence_if_any()
        if self._found is not None:
            solution = replace(self._found.solution, fit=None)
            state["_found"] = replace(self._found, solution=solution)
        return state

    def _fitted(self, error: type[Exception] = NotFittedError) -> Fitted:
        if self._found is None and self._blocks is not None:
            self._found = self._blocks.solve()
        if self._found is None:
            raise error(f"this {type(self).__name__} is not fitted yet: call fit with training data first.")
        return self._found

    def _fit(
        self, training: Training, prepared: Prepared | None = None, features: np.ndarray | None = None
    ) -> Self:
        """Fit to validated data; reuse forms, branch and its features (N, p1) where they are given."""
        self._forget()
        self._found = fit_training(prepared or self._prepared(training), training, features)
        self._training = training
        return self

    def _account(self) -> Account:
        return account_of(self, self._fitted(), self._training)

    def _tell(self, heading: str, *facts: Fact) -> None:
        """Say more in the summary."""
        told = self._summary().telling(heading, *facts)
        self._promise = Promise(self.expected_error_, told, self.expected_error_interval_)

    def _summary(self) -> Summary:
        """The summary of a model that was not loaded."""
        words = summary_of(self._fitted()) if self._promise is None else self._promise.words
        assert isinstance(words, Summary)
        return words

    def _add_error(self, error: float, equation: tuple[Fact, ...]) -> None:
        """Errors of the training outputs themselves, which no function left out can show."""
        low, high = self.expected_error_interval_ or (0.0, np.inf)
        expected, interval = (self.expected_error_ or 0.0) + error, (low + error, high + error)
        words = self._summary().with_equation(equation, error, expected)
        words = words.telling("error", *size_of_error(expected, interval))
        self._promise = Promise(expected, words, interval)

    def _remembered(self) -> Memory:
        """What is kept of the training functions, made when it is first needed."""
        if self._memory.fingerprints is None and self._training is not None:
            self._memory = replace(Memory.of(self._training.X), measure=self._memory.measure)
        return self._memory

    def _as_blocks(self) -> BlockFit:
        """A fit in blocks of the functions that `fit` had in memory."""
        training = self._training
        if training is None:
            raise InputError(f"partial_fit continues {_NO_SUMS}")
        if training.weights is not None or training.has_gaps or training.outputs.scattered:
            raise InputError(
                "partial_fit cannot continue after a fit with sample weights, gaps or scattered outputs, "
                "which needs all functions at once. Fit again with all of them."
            )
        fit = self._begun(training)
        fit.add(training.X, training.y)
        return fit

    def _begun(self, training: Training, scale: Affine | None = None) -> BlockFit:
        """A fit in blocks of functions like these, scaled as they are, or as is given."""
        if self.lift is not None:
            raise InputError("a lift needs all functions at once; in blocks, give outputs minus the lift.")
        if self.log_outputs:
            raise InputError(
                "log_outputs needs all outputs at once; in blocks, give the logarithms of the outputs."
            )
        return BlockFit(*self._prepared(training, scale))

    def _prepared(self, training: Training, scale: Affine | None = None) -> Prepared:
        return prepare(
            training,
            self.branch,
            self.trunk,
            self.solver,
            scale_inputs=self.scale_inputs,
            log_inputs=self.log_inputs,
            log_outputs=self.log_outputs,
            random_state=self.random_state,
            scale=scale,
        )

    def _fit_stored(self, X: Any, y: Any, points: Any, sensors: Any = None, **how: Any) -> Self:
        """Fit to arrays on disk or Dask's, a block at a time."""
        self._forget()

        def begin(first: tuple[np.ndarray, np.ndarray], scale: Affine | None) -> BlockFit:
            return self._begun(understand(self, *first, points, sensors=sensors), scale)

        fit, found = fit_stored(begin, X, y, scale=bool(self.scale_inputs), **how)
        self._blocks, self._found = fit, found
        return self

    def _forget(self) -> None:
        for name in ("_found", "_training", "_blocks", "_memory", "_promise", "_confidence", "_held_out"):
            self.__dict__.pop(name, None)


_NO_SUMS = (
    "models that were fitted in blocks, by partial_fit or from disk; this one was not: a fit in memory "
    "keeps no sums, nor does a file without them. Give all functions to partial_fit, from the first on, or "
    "fit again with all of them."
)
