"""`ehfl lab`: a local page with sliders for a fleet on the sun, and what a year with it is like."""
