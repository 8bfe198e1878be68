"""Noise: in the outputs, in the inputs, of different strength, and missing values; what error to expect.

s' = -0.1 s^2 + u. The expected error compares predictions with the data, which are noisy: so it is the error
against new noisy data. The error against the truth is smaller, and in practice nobody can measure it.
"""

import numpy as np

from elmonet import SLFN, ELMDeepONet, Linear, problems, relative_l2


def main():
    data = problems.nonlinear_ode(n_train=500, n_test=500, n_sensors=50, n_points=50)
    rng = np.random.default_rng(0)
    size = data.s_train.std()
    table = {}

    def fit(name, u, s, noise=0.0, noise_in=0.0, weights=None, **settings):
        model = ELMDeepONet(Linear() + SLFN(500, "tanh", 0.5), random_state=0, **settings)
        model.fit(u, s, points=data.points, sample_weight=weights)
        u_test = data.u_test + noise_in * rng.normal(size=data.u_test.shape)
        noisy = data.s_test + noise * size * rng.normal(size=data.s_test.shape)
        predicted = model.predict(u_test)
        row = model.expected_error_, relative_l2(predicted, noisy), relative_l2(predicted, data.s_test)
        table[name] = row
        print(f"{name:44}" + "".join(f"{error:10.2%}" for error in row))

    print(f"{'':44}{'expected':>10}{'on noisy':>10}{'on truth':>10}")
    u, s = data.u_train, data.s_train
    fit("clean", u, s)
    noisy = s + 0.1 * size * rng.normal(size=s.shape)
    fit("outputs with 10 % noise", u, noisy, noise=0.1)
    fit("inputs with 10 % noise", u + 0.1 * rng.normal(size=u.shape), s, noise_in=0.1)
    gaps = np.where(rng.random(s.shape) < 0.3, np.nan, noisy)
    fit("10 % noise, 30 % of the values missing", u, gaps, noise=0.1, missing="ignore")

    # Every second function was measured with a poor instrument: 20 % noise instead of 5 %.
    strength = np.where(np.arange(500) % 2, 0.2, 0.05)
    mixed = s + strength[:, None] * size * rng.normal(size=s.shape)
    fit("5 % and 20 % noise, all count the same", u, mixed, noise=0.05)
    fit("5 % and 20 % noise, weights 1 / variance", u, mixed, noise=0.05, weights=1 / strength**2)
    fit("5 % noise, the poor half left out", u[::2], mixed[::2], noise=0.05)
    print(
        "Noise is given in parts of the root mean square of all outputs. With weights, the expected error is"
    )
    print("the mean over all training functions, also the noisy ones: compare on data like those you need.")
    return table


if __name__ == "__main__":
    main()
