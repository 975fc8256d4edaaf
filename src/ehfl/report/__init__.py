"""Report: what people look at. Figures (matplotlib, without pyplot's global state), tables (rich) and the page (Jinja).

`write_report` puts everything about a comparison into a folder: `figures` draws, `verdict` says in a few sentences what
the numbers allow, `page` makes one HTML file of it all (`templates/`), `texts` gives the numbers as text. What a table
shows is defined in `analysis.compact` and, with every figure, in `analysis.table`; `tables` renders it for the
terminal, `page` for browsers. An arm looks the same everywhere (`looks`), and figures and the page choose axes alike
(`scales`). Of runs on real devices there are a figure (`devices`), a part of the page (`page_devices`) and sentences
(`device_words`); of tasks with classes, a map (`classes`). What clients weigh in the mean has a figure
(`audit_figure`), sentences (`audit_words`) and a table (`audit_tables`). Harvests have figures of their day and year
(`harvest_figures`) and of models fitted to traces (`fit_figure`), tables and sentences (`harvest_tables`,
`harvest_words`). Plans of fleets have a table (`plan_lines` defines it, `plan_tables` renders it), sentences
(`plan_words`, `plan_budget`, `plan_answers`, `plan_possible`), facts (`plan_texts`), figures (`plan_year`,
`plan_months`, `plan_curves`; `plan_drawing` has them all) and a page (`plan_page`; what pages share is in
`page_parts`). `bound_tables`, `bound_figures` and `participation` serve the other commands.

May enter: matplotlib, rich, Jinja, `ehfl.analysis`, `planning` and below. Leaves: the names below, each imported when
it is first used, so that matplotlib is loaded only where something is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ehfl.lazy import lazy_names

if TYPE_CHECKING:
    from ehfl.report.audit_figure import draw_audit
    from ehfl.report.audit_tables import audit_table
    from ehfl.report.audit_words import audit_sentences
    from ehfl.report.bound_figures import draw_slowdown
    from ehfl.report.bound_tables import promise_table, share_table, shared_constants, verified_table
    from ehfl.report.drawings import Drawing
    from ehfl.report.figures import draw_all
    from ehfl.report.fit_figure import draw_fit
    from ehfl.report.harvest_figures import draw_survey
    from ehfl.report.harvest_tables import column_table, model_table, survey_table
    from ehfl.report.harvest_words import fit_verdict, survey_sentences
    from ehfl.report.participation import draw_participation
    from ehfl.report.place import check_place
    from ehfl.report.plan_drawing import PlanFigure, plan_figures
    from ehfl.report.plan_page import write_plan
    from ehfl.report.plan_tables import plan_table
    from ehfl.report.plan_texts import plan_facts
    from ehfl.report.plan_words import plan_sentences
    from ehfl.report.tables import comparison_table, summary_table
    from ehfl.report.texts import as_facts
    from ehfl.report.verdict import verdict_of
    from ehfl.report.verified_figure import draw_verified
    from ehfl.report.writing import write_report

__all__ = [
    "Drawing",
    "PlanFigure",
    "as_facts",
    "audit_sentences",
    "audit_table",
    "check_place",
    "column_table",
    "comparison_table",
    "draw_all",
    "draw_audit",
    "draw_fit",
    "draw_participation",
    "draw_slowdown",
    "draw_survey",
    "draw_verified",
    "fit_verdict",
    "model_table",
    "plan_facts",
    "plan_figures",
    "plan_sentences",
    "plan_table",
    "promise_table",
    "share_table",
    "shared_constants",
    "summary_table",
    "survey_sentences",
    "survey_table",
    "verdict_of",
    "verified_table",
    "write_plan",
    "write_report",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "audit_figure": {"draw_audit"},
        "audit_tables": {"audit_table"},
        "audit_words": {"audit_sentences"},
        "bound_figures": {"draw_slowdown"},
        "bound_tables": {"promise_table", "share_table", "shared_constants", "verified_table"},
        "drawings": {"Drawing"},
        "figures": {"draw_all"},
        "fit_figure": {"draw_fit"},
        "harvest_figures": {"draw_survey"},
        "harvest_tables": {"column_table", "model_table", "survey_table"},
        "harvest_words": {"fit_verdict", "survey_sentences"},
        "participation": {"draw_participation"},
        "place": {"check_place"},
        "plan_texts": {"plan_facts"},
        "plan_drawing": {"PlanFigure", "plan_figures"},
        "plan_page": {"write_plan"},
        "plan_tables": {"plan_table"},
        "plan_words": {"plan_sentences"},
        "tables": {"comparison_table", "summary_table"},
        "texts": {"as_facts"},
        "verdict": {"verdict_of"},
        "verified_figure": {"draw_verified"},
        "writing": {"write_report"},
    },
)
