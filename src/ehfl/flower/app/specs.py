"""A spec adapted for Flower: its name, the labels of its arms, and a check of its step sizes."""

from __future__ import annotations

from dataclasses import replace

from ehfl.experiment import Run, Spec
from ehfl.experiment.spec import build
from ehfl.experiment.spec.values import plain_label
from ehfl.flower.app.bundle import Bundle
from ehfl.validation import InvalidValue, renamed, whole_number

_NAME, _LABEL = "-flower", " on Flower"
_LONGEST_NAME = 73  # a folder's has 80 characters at most


def for_flower(spec: Spec) -> Spec:
    """Return the spec with a different name and labels, so that its runs can be compared with those in one process.

    >>> from ehfl.experiment import read_spec
    >>> spec = for_flower(read_spec({}, ["learning.step_size=nominal-causal"]))
    >>> spec.name, spec.arms[0].label
    ('demo-flower', 'myopic on Flower')
    >>> for_flower(spec) == spec
    True
    """
    for arm in spec.arms:
        with renamed(arm.key_of):
            build.check_causal_steps(arm.setting, "it is not known in advance which devices will answer")
    if spec.name.endswith(_NAME) and all(arm.label.endswith(_LABEL) for arm in spec.arms):
        return spec  # already adapted: it was read from a run folder
    if len(spec.name) > _LONGEST_NAME:
        raise InvalidValue("name", f"at most {_LONGEST_NAME} characters on Flower, which adds some", spec.name)
    labels = [plain_label(f"{arm.label}{_LABEL}", f"{arm.place}.label") for arm in spec.arms]
    arms = tuple(replace(arm, label=label) for arm, label in zip(spec.arms, labels, strict=True))
    return replace(spec, name=f"{spec.name}{_NAME}", arms=arms)


def one_run(spec: Spec, arm: object = None, seed: object = None) -> Spec:
    """Return the spec with one arm and one seed; the defaults are the first ones."""
    labels = [one.label for one in spec.arms]
    if arm is not None and arm not in labels:
        raise InvalidValue("arm", f"one of {', '.join(labels)}", arm)
    chosen = spec.arms[0 if arm is None else labels.index(str(arm))]
    first = spec.seeds[0] if seed is None else whole_number("seed", seed, low=0)  # type: ignore[arg-type]
    return replace(spec, arms=(chosen,), seeds=(first,))


def bundle_of(spec: Spec) -> Bundle:
    """Return the spec's bundle for nodes; user classes are imported from the spec's code folder."""
    arms = {arm.label: Run(spec, arm, spec.seeds[0]).facts() for arm in spec.arms}
    return Bundle.of(arms, spec.code)
