"""F3ast: who was chosen least of late, and weights that make up for it."""

from __future__ import annotations

from dataclasses import dataclass

from ehfl.arrays import FloatArray, IntArray
from ehfl.scheduling.view import Auto, View, check_width
from ehfl.validation import number_in


@dataclass(frozen=True, slots=True)
class F3ast:
    """Of those who can pay, the `target` that took part least of late; a turn counts by how rare they are.

    r_i(t) = (1 - rate) r_i(t-1) + rate 1{i in S_t}; S_t maximises sum p_i^2 / r_i(t-1)^2; weight N p_i / r_i(t).

    M. Ribero, H. Vikalo and G. de Veciana, "Federated learning under intermittent client availability and time-varying
    communication constraints", IEEE JSTSP 2023, arXiv 2205.06730: the steepest way down for the variance that sampling
    adds, sum p_i^2 / r_i, with weights that keep the step unbiased once r_i is how often client i takes part. That
    weights are by r_i(t), with round t in it, is as in the authors' code (mriberodiaz/f3ast). Here all clients are to
    count alike, p_i = 1/N; whoever can pay is available; ties are broken at random; r_i(-1) = target/N, as if all had
    been chosen equally often, so that the first steps are as long as a mean's (the code begins with 1/N, and divides by
    the number of participants). `rate` is the paper's beta; the authors' 0.001 is for thousands of rounds. Weights need
    the aggregation `scheduled`.
    """

    target: int | Auto = "auto"
    rate: float = 0.01

    def __post_init__(self) -> None:
        check_width("target", self.target)
        number_in("rate", self.rate, "[1e-9, 1]")

    def select(self, view: View) -> IntArray:
        """Return those who can pay and were chosen least of late."""
        able = view.able()
        return view.first(able, self._rates(view)[able], view.width("target", self.target))

    def weights(self, view: View, clients: IntArray) -> FloatArray:
        """Return 1 / r_i, with this round's turn in it."""
        return 1 / ((1 - self.rate) * self._rates(view)[clients] + self.rate)

    def _rates(self, view: View) -> FloatArray:
        """Return r_i(t-1), (n_clients,)."""
        begun = view.width("target", self.target) / view.energy.size
        return (1 - self.rate) ** view.round * begun + view.recent(self.rate)
