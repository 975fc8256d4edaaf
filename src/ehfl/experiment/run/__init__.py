"""Runs: one in its folder (`execute`), all of a comparison (`compare`), in `workers` here or on a `cluster`."""
