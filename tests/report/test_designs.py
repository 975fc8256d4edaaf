"""Plans of several fleets side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from ehfl.experiment import make_spec
from ehfl.experiment.plan import designs_of, make_plan
from ehfl.planning import Designs, Want
from ehfl.report import designs_facts, designs_output, write_designs
from ehfl.report.designs import designs_table, verdict_of_designs
from ehfl.validation import InvalidValue
from made_plans import answered, outlook_of, unit_plan


def made() -> Designs:
    """Return the plan of made_plans as "lean", and one with three clients in every round as "ample"."""
    lean = replace(unit_plan(), name="lean")
    always = tuple(outlook_of(label, 2, [[3] * 10] * 2, [8, 8, 7, 7]) for label in ("myopic", "greedy"))
    return Designs((lean, replace(lean, name="ample", outlooks=always)))


def test_the_best_design_by_hand() -> None:
    assert verdict_of_designs(made()) == ["Clients to count on in 95 % of rounds: 3 with ample and 2 with lean."]
    assert [one.name for one in made().ranked] == ["ample", "lean"]


def test_designs_that_chance_may_have_ordered_are_not_told_apart() -> None:
    lean, ample = (replace(one, want=Want(2, 0.9)) for one in made().plans)

    assert verdict_of_designs(Designs((lean, ample))) == [
        "Rounds with 2 clients: 100 % with ample and 95.0 % with lean (the first two are not told apart by 2 seeds)."
    ]


def test_designs_are_rows_under_the_scheduler_of_their_answer() -> None:
    lean, ample = made().plans
    table = designs_table(Designs((answered(lean), ample)))
    names = [name.replace("\n", " ") for name in table.names]
    rows = {line.label: dict(zip(names, (cell.text for cell in line.cells), strict=True)) for line in table.lines}

    assert rows["lean"]["scheduler"] == "myopic"
    assert rows["lean"]["battery needed"] == "2.52 Wh"
    assert rows["ample"]["clients a round"].strip() == "3"
    assert max(map(len, table.text(80).splitlines())) <= 80


def test_the_page_has_all_figures_and_the_frame_all_schedulers(tmp_path: Path) -> None:
    page = write_designs(made(), tmp_path, specs=["a = 1", "b = 2"], facts={}, commands=["ehfl plan a b"])

    text = page.read_text(encoding="utf-8")
    assert text.count("<figure>") == 2 and "a = 1\nb = 2" in text
    assert len(pd.read_csv(tmp_path / "designs.csv")) == 4
    facts = json.loads(json.dumps(designs_facts(made()), allow_nan=False))
    assert facts["best"] == "ample" and set(facts["designs"]) == {"lean", "ample"}
    assert designs_output(made()).full[0].names == ("lean", "ample")


def test_arms_with_the_same_fleet_are_one_design() -> None:
    fleet = {"clients": 5, "rate": 0.5, "capacity": 2}
    arms = [{"label": "small"}, {"label": "large", "fleet.capacity": 9}, {"label": "lazy", "scheduler": "greedy"}]
    spec = make_spec({"rounds": 30, "scheduler": "myopic", "fleet": fleet, "arms": arms})
    small, large = designs_of(spec)

    assert [[arm.label for arm in one.arms] for one in (small, large)] == [["small", "lazy"], ["large"]]
    assert make_plan(large, jobs=1).fleet.capacity == 9
    with pytest.raises(InvalidValue, match="the same for all arms"):
        make_plan(spec)


def test_a_design_needs_a_name_of_its_own() -> None:
    with pytest.raises(InvalidValue, match="a name of its own"):
        Designs((unit_plan(), unit_plan()))
