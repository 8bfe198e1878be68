"""
An equation on a domain of your own
===================================

The temperature of an oval plate that exchanges heat at its edge: s_xx + s_yy = 0 inside, and s_n + 2 s =
u at the edge. Here n is the outward normal, s_n = nx s_x + ny s_y the heat that flows out, and u what
comes from outside. Points inside, points on the edge and their normals are all that is needed, for
example those of a mesh.
"""

import matplotlib.pyplot as plt
import numpy as np

from elmonet import AutoELMDeepONet, relative_l2
from elmonet.physics import PDE, Domain

angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
edge = np.column_stack([np.cos(angle), 0.6 * np.sin(angle)])
normals = np.column_stack([np.cos(angle), np.sin(angle) / 0.6])
normals /= np.linalg.norm(normals, axis=1, keepdims=True)


def inside():
    """Those points of a grid that lie in the oval."""
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 41), np.linspace(-0.6, 0.6, 25)), axis=-1).reshape(-1, 2)
    return grid[grid[:, 0] ** 2 + (grid[:, 1] / 0.6) ** 2 < 0.98]


def plates(n, points, rng):
    """Known solutions, to compare with: the real parts of powers of x + i y, with random factors.

    Gives u (n, 100) at the edge and s (n, M) at the points.
    """
    factors = rng.normal(size=(n, 6))
    power = np.arange(6)
    z = edge @ [1, 1j]
    slope = power * z[:, None] ** np.maximum(power - 1, 0)  # of z^k; its parts are s_x and -s_y
    flow = normals[:, :1] * slope.real - normals[:, 1:] * slope.imag
    u = flow + 2 * (z[:, None] ** power).real
    return factors @ u.T, factors @ ((points @ [1, 1j])[:, None] ** power).real.T


# %%
# A condition may use the normal: it asks for ``nx`` and ``ny`` by name.

domain = Domain(inside(), {"edge": edge}, {"edge": normals})
pde = PDE(
    domain,
    lambda s, u: s.xx + s.yy,
    {"edge": lambda s, u, nx, ny: nx * s.x + ny * s.y + 2 * s - u},
)

rng = np.random.default_rng(0)
u, _ = plates(60, domain.points, rng)  # only the inputs are used
model = AutoELMDeepONet(layers=0, random_state=0).fit(u, pde, sensors=edge)
print(model.physics_)

# %%
# New plates: what comes from outside as the colour of the edge, and the temperature inside.

new, truth = plates(20, domain.points, rng)
predicted = model.predict(new)
error = relative_l2(predicted, truth)
print(f"error on new inputs: {error:.1e}; expected: {model.expected_error_:.1e}")

fig, axes = plt.subplots(1, 3, figsize=(11, 2.6), layout="constrained")
for i, ax in enumerate(axes):
    image = ax.tricontourf(*domain.points.T, predicted[i], levels=24, cmap="inferno")
    fig.colorbar(image, ax=ax, shrink=0.8)
    ax.scatter(*(1.12 * edge).T, c=new[i], s=12, cmap="coolwarm")
    ax.set_aspect("equal")
    ax.axis("off")
plt.show()
