"""Measured power, read from files and played back."""
