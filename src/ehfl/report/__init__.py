"""Report: what people look at. Figures (matplotlib, without pyplot's global state) and tables (rich).

May enter: matplotlib, rich, and the rooms that make results. Leaves: `participation.draw_participation`,
`tables.summary_table`, and the tables and figures of `bounds`. The same
scheduler has the same colour everywhere (`style`).
"""
