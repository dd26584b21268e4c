"""The dialect as flows see it leads to what is decided beside."""

from ascend_agent.dialects import load_dialect
from ascend_agent.model.allocation import Assignment, PreferenceRequest
from ascend_agent.model.cluster import ForeignEdit, MetadataField, NodeEdit
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import Millis
from ascend_agent.model.isolation import IsolationTexts
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.model.world import NodeWorld
from tests.fakes.hami import CHIP_910B3, asks, device, lock, node, pod, world
from tests.fakes.npus import npu
from tests.fakes.specs import spec_of

HAMI = load_dialect("hami")
WAITS = pod("p1", f"{device(5, 16384)};")


def test_the_scheduler_decides() -> None:
    seen = world(WAITS, annotations=lock("p1"))
    offered = tuple(device for group in seen.groups for device in group.devices)
    wish = PreferenceRequest(
        resource=CHIP_910B3.resource, available=offered, must_include=(), size=1
    )

    found = HAMI.assign(asks((0, 0)), seen)

    assert isinstance(found, Assignment)
    assert found.npus == (5,)
    assert HAMI.prefer(wish, seen) == (offered[20],)
    assert set(HAMI.holders({}, [seen]).holders) == {5}


def test_npus_have_their_generations_names_in_our_own_annotations() -> None:
    assert HAMI.word_of(npu(0), spec_of(npu(0))) == "Ascend910"
    assert HAMI.resource_of("Ascend910B3") == CHIP_910B3.resource


def test_isolation_stands_where_people_release_it() -> None:
    texts = IsolationTexts(separated="Ascend910-1")
    seen = NodeWorld(
        view=NodeView(generation=1, npus=()),
        specs={},
        driver=DriverState(phase=DriverPhase.READY),
        node=node(),
        isolation=texts,
        now=Millis(0),
    )
    (written,) = HAMI.report(seen).edits
    said = HAMI.isolation_said(node({"ascend-agent.io/manually-separated": "Ascend910-1"}))
    edit = ForeignEdit(
        pod=None,
        field=MetadataField.ANNOTATIONS,
        key="ascend-agent.io/manually-separated",
        wrote="Ascend910-1",
        found=None,
        at_ms=Millis(0),
    )

    assert isinstance(written, NodeEdit)
    assert written.annotations["ascend-agent.io/manually-separated"] == "Ascend910-1"
    assert said.texts.separated == "Ascend910-1"
    assert HAMI.is_release(edit)
