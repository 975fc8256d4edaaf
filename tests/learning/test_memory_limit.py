"""The memory of a hundred models of the paper's size, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ehfl.learning.tasks.cifar_files import RECORDS, TEST, TRAINING

GIBIBYTE = 2**30
SCRIPT = """
import resource, sys
from ehfl import AlwaysOn, Bernoulli, Fleet, load_task, simulate, train

images, folder = sys.argv[1:]
everyone = simulate(Fleet(clients=100, harvest=Bernoulli(0.5)), AlwaysOn(100), rounds=2)
task = load_task({"name": "cifar10", "data": images})
train(task, everyone, local_steps=1, batch_size=1, step_size=0.01, aggregation="scaffold", run_dir=folder,
      checkpoint_every=1, eval_every=2, device="cpu", workers=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def write_images(folder: Path) -> None:
    """Write random images in CIFAR-10's binary format: a label and 3,072 bytes each."""
    rng = np.random.default_rng(0)
    for name in (*TRAINING, *TEST):
        content = rng.integers(0, 256, (RECORDS, 3073), dtype=np.uint8)
        content[:, 0] %= 10
        (folder / name).write_bytes(content.tobytes())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux alone")
def test_a_hundred_clients_with_the_papers_network_fit_into_two_and_a_half_gibibytes(tmp_path: Path) -> None:
    images = tmp_path / "images"
    images.mkdir()
    write_images(images)

    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(images), str(tmp_path / "run")], check=True, capture_output=True, text=True
    )

    assert 1024 * int(ended.stdout) < 2.5 * GIBIBYTE
