"""`initialise` draws every layer from its generator, so that models of all kinds train the same again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ehfl.learning import Examples, check_task, initialise, train
from ehfl.learning.first_model import first_model
from ehfl.learning.tasks.contract import accuracy
from ehfl.randomness import Purpose, generator
from ehfl.runs import Metric
from ehfl.scheduling import Participation


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(12, 6)
        self.memory = nn.LSTM(6, 5, batch_first=True)
        self.out = nn.Linear(5, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        found: Tensor = self.out(self.memory(self.words(tokens))[0][:, -1])
        return found


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(12, 8)
        self.block = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, dropout=0.0, batch_first=True)
        self.out = nn.Linear(8, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        found: Tensor = self.out(self.block(self.words(tokens)).mean(dim=1))
        return found


class Scaled(nn.Module):
    """A user layer that draws its own parameter, in the way of torch's, and has a layer inside."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 12)
        self.scale = nn.Parameter(torch.empty(4, 3))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.inner.reset_parameters()
        nn.init.normal_(self.scale)

    def forward(self, tokens: Tensor) -> Tensor:
        return tokens.float() @ self.inner.weight.T.view(4, 12) @ self.inner.weight @ self.scale


@dataclass(frozen=True, eq=False)
class Sequences:
    """Which of three kinds a sequence of four tokens is of: its first token says it."""

    kind: type[nn.Module]
    name: ClassVar[str] = "sequences"
    metric: ClassVar[Metric] = Metric("accuracy", bounds=(0, 1))
    training: Examples = field(init=False)
    test: Examples = field(init=False)

    def __post_init__(self) -> None:
        tokens = torch.from_numpy(np.random.default_rng(3).integers(12, size=(96, 4)))
        for part in ("training", "test"):
            object.__setattr__(self, part, Examples(tokens, tokens[:, 0] % 3))

    def model(self, rng: np.random.Generator) -> nn.Module:
        return initialise(self.kind(), rng)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return nn.functional.cross_entropy(outputs, targets)

    def score(self, outputs: Tensor, targets: Tensor) -> float:
        return accuracy(outputs, targets)


@pytest.mark.parametrize("kind", [Recurrent, Attention])
def test_embeddings_recurrent_layers_and_attention_train_the_same_again(
    kind: type[nn.Module], gaps: Participation
) -> None:
    """They were refused as irreproducible, though `initialise` was used."""
    task = Sequences(kind)
    check_task(task)
    one, again, other = (train(task, gaps, step_size=0.5, seed=seed, eval_every=1) for seed in (0, 0, 1))

    assert one.records == again.records
    assert one.records != other.records
    assert one.records[-1].test_loss != one.records[0].first_loss


LAYERS: list[Any] = [
    lambda: nn.Embedding(5, 3, padding_idx=1),
    lambda: nn.EmbeddingBag(5, 3),
    lambda: nn.LSTM(3, 4, num_layers=2),
    lambda: nn.GRU(3, 4),
    lambda: nn.RNNCell(3, 4),
    lambda: nn.MultiheadAttention(4, 2),
    lambda: nn.MultiheadAttention(4, 2, kdim=3, vdim=5),
    lambda: nn.Bilinear(2, 3, 4),
    lambda: nn.ConvTranspose2d(2, 3, 3),
    lambda: nn.Transformer(4, 2, 1, 1, 8, batch_first=True),
    Scaled,
]


@pytest.mark.parametrize("make", LAYERS)
def test_every_layer_with_a_reset_is_drawn_from_the_generator(make: Any) -> None:
    drawn = [initialise(make(), generator(seed, Purpose.INIT)).state_dict() for seed in (0, 0, 1)]

    for name, value in drawn[0].items():
        assert torch.equal(value, drawn[1][name]), name
    assert any(not torch.equal(value, drawn[2][name]) for name, value in drawn[0].items())


def test_torchs_own_generator_is_left_as_it_was() -> None:
    model = Recurrent()
    before = torch.get_rng_state()
    initialise(model, generator(0, Purpose.INIT))

    assert torch.equal(torch.get_rng_state(), before)


def test_linear_layers_have_the_values_that_they_have_without_others_beside_them() -> None:
    alone = initialise(nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)), generator(0, Purpose.INIT))
    among = initialise(
        nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 4), nn.LSTM(4, 4), nn.Linear(4, 2)), generator(0, Purpose.INIT)
    )

    values, there = alone.state_dict(), among.state_dict()
    for mine, theirs in (("0", "1"), ("1", "3")):
        assert all(torch.equal(values[f"{mine}.{part}"], there[f"{theirs}.{part}"]) for part in ("weight", "bias"))


def test_a_norm_that_a_model_sets_before_stays_as_it_is() -> None:
    norm = nn.LayerNorm(3)
    nn.init.zeros_(norm.weight)

    initialise(nn.Sequential(nn.Linear(3, 3), norm), generator(0, Purpose.INIT))

    assert norm.weight.tolist() == [0, 0, 0]


class Positions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.place = nn.Parameter(torch.randn(4, 3))

    def forward(self, tokens: Tensor) -> Tensor:
        return tokens.float() @ self.place


def test_a_model_drawn_by_torch_is_a_function_of_the_seed_and_leaves_torchs_generator_alone() -> None:
    before = torch.random.get_rng_state()
    one, same, other = (first_model(Sequences(Positions), seed).state_dict()["place"] for seed in (0, 0, 1))

    assert torch.equal(one, same) and not torch.equal(one, other)
    assert torch.equal(torch.random.get_rng_state(), before)
