from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl.learning import (
    DirichletPartitioner,
    IidPartitioner,
    InLabelOrder,
    Partitioner,
    ShardPartitioner,
    make_partitioner,
)

PARTITIONERS: list[Partitioner] = [
    IidPartitioner(),
    DirichletPartitioner(0.5, min_partition_size=1),
    ShardPartitioner(),
    InLabelOrder(DirichletPartitioner(0.5, min_partition_size=1)),
]
LABELS = np.arange(1000) % 10


@pytest.mark.parametrize("partitioner", PARTITIONERS, ids=lambda p: type(p).__name__)
class TestEveryPartitioner:
    @settings(max_examples=30, deadline=None)
    @given(labels=st.lists(st.integers(0, 4), min_size=40, max_size=90), clients=st.integers(1, 5))
    def test_is_disjoint_and_loses_nothing(self, partitioner: Partitioner, labels: list[int], clients: int) -> None:
        parts = partitioner.partition(np.array(labels), clients, seed=3)

        assert len(parts) == clients
        assert min(part.size for part in parts) >= 1
        assert sorted(np.concatenate(parts).tolist()) == list(range(len(labels)))

    def test_is_a_function_of_the_seed(self, partitioner: Partitioner) -> None:
        first, again, other = (partitioner.partition(LABELS, 5, seed) for seed in (1, 1, 2))

        assert all((a == b).all() for a, b in zip(first, again, strict=True))
        assert any(a.size != b.size or (a != b).any() for a, b in zip(first, other, strict=True))

    def test_refuses_more_clients_than_examples(self, partitioner: Partitioner) -> None:
        with pytest.raises(ValueError, match="partition must be possible with 3 examples"):
            partitioner.partition(np.array([0, 1, 2]), 4, seed=0)

    def test_refuses_labels_that_are_not_labels(self, partitioner: Partitioner) -> None:
        with pytest.raises(ValueError, match="labels must be whole numbers"):
            partitioner.partition(np.linspace(0, 1, 50), 2, seed=0)  # type: ignore[arg-type]


def test_iid_shares_are_equal() -> None:
    assert sorted(part.size for part in IidPartitioner().partition(LABELS[:998], 5, seed=0)) == [
        199,
        199,
        200,
        200,
        200,
    ]


def test_shards_give_each_client_few_classes() -> None:
    parts = ShardPartitioner(num_shards_per_partition=2).partition(LABELS, 10, seed=0)

    # 20 shards of 50 cut 10 classes of 100 without a seam
    assert all(np.unique(LABELS[part]).size <= 2 and part.size == 100 for part in parts)


def test_dirichlet_goes_from_one_class_each_to_equal_shares() -> None:
    def largest_share(alpha: float) -> float:
        parts = DirichletPartitioner(alpha, min_partition_size=1).partition(LABELS, 5, seed=0)
        return float(np.mean([np.bincount(LABELS[part]).max() / part.size for part in parts]))

    assert largest_share(0.01) > 0.5
    assert largest_share(1e6) == pytest.approx(0.1, abs=0.01)


def test_dirichlet_shares_have_the_mean_and_variance_of_the_law() -> None:
    alpha, clients, draws = 0.8, 4, 400
    labels = np.zeros(1000, dtype=np.int64)
    shares = np.array([
        [part.size / 1000 for part in DirichletPartitioner(alpha, 1).partition(labels, clients, seed)]
        for seed in range(draws)
    ])  # fmt: skip
    variance = (1 / clients) * (1 - 1 / clients) / (clients * alpha + 1)

    # five standard errors of a mean; the variance of a bounded share is at most as uncertain as 5 / sqrt(draws) of it
    assert shares.mean(axis=0) == pytest.approx(np.full(clients, 0.25), abs=5 * np.sqrt(variance / draws))
    assert shares.var() == pytest.approx(variance, rel=5 / np.sqrt(draws))


def test_dirichlet_draws_again_until_everyone_has_enough() -> None:
    parts = DirichletPartitioner(0.3, min_partition_size=40).partition(LABELS, 5, seed=0)

    assert min(part.size for part in parts) >= 40


def test_dirichlet_says_when_enough_is_out_of_reach() -> None:
    with pytest.raises(ValueError, match=r"min_partition_size must be reachable .* alpha 0.001"):
        DirichletPartitioner(0.001, min_partition_size=10).partition(np.zeros(100, dtype=np.int64), 5, seed=0)


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("inf"), float("nan")])
def test_alpha_out_of_range_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha must be a finite number > 0"):
        DirichletPartitioner(alpha)


@settings(max_examples=30)
@given(labels=st.lists(st.integers(0, 4), min_size=40, max_size=90), clients=st.integers(1, 5), seed=st.integers(0, 99))
def test_in_label_order_the_same_shares_go_by_their_mean_label(labels: list[int], clients: int, seed: int) -> None:
    dealer, told = DirichletPartitioner(0.3, min_partition_size=1), np.array(labels)
    shares, ordered = (p.partition(told, clients, seed) for p in (dealer, InLabelOrder(dealer)))
    means = [float(told[share].mean()) for share in ordered]

    assert means == sorted(means)
    assert sorted(share.tolist() for share in ordered) == sorted(share.tolist() for share in shares)


def test_label_order_by_hand() -> None:
    class Dealer:
        def partition(self, labels: np.ndarray, n_clients: int, seed: int) -> list[np.ndarray]:
            return [np.array([0, 4]), np.array([1]), np.array([2, 3])]  # mean labels 4.5, 0 and 2

    parts = InLabelOrder(Dealer()).partition(np.array([9, 0, 1, 3, 0]), 3, seed=0)

    assert [part.tolist() for part in parts] == [[1], [2, 3], [0, 4]]


def test_partitioners_by_name() -> None:
    assert make_partitioner("iid") == IidPartitioner()
    assert make_partitioner("dirichlet:0.3") == DirichletPartitioner(alpha=0.3)
    assert make_partitioner("shards:3") == ShardPartitioner(num_shards_per_partition=3)


@pytest.mark.parametrize(
    "text", ["", "idd", "iid:2", "dirichlet", "dirichlet:", "dirichlet:x", "dirichlet:0", "dirichlet:inf", "shards",
             "shards:0", "shards:1.5", "shards:-1"],
)  # fmt: skip
def test_a_partitioner_of_another_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        make_partitioner(text)

    assert str(caught.value) == f"partition must be iid, dirichlet:ALPHA (> 0) or shards:N (>= 1), got {text}"
