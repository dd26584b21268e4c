"""Which cores of a node are unfit, where the kubelet counts cores and not NPUs (W27).

With NPUs cut on demand a core belongs to no NPU until it is given out. So the cores of an unfit NPU
are those that are mapped to it, and beyond these as many free ones as make its number full: the
capacity falls by whole NPUs. Which core is mapped where is for the slicing mode to know.
"""

from collections.abc import Collection, Mapping, Sequence

from ascend_agent.model.ids import PhyId, PluginDeviceId


def unfit_cores(
    cores: Sequence[PluginDeviceId],
    *,
    cores_per_npu: int,
    unfit: Collection[PhyId],
    mapped: Mapping[PluginDeviceId, PhyId],
) -> frozenset[PluginDeviceId]:
    """Return the cores that the kubelet must not give out, of all *cores* of the node.

    *mapped* has the cores that are given out, with their NPU. Free ones are taken in the order of
    their names as text. Where the numbers can't be right, only mapped cores are unfit.
    """
    out = frozenset(core for core in cores if mapped.get(core) in unfit)
    free = sorted(core for core in cores if core not in mapped)
    missing = len(unfit) * cores_per_npu - len(out)
    if not 0 <= missing <= len(free):
        return out
    return out | frozenset(free[:missing])
