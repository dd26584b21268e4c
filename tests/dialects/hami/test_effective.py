"""What holds on a node: chip, devices an NPU, mode; and what people are told about it."""

import dataclasses

import pytest

from ascend_agent.dialects.hami.effective import effective
from ascend_agent.dialects.hami.in_force import InForce, judge
from ascend_agent.model.hami import HamiFiles, HamiRules, HamiState, PodMode, SoftHost
from ascend_agent.model.ids import CardId, PhyId
from ascend_agent.model.npu import HiddenNpu, Inventory, Npu, UnknownChip, UnreadCard
from tests.fakes.hami import NODE
from tests.fakes.npus import CHIP, address, identity, inventory, npu

NAMES = {"device": "/device-config.yaml", "node": "/node-config.yaml"}
SOFT = "vnpus: {hamiVnpuCore: true, configs: &c [{chipName: 910B3, commonWord: Ascend910B3, \
resourceName: huawei.com/Ascend910B3, memoryAllocatable: 65536, \
templates: [{name: t, memory: 16384}]}]}"
HARD = SOFT.replace("true", "false")
FLAT = SOFT.replace("{hamiVnpuCore: true, configs: &c ", "")[:-1]
READY = SoftHost(ready=True)


def chip_of(name: str, phy: int = 0) -> Npu:
    chip = dataclasses.replace(CHIP, chip_name=name)
    return dataclasses.replace(npu(phy), identity=identity(phy, chip=chip))


def holding(
    *npus: Npu, hidden: tuple[HiddenNpu, ...] = (), unknown: tuple[UnknownChip, ...] = ()
) -> Inventory:
    return dataclasses.replace(inventory(0), npus=npus, hidden=hidden, unknown=unknown)


def state(
    device: str | None = None,
    node: str | None = None,
    *,
    seen: Inventory | None = inventory(2),  # noqa: B008 -- an immutable value
    soft_host: SoftHost | None = READY,
) -> HamiState:
    texts = {"device": device, "node": node}
    files = HamiFiles(texts={role: text for role, text in texts.items() if text is not None})
    return effective(
        judge(InForce(names=NAMES), files, node=NODE),
        node=NODE,
        inventory=seen,
        soft_host=soft_host,
        rules=HamiRules(pod_mode=PodMode.NEVER),
    )


@pytest.mark.parametrize(
    ("device", "node", "soft", "shares"),
    [
        (HARD, None, False, 4),
        (SOFT, None, True, 4),
        (SOFT, "nodes: [{name: node-a, vDeviceCount: 10}]", True, 10),
        (SOFT, "nodes: [{name: node-a, hami-vnpu-core: false}]", False, 4),
        (HARD, "nodes: [{name: node-a, hami-vnpu-core: true, vDeviceCount: 8}]", True, 8),
        (SOFT, "nodes: [{name: other, hami-vnpu-core: false}]", True, 4),
        (FLAT, None, False, 4),
    ],
)
def test_what_the_node_says_comes_before_what_holds_for_all(
    device: str, node: str | None, *, soft: bool, shares: int
) -> None:
    """HAMi case 21, C3."""
    found = state(device, node)

    assert found.chip is not None
    assert (found.wants_soft, found.soft, found.shares) == (soft, soft, shares)


def test_without_files_the_built_in_chip_holds() -> None:
    found = state()

    assert found.chip is not None
    assert (found.chip.resource, found.shares, found.wants_soft) == (
        "huawei.com/Ascend910B3",
        4,
        False,
    )
    assert (found.trouble, found.warnings, found.refused) == ("", (), ())
    assert found.rules == HamiRules(pod_mode=PodMode.NEVER)
    assert found.origins == {
        "chips": "built-in, without /device-config.yaml",
        "soft": "default",
        "shares": "template vir05_1c_16g",
        "hidden": "default",
    }


def test_each_value_says_where_it_is_from() -> None:
    """CF-1."""
    mine = "this node's entry in /node-config.yaml"
    entry = "{name: node-a, hami-vnpu-core: true, vDeviceCount: 8, filterDevices: {index: [1]}}"
    hidden = (HiddenNpu(address=address(1)),)

    said = state(HARD, f"nodes: [{entry}]", seen=holding(npu(0), hidden=hidden))
    derived = state(SOFT)
    flat = state(FLAT)

    assert said.origins == {
        "chips": "/device-config.yaml, nested layout",
        "soft": mine,
        "shares": mine,
        "hidden": mine,
    }
    assert derived.origins["soft"] == "vnpus in /device-config.yaml"
    assert derived.origins["shares"] == "template t"
    assert (flat.origins["chips"], flat.origins["soft"]) == (
        "/device-config.yaml, flat layout",
        "default",
    )


def test_a_chip_is_matched_exactly() -> None:
    found = state(seen=holding(chip_of("910B4-1")))

    assert found.chip is not None
    assert found.chip.word == "Ascend910B4-1"


def test_a_chip_that_is_not_configured_is_told_with_those_that_are() -> None:
    """HAMi C4: the peer crash-loops, and says only that it found none."""
    found = state(HARD, seen=holding(chip_of("910B9"), chip_of("910ProB", 1)))

    assert found.chip is None
    assert found.shares == 1
    assert "chip 910B9, 910ProB is not configured for HAMi; configured are 910B3" in found.trouble
    assert "vnpus in /device-config.yaml" in found.trouble


def test_a_chip_that_nobody_recognises_is_told_too() -> None:
    unknown = UnknownChip(phy=PhyId(0), chip=dataclasses.replace(CHIP, chip_name="950Z"))

    assert "chip 950Z is not configured" in state(seen=holding(unknown=(unknown,))).trouble


def test_no_chips_at_all_are_told() -> None:
    found = state("vnpus: []")

    assert "configured are none (/device-config.yaml, flat layout)" in found.trouble


@pytest.mark.parametrize(
    ("seen", "trouble"),
    [
        (None, "no NPU has been read yet"),
        (holding(), "the driver lists no NPU"),
        (holding(hidden=(HiddenNpu(address=address(0)),)), "every NPU of this node is hidden"),
    ],
)
def test_a_node_on_which_no_npu_is_seen_says_so(seen: Inventory | None, trouble: str) -> None:
    found = state(seen=seen)

    assert found.chip is None
    assert trouble in found.trouble


def test_the_first_configured_chip_counts_and_others_are_told() -> None:
    found = state(seen=holding(chip_of("950Z"), chip_of("910B4", 1), chip_of("910B3", 2)))

    assert found.chip is not None
    assert found.chip.chip_name == "910B4"
    assert found.warnings == (
        "chip 950Z, 910B3 is not offered beside 910B4: HAMi knows one chip a node",
    )


@pytest.mark.parametrize(
    ("host", "trouble"),
    [
        (None, "the host has not been made ready yet"),
        (SoftHost(ready=False, trouble="no libvnpu.so"), "no libvnpu.so"),
    ],
)
def test_soft_mode_that_the_host_can_not_give_is_wanted_and_not_done(
    host: SoftHost | None, trouble: str
) -> None:
    """IM-7: a pod that would run without limits is worse than one that waits."""
    found = state(SOFT, soft_host=host)

    assert (found.wants_soft, found.soft, found.soft_trouble) == (True, False, trouble)


@pytest.mark.parametrize(
    ("host", "pending"),
    [
        (None, True),
        (SoftHost(ready=False), True),
        (SoftHost(ready=False, trouble="a moment", preparing=True), True),
        (SoftHost(ready=False, trouble="no libvnpu.so"), False),
        (READY, False),
    ],
)
def test_soft_mode_is_pending_until_the_host_was_looked_at(
    host: SoftHost | None, *, pending: bool
) -> None:
    assert state(SOFT, soft_host=host).soft_pending is pending
    assert not state(HARD, soft_host=host).soft_pending


def test_a_host_that_is_not_ready_is_nothing_to_a_hard_node() -> None:
    assert state(HARD, soft_host=None).soft_trouble == ""


def test_soft_mode_without_a_count_warns_with_the_line_to_write() -> None:
    """CF-2: four pods an NPU, however small, is what nobody expects."""
    (warning,) = state(SOFT).warnings

    assert "at most 4 pods an NPU" in warning
    line = warning.partition("node-config.yaml: ")[2]
    assert line == 'nodes: [{name: "node-a", vDeviceCount: 8}]'
    assert state(SOFT, line).shares == 8
    assert state(SOFT, "nodes: [{name: node-a, vDeviceCount: 4}]").warnings == ()


def test_filters_that_hide_nothing_are_told() -> None:
    """CF-1, CF-8: whoever meant logical ids has hidden another card, or none."""
    die = npu(1).identity.die
    other = str(die)[:-1] + "0"
    entry = f"{{name: node-a, filterDevices: {{index: [3, 9], uuid: [{die}, {other}]}}}}"
    hidden = HiddenNpu(address=address(1), phy=PhyId(1), die=die)
    card = HiddenNpu(address=address(3), phy=PhyId(3), die=npu(3).identity.die)

    found = state(node=f"nodes: [{entry}]", seen=holding(npu(0), hidden=(hidden, card)))

    assert len(found.warnings) == 2
    assert f"no NPU of this node is {other}" in found.warnings[0]
    assert "no card of this node has number 9" in found.warnings[1]


def test_filters_of_npus_that_are_still_listed_are_no_mistake() -> None:
    """The file comes first, the list without them a moment later."""
    die = npu(0).identity.die
    entry = f"{{name: node-a, filterDevices: {{index: [1], uuid: [{die}]}}}}"

    assert state(node=f"nodes: [{entry}]").warnings == ()


@pytest.mark.parametrize(
    "seen",
    [
        dataclasses.replace(holding(npu(0)), lost_cards=1),
        dataclasses.replace(
            holding(npu(0)), unread=(UnreadCard(address=address(5), reason="silent"),)
        ),
        dataclasses.replace(holding(npu(0)), unreadable=((CardId(5), "call", -1),)),
    ],
    ids=["lost", "unread", "unreadable"],
)
def test_filters_are_not_judged_while_a_card_is_missing(seen: Inventory) -> None:
    entry = "{name: node-a, filterDevices: {index: [5]}}"

    assert state(node=f"nodes: [{entry}]", seen=seen).warnings == ()


def test_what_is_refused_and_warned_about_is_told_with_its_file() -> None:
    found = state("vnpus:", "nodes: []\nx: 1")

    assert found.refused[0].startswith("/device-config.yaml: has no section vnpus")
    assert found.warnings[0].startswith("/node-config.yaml: top level: key 'x'")


@pytest.mark.parametrize(("device", "node"), [("vnpus:", None), (SOFT, "nodes: 1")])
def test_nothing_is_offered_in_the_place_of_a_file_that_was_never_in_order(
    device: str, node: str | None
) -> None:
    """It may hide NPUs, or want soft slices: an NPU would go to a pod that is not to have it.

    Readiness says why, and no value passes for one that somebody gave.
    """
    found = state(device, node)
    (file,) = {text.split(":")[0] for text in found.refused}

    assert found.chip is None
    assert (found.wants_soft, found.soft, found.soft_pending) == (False, False, False)
    assert found.trouble == f"no NPU is offered until {file} is in order or gone:" + "".join(
        text.removeprefix(f"{file}:") for text in found.refused
    )
    assert set(found.origins.values()) == {f"not known until {file} can be used"}


def test_of_two_files_that_were_never_in_order_both_are_named() -> None:
    found = state("vnpus:", "nodes: 1")

    assert "/device-config.yaml is in order or gone: has no section vnpus" in found.trouble
    assert "/node-config.yaml is in order or gone: top level, nodes: '1'" in found.trouble
