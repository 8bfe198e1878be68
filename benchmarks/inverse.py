"""Inverse problems: the source of a reaction-diffusion equation from noisy data, and calibration on the ODE.

    python benchmarks/inverse.py source [cases] [pairs]
    python benchmarks/inverse.py calibration [cases] [pairs]

Errors and coverage of `invert`, which inverts the learned forward operator, beside an operator that learns
the inverse from the same pairs (as the paper does), with noise of 1 % of the outputs' root mean square. Then
simulation-based calibration: ranks of true inputs among samples of their posteriors are uniform if posteriors
are right.
"""

from __future__ import annotations

import sys
import warnings
from time import process_time

import numpy as np
from scipy.stats import chisquare

from elmonet import AutoELMDeepONet, problems, relative_l2
from elmonet.prior import Prior

COVERAGES = (0.5, 0.8, 0.95)


def inverse_source(cases, n_train=500, noise=0.01):
    # The problem's inputs are what is measured, its outputs the source: turned around, the forward operator.
    data = problems.inverse_source(n_train, cases)
    source, seen = data.s_train, data.u_train
    sigma = noise * float(np.sqrt(np.mean(seen**2)))
    rng = np.random.default_rng(0)
    noisy = data.u_test + sigma * rng.normal(size=data.u_test.shape)
    forward = AutoELMDeepONet(random_state=0, layers=0).fit(source, seen.reshape(len(seen), -1))
    learned = AutoELMDeepONet(random_state=0, layers=0).fit(
        seen + sigma * rng.normal(size=seen.shape), source, points=data.points
    )
    print(f"inverse source, {n_train} pairs, noise {noise:.0%}, {cases} cases")
    print(f"  forward operator: expected error {forward.expected_error_:.2e}")
    report("invert", forward, noisy.reshape(cases, -1), data.s_test, sigma)
    begin = process_time()
    found = learned.predict(noisy)
    took = (process_time() - begin) / cases
    inside = []
    for c in COVERAGES:
        low, high = learned.interval(noisy, c)
        inside.append(np.mean((low <= data.s_test) & (data.s_test <= high)))
    show("learned inverse", relative_l2(found, data.s_test), inside, took)


def report(name, model, measured, truth, sigma):
    begin, found, inside, contradictions = process_time(), [], [[] for _ in COVERAGES], 0
    for y, true in zip(measured, truth, strict=True):
        post = model.invert(y, noise=sigma, random_state=0, n_samples=400)
        found.append(post.mean)
        contradictions += post.contradiction < 0.01
        for k, c in enumerate(COVERAGES):
            low, high = post.interval(c)
            inside[k].append(np.mean((low <= true) & (true <= high)))
    took = (process_time() - begin) / len(truth)
    show(name, relative_l2(np.array(found), truth), [np.mean(own) for own in inside], took)
    print(f"  misfits of probability below 1 %: {contradictions / len(truth):.1%}")


def show(name, error, inside, took):
    shares = ", ".join(f"{c:.0%}: {own:.1%}" for c, own in zip(COVERAGES, inside, strict=True))
    print(f"  {name:16} error {error:.2%}   coverage {shares}   {took:.2f} s each")


def calibration(cases, n_train=500, sigma=0.02, samples=99):
    data = problems.nonlinear_ode(n_train, 10)
    model = AutoELMDeepONet(random_state=0, layers=0).fit(data.u_train, data.s_train, points=data.points)
    prior = Prior.learned(model.inputs_, model._fitted().training_inputs())
    errors = model._fitted().left_out_errors()
    rng = np.random.default_rng(1)
    x = prior.inputs(rng.standard_normal((cases, prior.directions)))
    # The truth is the model plus one of its own left-out errors plus noise, as `invert` takes it to be.
    y = model.predict(x) + errors[rng.integers(len(errors), size=cases)]
    y = y + sigma * rng.normal(size=y.shape)
    at = np.linspace(0, x.shape[1] - 1, 7).astype(int)
    ranks = []
    for i, (own, true) in enumerate(zip(y, x, strict=True)):  # draws of their own for each case
        post = model.invert(own, noise=sigma, random_state=i, n_samples=samples)
        ranks.append(np.sum(post.samples[:, at] < true[at], axis=0))
    counts = np.array([np.histogram(own, bins=10, range=(0, samples + 1))[0] for own in np.array(ranks).T])
    print(f"simulation-based calibration on the ODE, {cases} cases, ranks in ten bins at 7 sensors:")
    for k, own in zip(at, counts, strict=True):
        print(f"  sensor {k:3}: {own}   p = {chisquare(own).pvalue:.2f}")


if __name__ == "__main__":
    what, *numbers = sys.argv[1:] or ["source"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        {"source": inverse_source, "calibration": calibration}[what](*map(int, numbers or ["200"]))
