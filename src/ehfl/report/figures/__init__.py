"""Figures: what matplotlib draws, without pyplot's global state. Each module has a figure and the caption below it.

`comparison` has all figures of a comparison in reading order; an arm looks the same in each of them (`looks`), axes are
chosen alike (`axes`), and `style` says how figures look and writes them.
"""
