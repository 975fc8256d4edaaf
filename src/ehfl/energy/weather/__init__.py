"""Harvests from sun and wind: the power of a panel or a turbine from weather files."""
