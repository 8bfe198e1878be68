"""Problems of the physics-informed literature: random inputs, and solutions by a method of another kind.

Each module has the same names:

`SENSORS`                  (m,) or (m, d): where the input u is known
`POINTS`                   (M, d): where solutions are compared
`inputs(n, seed)`          u (n, m)
`reference(n, seed)`       s (n, M), the solution for these inputs: from the random function behind
                           them, which is known everywhere, not from its values at the sensors
"""
