"""`ehfl view`: what a folder holds, runs as they go, and what the server refuses."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote

import pytest

import ehfl
from ehfl.cli import main
from ehfl.experiment import make_spec, run_all
from ehfl.runs import HistoryFile, Record, RunFolder
from ehfl.view.server import Server

FIELDS = {"rounds": 4, "fleet": {"clients": 3}, "learning": {"task": "quadratic"}, "evaluation": {"every": 2}}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished comparison of two runs."""
    runs = tmp_path_factory.mktemp("runs")
    run_all(
        make_spec({**FIELDS, "name": "done", "schedulers": ["myopic", "greedy"], "seeds": 1}), runs / "done", jobs=1
    )
    return runs


@pytest.fixture
def runs(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "runs")
    return tmp_path / "runs"


@pytest.fixture
def server(runs: Path) -> Iterator[Server]:
    with Server(runs, 0) as serving:
        thread = Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes, dict[str, str]]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)) as connection:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())


def entries(server: Server) -> dict[str, dict[str, Any]]:
    return {one["path"]: one for one in json.loads(ask(server, "/api/entries")[1])["entries"]}


def states(server: Server, path: str, run: str = "") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ask(server, f"/api/runs?path={quote(path)}&run={quote(run)}")[1])
    return found


def unfinished(runs: Path, rounds: int, process: int) -> RunFolder:
    """Turn the greedy run into one that this or another process has begun, with so many rounds played."""
    folder = RunFolder(runs / "done" / "greedy-s0")
    start = {"at": "now", "host": socket.gethostname(), "process": process, "token": "x"}
    folder.add_meta(status="running", starts=[start])
    lines = folder.rounds.read_bytes().splitlines(keepends=True)
    folder.rounds.write_bytes(b"".join(lines[:rounds]))
    return folder


def test_a_finished_comparison_is_listed_with_its_report_and_its_runs(server: Server, runs: Path) -> None:
    (runs / "done" / "report.html").write_text("a report")

    listed, found = entries(server)["done"], states(server, "done", "greedy-s0")

    assert (listed["kind"], listed["status"], listed["runs"]) == ("comparison", "finished", {"finished": 2})
    assert ask(server, f"/files/{listed['page']}")[:2] == (200, b"a report")
    for one, records in zip(found["runs"], ehfl.read(runs / "done").arms, strict=True):
        assert [value for _, value in one["curve"]] == [ev.metric for ev in records.trials[0].evaluations]
    played = ehfl.Participation.load(runs / "done" / "greedy-s0" / "participation.npz")
    assert found["batteries"]["levels"] == played.final_energy.tolist()


def test_a_run_is_followed_as_it_goes(server: Server, runs: Path) -> None:
    folder = unfinished(runs, 2, os.getpid())
    played = ehfl.Participation.load(folder.participation)
    assert played.energy is not None
    before = states(server, "done", "greedy-s0")

    with HistoryFile(folder.rounds) as file:
        file.append(Record(2, 1, 0.1, 0.5, test_loss=0.25, test_metric=0.125))
    after = states(server, "done", "greedy-s0")

    assert entries(server)["done"]["status"] == "running"
    assert [one["runs"][1]["rounds"] for one in (before, after)] == [2, 3]
    assert after["runs"][1]["curve"] == [*before["runs"][1]["curve"], [3, 0.125]]
    assert [one["batteries"]["levels"] for one in (before, after)] == played.energy[[2, 3]].tolist()


def test_a_resumed_run_starts_its_curve_again(server: Server, runs: Path) -> None:
    folder = unfinished(runs, 4, os.getpid())
    before = states(server, "done")["runs"][1]["curve"]
    folder.rounds.write_bytes(folder.rounds.read_bytes().splitlines(keepends=True)[0])

    assert states(server, "done")["runs"][1]["curve"] == before[:1]


def test_a_run_whose_process_is_gone_has_stopped(server: Server, runs: Path) -> None:
    unfinished(runs, 2, 2**22 + 1)  # above the largest number that Linux gives

    assert states(server, "done")["runs"][1]["status"] == entries(server)["done"]["status"] == "stopped"


DAMAGE = {
    "greedy-s0/rounds.jsonl": "greedy-s0/rounds.jsonl was edited",
    "greedy-s0/meta.json": "greedy-s0/meta.json is damaged",
    "spec.toml": "spec.toml is damaged",
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_run_is_shown_as_such_beside_whole_ones(server: Server, runs: Path, name: str) -> None:
    shutil.copytree(runs / "done", runs / "whole")
    path = runs / "done" / name
    path.write_bytes(path.read_bytes()[:-20])

    found = entries(server)
    shown = states(server, "done")

    assert {path: one["status"] for path, one in found.items()} == {"done": "damaged", "whole": "finished"}
    assert DAMAGE[name] in found["done"]["why"]
    assert shown.get("fault") or [one["status"] for one in shown["runs"]] == ["finished", "damaged"]


def test_single_runs_and_plans_are_listed_and_what_is_hidden_is_not(server: Server, runs: Path) -> None:
    (runs / "plans" / "farm").mkdir(parents=True)
    (runs / "plans" / "farm" / "plan.html").write_text("a plan")
    shutil.copytree(runs / "done" / "myopic-s0", runs / "alone")
    shutil.copytree(runs / "done", runs / ".hidden")

    assert {path: one["kind"] for path, one in entries(server).items()} == {
        "done": "comparison", "plans/farm": "plan", "alone": "run",
    }  # fmt: skip
    assert ask(server, "/files/plans/farm/plan.html")[1] == b"a plan"
    assert states(server, "alone")["runs"][0]["rounds"] == 4


@pytest.mark.parametrize(
    "path",
    ["../secret.txt", "%2e%2e/secret.txt", "..%2fsecret.txt", "//etc/hostname", "%2fetc%2fpasswd.txt", "link.txt",
     "linked/secret.txt", "done/../../secret.txt", ".hidden.txt", "a%00.txt", "done",
     "done/myopic-s0/participation.npz", "done/myopic-s0/rounds.jsonl"],
)  # fmt: skip
def test_only_pages_figures_and_tables_in_the_folder_can_be_read(server: Server, runs: Path, path: str) -> None:
    (runs.parent / "secret.txt").write_text("secret")
    (runs / "link.txt").symlink_to(runs.parent / "secret.txt")
    (runs / "linked").symlink_to(runs.parent)
    (runs / ".hidden.txt").write_text("secret")
    (runs / "open.txt").write_text("open")

    assert ask(server, "/files/open.txt")[:2] == (200, b"open")
    status, content, _ = ask(server, f"/files/{path}")
    assert (status, b"secret" in content) == (404, False)
    assert ask(server, f"/api/runs?path={path}")[0] == (200 if path == "done" else 404)


@pytest.mark.parametrize("host", ["example.com", "example.com:{port}", "127.0.0.1", "127.0.0.1.example.com:{port}", ""])
def test_a_request_under_another_name_is_refused(server: Server, host: str) -> None:
    assert ask(server, "/api/entries", Host=host.format(port=server.server_port))[0] == 421
    assert ask(server, "/api/entries", Host=f"localhost:{server.server_port}")[0] == 200


def test_it_reads_only_and_reports_run_in_a_sandbox(server: Server, runs: Path) -> None:
    (runs / "report.html").write_text("<script>fetch('/api/entries')</script>")

    assert [ask(server, "/api/entries", method)[0] for method in ("POST", "PUT", "DELETE")] == [501] * 3
    headers = ask(server, "/files/report.html", "HEAD")[2]
    assert headers["Content-Security-Policy"].startswith("sandbox allow-scripts allow-downloads;")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert server.server_address[0] == "127.0.0.1"


def test_a_port_in_use_is_one_line(runs: Path, capsys: pytest.CaptureFixture[str], server: Server) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["view", str(runs), "--port", str(server.server_port)])

    out = capsys.readouterr()
    assert (stop.value.code, out.out, len(out.err.splitlines())) == (2, "", 1)
    assert f"--port {server.server_port} cannot be used (Address already in use)" in out.err
