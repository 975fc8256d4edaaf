from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from turns import player

from ehfl import AlwaysOn, Bernoulli, Fleet, simulate
from ehfl.learning import LocalSgd, load_task, train
from ehfl.learning.engine.reference import reference_round
from ehfl.learning.tasks import cifar_files as files
from ehfl.learning.tasks.cifar import Cifar10, Cifar100, Standardise, paper_network
from ehfl.partition import Iid
from ehfl.randomness import Purpose, generator

RECORDS = 4
NAMES = (*files.TRAINING, *files.TEST)
CPU = torch.device("cpu")


def content(name: str) -> bytes:
    """Four records: the label is the record's number, red is the file's number, green and blue are noise."""
    rng = np.random.default_rng(NAMES.index(name))
    rows = rng.integers(0, 256, (RECORDS, 3073), dtype=np.uint8)
    rows[:, 0] = np.arange(RECORDS)
    rows[:, 1:1025] = NAMES.index(name)
    return rows.tobytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / files.FOLDER
    inner.mkdir()
    for name in NAMES:
        (inner / name).write_bytes(content(name))
    return tmp_path


def archive(path: Path, names: tuple[str, ...] = NAMES) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            member = tarfile.TarInfo(f"{files.FOLDER}/{name}")
            member.size = len(content(name))
            tar.addfile(member, io.BytesIO(content(name)))
    return path


def check_images(task: Cifar10) -> None:
    assert task.training.inputs.shape == (20, 32, 32, 3)
    assert task.training.targets.tolist() == [0, 1, 2, 3] * 5
    assert task.training.inputs[:, 0, 0, 0].tolist() == np.repeat(np.arange(5), 4).tolist()
    raw = np.frombuffer(content("test_batch.bin"), dtype=np.uint8).reshape(RECORDS, 3073)
    assert task.test.inputs[3, 7, 9, 2].item() == raw[3, 1 + 2048 + 7 * 32 + 9]  # blue, row 7, column 9
    assert task.test.targets.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("inside", ["", files.FOLDER])
def test_the_folder_is_read_from_itself_and_from_above(folder: Path, inside: str) -> None:
    check_images(Cifar10(folder / inside, RECORDS))


def test_cifar100_is_read_by_its_finer_label(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name, records in (("train.bin", 5 * RECORDS), ("test.bin", RECORDS)):
        rows = rng.integers(0, 256, (records, 3074), dtype=np.uint8)
        rows[:, 0], rows[:, 1], rows[:, 2:1026] = 19, np.arange(records) + 80, np.arange(records)[:, None]
        (tmp_path / name).write_bytes(rows.tobytes())

    task = Cifar100(tmp_path, RECORDS, network="small")

    assert task.training.targets.tolist() == list(range(80, 100)) and task.test.targets.tolist() == [80, 81, 82, 83]
    assert task.training.inputs[:, 0, 0, 0].tolist() == list(range(20)) and len(task.classes) == 100
    assert (task.classes[0], task.classes[99]) == ("apple", "worm")
    assert task.model(generator(0, Purpose.INIT))(task.test.inputs).shape == (4, 100)


def test_the_archive_is_read_without_unpacking(tmp_path: Path) -> None:
    path = archive(tmp_path / files.ARCHIVE)

    check_images(Cifar10(tmp_path, RECORDS))
    check_images(Cifar10(path, RECORDS))
    assert list(tmp_path.iterdir()) == [path]


def test_the_environment_names_the_folder_and_the_argument_wins(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EHFL_DATA", str(folder))
    check_images(Cifar10(None, RECORDS))

    with pytest.raises(ValueError, match=r"^data must be a folder with cifar-10-batches-bin .*nowhere"):
        Cifar10(tmp_path / "nowhere", RECORDS)

    monkeypatch.setenv("EHFL_DATA", "nowhere")
    with pytest.raises(ValueError, match=r"^\$EHFL_DATA must be a folder with cifar-10-batches-bin .*nowhere"):
        Cifar10(None, RECORDS)


@pytest.mark.parametrize(
    ("size", "kind"), [(0, "truncated"), (3073, "truncated"), (4 * 3073 - 1, "truncated"), (4 * 3073 + 1, "too long")]
)
def test_a_file_of_another_length_is_named(folder: Path, size: int, kind: str) -> None:
    path = folder / files.FOLDER / "data_batch_3.bin"
    path.write_bytes((path.read_bytes() + b"x")[:size])

    needed = r"whole: a data_batch_3.bin of 12292 bytes \(4 records\)"
    with pytest.raises(ValueError, match=rf"^data must be {needed}, got one of {size} bytes, it is {kind}$"):
        Cifar10(folder, RECORDS)


def test_a_foreign_file_is_named(folder: Path) -> None:
    path = folder / files.FOLDER / "test_batch.bin"
    path.write_bytes(b"\xff" * (4 * 3073))

    needed = r"CIFAR-10's: a test_batch.bin with labels in \[0, 9\]"
    with pytest.raises(ValueError, match=rf"^data must be {needed}, got label 255$"):
        Cifar10(folder, RECORDS)


def test_a_missing_file_is_named(folder: Path, tmp_path: Path) -> None:
    (folder / files.FOLDER / "data_batch_5.bin").unlink()
    with pytest.raises(ValueError, match=r"a folder with data_batch_5.bin in it"):
        Cifar10(folder, RECORDS)

    with pytest.raises(ValueError, match=r"an archive with test_batch.bin in it.*short.tar.gz"):
        Cifar10(archive(tmp_path / "short.tar.gz", files.TRAINING), RECORDS)


@pytest.mark.parametrize("cut", [10, 2000, -20])
def test_a_torn_archive_is_named(tmp_path: Path, cut: int) -> None:
    path = archive(tmp_path / files.ARCHIVE)
    path.write_bytes(path.read_bytes()[:cut])

    with pytest.raises(ValueError, match=r"data must be a whole CIFAR-10 archive, got .*binary.tar.gz"):
        Cifar10(path, RECORDS)


def test_the_official_size_is_asked_for_by_name(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"task.data must be whole: a data_batch_1.bin of 30730000 bytes \(10000 rec"):
        load_task("cifar10", folder)


def test_without_data_or_network_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    import pooch  # type: ignore[import-untyped]

    asked = []

    def offline(*given: object, **options: object) -> str:
        asked.append((*given[:2], options))
        raise OSError("no route to host")

    monkeypatch.delenv("EHFL_DATA", raising=False)
    monkeypatch.setattr(pooch, "retrieve", offline)

    with pytest.raises(ValueError, match=r"task.data must be given, or EHFL_DATA be set, .* \(OSError\)$"):
        load_task("cifar10")
    url, checksum = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", "md5:c32a1d4ab5d03f1284b67883e8d87530"
    assert asked == [(url, checksum, {"progressbar": True})]


def plain_network() -> nn.Module:
    """The paper's network in torch's own layers and the paper's own order, on floats (n_images, 3, 32, 32)."""

    def block(channels: int) -> list[nn.Module]:
        normalise = nn.LocalResponseNorm(9, alpha=0.001, beta=0.75, k=1.0)
        return [nn.Conv2d(channels, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), normalise]

    head = [nn.Flatten(), nn.Linear(4096, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(), nn.Linear(192, 10)]
    return nn.Sequential(*block(3), *block(64), *head)


def test_the_network_is_the_papers_in_values_and_gradients() -> None:
    ours, theirs = paper_network(generator(0, Purpose.INIT)), plain_network()
    with torch.no_grad():
        for a, b in zip(theirs.parameters(), ours.parameters(), strict=True):
            a.copy_(b)
    images = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (6, 32, 32, 3), dtype=np.uint8))
    targets = torch.arange(6)

    outputs = [ours(images), theirs(Standardise()(images))]
    slopes = [
        torch.autograd.grad(nn.functional.cross_entropy(out, targets), list(net.parameters()))
        for out, net in zip(outputs, (ours, theirs), strict=True)
    ]

    assert sum(p.numel() for p in ours.parameters()) == 1_756_426
    torch.testing.assert_close(outputs[0], outputs[1], rtol=1e-4, atol=1e-5)
    for ours_slope, their_slope in zip(*slopes, strict=True):
        scale = float(their_slope.abs().max())
        torch.testing.assert_close(ours_slope, their_slope, rtol=1e-3, atol=1e-4 * scale)


def test_the_engine_equals_the_reference_loop_on_the_papers_network(folder: Path) -> None:
    task = Cifar10(folder, RECORDS)
    parts = Iid().partition(task.training.targets.numpy(), 2, seed=0)
    rule = LocalSgd(local_steps=2, batch_size=4)
    ours = player(task, parts, rule)
    plain = task.model(generator(0, Purpose.INIT))
    x = {name: p.detach().clone() for name, p in plain.named_parameters()}

    ours.play(0, [0, 1], 0.1)
    x, _ = reference_round(task, plain, x, parts, np.array([0, 1]), t=0, eta=0.1, rule=rule, seed=0)

    torch.testing.assert_close(ours.model.weights, torch.cat([v.reshape(-1) for v in x.values()]), rtol=1e-4, atol=1e-6)


def test_the_small_network_is_asked_for_by_name(folder: Path) -> None:
    task = load_task({"name": "cifar10", "records": RECORDS, "network": "small"}, folder)
    network = task.model(generator(0, Purpose.INIT))

    # 3x3 convolutions from 3 to 16 to 32 to 32 channels, and a linear layer from 4 x 4 x 32 to 10, each with biases.
    assert sum(p.numel() for p in network.parameters()) == 448 + 4_640 + 9_248 + 5_130
    assert network(task.test.inputs).shape == (RECORDS, 10)
    with pytest.raises(ValueError, match="network must be one of paper, small, got 'large'"):
        Cifar10(folder, RECORDS, network="large")


def test_training_runs_through(folder: Path) -> None:
    mains = simulate(Fleet(clients=2, harvest=Bernoulli(0.5)), AlwaysOn(1), rounds=2)

    history = train(Cifar10(folder, RECORDS), mains, local_steps=1, batch_size=3, step_size=0.01)

    assert history.records[0].train_loss == pytest.approx(np.log(10), abs=0.3)  # knows nothing yet
    assert history.final_metric in (0, 0.25, 0.5, 0.75, 1)
