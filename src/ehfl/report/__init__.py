"""Report: what people look at. Figures (matplotlib, without pyplot's global state) and tables (rich).

May enter: matplotlib, rich, and the rooms that make results. Leaves: `drawings.draw_all` (every figure of a comparison,
from `curves`, `participation`, `batteries` and `slowdown`), `tables.comparison_table`, `tables.summary_table`,
`participation.draw_participation`, and the tables and figures of `bounds`. The same scheduler has the same colour
everywhere (`style`), and numbers are written one way (`numbers`).
"""
