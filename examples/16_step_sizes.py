"""
Step size rules
===============

Every step size rule on the same participation: what the participants of each round use.
"""

import matplotlib.pyplot as plt

import ehfl
from ehfl.theory import step_size_of

counts = ehfl.simulate(ehfl.Fleet(clients=10, harvest=ehfl.Bernoulli(0.5)), "greedy", rounds=60).counts

# %%
# The paper's rule, `nominal`, follows sqrt(n_t) within windows of ten rounds; causal rules know the past alone.
figure, (above, below) = plt.subplots(2, 1, figsize=(7.5, 5), sharex=True, layout="constrained")
above.bar(range(60), counts, color="#9ecae1")
above.set_ylabel("participants")
for name in ("nominal", "nominal-causal", "linear", "linear-causal"):
    below.plot(step_size_of(name)(counts), label=name)
below.set(xlabel="round", ylabel="step size")
below.legend()
