"""
What a round costs
==================

Joules of one client's turn by part: five local steps on batches of 50 with the demo's network on digits, for each known
device with the same radio. The figures come from measurements that ``ehfl devices --full`` names.
"""

import matplotlib.pyplot as plt
import numpy as np

import ehfl
from ehfl.energy import device_of, devices, radio_of, round_cost

model = ehfl.load_task("digits").model(np.random.default_rng(0))
size = sum(4 * weight.numel() for weight in model.parameters())  # [bytes]
radio = radio_of("esp32-wifi-mqtt")
costs = {
    name: round_cost(device_of(name), radio, model_bytes=size, samples=250, flop_per_sample=127_488)
    for name in devices()
}

# %%
# The slow Cortex-M0+ spends ten times as much on computing as on the radio. On the others the session of the
# radio is the larger part, so more local steps cost little.
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
left = dict.fromkeys(costs, 0.0)
for part in ("computing", "session", "upload", "download"):
    values = {name: getattr(cost, part) for name, cost in costs.items()}
    axes.barh(list(costs), list(values.values()), left=list(left.values()), label=part)
    left = {name: left[name] + values[name] for name in costs}
axes.set(xlabel="energy of a turn [J]")
axes.legend()
