from pathlib import Path

from ascend_agent.model.hami import HamiRules, HookMount, PodMode, SoftPaths
from ascend_agent.settings.hami import HamiSettings


def test_without_a_word_the_dialect_is_as_strict_as_it_should_be() -> None:
    assert HamiSettings().hami_rules == HamiRules()


def test_without_options_the_files_are_where_the_plugins_manifest_mounts_them() -> None:
    """HAMi C1: it mounts the node's file, and the option that names it is missing there."""
    settings = HamiSettings()

    assert settings.device_config == Path("/device-config.yaml")
    assert settings.node_config == Path("/node-config.yaml")


def test_each_rule_is_the_setting_of_its_name() -> None:
    settings = HamiSettings(
        hami_node_mode=PodMode.NEVER,
        hami_strict_lock=True,
        hami_fence=False,
        hami_refuse_unhealthy=False,
        hami_check_quotas=False,
        hami_network_group=8,
    )

    assert settings.hami_rules == HamiRules(
        pod_mode=PodMode.NEVER,
        strict_lock=True,
        fence=False,
        refuse_unhealthy=False,
        check_quotas=False,
        network_group=8,
    )


def test_soft_slices_have_their_files_where_the_settings_say() -> None:
    settings = HamiSettings(
        hami_root=Path("/opt/core/"),
        hami_shared_region=Path("/opt/region"),
        hami_hook_mount=HookMount.FILE,
    )

    assert settings.soft_paths == SoftPaths(
        root="/opt/core", region="/opt/region", hook=HookMount.FILE
    )
