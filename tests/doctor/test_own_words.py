"""What is ours is not taken for another plugin's."""

from pathlib import Path

from ascend_agent.doctor.own_words import own_words
from tests.doctor.hami import hami_place
from tests.doctor.scene import place


async def test_plain_has_the_words_of_the_chips(tmp_path: Path) -> None:
    own = await own_words(place(tmp_path))

    assert "huawei.com/Ascend910" in own.resources
    assert "Ascend910.sock" in own.sockets
    assert own.annotations == frozenset()


async def test_hami_has_those_that_are_configured(tmp_path: Path) -> None:
    own = await own_words(hami_place(tmp_path))

    assert own.resources == {"huawei.com/Ascend910B3"}
    assert own.sockets == {"Ascend910B3.sock"}
    assert own.annotations == {
        "hami.io/node-register-Ascend910B3",
        "hami.io/node-handshake-Ascend910B3",
    }
