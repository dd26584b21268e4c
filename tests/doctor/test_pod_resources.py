"""The kubelet's pod-resources socket, against a server on gRPC's C core."""

from pathlib import Path

import pytest

from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.pod_resources import CHECK
from tests.doctor.scene import ASCEND, place, the_one
from tests.peer.client import peer_kubelet

pytestmark = pytest.mark.peer

PODS = [
    {
        "name": "train-0",
        "namespace": "team",
        "containers": [
            {"name": "main", "devices": {ASCEND: ["Ascend910-0"], "example.com/x": ["1"]}}
        ],
    }
]


async def test_who_holds_npus_is_counted(tmp_path: Path) -> None:
    where = place(tmp_path)
    path = where.settings.pod_resources_socket
    path.parent.mkdir(parents=True)
    async with peer_kubelet(tmp_path / "plugins") as kubelet:
        await kubelet.do("pods", socket=str(path), pods=PODS)

        finding = await the_one(CHECK, where)

    assert (finding.verdict, finding.detail) == (Verdict.OK, f"{path}: 1 {ASCEND} held")


async def test_a_kubelet_that_limits_calls_is_a_warning(tmp_path: Path) -> None:
    where = place(tmp_path)
    path = where.settings.pod_resources_socket
    path.parent.mkdir(parents=True)
    async with peer_kubelet(tmp_path / "plugins") as kubelet:
        await kubelet.do("pods", socket=str(path), status="RESOURCE_EXHAUSTED")

        assert (await the_one(CHECK, where)).verdict is Verdict.WARN


async def test_nobody_there_is_a_failure_with_the_setting_to_correct(tmp_path: Path) -> None:
    finding = await the_one(CHECK, place(tmp_path))

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "no pod resources")
    assert "--kubelet-dir" in finding.remedy
