"""What a plan says: a verdict and tables worked out by hand, and figures of real plans that JSON can hold."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ehfl.experiment import make_spec
from ehfl.experiment.plan import make_plan as plan_of
from ehfl.planning import Answer, Free, Optimum, Outlook, Plan, Prices, SizeMap, Want, clairvoyant
from ehfl.quantities import as_energy, as_power
from ehfl.report import plan_facts, plan_output, verdict_of_plan
from ehfl.report.tables.plan import budget_lines, curve_table, plan_table, setting, size_table
from ehfl.report.write import DASH
from made_plans import answered, outlook_of, sun_plan, unit_plan


def rows_of(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return the cells of every figure by label; of labels that come twice, the first."""
    rows: dict[str, tuple[str, ...]] = {}
    for line in plan_output(plan).full[0].lines:
        label = f"  {line.label}" if line.nested else line.label
        rows.setdefault(label, tuple("\n".join(cell.stacked) for cell in line.cells))
    return rows


def compact_of(plan: Plan) -> dict[str, dict[str, str]]:
    """Return the cells of the compact table by scheduler and column."""
    table = plan_table(plan)
    names = [name.replace("\n", " ") for name in table.names]
    return {line.label: dict(zip(names, (cell.text for cell in line.cells), strict=True)) for line in table.lines}


# the verdict


def test_the_verdict_in_units() -> None:
    assert verdict_of_plan(unit_plan()) == [
        "Count on 2 of 4 clients in 95 % of rounds, 0 in 99 % (under myopic); the target of 2 is met in 95 % (31 to "
        "100).",
        "The longest time short is 1 round.",
        "Clients to count on: myopic and greedy are not told apart by 2 seeds.",
    ]


def test_the_verdict_in_joules_names_month_and_hours() -> None:
    assert verdict_of_plan(sun_plan()) == [
        "Count on 2 of 4 clients in 95 % of rounds, 1 in 99 % (under myopic); the target of 2 is met in 95.6 %.",
        "January is the worst month: 91.7 % of rounds on target, 1.92 clients on average; half of the short rounds "
        "begin between 04:00 and 05:00; the longest time short is 2 rounds (2 h).",
    ]


HELD = Answer(2.0, found=True, ends=(3.0, 1.0), years=30, met=27, share=0.995, tried={1.0: 1.0, 2.0: 0.995},
              largest=1.0, fresh=(17, 20))  # fmt: skip


def test_the_answer_comes_first_with_its_interval() -> None:
    answer, *_ = verdict_of_plan(answered(sun_plan()))

    assert answer == (
        "2 clients in 95 % of rounds in 9 of 10 years: battery 2.52 Wh, 2.5 Wh to 5 Wh (90 % confidence, 30 years; "
        "0.505 times the present 5 Wh; under myopic). In 18 of 20 other years it does."
    )


def test_years_that_are_too_few_do_not_bound_an_answer() -> None:
    plan = answered(unit_plan())
    assert plan.answer is not None
    few = replace(plan.answer, ends=(9000.0, None), years=3, fresh=(0, 0))

    sentence = verdict_of_plan(replace(plan, answers={"myopic": few}))[0]
    assert "2.5 Wh or more (3 years do not bound it from above, 29 would" in sentence


def test_years_that_are_too_few_do_not_bound_what_is_sustained_from_below() -> None:
    few = replace(HELD, ends=(3.0, None), years=3, fresh=(0, 0))

    sentence = verdict_of_plan(replace(unit_plan(), sustain=0.99, sustained={"myopic": few}))[0]
    assert "3 or fewer (3 years do not bound it from below, 29 would" in sentence


@pytest.mark.parametrize(("share", "met"), [(0.9, "as wanted"), (0.99, "not in the 99 % wanted")])
def test_what_is_wanted_without_a_search_is_met_or_not(share: float, met: str) -> None:
    plan = replace(unit_plan(), want=Want(2, share))

    assert verdict_of_plan(plan)[0] == f"2 clients take part in 95.0 % of rounds under myopic, {met}."
    assert rows_of(plan)["rounds with 2"] == ("95 %\n± 64", "50.0 %")


@pytest.mark.parametrize("plan", [unit_plan(), sun_plan(), answered(sun_plan())], ids=["units", "sun", "answered"])
def test_the_verdict_has_at_most_five_sentences(plan: Plan) -> None:
    assert len(verdict_of_plan(replace(plan, sustain=0.9, sustained={"myopic": HELD}))) <= 5


def test_the_scheduler_that_needs_the_least_answers_and_the_table_has_them_all() -> None:
    plan = answered(unit_plan())
    (mine,) = plan.answers.values()
    none = replace(mine, found=False, value=36_000.0, share=0.5, ends=(None, None))
    plan = replace(plan, answers={"greedy": none, "myopic": mine})

    assert plan.answered_by == "myopic"
    assert {label: cells["battery needed"] for label, cells in compact_of(plan).items()} == {
        "myopic": "2.52 Wh", "greedy": "none"
    }  # fmt: skip
    assert [one["value"] for one in plan_facts(plan)["answers"]] == [None, 9090.0]


def test_a_search_without_success_says_what_was_reached() -> None:
    plan = answered(unit_plan())
    (mine,) = plan.answers.values()
    none = replace(mine, found=False, value=36_000.0, share=0.5, ends=(None, None))
    plan = replace(plan, answers={"greedy": replace(none, share=0.25), "myopic": none})

    assert verdict_of_plan(plan)[0] == (
        "No battery up to 10 Wh brings 2 clients in 95 % of rounds in 9 of 10 years: at best 50.0 %, with "
        "10 Wh under myopic. The cause is when the harvest comes: its mean pays for them."
    )
    facts = json.loads(json.dumps(plan_facts(plan), allow_nan=False))["answer"]
    assert (facts["found"], facts["value"], facts["closest"]["value"]) == (False, None, 36_000.0)


def test_what_is_sustained_by_hand() -> None:
    worse = replace(HELD, found=False, beyond=2.0)
    plan = replace(unit_plan(), sustain=0.99, sustained={"myopic": HELD, "greedy": worse})

    assert verdict_of_plan(plan)[0] == (
        "2 clients can be wanted in 99 % of rounds in 9 of 10 years, 1 to 3 (90 % confidence, 30 years; "
        "under myopic). In 17 of 20 other years it does."
    )
    assert [cells["most clients in 99 %"] for cells in compact_of(plan).values()] == ["2", "< 2"]
    facts = plan_facts(plan)["sustained"][0]
    assert (facts["scheduler"], facts["value"], facts["interval"]) == ("myopic", 2.0, [1.0, 3.0])


def test_the_best_is_by_what_was_asked() -> None:
    """Greedy has the larger mean, and more rounds with 4; myopic has more rounds with 2, and more to count on."""
    plan = unit_plan()

    assert [one.label for one in plan.ranked] == ["myopic", "greedy"]  # 2 against 0 to count on
    assert replace(plan, want=Want(4, 0.5)).best.label == "greedy"
    assert replace(plan, want=Want(2, 0.5)).best.label == "myopic"
    assert replace(plan, has_target=True).best.label == "myopic"
    held = {label: replace(HELD, value=n) for label, n in (("myopic", 1), ("greedy", 3))}
    assert replace(plan, sustained=held).best.label == "greedy"
    assert replace(plan, sustained=held, want=Want(2, 0.5)).best.label == "myopic"
    alike = replace(plan, outlooks=(replace(plan.outlooks[1], label="a", counts=np.array([[2] * 10, [0] * 10])),
                                    plan.outlooks[1]))  # fmt: skip
    assert alike.best.label == "greedy"  # none to count on, a mean of 2 against 1


def test_a_scheduler_that_is_ahead_under_each_seed_is_told_apart() -> None:
    assert verdict_of_plan(replace(unit_plan(), has_target=True))[-1] == (
        "myopic has the most rounds on target of 2 schedulers."
    )


# mains power


def with_mains(plan: Plan) -> Plan:
    """Return the plan with mains power beside its schedulers: all clients in each round."""
    rows = [[plan.fleet.clients] * plan.rounds for _ in plan.seeds]
    made: Outlook = outlook_of("always-on", plan.best.target, rows, [plan.rounds] * plan.fleet.clients)
    made = replace(made, mains_powered=True, other_means=True)
    return replace(plan, outlooks=(made, *plan.outlooks), schedulers={"always-on": "always-on"} | plan.schedulers)


@pytest.mark.parametrize("asked", [{}, {"want": Want(2, 0.9)}, {"has_target": True}], ids=["nothing", "want", "target"])
def test_mains_power_is_a_reference_and_never_the_best(asked: dict[str, Any]) -> None:
    plan = with_mains(replace(unit_plan(), **asked))

    assert plan.best.label == plan_facts(plan)["best"] == "myopic"
    assert not any("always" in sentence for sentence in verdict_of_plan(plan))
    assert next(iter(compact_of(plan))) == "always-on"
    assert "on mains power, for reference: always-on" in plan_table(plan).caption


def test_plans_of_mains_power_alone_say_so_in_one_sentence() -> None:
    plan = with_mains(unit_plan())
    plan = replace(plan, outlooks=plan.outlooks[:1])

    (sentence,) = verdict_of_plan(plan)
    assert "mains power" in sentence
    assert plan_facts(plan)["best"] is None


# facts above the table


def test_the_facts_say_what_comes_in_and_what_rounds_cost() -> None:
    assert list(budget_lines(unit_plan())) == [
        "A client stores 0.500 units a round; a round costs 1; a full battery (6 units) pays for 6 rounds.",
        "That pays for 2 of 4 clients a round.",
    ]
    assert list(budget_lines(sun_plan())) == [
        # 24 h of (200 x 31 + 500 x 28) / 59 J, of 200 J, of 60 J
        "A client stores 2.28 Wh a day, 1.33 Wh in January; a round costs 360 J; standby and leaks take 0.4 Wh a day; "
        "a full battery (5 Wh) pays for 50 rounds or 12.5 days of standby.",
        # (342.4 - 60) / 360 x 4, (200 - 60) / 360 x 4, and all four
        "That pays for 3.14 of 4 clients a round: 1.56 in January, 4 in February.",
    ]


def test_a_note_on_what_was_planned_otherwise_is_a_fact() -> None:
    assert "planned with 1 Wh" in plan_output(replace(unit_plan(), note="planned with 1 Wh")).facts


def test_the_setting_in_a_line() -> None:
    assert setting(sun_plan()) == "4 clients, sun, 1,416 rounds of 1 h, 1 seed"
    assert setting(unit_plan()) == "4 clients, bernoulli, 10 rounds, 2 seeds"
    assert "8,760 rounds of 1 h (a year)" in setting(replace(sun_plan(), rounds=8760))


# tables


def test_the_compact_table_by_hand() -> None:
    assert compact_of(unit_plan()) == {
        "myopic": {"clients a round": "1.9 ± 1.3", "count on, in 95 %, 99 %": "2, 0", "2 clients [% rounds]": "95 ± 64",
                   "longest short": "1", "wasted [%]": "0", "rounds x mains": "1.05-1.05"},
        "greedy": {"clients a round": "2.0", "count on, in 95 %, 99 %": "0, 0", "2 clients [% rounds]": "50",
                   "longest short": "1", "wasted [%]": "0", "rounds x mains": "2.00-1.00"},
    }  # fmt: skip


def test_the_full_table_by_hand() -> None:
    rows = rows_of(unit_plan())

    assert rows["target"] == ("2", "2")
    assert rows["counted on in 95 % of rounds"] == ("2", "0")
    assert rows["  in 99 %"] == ("0", "0")
    assert rows["rounds on target"] == ("95 %\n± 64", "50.0 %")
    assert rows["longest streak short"] == ("1", "1")
    assert rows["empty rounds"] == ("0.5\n± 6.4", "5")
    assert rows["slowdown, rounds alone (B = 0)"] == ("1.05", "2")
    assert rows["slowdown, noise alone (B = inf)"] == ("1.05", "1")
    assert "worst month" not in rows
    assert "energy lost" not in rows


def test_the_full_table_of_months_and_sites() -> None:
    rows = rows_of(answered(sun_plan()))

    assert rows["worst month"] == ("January",)
    assert rows["  rounds on target"] == ("91.7 %",)
    assert rows["  participants, mean"] == ("1.92",)
    assert rows["  turns at hill"] == ("785",)
    assert rows["  turns at coast"] == ("600",)
    assert rows["energy lost"] == ("5.0 %",)


def test_curves_have_a_table_of_their_own() -> None:
    curves = curve_table(answered(sun_plan()))

    assert curves.names == ("x 0.5", "x 1", "x 2")
    assert [(line.label, [cell.text for cell in line.cells]) for line in curves.lines] == [
        ("rounds by battery", ["93.0 %", "97.0 %", "100 %"])
    ]
    assert plan_output(answered(sun_plan())).lines == tuple(curves.text().splitlines())


def test_without_any_participant_no_slowdown_is_given() -> None:
    plan = replace(unit_plan(), outlooks=(outlook_of("myopic", 2, [[0] * 10] * 2, [0, 0, 0, 0]),))

    assert "never there" in rows_of(plan)["slowdown, rounds alone (B = 0)"]
    assert compact_of(plan)["myopic"]["rounds x mains"] == "inf-inf"
    assert verdict_of_plan(plan)[0].startswith("Count on 0 of 4 clients")


@pytest.mark.parametrize("width", [80, 100])
def test_the_table_fits_a_terminal(width: int) -> None:
    plan = replace(answered(sun_plan()), sustain=0.99, sustained={"myopic": HELD})

    assert max(map(len, plan_table(plan).text(width).splitlines())) <= width


# what any scheduler could have reached


def with_possible(plan: Plan, *, exact: bool) -> Plan:
    """Return a plan of ten rounds in which all four could have taken part, but for the first round of seed 0."""
    late, early = np.array([0, *[4] * 9]), np.full(10, 4)
    return replace(plan, possible=(Optimum(late, 1, exact, 0), Optimum(early, 0, exact, 1)))


def test_what_was_possible_by_hand() -> None:
    plan = with_possible(unit_plan(), exact=True)
    rows, facts = rows_of(plan), plan_facts(plan)

    # sqrt(2) of sqrt(4) in every round; 2 in 5 of 9 rounds and in 5 of 10, of 2 in all
    assert rows["share of possible"] == ("70.7 %", "53 %\n± 35")
    assert rows["  of the lowest"] == ("50.0 %", "0.0 %")
    assert rows["  lowest possible"] == ("4", "4")
    assert compact_of(plan)["greedy"]["share of possible [%]"] == "53 ± 35"
    assert [*budget_lines(plan)][-1].endswith("achievable in every round with perfect foresight: 4.")
    assert facts["possible"][0] == {"seed": 0, "least": 4, "mean_sqrt": 2.0, "first": 1, "exact": True}
    assert facts["schedulers"][1]["share_of_possible"]["mean_sqrt"]["by_seed"] == pytest.approx([5 / 9, 1 / 2])


@pytest.mark.parametrize("exact", [True, False])
def test_what_is_an_upper_bound_of_the_possible_says_so(exact: bool) -> None:
    assert ("upper bound" in plan_table(with_possible(unit_plan(), exact=exact)).caption) != exact


def test_what_is_on_mains_power_has_no_share_of_the_possible() -> None:
    spec = make_spec({"rounds": 30, "seeds": 2, "schedulers": ["always-on", "greedy"], "fleet": {"clients": 5}})
    plan = plan_of(spec, possible=True, jobs=1)
    always_on, greedy = plan_facts(plan)["schedulers"]

    assert rows_of(plan)["share of possible"][0] == DASH
    assert always_on["share_of_possible"] is None
    best = [clairvoyant(plan.fleet, 30, seed) for seed in (0, 1)]
    expected = [one.share_of(counts).mean_sqrt for one, counts in zip(best, plan.outlooks[1].counts, strict=True)]
    assert greedy["share_of_possible"]["mean_sqrt"]["by_seed"] == expected


# facts for JSON


@pytest.mark.parametrize("plan", [unit_plan(), sun_plan(), answered(sun_plan())], ids=["units", "sun", "answered"])
def test_facts_are_finite_and_plain(plan: Plan) -> None:
    facts = json.loads(json.dumps(plan_facts(plan), allow_nan=False))

    assert facts["best"] == "myopic"
    assert facts["sentences"] == verdict_of_plan(plan)
    assert facts["schedulers"][0]["counted_on"]["0.95"] == 2


def test_facts_say_which_energies_are_joules() -> None:
    budget = plan_facts(sun_plan())["budget"]

    assert budget["cost_joules"] == 360
    assert budget["stored_a_round_by_month_joules"][:3] == [200, 500, None]
    assert budget["clients_paid_for_by_month"][1] == 4
    assert plan_facts(unit_plan())["budget"]["cost_units"] == 1


def test_a_real_plan_has_all_of_it() -> None:
    spec = make_spec(
        {
            "rounds": 48,
            "seeds": [0, 1],
            "schedulers": ["myopic", "greedy"],
            "fleet": {"clients": 6, "round_length": "1 h", "capacity": "1 Wh", "cost": "200 J",
                      "harvest": {"name": "sun", "watts": 1, "site": ["north-carolina", "alaska"]}},
        }
    )  # fmt: skip
    plan = plan_of(spec, rounds=45 * 24, want=Want(1, 0.5), free="battery", jobs=1)

    assert plan.sites is not None
    assert set(plan.sites) == {"north-carolina", "alaska"}
    json.dumps(plan_facts(plan), allow_nan=False)
    assert {"worst month", "  turns at alaska"} <= rows_of(plan).keys()
    assert verdict_of_plan(plan)[0].startswith("1 client in 50 % of rounds in 9 of 10 years: battery 0.0556 Wh")


def test_where_nothing_does_the_cause_and_other_ways_are_said() -> None:
    plan = answered(sun_plan())
    (mine,) = plan.answers.values()
    none = replace(mine, found=False, value=36_000.0, share=0.5, ends=(None, None))
    plan = replace(plan, want=Want(2, 0.95), answers={"myopic": none}, levers={"panel": "3 W"})

    assert (
        "The cause is the harvest: in January it pays for 1.56 clients a round; panel 3 W would do it."
        in (verdict_of_plan(plan)[0])
    )


def test_cycles_and_the_worst_client_by_hand() -> None:
    """692.5 turns of 360 J and 1,416 hours of 60 J are 18.57 batteries of 18 kJ in 59 days, 114.9 a year."""
    rows = rows_of(sun_plan())

    assert rows["worst client"] == ("35.3 %",)  # 500 of 1,416 rounds
    assert rows["battery cycles a year, at most"] == ("115",)


def test_the_state_of_charge_by_hand() -> None:
    """Batteries of 18 kJ hold 4.5 kJ in a tenth of the rounds and 9 kJ in the others: 47.5 % on average."""
    plan = sun_plan()
    levels = np.full((1, plan.rounds), 9000.0)
    levels[0, : -(-plan.rounds // 10)] = 4500
    rows = rows_of(replace(plan, outlooks=(replace(plan.outlooks[0], levels=levels),)))

    assert rows["state of charge, mean"] == ("47.5 %",)
    assert rows["  in 5 % of rounds, at most"] == ("25.0 %",)
    assert "state of charge, mean" not in rows_of(plan)  # not recorded


def sizes_of(batteries: dict[int, float]) -> SizeMap:
    """Return panels of 1, 2 and 4 W with these answers, at a price of 1 for a joule and for a watt."""
    table = {"clients": 4, "capacity": 18_000.0, "harvest": {"name": "sun", "watts": 1.0}}
    battery, panel = (Free(name, table, 1.0, 0.1, 1e6, shown, lambda value: {}) for name, shown in
                      (("battery", as_energy), ("panel", as_power)))  # fmt: skip
    answers = {place: replace(HELD, value=value, ends=(value, value)) for place, value in batteries.items()}
    line = np.array([9000.0, 7200.0, np.nan])
    shares = np.array([[0.9, np.nan], [0.95, 1], [1, 1]])
    return SizeMap("myopic", battery, panel, (1.0, 2.0, 4.0), (3600.0, 9000.0), shares, line, 4, Prices(1, 1), answers)


def test_the_cheapest_design_by_hand() -> None:
    """Four batteries of 7.2 kJ and four panels of 2 W are 28,808."""
    plan = replace(sun_plan(), want=Want(2, 0.95), sizes=sizes_of({0: 9000.0, 1: 7200.0}))

    assert verdict_of_plan(plan)[0] == (
        "2 clients in 95 % of rounds in 9 of 10 years: cheapest with panel 2 W and battery 2 Wh, 2 Wh to 2 Wh (90 % "
        "confidence, 30 years; under myopic): 7,202 a client, 28,808 in all. In 17 of 20 other years it does."
    )
    assert plan.sizes is not None
    assert [[cell.text for cell in line.cells] for line in size_table(plan.sizes).lines] == [
        ["2.5 Wh", "36,004", "90.0", DASH], ["2 Wh", "28,808", "95.0", "100.0"], ["none", DASH, "100.0", "100.0"]
    ]  # fmt: skip
    assert plan_facts(plan)["sizes"]["cheapest"]["price"] == 28_808


def test_the_cheapest_at_an_end_of_what_was_tried_says_so() -> None:
    plan = replace(sun_plan(), want=Want(2, 0.95), sizes=sizes_of({0: 3600.0, 1: 7200.0}))

    assert "in all (the smallest panel tried)." in verdict_of_plan(plan)[0]
