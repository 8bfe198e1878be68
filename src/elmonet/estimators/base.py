"""The contract of all estimators: scikit-learn shells over a `FittedModel`."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from elmonet.checks import Functions, FunctionValues, positive_integer
from elmonet.data.dataset import Labels, OperatorData
from elmonet.data.lazy import is_dask
from elmonet.data.mesh import Mesh
from elmonet.data.scattered import Scattered
from elmonet.errors import FewFunctionsWarning, InputError, SeenFunctionsWarning, warn
from elmonet.estimators import derivatives
from elmonet.estimators.active_learning import suggest
from elmonet.estimators.datasets import is_dataset, predict_dataset
from elmonet.estimators.rollout import rollout
from elmonet.fitting.fitted import FittedModel
from elmonet.fitting.streamed import predict_dask
from elmonet.fitting.suspects import Suspects
from elmonet.forms.axis_labels import require_paired
from elmonet.forms.components import r2_of
from elmonet.forms.groups import find_groups, given_groups
from elmonet.forms.inputs import InputForm, count_of
from elmonet.forms.outputs import OutputForm
from elmonet.inversion import Posterior
from elmonet.parts import NotFittedError
from elmonet.prior import Prior
from elmonet.sensitivity import Sensitivity
from elmonet.store import write
from elmonet.uncertainty.calibration import Calibration, calibration_of
from elmonet.uncertainty.novelty import fingerprints_of, warn_of_seen

_FEW, _MOST = 20, 0.8  # independent functions below which bands for most whole functions warn


class OperatorEstimator(RegressorMixin, MultiOutputMixin, BaseEstimator):
    """An estimator of operators: `fit` makes a `FittedModel`, every other method reads it.

    A subclass has `fit`, `_to_store` and `_from_store`; all else is the same for every estimator.
    """

    registry: ClassVar[dict[str, type[OperatorEstimator]]] = {}
    _model: FittedModel | None = None  # what the last fit found

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        OperatorEstimator.registry[cls.__name__] = cls

    # Predictions

    def predict(
        self,
        X: Functions,
        points: ArrayLike | Mesh | None = None,
        *,
        sensors: ArrayLike | None = None,
        return_std: bool = False,
        derivative: Sequence[int] | None = None,
        start: ArrayLike | None = None,
    ) -> FunctionValues:
        """Predict output functions, at the training points or at others.

        Warns of inputs unlike the training inputs (`ExtrapolationWarning`).

        Parameters
        ----------
        X : input functions, in the form of those given to `fit`. A dictionary with numbers, such as
            ``{"k": 0.2}``, is one case. For an ``xarray.Dataset`` with the inputs by name, the predictions
            are a Dataset too. For a Dask array, the predictions are a lazy Dask array; for arrays
            on disk see `predict_blocks`.
        points : where to predict; by default the training points. For points (M, d) the outputs are (N, M),
            for points (H, W, d) they are (N, H, W), with components (N, M, c) or a dictionary. For a
            `Scattered`, one value for each of its places; for a list of points, one array per function.
        sensors : where X is known; by default, where the training inputs were. The training sensors in any
            order; for a model with layers, any uniform grid of its domain. Its inputs may also come without
            sensors on another grid, at the points of the prediction: as many values as points.
        return_std : return the standard deviations of the errors too, in the same shape; see `interval` for
            bands.
        derivative : (d,), order of the derivative in each coordinate of the points, such as (1, 0); return
            exact derivatives of the outputs instead.
        start : (N, k) or (N, k, c), the first outputs of records in time, from which a free run begins; by
            default it begins at rest.

        Returns
        -------
        y : predictions, in the shape of the training outputs; with `return_std`, a pair (y, std).
        """
        model = self._fitted()
        if is_dataset(X):
            options = {"points": points, "sensors": sensors, "return_std": return_std}
            return predict_dataset(self.predict, model, X, **options, derivative=derivative, start=start)
        X = model.inputs.one_case(X)
        X = X if start is None else model.begun(X, start)
        if is_dask(X):
            if return_std or derivative is not None or sensors is not None:
                raise InputError(
                    "sensors, return_std and derivative are for arrays in memory: predict some functions "
                    "at a time."
                )
            return predict_dask(self.predict, model, X, points)
        query = model.query(self, X, points, sensors)
        model.warn_if_outside(query)
        if derivative is not None:
            if return_std:
                raise InputError("standard deviations of derivatives are not known: leave out return_std.")
            return model.derivative(query, derivative)
        if not return_std:
            model.warn_if_exceeded(self, query)
            return model.finish(model.values(query), query)
        bars = model.require_error_bars()
        z, spread = bars.values_and_spread(model, query)
        return model.finish(z, query), model.finish_spread(bars.widen * spread, z, query)

    def interval(
        self,
        X: Functions,
        coverage: float = 0.9,
        of: str = "points",
        points: ArrayLike | Mesh | None = None,
        *,
        sensors: ArrayLike | None = None,
        start: ArrayLike | None = None,
    ) -> tuple[FunctionValues, FunctionValues]:
        """Return error bars around `predict`.

        They come from residuals of training functions that were left out or held out, and are wider for
        inputs that the training functions say little about, where that makes them narrower on average.

        Parameters
        ----------
        X, points, sensors, start : as in `predict`.
        coverage : part of cases in which a band contains the truth, for new functions drawn like the training
            functions.
        of : "points": the band contains that part of all values of new functions. "function": it contains the
            whole function (at the training points, all its components) for that part of new functions.

        Returns
        -------
        low, high : ends of the bands, in the shape of the predictions.
        """
        model = self._fitted()
        bars = model.require_error_bars()
        q = bars.factor(coverage, of)
        if of == "function" and coverage >= _MOST and bars.independent < _FEW:
            off = np.sqrt(coverage * (1 - coverage) / (bars.independent + 2))  # of a beta distribution
            warn(
                f"bands for whole functions rest on {bars.independent} independent functions: their coverage "
                f"is {coverage:.0%} on average, give or take {off:.0%}. Fit to more functions.",
                FewFunctionsWarning,
            )
        X = model.inputs.one_case(X)
        query = model.query(self, X if start is None else model.begun(X, start), points, sensors)
        model.warn_if_outside(query)
        z, spread = bars.values_and_spread(model, query)
        half = q * spread
        return model.finish(z - half, query), model.finish(z + half, query)

    def expected_errors(self, X: Functions) -> np.ndarray:
        """Return the expected relative error of each input: the size of its error bars.

        `expected_error_` is the mean over functions like the training functions; this says for which inputs
        it is larger. It is a root mean square, and so usually more than the mean error.

        Parameters
        ----------
        X : inputs, as in `predict`.

        Returns
        -------
        errors : (N,), the norm of the standard deviations relative to that of the prediction, at the training
            points.
        """
        model = self._fitted()
        query = model.query(self, model.inputs.one_case(X))
        model.warn_if_outside(query)
        return model.expected_errors(query)

    def rollout(self, X: Functions, steps: int, *, forcing: Functions | None = None) -> FunctionValues:
        """Apply a learned time step u(t) -> u(t + h) repeatedly.

        Parameters
        ----------
        X : (N, *shape), the initial states. If the model predicts several outputs by name, the inputs with
            these names are the state: a dictionary. Inputs (N, h, *shape) of outputs (N, *shape) are the last
            h states, the newest last.
        steps : number of steps.
        forcing : the inputs of the step beside the state, as a dictionary of names and values; the values
            alone, if the state is the first input and there is one more. Fields (N, steps, *shape) hold
            what acts during each step, fields (N, *shape) do not vary in time; numbers are (N, steps) or
            (N,).

        Returns
        -------
        states : (N, steps, *shape), in the form of X; a dictionary of these for a state of several inputs.
            Where a state becomes unlike the training functions, the rollout stops with a warning: the rest
            is NaN.
        """
        return rollout(self._fitted(), self, X, positive_integer(steps, "steps"), forcing)

    # Derivatives by the inputs

    def jvp(self, X: Functions, dX: Functions, points: ArrayLike | Mesh | None = None) -> FunctionValues:
        """Return the change of the predictions for a small change of the inputs: ``J(X) dX``, exactly.

        J is never formed; it costs about two predictions.

        Parameters
        ----------
        X : inputs, as in `predict`.
        dX : directions, in the form of X.
        points : where; by default the training points. Common points (M, d) or (H, W, d).

        Returns
        -------
        ds : in the form of the predictions.

        Raises
        ------
        InputError : for models with parts that do not describe themselves, such as a feature map or a lift of
            your own; it names them.
        """
        return derivatives.jvp(self, self._fitted(), X, dX, points)

    def vjp(self, X: Functions, ds: Functions, points: ArrayLike | Mesh | None = None) -> FunctionValues:
        """Return the gradient of ``sum(ds * predict(X))`` by the inputs: ``J(X)' ds``, exactly.

        J is never formed; it costs about two predictions. For a loss of predictions, `ds` is its gradient by
        these.

        Parameters
        ----------
        X : inputs, as in `predict`.
        ds : weights of the outputs, in the form of the predictions.
        points : as in `jvp`.

        Returns
        -------
        dX : in the form of X.

        Raises
        ------
        InputError : as in `jvp`.
        """
        return derivatives.vjp(self, self._fitted(), X, ds, points)

    def jacobian(self, X: Functions, points: ArrayLike | Mesh | None = None) -> FunctionValues:
        """Return the derivatives of all outputs with respect to all inputs; see `jvp`, `vjp` for large ones.

        Parameters
        ----------
        X, points : as in `jvp`.

        Returns
        -------
        J : (N, *outputs, *inputs). Components and several inputs come as dictionaries, by component first.

        Raises
        ------
        InputError : as in `jvp`.
        """
        return derivatives.jacobian(self, self._fitted(), X, points)

    def score(self, X: Functions, y: Functions | Scattered, sample_weight: ArrayLike | None = None) -> float:
        """Return R^2 of the predictions, over all functions and points; `relative_l2` is the usual error.

        Parameters
        ----------
        X, y : functions with outputs at the training points, as in `fit`; components of a dictionary are
            matched by name.
        sample_weight : (N,), weights of the functions.

        Returns
        -------
        score : 1 for perfect predictions, 0 for those of the mean.
        """
        require_paired(X, y)
        return r2_of(self.predict(X), y, sample_weight)

    # Error bars

    def calibrate(self, X: Functions, y: Functions | Scattered, groups: ArrayLike | None = None) -> Self:
        """Build the error bars from functions that the model has not seen.

        It is needed after fits that leave no function out: in blocks, or by a solver of one's own. Warns of
        training functions and of repeats (`SeenFunctionsWarning`).

        Parameters
        ----------
        X, y : functions with outputs at the training points, as in `fit`.
        groups : (N,), labels of functions that are not independent, such as the run that each comes from; a
            group counts as one function. None: repeats and steps of one trajectory are found.

        Returns
        -------
        self : with new error bars.
        """
        model = self._fitted()
        query = model.query(self, X)
        target = model.targets(query, y)
        rows = model.inputs.rows(self, X)
        warn_of_seen(model.record.has(rows), "calibrate needs functions that are new to the model")
        own = given_groups(groups, len(rows)) if groups is not None else find_groups(rows, target)
        if groups is None and own is None:  # all may be copies of one
            own = given_groups(fingerprints_of(rows), len(rows))
        if own is not None and groups is None:
            warn(
                f"these {len(rows)} functions count as {len(np.unique(own.numbers))}: {own.reason}. Say with "
                "groups= which functions belong together.",
                SeenFunctionsWarning,
            )
        more = {} if own is None else {"groups": own.numbers}
        bars = model.method.from_validation(model, query, target, model.error_bars, **more)
        if bars is None:
            what = "functions" if own is None else "groups of functions"
            raise InputError(
                f"calibrate needs at least two {what}; got "
                f"{count_of(X) if own is None else len(np.unique(own.numbers))}."
            )
        return self._adopt(replace(model, bars=bars))

    def calibration(self, X: Functions, y: Functions | Scattered) -> Calibration:
        """Compare nominal and observed coverage of the error bars on other functions; print the result.

        Parameters
        ----------
        X, y : functions with outputs at the training points, as in `fit`.

        Returns
        -------
        calibration : nominal and observed coverage, sharpness, and stated against true errors.
        """
        model = self._fitted()
        bars, query = model.require_error_bars(), model.query(self, X)
        target = model.targets(query, y)
        seen = model.record.has(model.inputs.rows(self, X))
        warn_of_seen(seen, "calibration needs functions that are new to the model")
        z, spread = bars.values_and_spread(model, query)
        units, size = model.units(z, target)
        rows = (len(target), -1)
        return calibration_of(bars, (target - z).reshape(rows), spread.reshape(rows), units, size)

    # Training inputs

    def novelty(self, X: Functions) -> np.ndarray:
        """Return how unlike the training functions each input is.

        Parameters
        ----------
        X : inputs, as in `predict`.

        Returns
        -------
        novelty : (N,); 1 is the most unusual training function, left out. `predict` warns well above that.
        """
        model = self._fitted()
        return model.novelty(model.query(self, X))

    def is_training_function(self, X: Functions) -> np.ndarray:
        """Return whether each of the inputs X equals a training function bit for bit, (N,)."""
        return self._fitted().is_training(self, X)

    def suspects(self) -> Suspects:
        """Return the training pairs that contradict the rest: swapped, mislabelled, broken or noisy ones.

        Functions are judged by fits without the most conspicuous ones. That takes a few fits of the chosen
        model, once. At least 20 functions are needed.

        Returns
        -------
        suspects : their rows, scores and reasons; print it. ``suspects.keep`` selects all other functions.

        Raises
        ------
        InputError : for too few functions, and for models that no longer have their training functions.
        """
        return self._fitted().suspects

    def suggest(self, candidates: Functions, n: int = 10) -> np.ndarray:
        """Return which candidate inputs to simulate next (active learning).

        The choice lowers the variance summed over all candidates most. Training functions and repeats are
        never chosen. It works after `load` too, if the training inputs were saved.

        Parameters
        ----------
        candidates : inputs, in the form of those that `predict` takes.
        n : how many to choose.

        Returns
        -------
        indices : (n,), the most informative candidate first.
        """
        model = self._fitted()
        return suggest(model.inputs, model.record, model.inputs.rows(self, candidates), n)

    # What lies behind measurements, and what matters

    def invert(
        self,
        s: Functions | Scattered,
        points: ArrayLike | Mesh | None = None,
        *,
        noise: Functions,
        prior: Prior | None = None,
        n_samples: int = 1000,
        random_state: int | np.random.Generator | None = None,
    ) -> Posterior:
        """Estimate the input that explains measurements of the output, with bands.

        Before the measurements, the input is distributed like the training inputs. The errors of the
        measurements are their noise and the model's own errors, as left-out functions show them. The estimate
        comes by Gauss-Newton with exact derivatives, bands from samples of the posterior.

        Parameters
        ----------
        s : measurements of one output: in the shape of one prediction at the points, or with a first axis of
            repeats. NaN is not measured; so are components that a dictionary leaves out.
        points : (M, d), where they were measured; by default the training points.
        noise : standard deviation of the measurements in their units: one number, or one for each value or,
            in a dictionary, for each component.
        prior : what is known of the input before, for all or, in a dictionary, for some inputs: (low, high)
            for numbers, (mean, covariance) for a function, or samples (n, ...). None: the training inputs.
        n_samples : number of samples of the posterior.
        random_state : seed of the sampler.

        Returns
        -------
        posterior : estimate, samples, bands, and how much each measurement said; print it.

        Raises
        ------
        InputError : as in `jvp`, and for measurements in another form.
        """
        from elmonet.estimators import inverse

        return inverse.invert(self, self._fitted(), s, points, noise, prior, n_samples, random_state)

    def sensitivity(
        self,
        X: Functions | None = None,
        points: ArrayLike | Mesh | None = None,
        *,
        n: int = 4096,
        directions: int = 3,
        random_state: int | np.random.Generator | None = None,
    ) -> Sensitivity:
        """Return first-order and total Sobol indices: how sensitive the outputs are to each input.

        Inputs are taken as independent of each other: functions Gaussian in their principal directions,
        numbers uniform within bounds.

        Parameters
        ----------
        X : inputs to take distributions from, as in `predict`, or (low, high), by name if there are several;
            None: the training inputs.
        points : where the outputs are; by default the training points.
        n : number of points of each sample. There are ``n (2 + inputs)`` predictions.
        directions : the number of principal directions of each function that are looked at by themselves.
        random_state : seed.

        Returns
        -------
        sensitivity : indices of each output, and of all together with bands; print it.

        Raises
        ------
        InputError : as in `jvp`.
        """
        from elmonet.estimators import inverse

        return inverse.sensitivity(self, self._fitted(), X, points, n, directions, random_state)

    # Out of Python

    def to_torch(
        self, points: ArrayLike | Mesh | None = None, *, dtype: Any = None, steps: int | None = None
    ) -> Any:
        """Return the fitted model as a `torch.nn.Module`: the same numbers, differentiable, on any device.

        Parameters
        ----------
        points : where it predicts; by default the training points.
        dtype : ``torch.float64`` (the default) or ``torch.float32``. Coefficients of least squares may be
            large and cancel, so that single precision loses digits: compare the predictions.
        steps : length of records in time; by default that of the training records.

        Returns
        -------
        module : takes a tensor (N, ...), or a dictionary of tensors for several inputs, and gives predictions
            in the shapes of `predict`.

        Raises
        ------
        MissingExtra : without torch.
        InputError : as in `jvp`.
        """
        from elmonet.estimators import live
        from elmonet.export import to_torch

        model = self._fitted()
        description = model.description(points, steps)
        return to_torch(live.with_bands(self, model, description, points, steps), dtype)

    def export(
        self,
        path: str | os.PathLike[str],
        points: ArrayLike | Mesh | None = None,
        *,
        dtype: str = "float64",
        steps: int | None = None,
        X: Functions | None = None,
        y: Functions | Scattered | None = None,
        title: str | None = None,
    ) -> list[Path]:
        """Write the fitted model for other programs, in the format of the file's ending.

        Parameters
        ----------
        path : ``"operator.onnx"`` (opset 17), ``"operator.c"`` (C99, with a header beside it; also for
            Fortran), ``"operator.m"`` (MATLAB and Octave), ``"operator.fmu"`` (FMI 2.0 for co-simulation) or
            ``"operator.html"``: one page on which inputs are drawn and the prediction follows, without any
            connection. Existing files are replaced.
        points : where it predicts; by default the training points. They are fixed in the file.
        dtype : "float64" or, for ONNX, "float32": of inputs and outputs; inside is always double precision.
        steps : length of records in time; by default that of the training records.
        X, y : functions with known outputs, as in `fit`, that a page shows as examples, with their errors.
        title : heading of a page; by default the name of the file.

        Returns
        -------
        files : paths of the files written.

        Raises
        ------
        MissingExtra : without onnx, for that format.
        InputError : as in `jvp`.
        """
        from elmonet.estimators import live
        from elmonet.export import export

        model, ending = self._fitted(), Path(path).suffix.lower()
        if ending == ".fmu" and model.takes_lists:
            if points is not None or steps is not None:
                raise InputError("an FMU of records makes one step at a time: leave out points and steps.")
            steps = 1
        description = model.description(points, steps)
        if ending != ".html" and not (X is None and y is None and title is None):
            raise InputError(f"X, y and title are for pages (.html); got them for {Path(path).name!r}.")
        if ending == ".fmu":
            return export(description, path, dtype=dtype)
        if ending != ".html":
            return export(live.with_bands(self, model, description, points, steps), path, dtype=dtype)
        description = replace(description, novelty=model.described_novelty(steps))
        beside = live.beside(self, model, description, points, steps, X, y)
        return export(live.named(description, self.labels_), path, title, dtype, beside)

    # Words and files

    def summary(self) -> str:
        """Return the expected error, the selected model and the data as text."""
        return str(self._fitted().summary_with_suspects())

    def report(
        self, path: str | os.PathLike[str], X: Functions | None = None, y: Functions | Scattered | None = None
    ) -> None:
        """Write a report to share: one self-contained HTML page.

        It shows the data, what was chosen and why, the expected error, whether error bars hold, the best and
        the worst predictions, where errors are large, and how to repeat the fit. Errors are those of training
        functions that were left out or held out: nothing is fitted. A loaded model no longer has them, and
        the report says so.

        Parameters
        ----------
        path : of the file to write, such as ``"fit.html"``. An existing file is replaced at the end.
        X, y : functions that the model was not fitted to, with their outputs, as in `fit`; their error is
            shown beside the expected one.

        Raises
        ------
        MissingExtra : without matplotlib.
        """
        from elmonet.reporting.report import report  # presentation stays out of the core

        report(self, path, X, y)

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
        path : of the file, such as ``"operator.elmonet"``.
        weights : store random weights in full; otherwise only their seed, which keeps the file small.
        sums : keep the sums of a fit in blocks, so that `partial_fit` and `merge` can continue after loading.
        bands : keep the error bars, 48 numbers for each feature of the branch.
        inputs : keep the training inputs, which `suggest` needs.
        """
        if bands:
            _ = self._fitted().error_bars  # made now if they were never asked for
        _ = self._fitted().record
        header, arrays = self._to_store(weights=weights, sums=sums, bands=bands, inputs=inputs)
        labels = self._fitted().labels.to_store(arrays)
        write(path, header | {"file_names": dict(self._fitted().file_names), "labels": labels}, arrays)

    @abstractmethod
    def _to_store(
        self, *, weights: bool, sums: bool, bands: bool, inputs: bool
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the header and the arrays of the model's file; nothing is computed."""

    @classmethod
    @abstractmethod
    def _from_store(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """Invert `_to_store`."""

    # Attributes of a fitted estimator

    @property
    def expected_error_(self) -> float | None:
        """Expected relative error on new functions drawn like the training functions; None if unknown."""
        return self._fitted(AttributeError).estimate.error

    @property
    def expected_error_interval_(self) -> tuple[float, float] | None:
        """90 % interval of the expected error; None if unknown."""
        return self._fitted(AttributeError).estimate.interval

    @property
    def expected_error_between_points_(self) -> float | None:
        """Expected relative error halfway between the training points; None if unknown."""
        model = self._fitted(AttributeError)
        return model.estimate.between(model.interpolation_error)

    @property
    def error_quantiles_(self) -> tuple[float, float] | None:
        """Median and 95 % quantile of the errors of single functions; None if unknown, or with few."""
        return self._fitted(AttributeError).estimate.quantiles

    @property
    def error_kind_(self) -> str | None:
        """How the error was estimated: "leave-one-out", "leave-group-out", "held out", "gcv" or None."""
        return self._fitted(AttributeError).estimate.kind

    @property
    def inputs_(self) -> InputForm:
        """The form of the input functions."""
        return self._input_form()

    @property
    def outputs_(self) -> OutputForm:
        """The form of the output functions, with the points where they are known."""
        return self._fitted(AttributeError).outputs

    @property
    def file_names_(self) -> dict[str, Any]:
        """Names of the arrays that it was fitted to by `elmonet fit`, as options of `read`."""
        return dict(self._fitted(AttributeError).file_names)

    @property
    def labels_(self) -> Labels:
        """Names and units of inputs, outputs and coordinates, and the mesh, as far as the data had them."""
        return self._fitted(AttributeError).labels

    @property
    def points_(self) -> np.ndarray:
        """The training points; for components, with the component's number last."""
        return self.outputs_.places()

    @property
    def input_shape_(self) -> tuple[int, ...]:
        """The shape of one input function, as given to `fit`."""
        return self._input_form().given

    @property
    def n_features_in_(self) -> int:
        """scikit-learn's number of input features: the first axis of one input function."""
        return self._input_form().given[0]

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Column names of the DataFrame given to `fit`; missing if it was no DataFrame."""
        columns = self._input_form().columns
        if columns is None:
            raise AttributeError("the inputs have no column names.")
        return np.array(columns, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None

    def _input_form(self) -> InputForm:
        return self._fitted(AttributeError).inputs

    def _fitted(self, error: type[Exception] = NotFittedError) -> FittedModel:
        if self._model is None:
            raise error(f"this {type(self).__name__} is not fitted yet: call fit with training data first.")
        return self._model

    def _with_file_names(self, names: Mapping[str, Any]) -> Self:
        """Remember the names of the arrays in a file, as options of `read`."""
        return self._adopt(replace(self._fitted(), file_names=dict(names)))

    def _with_labels(self, data: Any) -> Self:
        """Remember names, units and mesh of an `OperatorData`; nothing else has them."""
        if not isinstance(data, OperatorData):
            return self
        return self._adopt(replace(self._fitted(), labels=data.labels))

    def _adopt(self, model: FittedModel) -> Self:
        """Show another fitted model."""
        self._model = model
        return self

    def _warned(self) -> Self:
        """Warn of a large expected error (`LargeErrorWarning`), at the end of a fit."""
        self._fitted().estimate.warn_if_useless()
        return self
