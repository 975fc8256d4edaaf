"""The public names of the room."""

from .check import (
    check_comparison as check_comparison,
    check_harvests as check_harvests,
    check_schedulers as check_schedulers,
)
from .run.compare import compare as compare, run_all as run_all
from .run.execute import (
    Outcome as Outcome,
    execute as execute,
    played_by as played_by,
    run_training as run_training,
)
from .run.folder import State as State
from .run.inputs import inputs_of as inputs_of
from .run.workers import begin_process as begin_process
from .spec.models import Arm as Arm, Run as Run, Setting as Setting, Spec as Spec
from .spec.models import SpecError as SpecError  # type: ignore[attr-defined]  # which is of another room, validation
from .spec.read import make_spec as make_spec, read_spec as read_spec, write_spec as write_spec
from .theorem import covered as covered
