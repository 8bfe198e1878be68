"""Your own data: arrays in a file; a model, chosen automatically, saved, loaded, and used at new points.

A body is heated with the power u(t) and radiates: T' = u - T^4, T(0) = 0. From u at 50 times to T at 40.
"""

import tempfile
from pathlib import Path

import numpy as np

from elmonet import AutoELMDeepONet, load, read, relative_l2


def temperatures(n, seed, steps=390):
    """Random powers and their temperatures at steps + 1 times, by the method of Runge and Kutta."""
    rng = np.random.default_rng(seed)
    amplitudes = rng.uniform(-0.5, 0.5, size=(n, 4)) / np.arange(1, 5)

    def power(t):
        return 1 + amplitudes @ np.sin(2 * np.pi * np.arange(1, 5)[:, None] * t)[:, 0]

    h, T = 1 / steps, np.zeros((steps + 1, n))
    for i in range(steps):
        u = [power(h * (i + part)) for part in (0, 0.5, 1)]
        k1 = u[0] - T[i] ** 4
        k2 = u[1] - (T[i] + h / 2 * k1) ** 4
        k3 = u[1] - (T[i] + h / 2 * k2) ** 4
        k4 = u[2] - (T[i] + h * k3) ** 4
        T[i + 1] = T[i] + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    sensors = np.linspace(0, 1, 50)
    return np.stack([power(t) for t in sensors], axis=1), T.T, np.linspace(0, 1, steps + 1)


def main():
    u, T, times = temperatures(100, seed=0)
    u_new, T_new, _ = temperatures(50, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        # What you have: input functions u (N, m), output functions s (N, M), where the outputs are known.
        file = Path(folder) / "heating.npz"
        np.savez(file, u=u, s=T[:, ::10], points=times[::10])

        data = read(file)  # npz, mat, h5, zarr, pt, nc, csv ...; what is what is guessed from the names
        print(data)
        model = AutoELMDeepONet(random_state=0).fit(data.u_train, data.s_train, points=data.points)
        print(model.summary())
        model.save(Path(folder) / "heating.elmonet")

        again = load(Path(folder) / "heating.elmonet")  # in another script, on another machine
    errors = [relative_l2(again.predict(u_new, points=times[::n]), T_new[:, ::n]) for n in (10, 1)]
    print(f"\nRelative error on new functions, at the {len(data.points)} times of the data: {errors[0]:.1e}")
    print(f"Expected by leave-one-out, read from the file: {again.expected_error_:.1e}")
    print(f"At {len(times)} times, mostly between those of the data, by splines: {errors[1]:.1e}")
    return (*errors, again.expected_error_)


if __name__ == "__main__":
    main()
