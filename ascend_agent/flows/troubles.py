"""What can't be found out about which NPU, so that each trouble is said once and its end once."""

from collections.abc import Set as AbstractSet

from ascend_agent.model.ids import PhyId


class Troubles:
    """The trouble that each NPU has, as a text. Sixteen NPUs that lack one tool share one."""

    def __init__(self) -> None:
        self._texts: dict[PhyId, str] = {}

    @property
    def phys(self) -> frozenset[PhyId]:
        """The NPUs that have one."""
        return frozenset(self._texts)

    def began(self, phy: PhyId, text: str) -> bool:
        """Note that an NPU has the trouble *text*; return whether no NPU had it until now."""
        new = text not in self._texts.values()
        self._texts[phy] = text
        return new

    def ended(self, phy: PhyId) -> bool:
        """Note that an NPU has none; return whether it was the last one that had any."""
        return self._texts.pop(phy, None) is not None and not self._texts

    def keep(self, phys: AbstractSet[PhyId]) -> None:
        """Forget every NPU that is not among *phys*: nobody will say that its trouble ended."""
        self._texts = {phy: text for phy, text in self._texts.items() if phy in phys}
