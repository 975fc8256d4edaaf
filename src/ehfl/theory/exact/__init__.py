"""The exact law of n_t on small fleets whose batteries are counted in single units."""
