"""Report: what people look at. Tables, figures (matplotlib, without pyplot's global state) and pages (Jinja).

`write_report` puts everything about a comparison into a folder. `verdict` and `plan_verdict` say in a few sentences
what the numbers allow, once for the terminal, the page and JSON. `tables` define what is shown, one module for
each command; what a command prints is an `Output`: facts, one table, the verdict and what to type next. `figures` draw;
an arm looks the same everywhere (`figures.looks`). `pages` make one HTML file of a comparison or a plan.

Public names are imported when first used, so that matplotlib is loaded only where something is drawn.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
