"""A pod of a scenario as its user would write it for HAMi."""

from ascend_agent.model.hami import HamiChip
from ascend_agent.settings.scenario_pods import ScenarioPod
from ascend_agent.sim.hami.words import MODE, SOFT_MODE, Json

NAMESPACE = "default"


def manifest(pod: ScenarioPod, chip: HamiChip) -> Json:
    """Return the object of *pod*, which asks for NPUs of *chip*."""
    limits: dict[str, str] = {chip.resource: str(pod.npus)}
    if pod.memory_mib is not None:
        limits[chip.memory_resource] = str(pod.memory_mib)
    if pod.core_percent is not None and chip.core_resource:
        limits[chip.core_resource] = str(pod.core_percent)
    names = ["main"] if pod.containers == 1 else [f"main-{at}" for at in range(pod.containers)]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": pod.pod,
            "namespace": NAMESPACE,
            "annotations": {MODE: SOFT_MODE} if pod.soft else {},
        },
        "spec": {
            "containers": [
                {"name": name, "image": "none:1", "resources": {"limits": dict(limits)}}
                for name in names
            ]
        },
        "status": {"phase": "Pending"},
    }
