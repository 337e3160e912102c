"""npusim against the outside oracles and the naive twins on random cases."""
