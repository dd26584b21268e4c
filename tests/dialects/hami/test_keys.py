"""The keys are those that HAMi's scheduler and dashboard know, letter by letter (UP-2)."""

from ascend_agent.dialects.hami import keys


def test_keys_of_a_word() -> None:
    assert keys.register("Ascend910B3") == "hami.io/node-register-Ascend910B3"
    assert keys.handshake("Ascend910B3") == "hami.io/node-handshake-Ascend910B3"
    assert keys.to_allocate("Ascend310P") == "hami.io/Ascend310P-devices-to-allocate"
    assert keys.allocated("Ascend310P") == "hami.io/Ascend310P-devices-allocated"
    assert keys.runtime_info("Ascend310P") == "huawei.com/Ascend310P"


def test_keys_without_a_word() -> None:
    assert (keys.LOCK, keys.SOFT) == ("hami.io/mutex.lock", "hami-vnpu-core")
    assert (keys.NODE, keys.BIND_TIME) == ("hami.io/vgpu-node", "hami.io/bind-time")
    assert (keys.BIND_PHASE, keys.MODE) == ("hami.io/bind-phase", "huawei.com/vnpu-mode")
