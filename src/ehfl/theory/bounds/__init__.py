"""Bounds on the gradient norm, all from one lemma (`descent`); derivations stand in docs/theory.md."""
