"""Runs the doctor as people do, in a process of its own, and reads what it says as JSON."""

import asyncio
import json

from tests.cli.programs import PROGRAM, clean_environment


class Told:
    """What one run of the doctor said, as JSON, and its exit code."""

    def __init__(self, code: int, out: bytes, err: bytes) -> None:
        self.code = code
        self.err = err.decode()
        self.found = json.loads(out)

    def verdicts(self, check: str) -> set[str]:
        return {one["verdict"] for one in self.found["findings"] if one["check"] == check}

    def details(self, check: str) -> list[str]:
        return [one["detail"] for one in self.found["findings"] if one["check"] == check]

    def what(self, verdict: str) -> dict[str, str]:
        return {
            one["check"]: one["what"] for one in self.found["findings"] if one["verdict"] == verdict
        }


async def consult(*options: str, **environment: str) -> Told:
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, "doctor", "--json", *options,
        env=clean_environment(**environment),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    return Told(process.returncode or 0, out, err)
