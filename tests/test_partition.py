from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl.arrays import IntArray
from ehfl.partition import PARTITIONS, Dirichlet, Iid, InLabelOrder, Natural, Partition, Shards, check_partition, deal
from ehfl.validation import BrokenRules, InvalidValue

DEALERS: list[Partition] = [
    Iid(),
    Dirichlet(0.5, min_partition_size=1),
    Shards(),
    InLabelOrder(Dirichlet(0.5, min_partition_size=1)),
]
LABELS = np.arange(1000) % 10


@pytest.mark.parametrize("dealer", DEALERS, ids=lambda dealer: type(dealer).__name__)
class TestEveryPartition:
    @settings(max_examples=30, deadline=None)
    @given(labels=st.lists(st.integers(0, 4), min_size=40, max_size=90), clients=st.integers(1, 5))
    def test_is_disjoint_and_loses_nothing(self, dealer: Partition, labels: list[int], clients: int) -> None:
        parts = dealer.partition(np.array(labels), clients, seed=3)

        assert len(parts) == clients
        assert min(part.size for part in parts) >= 1
        assert sorted(np.concatenate(parts).tolist()) == list(range(len(labels)))

    def test_is_a_function_of_the_seed(self, dealer: Partition) -> None:
        first, again, other = (dealer.partition(LABELS, 5, seed) for seed in (1, 1, 2))

        assert all((a == b).all() for a, b in zip(first, again, strict=True))
        assert any(a.size != b.size or (a != b).any() for a, b in zip(first, other, strict=True))

    def test_refuses_more_clients_than_examples(self, dealer: Partition) -> None:
        with pytest.raises(InvalidValue, match=r"clients must be at most [13] \((the|3) examples.*, got 4$"):
            dealer.partition(np.array([0, 1, 2]), 4, seed=0)

    def test_refuses_a_fleet_without_clients(self, dealer: Partition) -> None:
        with pytest.raises(InvalidValue, match="clients must be a whole number >= 1, got 0"):
            dealer.partition(LABELS, 0, seed=0)

    def test_keeps_the_rules(self, dealer: Partition) -> None:
        check_partition(dealer)


@pytest.mark.parametrize("shape", [(50,), (50, 1), (50, 3)])
class TestRealValuedTargets:
    def test_are_dealt_by_iid_as_labels_are(self, shape: tuple[int, ...]) -> None:
        targets = np.random.default_rng(0).normal(size=shape)

        of_targets, of_labels = (Iid().partition(given, 4, seed=3) for given in (targets, np.arange(50) % 3))

        assert [share.tolist() for share in of_targets] == [share.tolist() for share in of_labels]
        means = [float(targets[share].mean()) for share in InLabelOrder(Iid()).partition(targets, 4, seed=3)]
        assert means == sorted(means)

    @pytest.mark.parametrize("dealer", [Dirichlet(0.5), Shards(), InLabelOrder(Shards())])
    def test_are_refused_by_those_that_need_classes(self, dealer: Partition, shape: tuple[int, ...]) -> None:
        with pytest.raises(InvalidValue) as refused:
            deal(dealer, np.zeros(shape, np.float32), 2, seed=0)

        assert str(refused.value).startswith(
            "partition must be iid or a user class where targets are not labels: "
            "dirichlet and shards need whole numbers, got "
        )
        assert str(refused.value).endswith(f" for float32 of shape {shape}")


# deals that break the rules


class Mine:
    """A user's own partition that deals what it was told to."""

    def __init__(self, dealt: object) -> None:
        self.dealt = dealt

    def partition(self, targets: IntArray, n_clients: int, seed: int) -> Any:
        return self.dealt


ONCE = "one that deals every example to one client"
BROKEN: list[tuple[object, str, str]] = [
    ([[0, 1, 2], [2, 3]], ONCE, "example 2 dealt to clients 0 and 1"),
    ([[0, 1, 1], [2, 3]], ONCE, "example 1 dealt twice to client 0"),
    ([[0, 1], [3]], ONCE, "1 of 4 examples not dealt, such as 2"),
    ([[0, 1, 2, 3], []], "one that gives every client an example", "none for client 1"),
    ([[0, 1], [2, 4]], "one that returns example numbers in [0, 3]", "4 for client 1"),
    ([[0, -1], [2, 3]], "one that returns example numbers in [0, 3]", "-1 for client 0"),
    ([[0.0, 1.0], [2, 3]], "one that returns lists of whole numbers", "float64 of shape (2,) for client 0"),
    ([[[0, 1]], [2, 3]], "one that returns lists of whole numbers", "int64 of shape (1, 2) for client 0"),
    ([[True, False], [2, 3]], "one that returns lists of whole numbers", "bool of shape (2,) for client 0"),
    ([["a"], [2, 3]], "one that returns lists of whole numbers", "<U1 of shape (1,) for client 0"),
    ([[0, 1, 2, 3]], "one that returns a list of example numbers for each of 2 clients", "1 lists"),
    ([[0], [1], [2, 3]], "one that returns a list of example numbers for each of 2 clients", "3 lists"),
    (None, "one that returns a list of example numbers for each of 2 clients", "None"),
    ([[[0], [1, 2]], [3]], "one that returns lists of whole numbers", "object of shape () for client 0"),
]


@pytest.mark.parametrize(("dealt", "allowed", "given"), BROKEN)
def test_a_deal_that_breaks_the_rules_is_refused_in_one_line(dealt: object, allowed: str, given: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        deal(Mine(dealt), np.zeros(4, np.int64), 2, seed=7)
    with pytest.raises(BrokenRules) as told:
        check_partition(Mine(dealt), targets=np.zeros(4, np.int64), clients=2, seed=7)

    assert str(refused.value) == f"partition must be {allowed}, got {given} (Mine, seed 7)"
    assert told.value.faults == (f"must be {allowed}, got {given} (Mine, seed 7)",)


def test_shares_in_any_order_and_of_any_whole_type_are_taken() -> None:
    dealt = deal(Mine((np.array([3, 0], np.uint8), [2, 1])), np.zeros(4), 2, seed=0)

    assert [share.tolist() for share in dealt] == [[3, 0], [2, 1]]
    assert {share.dtype for share in dealt} == {np.dtype(np.int64)}


@pytest.mark.parametrize(
    ("partition", "fault"),
    [
        (lambda targets, n, seed: np.array_split(np.random.default_rng().permutation(len(targets)), n),
         "is not reproducible: seed 0, asked twice, client 0 got other examples the second time"),
        (lambda targets, n, seed: targets.sort() or Iid().partition(targets, n, seed),
         "fails: seed 0, ValueError: sort array is read-only "),
        (lambda targets, n, seed: 1 // seed, "fails: seed 0, ZeroDivisionError: integer division or modulo by zero "),
        (lambda targets, n, seed: sys.exit(), "fails: seed 0, SystemExit"),
        (lambda targets, n, seed: Iid().partition(targets, n, seed) if seed == 0 else None,
         "must be one that returns a list of example numbers for each of 10 clients, got None (Own, seed 1)"),
        (lambda targets, n, seed: Dirichlet(1.0, 41).partition(targets, n, seed), "fails: seed 0, clients must be "),
    ],
)  # fmt: skip
def test_what_a_single_deal_does_not_show_is_told_by_the_check(partition: Any, fault: str) -> None:
    class Own:
        def partition(self, targets: IntArray, n_clients: int, seed: int) -> Any:
            return partition(targets, n_clients, seed)

    with pytest.raises(BrokenRules, match=r"^Own breaks the rules:") as told:
        check_partition(Own())
    (found,) = told.value.faults
    assert found.startswith(fault)
    assert any(raised in fault for raised in ("Zero", "Exit", "read-only")) == ("(test_partition.py:" in found)


def test_the_largest_seed_has_a_next_one() -> None:
    check_partition(Iid(), seed=2**64 - 1)


def test_the_targets_of_a_task_cannot_be_changed_by_who_deals_them() -> None:
    class Sorts:
        def partition(self, targets: IntArray, n_clients: int, seed: int) -> Any:
            targets.sort()

    targets = np.array([2, 1, 0])
    with pytest.raises(ValueError, match="read-only"):
        deal(Sorts(), targets, 1, seed=0)
    assert targets.tolist() == [2, 1, 0]


def test_iid_shares_are_equal() -> None:
    sizes = [part.size for part in Iid().partition(LABELS[:998], 5, seed=0)]

    assert sorted(sizes) == [199, 199, 200, 200, 200]


def test_shards_give_each_client_few_classes() -> None:
    parts = Shards(num_shards_per_partition=2).partition(LABELS, 10, seed=0)

    # 20 shards of 50 cut 10 classes of 100 without a seam
    assert all(np.unique(LABELS[part]).size <= 2 and part.size == 100 for part in parts)


def test_dirichlet_goes_from_one_class_each_to_equal_shares() -> None:
    def largest_share(alpha: float) -> float:
        parts = Dirichlet(alpha, min_partition_size=1).partition(LABELS, 5, seed=0)
        return float(np.mean([np.bincount(LABELS[part]).max() / part.size for part in parts]))

    assert largest_share(0.01) > 0.5
    assert largest_share(1e6) == pytest.approx(0.1, abs=0.01)


def test_dirichlet_shares_have_the_mean_and_variance_of_the_law() -> None:
    alpha, clients, draws = 0.8, 4, 400
    labels = np.zeros(1000, dtype=np.int64)
    shares = np.array([
        [part.size / 1000 for part in Dirichlet(alpha, 1).partition(labels, clients, seed)]
        for seed in range(draws)
    ])  # fmt: skip
    variance = (1 / clients) * (1 - 1 / clients) / (clients * alpha + 1)

    # five standard errors of a mean; the variance of a bounded share is at most as uncertain as 5 / sqrt(draws) of it
    assert shares.mean(axis=0) == pytest.approx(np.full(clients, 0.25), abs=5 * np.sqrt(variance / draws))
    assert shares.var() == pytest.approx(variance, rel=5 / np.sqrt(draws))


def test_dirichlet_draws_again_until_everyone_has_enough() -> None:
    parts = Dirichlet(0.3, min_partition_size=40).partition(LABELS, 5, seed=0)

    assert min(part.size for part in parts) >= 40


def test_dirichlet_says_when_enough_is_out_of_reach() -> None:
    with pytest.raises(InvalidValue) as caught:
        Dirichlet(0.001, min_partition_size=10).partition(np.zeros(100, dtype=np.int64), 5, seed=0)

    assert str(caught.value) == (
        "alpha must be so large that at least 10 of the 100 examples for each of 5 clients is reachable, "
        "got 0.001: 1000 draws of seed 0 failed (take a larger alpha, a smaller min_partition_size or fewer clients)"
    )


@pytest.mark.parametrize(
    ("dealer", "clients", "message"),
    [
        (Iid(), 31, "clients must be at most 30 (the examples), got 31"),
        (Dirichlet(1.0), 4, "clients must be at most 3 (30 examples, at least 10 for each client), got 4"),
        (Shards(4), 8, "clients must be at most 7 (30 examples, at least 4 for each client), got 8"),
        (Dirichlet(1.0, min_partition_size=31), 1, "min_partition_size must be at most 30 (the examples), got 31"),
        (Shards(31), 1, "num_shards_per_partition must be at most 30 (the examples), got 31"),
    ],
)
def test_too_few_examples_are_told_with_what_they_are_enough_for(dealer: Partition, clients: int, message: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        dealer.partition(LABELS[:30], clients, seed=0)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("dealer", "shares"),
    [
        (Iid(), [[2, 5, 8, 10], [0, 4, 6, 9], [1, 3, 7, 11]]),
        (Dirichlet(0.5, min_partition_size=1), [[1, 4, 5, 7], [8], [0, 2, 3, 6, 9, 10, 11]]),
        (Shards(2), [[1, 2, 5, 7], [6, 8, 9, 11], [0, 3, 4, 10]]),
    ],
)
def test_the_shares_are_those_that_published_runs_were_dealt(dealer: Partition, shares: list[list[int]]) -> None:
    assert [part.tolist() for part in dealer.partition(np.arange(12) % 3, 3, seed=0)] == shares


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("inf"), float("nan")])
def test_alpha_out_of_range_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match=r"alpha must be a number in \(0, 1e9\]"):
        Dirichlet(alpha)


@settings(max_examples=30)
@given(labels=st.lists(st.integers(0, 4), min_size=40, max_size=90), clients=st.integers(1, 5), seed=st.integers(0, 99))
def test_in_label_order_the_same_shares_go_by_their_mean_label(labels: list[int], clients: int, seed: int) -> None:
    dealer, examples = Dirichlet(0.3, min_partition_size=1), np.array(labels)
    shares, ordered = (dealt.partition(examples, clients, seed) for dealt in (dealer, InLabelOrder(dealer)))
    means = [float(examples[share].mean()) for share in ordered]

    assert means == sorted(means)
    assert sorted(share.tolist() for share in ordered) == sorted(share.tolist() for share in shares)


def test_label_order_by_hand() -> None:
    class Dealer:
        def partition(self, labels: IntArray, n_clients: int, seed: int) -> list[IntArray]:
            return [np.array([0, 4]), np.array([1]), np.array([2, 3])]  # mean labels 4.5, 0 and 2

    parts = InLabelOrder(Dealer()).partition(np.array([9, 0, 1, 3, 0]), 3, seed=0)

    assert [part.tolist() for part in parts] == [[1], [2, 3], [0, 4]]


# the registry

BY_TEXT: dict[str, Partition] = {
    "iid": Iid(),
    "dirichlet:0.3": Dirichlet(0.3),
    "shards:3": Shards(3),
    "natural": Natural(),
}

ALL = "iid, dirichlet, shards, natural or package.module:Class"


def test_every_registered_partition_is_tried_here() -> None:
    assert [text.partition(":")[0] for text in BY_TEXT] == list(PARTITIONS.members)


@pytest.mark.parametrize("text", BY_TEXT)
def test_a_partition_is_made_from_its_short_form_and_spelled_out_again(text: str) -> None:
    table = PARTITIONS.spelled_out(text)

    assert PARTITIONS.make(text) == PARTITIONS.make(table) == BY_TEXT[text]
    assert PARTITIONS.text(PARTITIONS.table(text)) == text


def test_spelled_out_names_every_parameter() -> None:
    assert PARTITIONS.spelled_out("dirichlet:0.3") == {"name": "dirichlet", "alpha": 0.3, "min_partition_size": 10}
    assert PARTITIONS.spelled_out("shards") == {"name": "shards", "num_shards_per_partition": 2}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", f"partition must be one of {ALL}, got ''"),
        (
            "idd",
            f"partition must be one of {ALL}, got idd (did you mean iid?)",
        ),
        ("iid:2", "partition must be iid without parameters: it takes none, got iid:2"),
        ("dirichlet", "partition.alpha must be given: dirichlet needs it, got nothing"),
        ("dirichlet:x", "partition.alpha must be a number, got 'x'"),
        ("dirichlet:0", "partition.alpha must be a number in (0, 1e9], got 0"),
        ("dirichlet:inf", "partition.alpha must be a number in (0, 1e9], got inf"),
        (
            {"name": "dirichlet", "alpha": 1.0, "min_partition_size": 0},
            "partition.min_partition_size must be a whole number >= 1, got 0",
        ),
        ("shards:1.5", "partition.num_shards_per_partition must be a whole number, got 1.5"),
        ("shards:-1", "partition.num_shards_per_partition must be a whole number >= 1, got -1"),
        (
            {"name": "dirichlet", "alhpa": 1.0},
            "partition.alhpa must be a parameter of dirichlet, one of alpha, min_partition_size, "
            "got alhpa (did you mean alpha?)",
        ),
    ],
)
def test_a_partition_that_cannot_be_made_is_refused_in_one_line(given: object, message: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        PARTITIONS.make(given)

    assert str(caught.value) == message
