"""ELMDeepONet: a DeepONet trained by one linear solve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin

from elmonet.checks import Functions, choice, coordinates, outputs, owned
from elmonet.data.dataset import OperatorData
from elmonet.data.lazy import is_dask, is_stored
from elmonet.data.mesh import Mesh
from elmonet.data.scattered import Scattered
from elmonet.errors import InputError
from elmonet.estimators.base import OperatorEstimator
from elmonet.estimators.saving import deeponet_from_store, deeponet_to_store
from elmonet.features.base import FeatureMap
from elmonet.fitting.error_bars import OperatorErrorBars
from elmonet.fitting.fitted_operator import FittedOperator
from elmonet.fitting.in_memory import Reused, fit_training
from elmonet.fitting.operator import Operator
from elmonet.fitting.prepare import FitSettings
from elmonet.fitting.streamed import BlockFit, fit_stored
from elmonet.forms.axis_labels import require_paired
from elmonet.forms.components import by_name
from elmonet.forms.inputs import InputForm
from elmonet.forms.outputs import ScatteredForm
from elmonet.forms.parts import InputPart
from elmonet.forms.training import (
    Training,
    place_points,
    points_once,
    understand,
    unpacked_data,
)
from elmonet.forms.transforms import Affine
from elmonet.parts import NotFittedError
from elmonet.solve import Solution, Solver
from elmonet.uncertainty.bands import ErrorBars
from elmonet.uncertainty.novelty import TrainingRecord

_NO_SUMS = (
    "models that were fitted in blocks, by partial_fit or from disk; this one was not: a fit in memory "
    "keeps no sums, nor does a file without them. Give all functions to partial_fit, from the first on, or "
    "fit again with all of them."
)


class ELMDeepONet(OperatorEstimator):
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
        unit cube, before branch and trunk see them; and centre outputs, or components of them, of which no
        value is within three standard deviations of zero. The paper's recipes use False.
    log_inputs : take logarithms of the inputs before that; for positive inputs that vary by factors. For
        several inputs also a dictionary, such as ``{"frequency": True}``.
    log_outputs : learn the logarithms of positive outputs (which may all vanish at the same points, as on a
        boundary). Errors in `solution_` are those of the outputs themselves, not of the logarithms.
    missing : "raise" refuses NaN in the outputs, "ignore" leaves these values out of the fit.
    lift : function of points (M, d) to (M,), or of inputs and points to (N, M), that is added to the outputs
        of the network: with a trunk that vanishes on a boundary, predictions take its values there, exactly.
    parts : `InputPart` objects that cover the values of an input in order: how the branch sees each part, and
        how much it matters. `inputs_.parts` of an automatic choice is such a tuple. None: all alike.
    metric : (columns, r), matrix that inputs are multiplied by before the branch sees them; None for none.
    points : where the outputs are known, if not given to `fit`; for tools that call ``fit(X, y)`` only.
    random_state : seed of branch and trunk; each gets its own child of it, unless it has its own seed.
    error_bars : class of the error bars, a subclass of `ErrorBars`. None: from training functions left out.

    Attributes
    ----------
    expected_error_ : the relative error to expect on new functions drawn like the training functions.
    expected_error_interval_ : (low, high), its 90 % interval.
    solution_ : `Solution`: ranks, condition, residual, alpha, errors and their kind, seconds.
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

    _blocks: BlockFit | None = None  # a fit in blocks, which can be continued

    def __init__(
        self,
        branch: FeatureMap | TransformerMixin | None = None,
        trunk: FeatureMap | TransformerMixin | None = None,
        solver: Solver | None = None,
        *,
        scale_inputs: bool = True,
        log_inputs: bool | dict[str, bool] = False,
        log_outputs: bool = False,
        missing: str = "raise",
        lift: Callable[..., np.ndarray] | None = None,
        parts: Sequence[InputPart] | None = None,
        metric: ArrayLike | None = None,
        points: ArrayLike | Mesh | None = None,
        random_state: int | np.random.Generator | None = None,
        error_bars: type[ErrorBars] | None = None,
    ):
        self.branch = branch
        self.trunk = trunk
        self.solver = solver
        self.scale_inputs = scale_inputs
        self.log_inputs = log_inputs
        self.log_outputs = log_outputs
        self.missing = missing
        self.lift = lift
        self.parts = parts
        self.metric = metric
        self.points = points
        self.random_state = random_state
        self.error_bars = error_bars

    def fit(
        self,
        X: Functions | OperatorData,
        y: Functions | Scattered | None = None,
        points: ArrayLike | Mesh | None = None,
        *,
        sensors: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn W from pairs of functions.

        Parameters
        ----------
        X : (N, m), input functions at the sensors, or images (N, H, W) or (N, C, H, W); several input
            functions come as a dictionary or list of such arrays. Or an `OperatorData`, without y and points.
        y : (N, M), output functions at the points; (N,) for an operator whose output is a number; (N, H, W)
            for fields on a grid; (N, M, c), or a dictionary of (N, M), for outputs with c components.
            If every function is known at points of its own: a list of arrays (M_i,), or a `Scattered`.
        points : (M, d), or (M,) if d = 1, or (H, W, d) for a grid. May be left out if M = 1, or if inputs and
            outputs have the same shape: then they are taken to live at the same sensors, or, without
            sensors, on the same uniform grid of the unit cube. For outputs in a list, a list of (M_i, d). A
            `Mesh` stands for its points, and errors are then weighted by the volume of its cells.
        sensors : (m, d), where the inputs are known, in any order. If these form a grid of two or more axes,
            the branch sees the inputs as images (N, H, W), as it does if there are as many points and these
            form a grid. `summary` says so.
        sample_weight : (N,), weight of each function. One of weight 2 counts as if it were there twice; both
            are left out together, and its error counts twice in the expected error.
        groups : (N,), labels of functions that belong together, such as the number of the run they come from:
            they are left out together. By default, windows of a series, steps of trajectories and near
            repeats are found.

        Returns
        -------
        self : the fitted estimator.
        """
        functions = X
        X, y, points, sensors = unpacked_data(X, y, points_once(self.points, points, "ELMDeepONet"), sensors)
        if hasattr(type(y), "solved"):  # a PDE
            raise InputError(
                "an equation is for AutoELMDeepONet. Here, use data = pde.solve(u, sensors, points) and "
                "give data.u_train and data.s_train."
            )
        if any(is_dask(A) or is_stored(A) for A in (X, y)):
            for name, given in (("sample_weight", sample_weight), ("lift", self.lift)):
                if given is not None:
                    raise InputError(f"{name} is for arrays in memory; these are read in blocks.")
            return self._fit_stored(X, y, points, sensors, groups=groups)._with_labels(functions)
        gaps = choice(self.missing, "missing", ("raise", "ignore")) == "ignore"
        data = {"sensors": sensors, "sample_weight": sample_weight, "groups": groups}
        training = understand(self, X, y, points, gaps=gaps, lift=self.lift, **data)
        return self._fit_training(training)._with_labels(functions)._warned()

    def _fit_training(self, training: Training, reused: Reused | None = None, until: float = np.inf) -> Self:
        """Fit training data that `understand` has checked; the others as in `fit_training`."""
        self._blocks = None
        return self._adopt(fit_training(self._settings(), training, reused, until))

    def _fit_stored(self, X: Any, y: Any, points: Any, sensors: Any = None, **how: Any) -> Self:
        """Fit arrays on disk or Dask arrays, block by block; `how` as in `fit_blocks`."""

        def begin(first: Any, scale: Affine | None, sample: np.ndarray | None) -> BlockFit:
            X, y = first
            return self._block_fit(understand(self, X, y, points, sensors=sensors), scale, sample)

        scale_inputs = bool(self.scale_inputs)
        self._blocks, model = fit_stored(begin, X, y, branch=self.branch, scale=scale_inputs, **how)
        return self._adopt(model)._warned()

    def partial_fit(
        self,
        X: Functions,
        y: Functions | Scattered | None = None,
        points: ArrayLike | Mesh | None = None,
        *,
        sensors: ArrayLike | None = None,
    ) -> Self:
        """Learn from more functions, in batches.

        Only sums over the functions are kept, of the size of p1 x p1 and M x p1: memory does not grow. Inputs
        are scaled as those of the first call (``scale_inputs=False`` leaves them as they are); from then on,
        order and size of the batches make no difference. W is solved for when it is next needed. With
        ``Ridge("loo")``, alpha is chosen by GCV once there are more functions than features: leave-one-out
        would need the functions again. It continues after `fit` too, if the branch does not learn from data,
        and after `load` of a file with sums; otherwise it refuses.

        Parameters
        ----------
        X, y, points, sensors : as in `fit`. Points and sensors are needed once; sensors may come in another
            order later, and components in another order of names.

        Returns
        -------
        self : the estimator.
        """
        X, y, points, sensors = unpacked_data(X, y, points, sensors)
        if not self.__sklearn_is_fitted__():
            points = points_once(self.points, points, "ELMDeepONet")
            training = understand(self, X, y, points, sensors=sensors, lift=self.lift)
            fit = self._block_fit(training)
            fit.add(training.X, training.y)
            self._blocks = fit
            return self
        fit = self._blocks or self._continued()
        form = fit.outputs
        if points is not None and not np.array_equal(coordinates(place_points(points)[0]), form.given_points):
            raise InputError(
                "the points differ from those of the first batch: all functions of one model are known at "
                "the same points. Leave out the points, or interpolate the outputs."
            )
        inputs = fit.block_features.inputs
        rows = inputs.rows(self, X if sensors is None else inputs.at_sensors(X, sensors))
        require_paired(X, y)
        y = outputs(by_name(y, form.names), len(rows), gaps=form.kept is not None)
        if y.shape[1:] != form.shape:
            raise InputError(
                f"all functions of one model have outputs of the shape {form.shape}, as in the first batch; "
                f"got {y.shape[1:]}."
            )
        fit.add(rows, form.rows(y))
        self._blocks, self._model = fit, None
        return self

    def merge(self, other: ELMDeepONet) -> Self:
        """Add the functions of another model, `other`, with the same features, both fitted in blocks."""
        if self is other or (self._blocks is not None and self._blocks is other._blocks):
            raise InputError(
                "merge adds the functions of another model: with itself, each would count twice. If that is "
                "wanted, merge a copy: model.merge(copy.deepcopy(model))."
            )
        if self._blocks is None or other._blocks is None:
            raise InputError(f"merge joins {_NO_SUMS}")
        self._blocks.merge(other._blocks)
        self._model = None
        return self

    def remember_inputs(self, X: Functions) -> None:
        """Keep a record of the training inputs X after a fit in blocks, for `novelty` and `suggest`."""
        model = self._fitted()
        rows = owned(model.inputs.rows(self, X), X)
        self._adopt(replace(model, known=TrainingRecord.of(rows, model.seen(rows))))

    def _settings(self) -> FitSettings:
        """Return the settings of a fit."""
        method = OperatorErrorBars if self.error_bars is None else self.error_bars
        if not (isinstance(method, type) and issubclass(method, ErrorBars)):
            raise InputError(f"error_bars must be a subclass of ErrorBars, or None; got {method!r}.")
        given = {f.name: getattr(self, f.name) for f in fields(FitSettings)}
        return FitSettings(**given | {"error_bars": method})

    @property
    def solution_(self) -> Solution:
        """The account of the solve: ranks, condition, residual, alpha, errors, seconds."""
        return self._fitted(AttributeError).solution

    @property
    def operator_(self) -> Operator:
        """The learned operator, from rows to values."""
        return self._fitted(AttributeError).operator

    @property
    def W_(self) -> np.ndarray:
        """The learned matrix, (p2, p1)."""
        return self.solution_.W

    @property
    def branch_(self) -> FeatureMap | Any:
        """The fitted feature map of input functions."""
        return self.operator_.branch

    @property
    def trunk_(self) -> FeatureMap | Any:
        """The fitted feature map of points."""
        return self.operator_.trunk

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None or self._blocks is not None

    def _input_form(self) -> InputForm:
        return self._blocks.block_features.inputs if self._blocks is not None else super()._input_form()

    def _fitted(self, error: type[Exception] = NotFittedError) -> FittedOperator:
        if self._model is None and self._blocks is not None:
            self._model = self._blocks.solve()
        model = super()._fitted(error)
        assert isinstance(model, FittedOperator)
        return model

    def _continued(self) -> BlockFit:
        """Return a fit in blocks of the functions that `fit` had in memory."""
        training = None if self._model is None else self._fitted().training
        if training is None:
            raise InputError(f"partial_fit continues {_NO_SUMS}")
        if training.weights is not None or training.has_gaps or isinstance(training.outputs, ScatteredForm):
            raise InputError(
                "partial_fit cannot continue after a fit with sample weights, gaps or scattered outputs, "
                "which needs all functions at once. Fit again with all of them."
            )
        fit = self._block_fit(training)
        fit.add(training.X, training.y)
        return fit

    def _block_fit(
        self, training: Training, scale: Affine | None = None, sample: np.ndarray | None = None
    ) -> BlockFit:
        """Return an empty fit in blocks for functions like these, scaled as they are, or as given.

        A branch that learns from a sample gets these functions, or those given.
        """
        if self.lift is not None:
            raise InputError("a lift needs all functions at once; in blocks, give outputs minus the lift.")
        if self.log_outputs:
            raise InputError(
                "log_outputs needs all outputs at once; in blocks, give the logarithms of the outputs."
            )
        rows = training.X if sample is None else training.inputs.arranged(sample)
        return BlockFit(*self._settings().prepare(training, scale), training.y, rows)

    def _to_store(
        self, *, weights: bool, sums: bool, bands: bool, inputs: bool
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if sums and self._blocks is None:
            raise InputError("this model keeps no sums: it was fitted in memory. Save it without sums=True.")
        blocks = self._blocks if sums else None
        return deeponet_to_store(self, self._fitted(), blocks, weights=weights, bands=bands, inputs=inputs)

    @classmethod
    def _from_store(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        parameters, model, blocks = deeponet_from_store(header, arrays)
        return cls(**parameters)._adopt(model)._with_sums(blocks)

    def _with_sums(self, blocks: BlockFit | None) -> Self:
        """Keep the sums of a fit in blocks, to continue it."""
        self._blocks = blocks
        return self
