"""The public names of the room."""

from .designs import designs_facts as designs_facts, designs_output as designs_output
from .figures.audit import audit_figure as audit_figure
from .figures.bound import extra_rounds_figure as extra_rounds_figure, verified_figure as verified_figure
from .figures.comparison import draw_all as draw_all
from .figures.harvest import fit_figure as fit_figure, survey_figure as survey_figure
from .figures.looks import looks as looks
from .figures.participation import participation_figure as participation_figure
from .figures.plan import PlanFigure as PlanFigure, plan_figures as plan_figures
from .figures.style import Drawing as Drawing
from .figures.sweep import draw_sweep as draw_sweep, sweep_figure as sweep_figure
from .folder import as_facts as as_facts, write_report as write_report
from .pages.plan import write_designs as write_designs, write_plan as write_plan
from .plan_verdict import verdict_of_plan as verdict_of_plan
from .tables.audit import audit_output as audit_output
from .tables.bound import bound_output as bound_output, verified_output as verified_output
from .tables.compact import as_html as as_html, as_text as as_text, compact_table as compact_table
from .tables.comparison import comparison_table as comparison_table
from .tables.harvest import fit_output as fit_output, survey_output as survey_output
from .tables.plan import plan_output as plan_output
from .tables.plan_facts import plan_facts as plan_facts
from .tables.simulate import simulate_output as simulate_output
from .verdict import verdict_of as verdict_of
