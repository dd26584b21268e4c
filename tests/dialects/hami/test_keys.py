"""The names are HAMi's to the letter: another spelling is read by nobody (UP-2)."""

from ascend_agent.dialects.hami import keys


def test_keys_carry_the_word_of_the_chip() -> None:
    assert keys.register("Ascend910B3") == "hami.io/node-register-Ascend910B3"
    assert keys.handshake("Ascend910B3") == "hami.io/node-handshake-Ascend910B3"
    assert keys.to_allocate("Ascend310P") == "hami.io/Ascend310P-devices-to-allocate"
    assert keys.allocated("Ascend310P") == "hami.io/Ascend310P-devices-allocated"
    assert keys.runtime_info("Ascend910C") == "huawei.com/Ascend910C"


def test_keys_of_every_chip_are_one() -> None:
    assert keys.LOCK == "hami.io/mutex.lock"
    assert keys.SOFT == "hami-vnpu-core"
    assert keys.NODE == "hami.io/vgpu-node"
    assert keys.BIND_PHASE == "hami.io/bind-phase"
    assert keys.BIND_TIME == "hami.io/bind-time"
    assert (keys.MODE, keys.SOFT_MODE) == ("huawei.com/vnpu-mode", "hami-core")


def test_the_words_of_a_pods_devices_are_found_among_its_keys() -> None:
    found = keys.allocated_words(
        [
            "huawei.com/NPU-devices-allocated",
            "hami.io/vgpu-devices-to-allocate",
            "hami.io/vgpu-devices-allocated",
            "hami.io/Ascend910B4-1-devices-allocated",
            "hami.io/bind-time",
        ]
    )

    assert found == ["Ascend910B4-1", "vgpu"]
