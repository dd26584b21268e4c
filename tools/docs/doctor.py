"""Writes the chapter on the doctor's checks in docs/operations.md, from the checks themselves."""

from ascend_agent.doctor.checks import CHECKS
from tools.docs.pages import code


def checks() -> str:
    """Return one section a check: what it asks, and what to do when the answer is bad."""
    parts: list[str] = []
    for check in CHECKS:
        parts += [
            f"### Check {code(check.name)}",
            "",
            f"- Asks: {check.asks}",
            *(f"- {line}" for line in check.advice.split("\n")),
            "",
        ]
    return "\n".join(parts)
