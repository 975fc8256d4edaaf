"""A spec as it goes to Flower: its name, the labels of its arms, and a step size that devices allow."""

from __future__ import annotations

from dataclasses import replace

from ehfl.experiment import Run, Spec, building
from ehfl.experiment.values import plain_label
from ehfl.flower.bundle import Bundle
from ehfl.validation import InvalidValue, renamed, whole_number

_NAME, _LABEL = "-flower", " on Flower"
_LONGEST_NAME = 73  # a folder's has 80 characters at most


def for_flower(spec: Spec) -> Spec:
    """Return the spec under a name and labels of its own, so that its runs can stand beside those of one process.

    >>> from ehfl.experiment import read_spec
    >>> spec = for_flower(read_spec({}, ["learning.step_size=nominal-causal"]))
    >>> spec.name, spec.arms[0].label
    ('demo-flower', 'myopic on Flower')
    >>> for_flower(spec) == spec
    True
    """
    for arm in spec.arms:
        with renamed(arm.key_of):
            building.check_causal_steps(arm.setting, "nobody knows yet which devices will be there")
    if spec.name.endswith(_NAME) and all(arm.label.endswith(_LABEL) for arm in spec.arms):
        return spec  # what a folder of Flower's has kept
    if len(spec.name) > _LONGEST_NAME:
        raise InvalidValue("name", f"at most {_LONGEST_NAME} characters on Flower, which adds some", spec.name)
    labels = [plain_label(f"{arm.label}{_LABEL}", f"{arm.place}.label") for arm in spec.arms]
    arms = tuple(replace(arm, label=label) for arm, label in zip(spec.arms, labels, strict=True))
    return replace(spec, name=f"{spec.name}{_NAME}", arms=arms)


def one_run(spec: Spec, arm: object = None, seed: object = None) -> Spec:
    """Return the spec with one arm and one seed, the first of each unless named."""
    labels = [one.label for one in spec.arms]
    if arm is not None and arm not in labels:
        raise InvalidValue("arm", f"one of {', '.join(labels)}", arm)
    chosen = spec.arms[0 if arm is None else labels.index(str(arm))]
    first = spec.seeds[0] if seed is None else whole_number("seed", seed, low=0)  # type: ignore[arg-type]
    return replace(spec, arms=(chosen,), seeds=(first,))


def bundle_of(spec: Spec) -> Bundle:
    """Return what nodes know of a spec; its user classes are looked for where the spec has them."""
    arms = {arm.label: Run(spec, arm, spec.seeds[0]).facts() for arm in spec.arms}
    return Bundle.of(arms, spec.code)
