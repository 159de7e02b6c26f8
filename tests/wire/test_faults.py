"""The table of faults is complete: the whole tree of errors, and every modelled error of SQS."""

import botocore.session
import pytest

from dovemq.core.errors import (
    BatchRefused,
    DoveError,
    JobMissing,
    JobRefused,
    RequestError,
    TaskMissing,
    WorkflowInvalid,
    WorkflowMissing,
)
from dovemq.sqs.faults import FAULTS, NEVER_GIVEN, fault_of

NEVER_RAISED = (DoveError, RequestError, BatchRefused)
OF_THE_ADMIN_API = (JobMissing, JobRefused, TaskMissing, WorkflowInvalid, WorkflowMissing)


def tree(kind: type[DoveError]) -> list[type[DoveError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in tree(below))]


def modelled() -> set[str]:
    model = botocore.session.get_session().get_service_model("sqs")
    shapes = (model.shape_for(name) for name in model.shape_names)
    return {shape.name for shape in shapes if shape.metadata.get("exception")}


def reaches_the_wire(kind: type[DoveError]) -> bool:
    """The errors that requests of SQS can get; layers above the wire have others."""
    if kind in OF_THE_ADMIN_API:
        return False
    return kind.__module__.startswith(("dovemq.core.", "dovemq.sqs.", "dovemq.service."))


@pytest.mark.parametrize(
    "kind",
    [each for each in tree(DoveError) if reaches_the_wire(each) and each not in NEVER_RAISED],
)
def test_every_error_of_the_tree_has_a_fault(kind: type[DoveError]) -> None:
    assert any(base in FAULTS for base in kind.__mro__)


def test_faults_know_no_error_outside_the_tree() -> None:
    assert set(FAULTS) <= set(tree(DoveError))


def test_every_modelled_error_is_given_or_listed_as_never_given() -> None:
    given = {fault.shape for fault in FAULTS.values()}
    assert modelled() - given == set(NEVER_GIVEN)
    assert not given & set(NEVER_GIVEN)


def test_errors_of_the_model_have_the_names_of_the_model() -> None:
    for fault in FAULTS.values():
        assert (fault.shape in modelled()) == (fault.namespace == "com.amazonaws.sqs#")


def test_what_is_not_ours_is_an_internal_failure() -> None:
    assert fault_of(ValueError("x")).status == 500
    assert not fault_of(ValueError("x")).sender
