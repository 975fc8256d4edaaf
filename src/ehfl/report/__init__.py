"""Report: what people look at. Figures (matplotlib, without pyplot's global state), tables (rich) and the page (Jinja).

`writing.write_report` puts everything about a comparison into a folder: `drawings.draw_all` draws the figures, `words`
says in sentences what the numbers allow, `page` makes one HTML file of it all (`templates/`). `tables`, `bounds` and
`participation` serve the other commands. The same scheduler has the same colour everywhere (`style`), the same number
the same form (`numbers`).

May enter: matplotlib, rich, Jinja, and the rooms that make results.
"""
