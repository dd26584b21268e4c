"""What people are told of a scheduler."""

from dataclasses import replace

import pytest

from ascend_agent.model.ids import DieId
from ascend_agent.sim.hami.news import scheduler_news
from ascend_agent.sim.hami.notices import Notice
from tests.fakes.npus import view
from tests.sim.views import node

SEEN = view(5)
DIE = DieId("AA-05")
SEEN = replace(SEEN, npu=replace(SEEN.npu, identity=replace(SEEN.npu.identity, die=DIE)))


@pytest.mark.parametrize(
    ("template", "core", "grant"),
    [
        ("vir05_1c_16g", "0", "vir05_1c_16g (16384 MiB) of each"),
        ("", "40", "16384 MiB, 40 % of the cores of each"),
        ("", "0", "16384 MiB of each"),
    ],
)
def test_a_placed_pod_is_told_with_numbers_of_npus(template: str, core: str, grant: str) -> None:
    facts = {
        "pod": "default/p",
        "node": "n1",
        "template": template,
        "devices": f"{DIE},gone",
        "memory_mib": "16384,16384",
        "core_percent": f"{core},{core}",
    }
    entry = scheduler_news(Notice(event="scheduled", facts=facts), lambda: node(SEEN))

    assert (entry.event, entry.facts) == (
        "scheduled",
        {"pod": "default/p", "node": "n1", "npus": [5], "grant": grant},
    )
    assert "default/p is to get NPU 5" in entry.sentence()


def test_of_one_npu_nothing_is_said_of_each() -> None:
    facts = {"pod": "p", "node": "n", "template": "", "devices": DIE, "memory_mib": "16384"}
    notice = Notice(event="scheduled", facts={**facts, "core_percent": "0"})

    assert scheduler_news(notice, lambda: node(SEEN)).sentence() == (
        "pod p is to get NPU 5: 16384 MiB"
    )


def test_before_there_is_a_view_no_npu_is_named() -> None:
    facts = {"pod": "p", "node": "n", "template": "", "devices": DIE, "memory_mib": "1"}
    notice = Notice(event="scheduled", facts={**facts, "core_percent": "0"})

    assert scheduler_news(notice, lambda: None).facts["npus"] == []


@pytest.mark.parametrize(
    ("event", "told"),
    [("locked", "lock_taken"), ("unlocked", "lock_released"), ("unheard", "api_trouble")],
)
def test_others_keep_their_facts(event: str, told: str) -> None:
    entry = scheduler_news(Notice(event=event, facts={"node": "n1"}), lambda: None)

    assert (entry.event, entry.facts) == (told, {"node": "n1"})
