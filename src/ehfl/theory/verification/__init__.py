"""Tests of the bounds by measurement: SGD on problems with known constants, many seeds at once."""
