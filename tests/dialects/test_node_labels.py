"""Labels are MindCluster's, and nobody else's are touched."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from ascend_agent import chips
from ascend_agent.dialects.node_labels import labels
from ascend_agent.model.cluster import NodeObject
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import Millis, NodeName, ObjectVersion
from ascend_agent.model.npu import ChipIdentity, DriverPhase, DriverState, Npu
from ascend_agent.model.world import NodeWorld
from tests.model.samples import make_chip, make_npu, make_view

SPECS = {spec.generation: spec for spec in chips.SPECS}
CHIP = "node.kubernetes.io/npu.chip.name"
MEMORY = "mind-cluster/npu-chip-memory"
DRIVER = "huawei.com/driver.version"
RECOVER = {
    "huawei.com/Ascend910-Recover",
    "huawei.com/Ascend910-NetworkRecover",
    "huawei.com/npu-Recover",
    "huawei.com/npu-NetworkRecover",
}


def npu(phy: int, chip: ChipIdentity, *, cores: int | None = 20, memory: int | None = 65536) -> Npu:
    spec = chips.identify(chip)
    assert spec is not None
    made = make_npu(phy, chip=chip, generation=spec.generation)
    return replace(made, identity=replace(made.identity, ai_cores=cores, memory_mib=memory))


def world(*npus: Npu, there: Mapping[str, str] | None = None, dcmi: str | None = None) -> NodeWorld:
    return NodeWorld(
        view=NodeView(generation=1, npus=tuple(make_view(each) for each in npus)),
        specs=SPECS,
        driver=DriverState(phase=DriverPhase.READY, dcmi_version=dcmi),
        node=NodeObject(
            name=NodeName("n1"),
            uid="u",
            version=ObjectVersion("1"),
            labels=there or {},
            annotations={},
            live=True,
        ),
        now=Millis(0),
    )


def written(*npus: Npu, there: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what is to be set, beside what is to be absent."""
    found = labels(world(*npus, there=there)).wanted
    return {key: value for key, value in found.items() if value is not None}


def removed(*npus: Npu, there: Mapping[str, str]) -> set[str]:
    """Return which of the labels that are there are taken away."""
    found = labels(world(*npus, there=there)).wanted
    return {key for key, value in found.items() if value is None and key in there}


def test_the_labels_of_a_910b_are_those_of_mindclusters_plugin() -> None:
    """The golden case G28, as far as it is about labels."""
    found = labels(world(npu(0, make_chip("910B3")), dcmi="24.1.rc3"))

    assert {key: value for key, value in found.wanted.items() if value is not None} == {
        "accelerator": "huawei-Ascend910",
        "servertype": "Ascend910B-20",
        CHIP: "910B3",
        DRIVER: "24.1.rc3",
        MEMORY: "64G",
    }
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("chip", "told"),
    [
        (make_chip("310"), {"servertype": "Ascend310-20", "accelerator": "huawei-Ascend310"}),
        (make_chip("310B4"), {"servertype": "Ascend310B-20"}),
        (make_chip("310P3"), {"servertype": "Ascend310P-20", "accelerator": "huawei-Ascend310P"}),
        (
            make_chip("910ProB"),
            {"servertype": "Ascend910-20", "accelerator": "huawei-Ascend910", MEMORY: "64G"},
        ),
        (
            make_chip("910B4", board=0x28),
            {
                "servertype": "Ascend910B-20",
                "accelerator": "huawei-Ascend910",
                MEMORY: "64G",
                "accelerator-type": "card-910b-infer",
            },
        ),
        (
            make_chip("Ascend910", board=0xB0),
            {"servertype": "Ascend910A3-20", "accelerator": "huawei-Ascend910", MEMORY: "64G"},
        ),
        (
            make_chip("Ascend950PR", board=0x28),
            {"servertype": "npu-20", "accelerator": "huawei-npu", MEMORY: "64G"},
        ),
    ],
    ids=lambda value: value.chip_name if isinstance(value, ChipIdentity) else "",
)
def test_each_generation_has_its_own_words(chip: ChipIdentity, told: dict[str, str]) -> None:
    assert written(npu(0, chip)) == {CHIP: chip.chip_name, **told}


@pytest.mark.parametrize("product", ["Atlas 300I Duo", "300I Duo"])
def test_a_node_of_duo_cards_alone_says_so(product: str) -> None:
    duo, other = make_chip("310P3", product=product), make_chip("310P3", product="Atlas 300I Pro")

    assert written(npu(0, duo), npu(1, duo))["infer-card-type"] == "card-300i-duo"
    assert "infer-card-type" not in written(npu(0, duo), npu(1, other))
    assert "infer-card-type" not in written(npu(0, other))


def test_a_node_of_two_kinds_of_chip_tells_of_the_first() -> None:
    found = written(npu(0, make_chip("310P3")), npu(1, make_chip("910B3")))

    assert (found[CHIP], found["servertype"]) == ("310P3", "Ascend310P-20")


def test_a_chip_without_a_name_is_passed_over() -> None:
    nameless = replace(make_npu(0), identity=replace(make_npu(0).identity, chip=make_chip("")))

    assert written(nameless, npu(1, make_chip("910B3")))[CHIP] == "910B3"


def test_a_node_without_npus_is_let_alone() -> None:
    there = {CHIP: "910B3", "huawei.com/Ascend910-Recover": "0.3"}

    assert labels(world(there=there)).wanted == {}


def test_what_the_driver_does_not_tell_is_no_label() -> None:
    """A guess would be believed: of a memory in bytes, or of no core at all."""
    found = written(npu(0, make_chip("910B3"), cores=None, memory=None))

    assert set(found) == {CHIP, "accelerator"}
    assert MEMORY not in written(npu(0, make_chip("910B3"), memory=512))


@pytest.mark.parametrize(
    "text", ["24.1 rc3", "-24", "24.", "ä", "x" * 64, "24.1\n", "a/b", "a" * 62 + "-"]
)
def test_a_text_that_can_be_no_label_is_left_out_and_said(text: str) -> None:
    """One such text made the peer's whole patch fail, and the node had no label at all."""
    found = labels(world(npu(0, make_chip("910B3")), dcmi=text))

    assert DRIVER not in found.wanted
    assert found.wanted[CHIP] == "910B3"
    (why,) = found.left_out
    assert why.startswith(f"{DRIVER}: the driver's text '")
    assert len(why) < 160


@pytest.mark.parametrize("text", ["24.1.rc3", "x" * 63, "0", "A-b_c.9"])
def test_a_text_that_can_be_a_label_is_taken(text: str) -> None:
    assert labels(world(npu(0, make_chip()), dcmi=text)).wanted[DRIVER] == text


def test_a_chip_name_that_can_be_no_label_takes_nothing_else_away() -> None:
    there = {CHIP: "910B3", "servertype": "Ascend910B-20", MEMORY: "64G"}
    odd = npu(0, make_chip("910B3 (ES)"), memory=None, cores=None)
    found = labels(world(odd, there=there))

    assert CHIP not in found.wanted
    assert len(found.left_out) == 1
    assert found.wanted["accelerator"] == "huawei-Ascend910"


# --- what is there already ------------------------------------------------------------------


@pytest.mark.parametrize("there", ["soc", "", "gpu-8", "Ascend910B", "npu-pool", "Ascend910B-x"])
def test_a_server_type_that_no_plugin_writes_is_an_administrators(there: str) -> None:
    """``servertype=soc`` keeps the DaemonSet of one product off the others."""
    found = labels(world(npu(0, make_chip("910B3")), there={"servertype": there}))

    assert "servertype" not in found.wanted


@pytest.mark.parametrize("there", ["Ascend310P-8", "Ascend910B-1", "Ascend910A5-32", "npu-1"])
def test_a_server_type_that_a_plugin_wrote_is_put_right(there: str) -> None:
    """With the peer it stays wrong for ever after a chip was swapped or misread."""
    found = written(npu(0, make_chip("910B3")), there={"servertype": there})

    assert found["servertype"] == "Ascend910B-20"


def test_other_wrong_values_are_put_right() -> None:
    there = {CHIP: "310P3", "accelerator": "huawei-Ascend310P", MEMORY: "32G"}

    found = written(npu(0, make_chip("910B3")), there=there)

    assert (found[CHIP], found["accelerator"], found[MEMORY]) == (
        "910B3",
        "huawei-Ascend910",
        "64G",
    )


def test_labels_of_the_chip_that_was_there_before_go_with_it() -> None:
    """A 310B has no accelerator and tells no memory: what stays would be the old chip's."""
    there = {
        CHIP: "910B4",
        "accelerator": "huawei-Ascend910",
        MEMORY: "32G",
        "servertype": "Ascend910B-20",
        "accelerator-type": "card-910b-infer",
    }
    new = npu(0, make_chip("310B4"), cores=None)

    assert removed(new, there=there) == {"accelerator", MEMORY, "servertype", "accelerator-type"}


def test_labels_that_do_not_apply_stay_while_the_chip_is_the_same() -> None:
    """Nobody but an administrator can have set them, and had a reason."""
    there = {
        CHIP: "310B4",
        "accelerator": "huawei-Ascend310",
        MEMORY: "4G",
        "accelerator-type": "module",
        "infer-card-type": "card-other",
    }

    assert removed(npu(0, make_chip("310B4")), there=there) == set()
    assert removed(npu(0, make_chip("910B4")), there=there) == set()


def test_a_board_that_was_swapped_under_the_same_chip_name_loses_its_word() -> None:
    there = {CHIP: "910B4", "accelerator-type": "card-910b-infer"}
    assert removed(npu(0, make_chip("910B4")), there=there) == {"accelerator-type"}

    duo = {CHIP: "310P3", "infer-card-type": "card-300i-duo"}
    single = npu(0, make_chip("310P3", product="Atlas 300I Pro"))
    assert removed(single, there=duo) == {"infer-card-type"}


def test_labels_of_the_abandoned_isolation_go() -> None:
    there = dict.fromkeys(RECOVER, "0.3") | {"huawei.com/Ascend910-Other": "1"}

    assert removed(npu(0, make_chip("910B3")), there=there) == RECOVER


def test_labels_of_others_are_never_named() -> None:
    found = labels(world(npu(0, make_chip("910B3")), there={"zone": "a", "kubernetes.io/os": "l"}))

    assert not {"zone", "kubernetes.io/os"} & found.wanted.keys()
