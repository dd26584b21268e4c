"""What gcc made of the binding's structures, as a program that it compiled tells."""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.fake_dcmi import header


@dataclass(slots=True)
class Measured:
    """One structure as compiled: bytes, and offset and bytes of each field."""

    size: int
    alignment: int
    fields: dict[str, tuple[int, int]] = field(default_factory=dict)


def measure(folder: Path) -> tuple[dict[str, Measured], dict[str, int]]:
    """Compile and run the probe in *folder*; return structures and sizes of enumerations."""
    (folder / "dcmi_abi.h").write_text(header.header())
    (folder / "probe.c").write_text(header.probe())
    program = folder / "probe"
    subprocess.run(
        ["gcc", "-std=gnu11", "-Wall", "-Werror", "-o", str(program), str(folder / "probe.c")],
        check=True,
    )
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    structures: dict[str, Measured] = {}
    enumerations: dict[str, int] = {}
    for line in printed.splitlines():
        match line.split():
            case ["struct", name, size, alignment]:
                structures[name] = Measured(int(size), int(alignment))
            case ["field", structure, name, offset, size]:
                structures[structure].fields[name] = (int(offset), int(size))
            case ["enum", name, size]:
                enumerations[name] = int(size)
    return structures, enumerations


def check_syntax(compiler: str, text: str, folder: Path) -> str:
    """Have *compiler* check a header with its assertions; return its complaints, empty if none."""
    (folder / "checked.h").write_text(text)
    (folder / "checked.c").write_text('#include "checked.h"\n')
    command = [
        compiler,
        "-std=gnu11",
        "-Wall",
        "-Werror",
        "-fsyntax-only",
        str(folder / "checked.c"),
    ]
    return subprocess.run(command, check=False, capture_output=True, text=True).stderr
