"""What the kernel shows of NPUs."""

from pathlib import Path

import pytest

from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.hardware import CHECK
from tests.doctor.scene import place, put, the_one


def card(root: Path, bus: str, *, vendor: str = "0x19e5", kind: str = "0x120000") -> None:
    put(root / "sys/bus/pci/devices" / bus / "vendor", f"{vendor}\n")
    put(root / "sys/bus/pci/devices" / bus / "class", f"{kind}\n")


def driver(root: Path, *, loaded: bool) -> None:
    line = "236 devdrv-cdev\n" if loaded else ""
    put(root / "proc/devices", f"Character devices:\n  1 mem\n{line}\nBlock devices:\n  8 sd\n")


@pytest.mark.parametrize(
    ("cards", "loaded", "verdict", "what"),
    [
        (2, True, Verdict.OK, "kernel driver loaded"),
        (2, False, Verdict.FAIL, "no kernel driver"),
        (0, True, Verdict.OK, "kernel driver loaded"),
        (0, False, Verdict.WARN, "no npu hardware seen"),
    ],
)
async def test_cards_want_a_driver(
    tmp_path: Path, *, cards: int, loaded: bool, verdict: Verdict, what: str
) -> None:
    for number in range(cards):
        card(tmp_path, f"0000:c{number}:00.0")
    driver(tmp_path, loaded=loaded)

    finding = await the_one(CHECK, place(tmp_path))

    assert (finding.verdict, finding.what) == (verdict, what)


async def test_other_cards_of_the_vendor_do_not_count(tmp_path: Path) -> None:
    """It makes network and storage cards as well."""
    card(tmp_path, "0000:01:00.0", kind="0x020000")
    card(tmp_path, "0000:02:00.0", vendor="0x8086")
    driver(tmp_path, loaded=False)

    assert (await the_one(CHECK, place(tmp_path))).verdict is Verdict.WARN


async def test_a_simulated_driver_has_no_hardware(tmp_path: Path) -> None:
    where = place(tmp_path, settings={"driver": "simulated"})

    assert (await the_one(CHECK, where)).verdict is Verdict.SKIPPED
