"""What a plan says: sentences worked out by hand, and figures of real plans that JSON can hold."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from ehfl.analysis.numbers import DASH
from ehfl.experiment import make_spec
from ehfl.experiment.planning import plan as plan_of
from ehfl.planning import Optimum, Outlook, Plan, Sustained, Want, clairvoyant
from ehfl.report import plan_facts, plan_sentences, plan_table
from ehfl.report.plan_words import plan_headlines
from made_plans import answered, outlook_of, sun_plan, unit_plan


def rows_of(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return the cells by label; of labels that come twice, the first."""
    rows: dict[str, tuple[str, ...]] = {}
    for label, cells in plan_table(plan).lines:
        rows.setdefault(label, cells)
    return rows


def test_sentences_on_units() -> None:
    assert plan_sentences(unit_plan()) == [
        "A client stores 0.500 units a round on average; a round costs 1 (weather of seed 0).",
        "That pays for 2 of 4 clients a round.",
        "A full battery (6 units) pays for 6 rounds.",
        "Under myopic you can count on 2 clients in 95 % of rounds and on no client in 99 % of rounds (10 rounds, 2 "
        "seeds); the target of 2 is met in 95 % (31 to 100) of them.",
        "The longest time short is 1 round on end.",
        "Of 2 schedulers myopic does best: you can count on 2 clients in 95 % of rounds (mean 1.90), on 0 (mean 2) "
        "with greedy; 2 seeds do not tell it from greedy.",
        "Against 2 clients on mains power in every round, myopic needs 1.05 times as many rounds, whatever the noise "
        "scale B (how many clients halve what gradient noise costs).",
    ]


def test_sentences_on_sun() -> None:
    assert plan_sentences(sun_plan()) == [
        # 24 h of (200 x 31 + 500 x 28) / 59 J, of 200 J, of 60 J
        "A client stores 2.28 Wh a day on average, 1.33 Wh in January, the poorest month; a round costs 360 J "
        "(0.1 Wh), standing by and leaks take 0.4 Wh a day.",
        # (342.4 - 60) / 360 x 4, (200 - 60) / 360 x 4, and all four
        "That pays for 3.14 of 4 clients a round on average, for 1.56 in January, the poorest month, and for 4 in "
        "February, the richest.",
        "A full battery (5 Wh) pays for 50 rounds or 12.5 days of standing by.",
        "Under myopic you can count on 2 clients in 95 % of rounds and on 1 client in 99 % of rounds (1,416 rounds, "
        "1 seed); the target of 2 is met in 95.6 % of them.",
        "Myopic falls short most often in January, when 91.7 % of the rounds are on target and 1.92 clients take part "
        "on average; half of the rounds short begin between 04:00 and 05:00; the longest time short is 2 rounds on end "
        "(2 h).",
        # no round is empty; 2 against (2 x 1354 + 62) / 1416
        "Against 2 clients on mains power in every round, myopic needs between 1.00 and 1.02 times as many rounds, by "
        "the noise scale B (how many clients halve what gradient noise costs): with B = 0 only empty rounds are lost, "
        "with B infinite each participant counts.",
        "Under myopic 25.0 % of the harvest finds the battery full.",
        "In 1,416 rounds a client at hill takes part 785 times and one at coast 600 times on average (myopic).",
    ]


def test_the_answer_says_how_sure_it_is() -> None:
    *_, answer, sure, curves = plan_sentences(answered(sun_plan()))

    assert answer == (
        "The smallest battery that brings 2 clients in 95 % of rounds under myopic is 2.52 Wh, 0.505 times the present "
        "5 Wh."
    )
    assert sure == "With it there are as many in 96.0 % of the rounds of one seed; with 2.5 Wh in 93.0 %."
    assert curves == (
        "There are 2 clients in 97.0 % of the rounds now; with half the battery in 93.0 %, with twice in 100 %."
    )


def test_a_single_client_is() -> None:
    said = plan_sentences(replace(answered(unit_plan()), want=Want(1, 0.9)))

    assert any("does best: there is 1 client in 95.0 % of the rounds" in sentence for sentence in said)
    assert said[-1].startswith("There is 1 client in 97.0 % of the rounds now")


def test_the_answer_of_several_seeds_has_an_interval() -> None:
    plan = answered(unit_plan())
    assert plan.answer is not None
    plan = replace(plan, answers={"myopic": replace(plan.answer, shares=np.array([0.94, 0.98]))})

    assert plan_sentences(plan)[-2] == (
        "With it there are as many in 96 % (71 to 100) of the rounds, mean over 2 seeds, of which 1 reaches 95 % by "
        "itself; with 2.5 Wh in 93.0 %."
    )


def test_a_want_that_is_not_met_is_said() -> None:
    said = plan_sentences(replace(unit_plan(), want=Want(2, 0.99)))

    assert any("is met in 95 % (31 to 100) of them, where 99 % are wanted." in sentence for sentence in said)
    best = "Of 2 schedulers myopic does best: there are 2 clients in 95.0 % of the rounds, in 50.0 % with greedy."
    assert best in said


def always_on(plan: Plan) -> Outlook:
    """Return what mains power makes of a plan's rounds: all clients in each."""
    rows = [[plan.fleet.clients] * plan.rounds for _ in plan.seeds]
    made = outlook_of("always-on", plan.best.target, rows, [plan.rounds] * plan.fleet.clients)
    return replace(made, mains_powered=True, other_means=True)


def with_mains(plan: Plan) -> Plan:
    schedulers = {"always-on": "always-on"} | plan.schedulers
    return replace(plan, outlooks=(always_on(plan), *plan.outlooks), schedulers=schedulers)


@pytest.mark.parametrize("asked", [{}, {"want": Want(2, 0.9)}, {"has_target": True}], ids=["nothing", "want", "target"])
def test_mains_power_is_a_reference_and_never_the_best(asked: dict[str, Any]) -> None:
    plan = with_mains(replace(unit_plan(), **asked))

    assert plan.best.label == "myopic"
    assert plan_facts(plan)["best"] == "myopic"
    assert not any("always" in sentence for sentence in plan_sentences(plan))
    assert plan_table(plan).names[0] == "always-on"
    assert plan_table(plan).caption.endswith("; on mains power, for reference: always-on")


def test_plans_of_mains_power_alone_say_so_in_one_line() -> None:
    plan = with_mains(unit_plan())
    plan = replace(plan, outlooks=plan.outlooks[:1])

    assert plan_headlines(plan) == [
        "All schedulers asked for are on mains power, a reference: they do not show what the harvest can sustain."
    ]
    assert plan_headlines(plan)[0] in plan_sentences(plan)
    assert plan_facts(plan)["best"] is None


def test_the_best_is_by_what_was_asked() -> None:
    """Greedy has the larger mean, and more rounds with 4; myopic has more rounds with 2, and more to count on."""
    plan = unit_plan()

    assert [one.label for one in plan.ranked] == ["myopic", "greedy"]  # 2 against 0 to count on
    assert replace(plan, want=Want(4, 0.5)).best.label == "greedy"
    assert replace(plan, want=Want(2, 0.5)).best.label == "myopic"
    assert replace(plan, has_target=True).best.label == "myopic"
    held = {label: Sustained(n, 0.9, np.ones(2), None) for label, n in (("myopic", 1), ("greedy", 3))}
    assert replace(plan, sustained=held).best.label == "greedy"
    assert replace(plan, sustained=held, want=Want(2, 0.5)).best.label == "myopic"
    alike = replace(plan, outlooks=(replace(plan.outlooks[1], label="a", counts=np.array([[2] * 10, [0] * 10])),
                                    plan.outlooks[1]))  # fmt: skip
    assert alike.best.label == "greedy"  # none to count on, a mean of 2 against 1


def test_the_target_decides_the_headline() -> None:
    plan = replace(unit_plan(), has_target=True)

    assert plan_headlines(plan)[0].startswith("Under myopic you can count on 2 clients in 95 % of rounds")
    assert (
        "Of 2 schedulers myopic does best: the target is met in 95.0 % of the rounds, in 50.0 % with greedy."
        in plan_sentences(plan)
    )


def test_the_scheduler_that_needs_the_least_answers() -> None:
    plan = answered(unit_plan())
    (mine,) = plan.answers.values()
    none = replace(mine, found=False, value=36_000.0, shares=np.full(2, 0.5), below=None, shares_below=None)
    plan = replace(plan, answers={"greedy": replace(mine, value=12_000.0), "myopic": mine, "threshold": none})

    assert plan.answered_by == "myopic"
    assert (
        "Of 3 schedulers myopic needs the least: greedy needs 3.33 Wh and threshold does it with none (at best "
        "50.0 % with 10 Wh)." in plan_sentences(plan)
    )
    assert [one["value"] for one in plan_facts(plan)["answers"]] == [12_000.0, 9090.0, None]


def test_a_search_without_success_says_what_was_reached_in_one_sentence() -> None:
    plan = answered(unit_plan())
    (mine,) = plan.answers.values()
    none = replace(mine, found=False, value=36_000.0, shares=np.full(2, 0.5), below=None, shares_below=None)
    plan = replace(plan, answers={"greedy": replace(none, shares=np.full(2, 0.25)), "myopic": none})

    assert plan_headlines(plan)[0] == (
        "No battery up to 10 Wh brings 2 clients in 95 % of rounds under any of 2 schedulers: the best that was "
        "reached is 50.0 %, with 10 Wh under myopic."
    )
    facts = json.loads(json.dumps(plan_facts(plan), allow_nan=False))["answer"]
    assert (facts["found"], facts["value"], facts["closest"]["value"]) == (False, None, 36_000.0)


def test_seeds_that_cannot_tell_schedulers_apart_say_so() -> None:
    plan = unit_plan()
    rival = outlook_of("greedy", 2, [[2] * 10, [0, 0, *[2] * 8]], [5, 5, 5, 5])
    said = plan_sentences(replace(plan, outlooks=(plan.outlooks[0], rival), want=Want(2, 0.9)))

    assert any(sentence.endswith("; 2 seeds do not tell it from greedy.") for sentence in said)


def test_nobody_who_ever_takes_part_learns_nothing() -> None:
    plan = replace(unit_plan(), outlooks=(outlook_of("myopic", 2, [[0] * 10] * 2, [0, 0, 0, 0]),))

    assert "Nobody ever takes part, so nothing would be learned." in plan_sentences(plan)
    assert "never there" in rows_of(plan)["slowdown, rounds alone (B = 0)"]


def test_the_table_by_hand() -> None:
    rows = rows_of(unit_plan())

    assert rows["target"] == ("2", "2")
    assert rows["counted on in 95 % of rounds"] == ("2", "0")
    assert rows["  in 99 %"] == ("0", "0")
    assert rows["rounds on target"] == ("95 %\n± 64", "50.0 %\n± 0")
    assert rows["longest streak short"] == ("1", "1")
    assert rows["empty rounds"] == ("0.5\n± 6.4", "5\n± 0")
    assert rows["slowdown, rounds alone (B = 0)"] == ("1.05", "2")
    assert rows["slowdown, noise alone (B = inf)"] == ("1.05", "1")
    assert "worst month" not in rows
    assert "energy lost" not in rows


def with_possible(plan: Plan, *, exact: bool) -> Plan:
    """Return a plan of ten rounds in which all four could have taken part, but for the first round of seed 0."""
    late, early = np.array([0, *[4] * 9]), np.full(10, 4)
    return replace(plan, possible=(Optimum(late, 1, exact, 0), Optimum(early, 0, exact, 1)))


def test_what_was_possible_by_hand() -> None:
    plan = with_possible(unit_plan(), exact=True)
    rows, facts = rows_of(plan), plan_facts(plan)

    # sqrt(2) of sqrt(4) in every round; 2 in 5 of 9 rounds and in 5 of 10, of 2 in all
    assert rows["share of possible"] == ("70.7 %\n± 0", "53 %\n± 35")
    assert rows["  of the lowest"] == ("50.0 %\n± 0", "0.0 %\n± 0")
    assert rows["  lowest possible"] == ("4", "4")
    assert "upper bound" not in plan_table(plan).caption
    assert (
        "Whoever had known all weather could have had at most 4 clients in every round from the first on that can be "
        "paid for; myopic reached 70.7 % of the largest mean of sqrt(n_t), greedy 52.8 %." in plan_sentences(plan)
    )
    assert facts["possible"][0] == {"seed": 0, "least": 4, "mean_sqrt": 2.0, "first": 1, "exact": True}
    assert facts["schedulers"][1]["share_of_possible"]["mean_sqrt"]["by_seed"] == pytest.approx([5 / 9, 1 / 2])


def test_what_is_an_upper_bound_of_the_possible_says_so() -> None:
    plan = with_possible(unit_plan(), exact=False)

    assert plan_table(plan).caption.endswith("; what was possible is an upper bound")
    assert any("myopic reached at least 70.7 % of the largest" in sentence for sentence in plan_sentences(plan))


def test_what_is_on_mains_power_has_no_share_of_the_possible() -> None:
    spec = make_spec({"rounds": 30, "seeds": 2, "schedulers": ["always-on", "greedy"], "fleet": {"clients": 5}})
    plan = plan_of(spec, possible=True, jobs=1)
    always_on, greedy = plan_facts(plan)["schedulers"]

    assert rows_of(plan)["share of possible"][0] == DASH
    assert always_on["share_of_possible"] is None
    best = [clairvoyant(plan.fleet, 30, seed) for seed in (0, 1)]
    expected = [one.share_of(counts).mean_sqrt for one, counts in zip(best, plan.outlooks[1].counts, strict=True)]
    assert greedy["share_of_possible"]["mean_sqrt"]["by_seed"] == expected
    alone = replace(plan, outlooks=plan.outlooks[:1])
    assert any(sentence.endswith("from the first on that can be paid for.") for sentence in plan_sentences(alone))


def test_not_even_one_client_in_every_round() -> None:
    nobody = Optimum(np.array([4, 0] * 5), first=0, exact=True, seed=0)
    said = plan_sentences(replace(unit_plan(), possible=(nobody, nobody)))

    assert any("all weather could not have had even one client in every round" in sentence for sentence in said)


def test_the_table_of_months_and_sites() -> None:
    rows = rows_of(answered(sun_plan()))

    assert rows["worst month"] == ("January",)
    assert rows["  rounds on target"] == ("91.7 %",)
    assert rows["  participants, mean"] == ("1.92",)
    assert rows["  turns at hill"] == ("785",)
    assert rows["  turns at coast"] == ("600",)
    assert rows["wanted in 95 % of rounds"] == ("yes",)
    assert rows["energy lost"] == ("5.0 %",)


def test_the_table_fits_a_terminal() -> None:
    text = io.StringIO()
    Console(file=text, width=80, force_terminal=False).print(plan_table(unit_plan()))

    assert max(map(len, text.getvalue().splitlines())) <= 80


@pytest.mark.parametrize("plan", [unit_plan(), sun_plan(), answered(sun_plan())], ids=["units", "sun", "answered"])
def test_facts_are_finite_and_plain(plan: Plan) -> None:
    facts = json.loads(json.dumps(plan_facts(plan), allow_nan=False))

    assert facts["best"] == "myopic"
    assert facts["sentences"] == plan_sentences(plan)
    assert facts["schedulers"][0]["counted_on"]["0.95"] == 2


def test_facts_say_which_energies_are_joules() -> None:
    budget = plan_facts(sun_plan())["budget"]

    assert budget["cost_joules"] == 360
    assert budget["stored_a_round_by_month_joules"][:3] == [200, 500, None]
    assert budget["clients_paid_for_by_month"][1] == 4
    assert plan_facts(unit_plan())["budget"]["cost_units"] == 1


def test_facts_of_what_is_sustained() -> None:
    held = Sustained(1, 0.99, np.array([1.0, 1.0]), np.array([0.9, 0.94]))
    plan = replace(unit_plan(), sustained={"myopic": held})

    assert plan_facts(plan)["sustained"][0] == {
        "share_wanted": 0.99,
        "clients": 1,
        "scheduler": "myopic",
        "share": {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 2},
        "share_with_one_more": pytest.approx(0.92),
    }
    assert plan_headlines(plan)[0].startswith("At most 1 client can be wanted a round if")


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
    plan = plan_of(spec, rounds=45 * 24, want=Want(1, 0.5), free_name="battery", jobs=1)

    assert plan.sites is not None
    assert set(plan.sites) == {"north-carolina", "alaska"}
    json.dumps(plan_facts(plan), allow_nan=False)
    assert {"worst month", "  turns at alaska"} <= rows_of(plan).keys()
    assert any(
        sentence.startswith("The smallest battery that brings 1 client in 50 %") for sentence in plan_sentences(plan)
    )
