"""Which story is told: the scenario's own, or the default one of the dialect."""

from ascend_agent.settings import DialectName, Settings
from ascend_agent.sim.story import Story, follow, tell


def story_of(settings: Settings, *, has_scenario: bool, for_s: float | None = None) -> Story:
    """Return the story of the simulated node, told faster where *for_s* leaves less time.

    Raises:
        ConfigError: HAMi's device configuration can't be used.

    """
    node = settings.simulated
    if settings.dialect is not DialectName.HAMI:
        return follow(node, scheduled=False) if has_scenario else tell(node, for_s=for_s)
    from ascend_agent.sim.hami.cluster import chip_of  # noqa: PLC0415 -- for this dialect alone
    from ascend_agent.sim.hami.story import tell_hami  # noqa: PLC0415 -- the same

    chip = chip_of(settings)  # refused before anything starts
    return follow(node, scheduled=True) if has_scenario else tell_hami(node, chip, for_s=for_s)
