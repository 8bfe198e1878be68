"""Problems of the physics-informed literature: random inputs, and reference solutions by another method.

Each module has the same names:

`SENSORS`                  (m,) or (m, d): where the input u is known
`POINTS`                   (M, d): where solutions are compared
`equation()`               the `PDE`
`inputs(n, seed)`          u (n, m), `n` random input functions; the same seed gives the same functions
`reference(n, seed)`       s (n, M), the solutions for these inputs, computed from the underlying random
                           function rather than from its values at the sensors
"""
