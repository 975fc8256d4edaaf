"""Report: what people look at. Figures (matplotlib, without pyplot's global state) and tables (rich).

May enter: matplotlib, rich, and the rooms that make results. Leaves: `draw_participation`, `summary_table`. The same
scheduler has the same colour everywhere (`style`).
"""
