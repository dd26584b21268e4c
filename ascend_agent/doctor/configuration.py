"""The check ``configuration``: what is set, by what, and what was set in vain (CF-1, CF-10).

The whole effective configuration is in the JSON output; people see what differs from the default.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, warn
from ascend_agent.doctor.place import Place
from ascend_agent.settings import Settings

_OF_THE_DOCTOR: Final = ("log_level", "log_style")
"""Settings whose defaults are others for a command that people look at."""


async def _look(place: Place) -> tuple[Finding, ...]:
    return tuple(await place.off_loop(lambda: list(judge(place))))


def judge(place: Place) -> Iterator[Finding]:
    """Yield one finding a fault of the configuration, and what is set."""
    if place.adopted_from is not None:
        yield ok("options of the running agent", f"taken over from process {place.adopted_from}")
    for name, why in place.unused:
        yield warn("set in vain", f"{name}: {why}", remedy="remove it, or correct its name")
    for option, path in _files(place.settings):
        if not path.exists():
            yield fail(
                "file missing", f"{option}: {path} does not exist", remedy="correct the path"
            )
    values = effective(place.settings, place.origins)
    words = [
        f"{name}={values[name]['value']} ({origin})"
        for name, origin in place.origins.items()
        if name in values
    ]
    yield ok("settings are valid", ", ".join(words) or "all as by default")


def effective(settings: Settings, origins: Mapping[str, str]) -> Mapping[str, Mapping[str, object]]:
    """Return each setting with its value and where that came from.

    That is a flag or a variable, "default", or "derived": from this node or another setting.
    """
    defaults = Settings().model_dump(mode="json")
    ours = {name: defaults[name] for name in _OF_THE_DOCTOR if name not in origins}
    values = settings.model_dump(mode="json") | ours
    return {
        name: {
            "value": value,
            "origin": origins.get(name) or ("default" if value == defaults[name] else "derived"),
        }
        for name, value in values.items()
    }


def _files(settings: Settings) -> Iterator[tuple[str, Path]]:
    if settings.kubeconfig is not None:
        yield "--kubeconfig", settings.kubeconfig
    yield "--host-root", settings.host_root


CHECK: Final = Check(
    name="configuration",
    asks="Which settings are in force, where do they come from, and was anything set in vain?",
    advice=(
        "Set in vain: a variable with a name that no option has, or an option of an older plugin "
        "that means nothing here.\n"
        "File missing: the path is wrong, or the file is not mounted into the pod.\n"
        "In a pod the doctor takes over the options of the agent that runs beside it, unless it "
        "is given some of its own; --json shows every setting with its origin."
    ),
    look=_look,
)
