"""The DeepONet that the paper compares with, trained by Adam: the only code that trains by gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from time import perf_counter
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from elmonet.checks import coordinates, functions, number, outputs, positive_integer
from elmonet.errors import InputError, MissingExtra
from elmonet.metrics import relative_l2
from elmonet.parts import require_fitted

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise MissingExtra(
        'the trained DeepONet needs PyTorch: pip install "elmonet[baselines]" (torch 2.4 or later)'
    ) from error

_STEP_MEMORY = 1 << 28  # bytes of activations in one step
_LEAST_PROGRESS = 1e-4  # relative decrease of the loss that counts as an improvement


@dataclass
class History:
    """The course of training, recorded at increasing intervals of time.

    Attributes
    ----------
    seconds : training time so far, without the time spent on validation.
    loss : mean squared error of the training data over the epoch.
    error : relative error of the validation data after the epoch; empty without validation data.
    """

    seconds: list[float] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)


class DeepONet(RegressorMixin, BaseEstimator):
    """A DeepONet as it is usually trained: all weights, by Adam, in single precision.

        G(u)(y) = sum_k b_k(u) t_k(y) ,       minimise the mean of (G(u_i)(y_j) - s_ij)^2 ,

    with branch b and trunk t of ReLU layers in PyTorch's default initialisation. `fit` and `predict` are
    called as those of `ELMDeepONet`, so that the two can be compared.

    Parameters
    ----------
    branch, trunk : widths of the dense layers; the last widths must be equal, for the inner product.
    channels : output channels of convolutions (3 x 3, stride 2) before the dense layers of the branch,
        for images.
    epochs, seconds : the budget; training stops at whichever ends first. None: no limit on the seconds.
    batch_size : functions per step. None: all, or as many as keep the activations of a step below
        256 MiB.
    learning_rate : step size of Adam.
    patience : stop after this many epochs without improvement of the loss. None: use the whole budget.
    random_state : seed of the weights and of the batches.

    Attributes
    ----------
    network_ : the `torch.nn.Module`, with the weights of least loss (from before the epoch of least loss).
    n_parameters_, epochs_, seconds_ : number of weights, epochs and seconds of training.
    stopped_ : why training ended: "epochs", "seconds", "patience" or "diverged".
    history_ : the course of training, a `History`.

    Examples
    --------
    >>> from elmonet import problems
    >>> data = problems.antiderivative(n_train=20, n_test=5)
    >>> model = DeepONet((16, 16), (16, 16), epochs=3, random_state=0)
    >>> model.fit(data.u_train, data.s_train, points=data.points).predict(data.u_test).shape
    (5, 100)
    """

    def __init__(
        self,
        branch: Sequence[int] = (64, 64, 64),
        trunk: Sequence[int] = (64, 64, 64),
        *,
        channels: Sequence[int] = (),
        epochs: int = 10_000,
        seconds: float | None = None,
        batch_size: int | None = None,
        learning_rate: float = 1e-3,
        patience: int | None = None,
        random_state: int = 0,
    ):
        self.branch = branch
        self.trunk = trunk
        self.channels = channels
        self.epochs = epochs
        self.seconds = seconds
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.patience = patience
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        points: Any,
        validation: tuple[Any, Any] | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Self:
        """Train on input functions and their outputs.

        Parameters
        ----------
        X, y : input functions (N, ...) and their outputs (N, M) at the points.
        points : output points (M, d).
        validation : a pair like (X, y), used for `history_.error` only; its time does not count.
        progress : called now and then with the used fraction of the budget, from 0 to 1.

        Returns
        -------
        self : the trained network.

        Raises
        ------
        InputError : if arrays do not fit together, or a setting is out of range.
        """
        X = functions(self, X, reset=True)
        y = outputs(y, len(X)).reshape(len(X), -1)
        self.points_ = coordinates(points)
        if len(self.points_) != y.shape[1]:
            raise InputError(
                f"points must have one row for each of the M = {y.shape[1]} columns of y; got "
                f"{len(self.points_)}."
            )
        self.dtype_ = y.dtype
        with torch.random.fork_rng():
            torch.manual_seed(positive_integer(self.random_state, "random_state", minimum=0))
            self._build()
            self._train(_tensor(X), _tensor(y), validation, progress)
        return self

    def predict(self, X: Any, points: Any = None) -> np.ndarray:
        """Predict output functions.

        Parameters
        ----------
        X : input functions (N, ...).
        points : output points (M, d). None: the training points.

        Returns
        -------
        outputs : output functions (N, M).

        Raises
        ------
        NotFittedError : before `fit`.
        """
        require_fitted(self, "network_")
        u = _tensor(functions(self, X, reset=False))
        P = self.points_ if points is None else coordinates(points, dimension=self.points_.shape[1])
        rows = self._max_batch_size(len(P))
        with torch.no_grad():
            parts = [self.network_(part, _tensor(P)).numpy() for part in u.split(rows)]
        return np.concatenate(parts).astype(self.dtype_)

    def _build(self) -> None:
        """Check the layers and create the network."""
        if len(self.branch) == 0 or len(self.trunk) == 0 or self.branch[-1] != self.trunk[-1]:
            raise InputError(
                "branch and trunk must end with the same width, because their outputs are multiplied; got "
                f"{tuple(self.branch)} and {tuple(self.trunk)}."
            )
        if self.channels and len(self.input_shape_) not in (2, 3):
            raise InputError(
                "convolutions need images (N, height, width) or (N, channels, height, width); got inputs "
                f"of shape {('N', *self.input_shape_)}."
            )
        branch = _branch_network(self.input_shape_, self.channels, self.branch)
        self.network_ = _InnerProduct(branch, _dense(self.points_.shape[1], *self.trunk))
        self.n_parameters_ = sum(weights.numel() for weights in self.network_.parameters())
        self._activations = _activations_per_function(branch, self.input_shape_)

    def _max_batch_size(self, n_points: int) -> int:
        """Return how many functions fit in a step: 4 bytes per value, its gradient and two temporaries."""
        return max(1, _STEP_MEMORY // (16 * (self._activations + n_points)))

    def _train(self, u: Tensor, s: Tensor, validation: Any, progress: Any) -> None:
        """Run Adam until the budget or the patience ends, and restore the best weights."""
        epochs = positive_integer(self.epochs, "epochs")
        budget = np.inf if self.seconds is None else number(self.seconds, "seconds", strict=True)
        patience = np.inf if self.patience is None else positive_integer(self.patience, "patience")
        batch = self._max_batch_size(s.shape[1])
        if self.batch_size is not None:
            batch = positive_integer(self.batch_size, "batch_size")
        rate = number(self.learning_rate, "learning_rate", strict=True)
        optimiser = torch.optim.Adam(self.network_.parameters(), lr=rate)
        P = _tensor(self.points_)
        self.history_, self.stopped_ = History(), "epochs"
        best, stalled = np.inf, 0
        best_weights, before = self._weights(), self._weights()  # before: weights before the epoch
        recorded, excluded, started = 0.0, 0.0, perf_counter()  # excluded: seconds spent on recording
        for epoch in range(1, epochs + 1):
            _copy(self.network_.parameters(), before)
            loss = sum(self._step(optimiser, u, s, P, rows) for rows in _batches(len(u), batch)) / s.numel()
            clock = perf_counter() - started - excluded
            stalled = 0 if loss < best * (1 - _LEAST_PROGRESS) else stalled + 1
            if loss < best:
                best, best_weights, before = loss, before, best_weights
            if not np.isfinite(loss):
                self.stopped_ = "diverged"
            elif clock >= budget:
                self.stopped_ = "seconds"
            elif stalled >= patience:
                self.stopped_ = "patience"
            done = epoch == epochs or self.stopped_ != "epochs"
            if done or clock >= max(1.05 * recorded, recorded + 0.05):
                recorded = clock
                self._record(clock, loss, validation)
                if progress is not None:
                    progress(1.0 if done else max(epoch / epochs, clock / budget))
                excluded = perf_counter() - started - clock
            if done:
                break
        self.epochs_, self.seconds_ = epoch, clock
        _copy(best_weights, self.network_.parameters())

    def _step(self, optimiser: Any, u: Tensor, s: Tensor, P: Tensor, rows: Any) -> float:
        """Take one step of Adam and return the sum of squared errors before it."""
        optimiser.zero_grad(set_to_none=True)
        target = s[rows]
        loss = torch.nn.functional.mse_loss(self.network_(u[rows], P), target)
        loss.backward()
        optimiser.step()
        return loss.item() * target.numel()

    def _record(self, clock: float, loss: float, validation: Any) -> None:
        self.history_.seconds.append(clock)
        self.history_.loss.append(loss)
        if validation is not None:
            X, y = validation
            self.history_.error.append(relative_l2(self.predict(X), y))

    def _weights(self) -> list[Tensor]:
        return [weights.detach().clone() for weights in self.network_.parameters()]


class _InnerProduct(nn.Module):
    """``sum_k b_k(u) t_k(y)``: from inputs (n, ...) and points (M, d) to outputs (n, M)."""

    def __init__(self, branch: nn.Module, trunk: nn.Module):
        super().__init__()
        self.branch, self.trunk = branch, trunk

    def forward(self, u: Tensor, points: Tensor) -> Tensor:
        """Return the outputs (n, M)."""
        return self.branch(u) @ self.trunk(points).T


def _dense(*sizes: int) -> nn.Sequential:
    """Return linear layers of these sizes with ReLU between them."""
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(sizes):
        layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def _branch_network(shape: Sequence[int], channels: Sequence[int], widths: Sequence[int]) -> nn.Sequential:
    """Return convolutions (3 x 3, stride 2, ReLU), if any, and dense layers, for inputs (n, *shape)."""
    if not channels:
        return nn.Sequential(nn.Flatten(), *_dense(prod(shape), *widths))
    *colours, height, width = shape
    sizes = [prod(colours), *channels]
    layers: list[nn.Module] = [] if colours else [nn.Unflatten(1, (1, height))]
    for fan_in, fan_out in pairwise(sizes):
        layers += [nn.Conv2d(fan_in, fan_out, kernel_size=3, stride=2, padding=1), nn.ReLU()]
        height, width = (height + 1) // 2, (width + 1) // 2
    return nn.Sequential(*layers, nn.Flatten(), *_dense(sizes[-1] * height * width, *widths))


def _activations_per_function(branch: nn.Sequential, shape: Sequence[int]) -> int:
    """Return how many values the branch computes for one input function."""
    count, H = 0, torch.zeros(1, *shape)
    with torch.no_grad():
        for part in branch:
            H = part(H)
            count += H.numel()
    return count


def _copy(source: Iterable[Tensor], target: Iterable[Tensor]) -> None:
    with torch.no_grad():
        for old, new in zip(target, source, strict=True):
            old.copy_(new)


def _batches(n: int, size: int) -> Iterator[Any]:
    """Return the rows of each step: all in order, or shuffled batches."""
    if size >= n:
        return iter([slice(None)])
    return iter(torch.randperm(n).split(size))


def _tensor(array: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))
