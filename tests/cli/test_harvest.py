"""`ehfl harvest`, as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from ehfl.cli import main

Capture = pytest.CaptureFixture[str]
ROOF = str(Path(__file__).parents[1] / "energy" / "roof.csv")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["harvest", *arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code


@pytest.mark.parametrize("width", ["50", "80"])
def test_a_fit_says_what_was_fitted_how_well_and_what_to_paste(
    width: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)

    assert run("fit", ROOF, "--watts", "2") == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Trace(roof.csv, 2 columns, 3 d)"
    assert [line.split()[0] for line in lines if line.startswith(("measured", "Bernoulli", "Markov "))][:3] == [
        "measured", "Bernoulli", "Markov"
    ]  # fmt: skip
    assert max(map(len, lines[: lines.index("[fleet]")])) <= int(width)
    assert "the time of day sets 94.2 % of on and off" in " ".join(" ".join(lines).split())
    fleet = tomllib.loads("\n".join(lines[lines.index("[fleet]") : lines.index("next: a figure: --figure FILE.png")]))[
        "fleet"
    ]
    assert fleet["round_length"] == "1 h" and fleet["harvest"]["name"] == "markov"
    assert 0.8 < fleet["harvest"]["stay_on"] < 1 and fleet["arrival"].endswith("J")


def test_json_and_the_figure_of_a_fit(tmp_path: Path, capsys: Capture) -> None:
    figure = tmp_path / "fit.png"

    assert (
        run("fit", ROOF, "--column", "wall", "--unit", "100", "--round", "30min", "--json", "--figure", str(figure))
        == 0
    )

    shown = capsys.readouterr()
    facts = json.loads(shown.out)
    assert (facts["round_length"], facts["unit"], [fit["name"] for fit in facts["columns"]]) == (1800, 100, ["wall"])
    assert facts["all"]["rounds"] == 143 and facts["all"]["stay_off"]["error"] > 0
    assert facts["spec"][-1].startswith('harvest = { name = "markov", stay_on = 0.9')
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert shown.err.splitlines()[0].startswith("rounds are shorter than the trace's rows of 3600 s")


def test_what_was_fitted_to_chance_is_bernoulli(tmp_path: Path, capsys: Capture) -> None:
    on = np.random.default_rng(0).random(2000) < 0.3
    (tmp_path / "coin.csv").write_text("time,a\n" + "".join(f"{60 * t},{int(x)}\n" for t, x in enumerate(on)))

    assert run("fit", str(tmp_path / "coin.csv"), "--round", "1min") == 0

    out = capsys.readouterr().out
    assert "Bernoulli fits as well as Markov" in out and "its run lengths are those of the trace" in out
    assert 'harvest = { name = "bernoulli", rate = 0.' in out


def test_a_record_that_is_never_on_is_said_to_be(capsys: Capture) -> None:
    assert run("fit", ROOF, "--unit", "1MJ") == 0

    out = capsys.readouterr().out
    assert "Every round is off: there is nothing to fit" in out and "[fleet]" not in out


@pytest.mark.parametrize("width", ["50", "80"])
def test_a_year_of_a_trace(width: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", width)

    assert run("show", f"trace:file={ROOF},watts=2") == 0

    out = capsys.readouterr().out
    lines = out.splitlines()
    assert " ".join(out.split()).startswith("Trace(roof.csv, 2 columns, 3 d), 10 clients, rounds of 1 h ")
    assert max(map(len, lines)) <= int(width)
    assert next(line for line in lines if line.startswith("mean ")).split()[:3] == ["mean", "309", "7.42"]
    assert next(line for line in lines if line.startswith("leanest day ")).split()[2:] == ["–", "4.24", "–"]  # noqa: RUF001


def test_months_stand_where_a_record_has_a_year_of_dates(tmp_path: Path, capsys: Capture) -> None:
    days = np.arange("2025-03-01", "2026-03-01", dtype="datetime64[D]")
    rows = [
        f"{day}T{hour:02}:00,{int(hour == 12) * (1 + int(day.astype(object).month == 6))}"
        for day in days
        for hour in (0, 6, 12, 18)
    ]
    (tmp_path / "year.csv").write_text("time,a\n" + "\n".join(rows), encoding="utf-8")
    figure = tmp_path / "year.svg"

    assert run("show", f"trace:{tmp_path}/year.csv", "--figure", str(figure), "-n", "1") == 0

    table = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()[5:18]}
    assert table["Jun"] == ["500", "12.0", "75"]
    assert all(table[month][::2] == ["250", "75"] for month in ("Jan", "Mar", "Dec"))
    assert "<svg" in figure.read_text(encoding="utf-8")


def test_a_spec_shows_the_harvest_of_its_fleet(tmp_path: Path, capsys: Capture) -> None:
    spec = tmp_path / "mine.toml"
    spec.write_text(
        f"[fleet]\nclients = 3\nround_length = '2 h'\ncapacity = '5 Wh'\ncost = '1 kJ'\n"
        f"harvest = {{ name = 'trace', file = '{ROOF}' }}\n"
    )

    assert run("show", str(spec), "--json", "-o", "fleet.clients=4") == 0

    facts = json.loads(capsys.readouterr().out)
    assert (facts["clients"], facts["round_length"], facts["unit"], len(facts["days"])) == (4, 7200, "W", 365)
    assert facts["means"][:2] == facts["means"][2:] and facts["months"] == []


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from ehfl.cli import main\n"
        "try: main(['harvest', 'fit', '--help'])\n"
        "except SystemExit: print([m for m in ('numpy', 'torch', 'scipy', 'pydantic') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert out.stdout.splitlines()[-1] == "[]"
