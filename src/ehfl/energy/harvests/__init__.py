"""Harvests in units, one file a kind."""
