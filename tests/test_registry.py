"""Registries: the forms in which a thing is named, what is checked before it is made, errors that know their key."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehfl.energy import HARVESTS
from ehfl.flower.node.meters import METERS
from ehfl.learning import AGGREGATIONS, TASKS
from ehfl.partition import PARTITIONS
from ehfl.registry import Registry, literal
from ehfl.scheduling import SCHEDULERS as ALL_SCHEDULERS
from ehfl.theory.step_sizes import STEP_SIZES
from ehfl.validation import InvalidValue, UserError

HERE = "ehfl.scheduling.schedulers"


class Scheduler(Protocol):
    """A thing as these tests need it: any object with a select."""

    def select(self, view: Any) -> Any: ...


SCHEDULERS: Registry[Scheduler] = Registry(
    "scheduler",
    {
        "greedy": f"{HERE}.paper:Greedy",
        "round-robin": f"{HERE}.paper:RoundRobin",
        "power-of-choice": f"{HERE}.fair:PowerOfChoice",
    },
    methods=("select",),
)

REGISTRIES = (ALL_SCHEDULERS, HARVESTS, METERS, STEP_SIZES, PARTITIONS, TASKS, AGGREGATIONS)

MINE = '''
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Optional

from ehfl.scheduling import Scheduler


@dataclass
class Daylight:
    peak: float
    hours: int | Literal["all"] = 12
    cloudy: bool = False
    place: str = "roof"
    log: Path | None = None
    file: Path = Path("none.csv")
    limit: Optional[int] = None
    mode: Literal["fast", "slow"] = "fast"
    weights: list[float] | None = None

    def select(self, view):
        return []


class Plain:
    """Neither a dataclass nor annotated."""

    def __init__(self, width=3, shift=0):
        self.width, self.shift = width, shift

    def select(self, view):
        return []


class NoParameters:
    def select(self, view):
        return []


class FromProtocol(Scheduler):
    """What a user writes who wants a type checker to help."""

    def select(self, view):
        return []


class Options:
    def __init__(self, **options):
        self.options = options

    def select(self, view):
        return []


class Described:
    def __init__(self, peak: "units per day" = 3):
        self.peak = peak

    def select(self, view):
        return []


class Mute:
    pass


class Fussy:
    def __init__(self, width: int = 1):
        raise RuntimeError("no such\\n  width")

    def select(self, view):
        return []


CALLED = []


def spy(command=None):
    CALLED.append(command)


class Spy:
    def __init__(self, command=None):
        CALLED.append(command)


class SpyOfNone(Spy):
    """The names are there, but nothing that can be called."""

    select = units = mean_rates = watts = mean_watts = joules = None
    __call__ = partition = init = apply = model = loss = score = None


SPY = Daylight(1.0)


NUMBER = 5
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the user's modules, from which Python imports."""
    (tmp_path / "my_things.py").write_text(MINE)
    (tmp_path / "raises.py").write_text("raise RuntimeError('not\\n  today')\n")
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "lacks.py").write_text("import not_installed_anywhere\n")
    (tmp_path / "broken.py").write_text("def select(:\n")
    (tmp_path / "Pack").mkdir()
    (tmp_path / "Pack" / "sub.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    with monkeypatch.context() as context:
        context.setattr("sys.dont_write_bytecode", True)
        yield tmp_path
    import sys

    for name in ("my_things", "raises", "leaves", "lacks", "broken", "Pack", "Pack.sub"):
        sys.modules.pop(name, None)


def refusal(given: object, key: str = "") -> str:
    with pytest.raises(UserError) as caught:
        SCHEDULERS.make(given, key)
    return str(caught.value)


# forms


@pytest.mark.parametrize(
    ("given", "table"),
    [
        ("greedy", {"name": "greedy"}),
        (" Greedy ", {"name": "greedy"}),
        ("round_robin", {"name": "round-robin"}),
        ("ROUND_ROBIN:1", {"name": "round-robin", "per_round": 1}),
        ("round-robin:1", {"name": "round-robin", "per_round": 1}),
        ("round-robin: 1 ", {"name": "round-robin", "per_round": 1}),
        ("round-robin:auto", {"name": "round-robin", "per_round": "auto"}),
        ("round-robin:per_round=1", {"name": "round-robin", "per_round": 1}),
        ("power-of-choice:3", {"name": "power-of-choice", "target": 3}),
        ("power-of-choice:candidates=6", {"name": "power-of-choice", "candidates": 6}),
        ("power-of-choice:target=3,candidates=6", {"name": "power-of-choice", "target": 3, "candidates": 6}),
        (
            "power-of-choice: target = auto , candidates = 6",
            {"name": "power-of-choice", "target": "auto", "candidates": 6},
        ),
        ({"name": "greedy"}, {"name": "greedy"}),
        ({"name": "Round_Robin", "per_round": 1}, {"name": "round-robin", "per_round": 1}),
        ({"per_round": 1, "name": "round-robin"}, {"name": "round-robin", "per_round": 1}),
        ({"name": "round-robin:1"}, {"name": "round-robin", "per_round": 1}),
        ({"name": "round-robin:1", "per_round": 2}, {"name": "round-robin", "per_round": 2}),
    ],
)
def test_a_text_or_a_table_becomes_a_table(given: object, table: dict[str, Any]) -> None:
    assert SCHEDULERS.table(given) == table
    assert next(iter(SCHEDULERS.table(given))) == "name"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-2.5", -2.5),
        ("1e3", 1000.0),
        ("true", True),
        ("inf", float("inf")),
        ("[0.1, 0.9]", [0.1, 0.9]),
        ("'two words'", "two words"),
        ("by-label", "by-label"),
        ("data/may.csv", "data/may.csv"),
        ("True", "True"),  # a word, as in TOML
        ("", ""),
    ],
)
def test_a_value_is_tomls_or_a_bare_word(text: str, value: object) -> None:
    assert literal(text) == value
    assert type(literal(text)) is type(value)


def test_lists_and_quoted_words_may_have_commas(mine: Path) -> None:
    table = SCHEDULERS.table('my_things:Daylight:peak=1.5,weights=[0.1,0.9],place="roof, south"')

    assert table == {"name": "my_things:Daylight", "peak": 1.5, "weights": [0.1, 0.9], "place": "roof, south"}


@pytest.mark.parametrize("rest", ["per_round=1,2", "=1", "per_round=1,,", "per_round=1,=2"])
def test_parameters_that_cannot_be_read_are_answered_with_the_form(rest: str) -> None:
    assert refusal(f"round-robin:{rest}") == (
        f"scheduler must be NAME, NAME:VALUE or NAME:parameter=value,parameter=value, got {rest}"
    )


@pytest.mark.parametrize("text", ["round-robin:", "greedy:", "my_things:Plain:"])
def test_a_colon_with_nothing_behind_it_is_answered_with_the_form(text: str) -> None:
    assert refusal(text) == (f"scheduler must be NAME, NAME:VALUE or NAME:parameter=value,parameter=value, got {text}")


@pytest.mark.parametrize("given", [{}, {"nome": "greedy"}, {"name": 5}, {"name": None}])
def test_a_table_without_a_name_is_refused(given: dict[object, object]) -> None:
    message = refusal(given, "arms[2].scheduler")

    assert message.startswith(
        "arms[2].scheduler must be one of greedy, round-robin, power-of-choice or package.module:"
    )
    assert message.endswith(f"or a table with such a name, got {given!r}")


# making


def test_a_registered_thing_is_made_with_its_parameters() -> None:
    from ehfl.scheduling import PowerOfChoice, RoundRobin

    assert SCHEDULERS.make("round-robin:1") == RoundRobin(per_round=1)
    assert SCHEDULERS.make({"name": "power-of-choice", "candidates": 6}) == PowerOfChoice(candidates=6)


def test_a_thing_that_is_there_already_is_returned_as_it_is() -> None:
    from ehfl.scheduling import Greedy

    greedy = Greedy()
    assert SCHEDULERS.make(greedy) is greedy


def test_a_registry_is_read_like_a_table_of_its_names() -> None:
    """`list(ehfl.SCHEDULERS)` raised."""
    from ehfl.scheduling import Greedy

    assert list(SCHEDULERS) == ["greedy", "round-robin", "power-of-choice"]
    assert len(SCHEDULERS) == 3 and "greedy" in SCHEDULERS and "gredy" not in SCHEDULERS
    assert SCHEDULERS["greedy"] is Greedy
    with pytest.raises(KeyError):
        SCHEDULERS["gredy"]


@pytest.mark.parametrize(("given", "kept"), [("log.txt", Path("log.txt")), (None, None)])
def test_a_path_of_a_spec_reaches_its_class_as_a_path(mine: Path, given: object, kept: object) -> None:
    made: Any = SCHEDULERS.make({"name": "my_things:Daylight", "peak": 1.0, "log": given, "file": "none.csv"})

    assert (made.log, made.file) == (kept, Path("none.csv"))


def test_a_class_in_the_place_of_a_thing_is_refused() -> None:
    from ehfl.scheduling import Greedy

    assert refusal(Greedy) == f"scheduler must be a scheduler, with select, got {Greedy!r}"


@pytest.mark.parametrize("given", [5, None, 0.5, ["greedy"]])
def test_what_is_no_thing_is_refused_by_what_it_lacks(given: object) -> None:
    assert refusal(given, "scheduler") == f"scheduler must be a scheduler, with select, got {given!r} without select"


def test_several_methods_are_named_together() -> None:
    harvests: Registry[Any] = Registry("harvest", {}, methods=("units", "mean_rates"), or_methods=("watts",))

    with pytest.raises(
        InvalidValue, match="harvest must be a harvest, with units, mean_rates, or watts, got 5 without units"
    ):
        harvests.make(5)


def test_a_thing_may_have_the_other_methods_of_its_kind_instead() -> None:
    class Lamp:
        def watts(self) -> float:
            return 60.0

    lamp = Lamp()
    assert Registry("harvest", {}, methods=("units",), or_methods=("watts",)).make(lamp) is lamp


# names that are not known


@pytest.mark.parametrize(
    ("text", "hint"),
    [("gredy", " (did you mean greedy?)"), ("Round_Robn", " (did you mean round-robin?)"), ("zzz", ""), ("''", "")],
)
def test_a_name_that_is_not_known_is_answered_with_the_list_and_the_nearest(text: str, hint: str) -> None:
    allowed = "one of greedy, round-robin, power-of-choice or package.module:Class"

    assert refusal(text.strip("'")) == f"scheduler must be {allowed}, got {text}{hint}"


def test_the_name_that_others_use_is_answered_with_ours() -> None:
    with pytest.raises(InvalidValue, match=r"got fedavg \(here it is called mean\)$"):
        AGGREGATIONS.make("fedavg")


@pytest.mark.parametrize("text", [":Thing", "my_things:", "my_things.py"])
def test_half_a_reference_is_answered_with_the_list(text: str) -> None:
    hint = " (which class in it? my_things:Class)" if text.endswith(".py") else ""

    assert refusal(text).endswith(f"or package.module:Class, got {text}{hint}")


def test_a_name_with_a_value_that_is_not_known_is_answered_with_the_nearest_too() -> None:
    assert "did you mean round-robin?" in refusal("round-robn:1")


# the user's own


@pytest.mark.parametrize(
    "given",
    [
        "my_things:Daylight:1.5",
        "my_things.py:Daylight:1.5",
        " my_things : Daylight : 1.5",
        "my_things:Daylight:peak=1.5",
        {"name": "my_things:Daylight", "peak": 1.5},
        {"name": "my_things:Daylight:1.5"},
        "Pack.sub:Daylight:1.5",
    ],
)
def test_a_class_of_ones_own_takes_parameters_in_every_form(mine: Path, given: object) -> None:
    made: Any = SCHEDULERS.make(given)

    assert type(made).__name__ == "Daylight"
    assert (made.peak, made.hours, made.place) == (1.5, 12, "roof")


def test_all_kinds_of_parameters_are_passed_on(mine: Path) -> None:
    text = "my_things:Daylight:peak=2,hours=all,cloudy=true,place=attic,log=log.txt,limit=4,mode=slow"
    made: Any = SCHEDULERS.make(text)

    assert (made.peak, made.hours, made.cloudy, made.place) == (2, "all", True, "attic")
    assert (str(made.log), made.limit, made.mode) == ("log.txt", 4, "slow")


def test_a_class_of_ones_own_without_annotations_or_parameters_will_do(mine: Path) -> None:
    plain: Any = SCHEDULERS.make("my_things:Plain:shift=word")

    assert (plain.width, plain.shift) == (3, "word")
    assert type(SCHEDULERS.make("my_things:NoParameters")).__name__ == "NoParameters"
    assert refusal("my_things:NoParameters:4") == (
        "scheduler must be my_things:NoParameters without parameters: it takes none, got my_things:NoParameters:4"
    )


@pytest.mark.parametrize("name", ["spy", "Spy", "SpyOfNone", "SPY"])
@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_what_is_not_a_class_with_the_methods_is_never_called(mine: Path, registry: Registry[Any], name: str) -> None:
    """A spec can name os:system or subprocess:Popen: a refusal after the call is too late."""
    with pytest.raises(
        InvalidValue, match=f"must be a class with .*, got my_things:{name}(, which is not a class| without )"
    ):
        registry.make({"name": f"my_things:{name}", "command": "touch called"})

    assert not importlib.import_module("my_things").CALLED


@pytest.mark.parametrize("name", ["os:system", "subprocess:Popen", "runpy:run_path", "shutil:rmtree", "builtins:exec"])
def test_functions_of_python_are_refused_in_one_line(name: str) -> None:
    refused = refusal({"name": name}, "fleet.harvest")

    assert refused.startswith("fleet.harvest must be a class with") and f"got {name}" in refused and "\n" not in refused


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("not_there:Thing", "No module named 'not_there'"),
        ("not.there:Thing", "No module named 'not'"),
        ("my_things:Nothing", "module 'my_things' has no attribute 'Nothing'"),
        ("raises:Thing", "RuntimeError: not today"),
        ("leaves:Thing", "SystemExit: 3"),
        ("lacks:Thing", "No module named 'not_installed_anywhere'"),
        ("broken:Thing", "SyntaxError: invalid syntax (broken.py, line 1)"),
    ],
)
def test_a_module_that_cannot_be_imported_is_refused_in_one_line(mine: Path, text: str, why: str) -> None:
    assert refusal(text) == f"scheduler must be importable as package.module:Class, got {text} ({why})"
    assert refusal(f"{text}:3", "arms[2].scheduler").startswith("arms[2].scheduler must be importable")


def test_a_class_without_the_method_is_refused(mine: Path) -> None:
    assert refusal("my_things:Mute") == "scheduler must be a class with select, got my_things:Mute without select"


def test_a_class_that_fails_to_be_made_is_refused_in_one_line(mine: Path) -> None:
    assert refusal("my_things:Fussy:2", "arms[0].scheduler") == (
        "arms[0].scheduler cannot be constructed: my_things:Fussy raises RuntimeError: no such width"
    )


def test_what_cannot_be_called_is_refused(mine: Path) -> None:
    assert refusal("my_things:NUMBER") == (
        "scheduler must be a class with select, got my_things:NUMBER, which is not a class"
    )


def test_a_class_derived_from_the_protocol_will_do(mine: Path) -> None:
    """Its signature is (*args, **kwargs), which are no parameters that must be given."""
    assert type(SCHEDULERS.make("my_things:FromProtocol")).__name__ == "FromProtocol"


def test_parameters_without_a_name_need_not_and_cannot_be_given(mine: Path) -> None:
    made: Any = SCHEDULERS.make("my_things:Options")

    assert made.options == {}
    assert refusal("my_things:Options:a=1").startswith("scheduler.a must be a parameter of my_things:Options")
    assert refusal("my_things:Options:1").startswith("scheduler must be my_things:Options without parameters")


def test_annotations_that_are_no_types_are_left_alone(mine: Path) -> None:
    made: Any = SCHEDULERS.make("my_things:Described:4")

    assert made.peak == 4


# parameters


@pytest.mark.parametrize(
    ("parameter", "value", "allowed"),
    [
        ("peak", "high", "a number"),
        ("peak", True, "a number"),
        ("peak", None, "a number"),
        ("hours", 2.5, "a whole number or all"),
        ("hours", "some", "a whole number or all"),
        ("hours", False, "a whole number or all"),
        ("cloudy", 1, "true or false"),
        ("cloudy", "yes", "true or false"),
        ("place", 3, "a string"),
        ("log", 3, "Path or none"),
        ("file", 3, "Path"),
        ("limit", "many", "a whole number or none"),
        ("limit", 1.5, "a whole number or none"),
        ("mode", "medium", "fast or slow"),
    ],
)
def test_a_parameter_of_another_kind_is_refused_before_anything_is_made(
    mine: Path, parameter: str, value: object, allowed: str
) -> None:
    table = {"name": "my_things:Daylight", "peak": 1.0, parameter: value}

    assert refusal(table, "arms[2].scheduler") == f"arms[2].scheduler.{parameter} must be {allowed}, got {value!r}"


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("peak", 3),
        ("peak", 2.5),
        ("hours", 3),
        ("hours", "all"),
        ("cloudy", False),
        ("log", Path("log.txt")),
        ("log", None),
        ("limit", None),
        ("limit", 7),
        ("mode", "slow"),
        ("weights", [0.5, 1]),
        ("weights", "left to the class"),
    ],
)
def test_a_parameter_of_its_kind_is_passed_on_unchanged(mine: Path, parameter: str, value: object) -> None:
    made = SCHEDULERS.make({"name": "my_things:Daylight", "peak": 1.0, parameter: value})

    assert getattr(made, parameter) == value


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "round-robin:per_rond=3",
            "scheduler.per_rond must be a parameter of round-robin, one of per_round, got per_rond "
            "(did you mean per_round?)",
        ),
        (
            {"name": "power-of-choice", "zzz": 3},
            "scheduler.zzz must be a parameter of power-of-choice, one of target, candidates, got zzz",
        ),
        (
            {"name": "greedy", "target": 3},
            "scheduler.target must be a parameter of greedy, left out: it takes no parameters, got target",
        ),
        ("greedy:3", "scheduler must be greedy without parameters: it takes none, got greedy:3"),
    ],
)
def test_a_parameter_that_it_does_not_take_is_refused_by_name(given: object, message: str) -> None:
    assert refusal(given) == message


def test_a_parameter_without_a_default_must_be_given(mine: Path) -> None:
    assert refusal("my_things:Daylight", "fleet.harvest") == (
        "fleet.harvest.peak must be given: my_things:Daylight needs it, got nothing"
    )
    assert "my_things:Daylight needs it" in refusal("my_things:Daylight:hours=3")


@pytest.mark.parametrize(
    ("given", "key", "message"),
    [
        ("round-robin:0", "", "scheduler.per_round must be a whole number >= 1, got 0"),
        ("round-robin:0", "arms[2].scheduler", "arms[2].scheduler.per_round must be a whole number >= 1, got 0"),
        ("zzz", "arms[2].scheduler", "arms[2].scheduler must be one of greedy, .*, got zzz"),
        ("greedy:1", "arms[2].scheduler", "arms[2].scheduler must be greedy without parameters: .*"),
        (5, "arms[2].scheduler", "arms[2].scheduler must be a scheduler, with select, got 5 without select"),
    ],
)
def test_an_error_carries_the_key_that_was_passed(given: object, key: str, message: str) -> None:
    pattern = re.escape(message).replace(r"\.\*", ".*")

    assert re.fullmatch(pattern, refusal(given, key))


# paths


def test_a_path_is_looked_for_in_the_folder_and_other_texts_are_left_alone(mine: Path) -> None:
    (mine / "here.txt").touch()
    (mine / "roof").touch()
    (mine / "greedy").touch()
    given = {"name": "my_things:Daylight", "peak": 1.0, "place": "roof", "log": "here.txt"}

    assert SCHEDULERS.table(given, folder=mine) == given | {"log": str((mine / "here.txt").resolve())}
    assert SCHEDULERS.table("greedy", folder=mine) == {"name": "greedy"}
    assert SCHEDULERS.table(given) == given


def test_a_path_of_which_the_folder_knows_nothing_stays_as_it_is(mine: Path) -> None:
    given = {"name": "my_things:Daylight", "peak": 1.0, "log": "elsewhere.txt"}

    assert SCHEDULERS.table(given, folder=mine) == given


def test_a_class_that_is_not_there_is_refused_under_its_key_where_paths_are_looked_for(mine: Path) -> None:
    with pytest.raises(InvalidValue, match=r"^arms\[2\]\.scheduler must be importable as package\.module:Class"):
        SCHEDULERS.table({"name": "my_things:Nothing", "log": "here.txt"}, "arms[2].scheduler", mine)


def test_a_parameter_that_is_a_path_and_nothing_else_is_looked_for_too(mine: Path) -> None:
    (mine / "here.csv").touch()
    table = SCHEDULERS.table("my_things:Daylight:peak=1.0,file=here.csv", folder=mine)

    assert table["file"] == str((mine / "here.csv").resolve())


# spelled out, and back


def test_defaults_are_spelled_out_and_what_was_given_stays() -> None:
    assert SCHEDULERS.spelled_out("greedy") == {"name": "greedy"}
    assert SCHEDULERS.spelled_out("Round_Robin") == {"name": "round-robin", "per_round": "auto"}
    assert SCHEDULERS.spelled_out("power-of-choice:candidates=6") == {
        "name": "power-of-choice",
        "target": "auto",
        "candidates": 6,
    }


def test_a_parameter_without_a_default_is_not_spelled_out(mine: Path) -> None:
    spelled = SCHEDULERS.spelled_out("my_things:Daylight")

    assert "peak" not in spelled
    assert (spelled["hours"], spelled["limit"]) == (12, None)


@pytest.mark.parametrize(
    ("given", "parameter", "takes"),
    [
        ("round-robin", "per_round", True),
        ("round-robin:3", "per_round", True),
        ("round-robin", "target", False),
        ({"name": "greedy"}, "target", False),
        ("my_things:Daylight", "hours", True),
        ("my_things:Options", "options", False),
    ],
)
def test_whether_a_thing_has_a_parameter_can_be_asked(mine: Path, given: object, parameter: str, takes: bool) -> None:
    assert SCHEDULERS.takes(given, parameter) is takes


@pytest.mark.parametrize("name", SCHEDULERS.members)
def test_what_is_spelled_out_makes_the_same_thing(name: str) -> None:
    assert SCHEDULERS.make(SCHEDULERS.spelled_out(name)) == SCHEDULERS.make(name)


@pytest.mark.parametrize(
    "text",
    [
        "greedy",
        "round-robin:1",
        "round-robin:auto",
        "power-of-choice:3",
        "power-of-choice:candidates=6",
        "power-of-choice:target=3,candidates=6",
        "my_things:Daylight:peak=1.5",
        "my_things:Daylight:peak=1.5,mode=slow",
        "my_things:Daylight:cloudy=true,weights=[0.1, 0.9]",
    ],
)
def test_a_tables_short_form_is_what_people_write(mine: Path, text: str) -> None:
    assert SCHEDULERS.text(SCHEDULERS.table(text)) == text


def test_the_order_of_a_table_does_not_matter() -> None:
    assert SCHEDULERS.text({"per_round": 1, "name": "round-robin"}) == "round-robin:1"


@given(
    target=st.none() | st.integers(1, 99) | st.just("auto"),
    candidates=st.none() | st.integers(1, 99) | st.just("auto"),
)
def test_the_short_form_is_read_back_as_the_table(target: object, candidates: object) -> None:
    given_parameters = {"target": target, "candidates": candidates}
    table = {"name": "power-of-choice"} | {name: value for name, value in given_parameters.items() if value is not None}

    assert SCHEDULERS.table(SCHEDULERS.text(table)) == table


# imports


def test_nothing_is_imported_before_it_is_needed() -> None:
    absent: Registry[Any] = Registry("task", {"later": "not_there:Later"}, methods=())

    assert absent.table("later") == {"name": "later"}
    assert absent.table("later:size=3") == {"name": "later", "size": 3}
    with pytest.raises(InvalidValue, match=r"task must be importable as package.module:Class, got later \(No module"):
        absent.make("later")
