"""Experiments: specs, runs, and what finished runs say."""
