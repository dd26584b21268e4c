"""The accounts of a container, byte by byte where others read them."""

import struct
from pathlib import Path

from ascend_agent.sim.hami.container import accounts, start

MIB = 1 << 20


def test_the_accounts_have_limit_share_and_one_process() -> None:
    content = accounts(limit=28672 * MIB, percent=40, used=[5 * MIB, 7 * MIB])

    assert len(content) == 6200
    assert struct.unpack_from("<QQQ", content) == (28672 * MIB, 12 * MIB, 40)
    assert struct.unpack_from("<ii8QI", content, 1080) == (
        *(1, 4242),
        *(5 * MIB, 7 * MIB, 0, 0, 0, 0, 0, 0),
        1,
    )
    assert not any(content[1156:])


def test_a_container_with_a_slice_writes_them_where_it_was_told(tmp_path: Path) -> None:
    variables = {
        "ASCEND_VISIBLE_DEVICES": "0,1",
        "NPU_MEM_QUOTA": "1000",
        "NPU_PRIORITY": "40",
    }

    assert start(variables, {"/hami-vnpu-shmem": str(tmp_path)})

    content = (tmp_path / "vnpu_local_shmem").read_bytes()
    assert content == accounts(limit=1000 * MIB, percent=40, used=[750 * MIB] * 2)


def test_one_without_a_slice_writes_nothing(tmp_path: Path) -> None:
    assert not start({"NPU_MEM_QUOTA": "1000"}, {})
    assert not start({}, {"/hami-vnpu-shmem": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []
