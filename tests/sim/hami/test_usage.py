"""Device lists and what pods use, as the scheduler counts it."""

import json

import pytest

from ascend_agent.sim.hami.usage import Granted, account, parse_devices, parse_slots
from ascend_agent.sim.hami.versions import VERSIONS
from ascend_agent.sim.hami.words import Json
from tests.sim.hami.pods import container, device, pod

WORD = "Ascend910B3"


def holding(text: str, *, phase: str = "Running", inits: int = 0, ended: bool = False) -> Json:
    item = pod(
        container(),
        inits=tuple(container(f"i{number}") for number in range(inits)),
        notes={f"hami.io/{WORD}-devices-allocated": text},
    )
    status: Json = {"phase": phase}
    if ended:
        status["initContainerStatuses"] = [{"state": {"terminated": {"exitCode": 0}}}] * inits
    return {**item, "status": status}


def used(*pods: Json, version: str = "2.10") -> list[tuple[int, int, int]]:
    found = account([device(0), device(1)], pods, word=WORD, version=VERSIONS[version])
    return [(one.used, one.memory_mib, one.core) for one in found.values()]


def test_a_list_is_read_with_what_it_leaves_out() -> None:
    text = json.dumps(
        [
            {
                "id": "U0",
                "count": 4,
                "devmem": 65536,
                "devcore": 20,
                "type": WORD,
                "health": True,
                "custominfo": {"NetworkID": 0},
                "devicevendor": WORD,
            },
            {"id": "U1", "index": 1},
            {"index": 2},
        ]
    )
    sick = device(1, count=0, memory_mib=0, core=0, type="", healthy=False, group=None)

    assert parse_devices(text) == (device(0, vendor=WORD), sick)


@pytest.mark.parametrize("text", ["", "no JSON", "[]"])
def test_what_can_not_be_read_is_no_list(text: str) -> None:
    assert parse_devices(text) == ()


def test_slots_keep_their_places() -> None:
    one = Granted(die="U0", word=WORD, memory_mib=16384, core_percent=0)

    assert parse_slots(f";U0,{WORD},16384,0:;") == ((), (one,))
    assert parse_slots(f"U0,{WORD},16384,0:;,,0,0:;") == ((one,), ())


def test_pods_add_up_until_they_are_over() -> None:
    first = holding(f"U0,{WORD},16384,10:;")
    over = [holding(f"U1,{WORD},16384,0:;", phase=phase) for phase in ("Succeeded", "Failed")]

    assert used(first, holding(f"U0,{WORD},8192,5:U1,{WORD},8192,5:;"), *over) == [
        (2, 24576, 15),
        (1, 8192, 5),
    ]


def test_a_device_that_the_node_has_no_more_is_nobodys() -> None:
    assert used(holding(f"U9,{WORD},1,0:;")) == [(0, 0, 0), (0, 0, 0)]


def test_init_containers_count_as_a_peak_since_2_10() -> None:
    item = holding(f"U0,{WORD},32768,0:;U0,{WORD},16384,0:;", inits=1)
    ended = holding(f"U0,{WORD},32768,0:;U0,{WORD},16384,0:;", inits=1, ended=True)

    assert used(item)[0] == (1, 32768, 0)
    assert used(ended)[0] == (1, 16384, 0)
    assert used(item, version="2.9")[0] == (2, 49152, 0)
