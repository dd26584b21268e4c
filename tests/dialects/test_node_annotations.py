from dataclasses import replace

import pytest

from ascend_agent import chips
from ascend_agent.dialects.node_annotations import (
    REASONS,
    SEPARATED,
    is_of_list,
    isolation_report,
    said,
)
from ascend_agent.model.cluster import ForeignEdit, MetadataField, NodeEdit, NodeObject
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import Millis, NodeName, ObjectVersion
from ascend_agent.model.isolation import IsolationTexts, PublishedIsolation
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.model.pods import PodKey
from ascend_agent.model.world import NodeWorld
from tests.model.samples import make_npu, make_view

NODE = NodeObject(
    name=NodeName("n1"),
    uid="u",
    version=ObjectVersion("7"),
    labels={},
    annotations={SEPARATED: "Ascend910-4", REASONS: "{}", "other": "x"},
    live=True,
)
WORLD = NodeWorld(
    view=NodeView(generation=1, npus=(make_view(make_npu(4)),)),
    specs={spec.generation: spec for spec in chips.SPECS},
    driver=DriverState(phase=DriverPhase.READY),
    node=NODE,
    now=Millis(0),
)


def test_what_a_node_says_is_what_stands_in_its_annotations() -> None:
    assert said(NODE) == PublishedIsolation(
        uid="u",
        version=ObjectVersion("7"),
        texts=IsolationTexts(separated="Ascend910-4", reasons="{}"),
    )
    assert said(replace(NODE, annotations={})).texts == IsolationTexts()


def test_nothing_is_published_that_is_not_known_yet() -> None:
    assert isolation_report(WORLD).edits == ()


@pytest.mark.parametrize(
    ("texts", "annotations"),
    [
        (
            IsolationTexts(separated="Ascend910-4", reasons="{...}"),
            {SEPARATED: "Ascend910-4", REASONS: "{...}"},
        ),
        (IsolationTexts(reasons="{...}"), {SEPARATED: None, REASONS: "{...}"}),
        (IsolationTexts(), {SEPARATED: None, REASONS: None}),
    ],
)
def test_what_would_say_nothing_is_taken_away(
    texts: IsolationTexts, annotations: dict[str, str | None]
) -> None:
    """A node on which nothing is isolated looks as if the agent knew no such thing."""
    report = isolation_report(replace(WORLD, isolation=texts))

    seen = {SEPARATED: NODE.annotations.get(SEPARATED)}
    assert report.edits == (NodeEdit(labels={}, annotations=annotations, expects=seen),)
    assert report.left_out == ()


def test_reasons_that_no_annotation_can_hold_are_left_out_and_told() -> None:
    """Else the API server would refuse the list of separated NPUs with them."""
    texts = IsolationTexts(separated="Ascend910-4", reasons="x" * 131073)

    report = isolation_report(replace(WORLD, isolation=texts))

    (edit,) = report.edits
    assert isinstance(edit, NodeEdit)
    assert edit.annotations == {SEPARATED: "Ascend910-4"}
    assert report.left_out == (f"{REASONS}: 131073 characters are more than 131072",)


@pytest.mark.parametrize(
    ("key", "field", "pod", "of_list"),
    [
        (SEPARATED, MetadataField.ANNOTATIONS, None, True),
        (REASONS, MetadataField.ANNOTATIONS, None, False),
        (SEPARATED, MetadataField.LABELS, None, False),
        (SEPARATED, MetadataField.ANNOTATIONS, PodKey(namespace="a", name="b"), False),
    ],
)
def test_people_edit_one_annotation_of_the_node_alone(
    key: str,
    field: MetadataField,
    pod: PodKey | None,
    of_list: bool,  # noqa: FBT001 -- the case
) -> None:
    edit = ForeignEdit(pod=pod, field=field, key=key, wrote="a", found=None, at_ms=Millis(0))

    assert is_of_list(edit) is of_list
