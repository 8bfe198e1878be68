"""Images in, fields out: the pressure in porous rock from an image of its permeability.

-div(kappa grad s) = 1 on the unit square, s = 0 on its boundary. Inputs are images (N, 16, 16), outputs are
fields (N, 15, 15). The trunk vanishes on the boundary, so that predictions do, exactly, also on a finer grid.
"""

import numpy as np

from elmonet import POD, SLFN, ELMDeepONet, Linear, problems, relative_l2


def main():
    data = problems.darcy(n_train=400, n_test=100, n_sensors=16, n_points=29)
    fine = data.points.reshape(29, 29, 2)
    s_train, s_test = (s.reshape(-1, 29, 29) for s in (data.s_train, data.s_test))
    coarse = fine[::2, ::2]  # train on every second point: (15, 15, 2)

    branch = Linear() + SLFN(2000, "tanh", 0.5)
    trunk = POD().zero_on_boundary()
    model = ELMDeepONet(branch, trunk, log_inputs=True, random_state=0)  # kappa varies by factors
    model.fit(data.u_train, s_train[:, ::2, ::2], points=coarse)

    on_coarse = model.predict(data.u_test)
    on_fine = model.predict(data.u_test, points=fine)
    errors = relative_l2(on_coarse, s_test[:, ::2, ::2]), relative_l2(on_fine, s_test)
    print(f"images {data.u_test.shape} -> fields {on_coarse.shape}: relative error {errors[0]:.2%}")
    print(f"expected, by leave-one-out: {model.expected_error_:.2%}")
    print(f"on a finer grid, {on_fine.shape}: {errors[1]:.2%}")

    along, zero = np.linspace(0, 1, 1001), np.zeros(1001)
    sides = [(along, zero), (along, zero + 1), (zero, along), (zero + 1, along)]
    boundary = np.concatenate([np.column_stack(side) for side in sides])
    largest = np.abs(model.predict(data.u_test, points=boundary)).max()
    print(f"largest value at {len(boundary)} points of the boundary: {largest}")
    return (*errors, largest)


if __name__ == "__main__":
    main()
