"""What happens to the hardware during a contract test, told alike to every driver."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A code is raised on an NPU, named by its physical id."""

    npu: int
    code: int

    def scenario(self) -> dict[str, object]:
        """Return the step as scenarios spell it."""
        return {"npu": self.npu, "fault": f"{self.code:08X}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """A code is cleared."""

    npu: int
    code: int

    def scenario(self) -> dict[str, object]:
        """Return the step as scenarios spell it."""
        return {"npu": self.npu, "recover": f"{self.code:08X}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """A code is noticed once; nothing stands afterwards."""

    npu: int
    code: int

    def scenario(self) -> dict[str, object]:
        """Return the step as scenarios spell it."""
        return {"npu": self.npu, "pulse": f"{self.code:08X}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CardLost:
    """A card stops answering."""

    card: int

    def scenario(self) -> dict[str, object]:
        """Return the step as scenarios spell it."""
        return {"card": self.card, "drop": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class CardBack:
    """A lost card answers again."""

    card: int

    def scenario(self) -> dict[str, object]:
        """Return the step as scenarios spell it."""
        return {"card": self.card, "drop": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlyProcess:
    """A process takes memory of an NPU; there is no other on it."""

    npu: int
    pid: int
    mib: int

    def scenario(self) -> dict[str, object]:
        """Return the step as scenarios spell it."""
        return {"npu": self.npu, "process": self.pid, "memory_mib": self.mib}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessGone:
    """The only process on an NPU ends."""

    npu: int
    pid: int

    def scenario(self) -> dict[str, object]:
        """Return the step as scenarios spell it."""
        return {"npu": self.npu, "process": self.pid, "gone": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchEvent:
    """A link of a switch to the second layer goes down (1), comes back (0), or flickers (2)."""

    port: int
    assertion: int = 1
    code: int = 0x08520003

    def scenario(self) -> dict[str, object]:
        """Return the step as the simulated driver takes it."""
        verb = {0: "recover", 1: "fault", 2: "pulse"}[self.assertion]
        place = {"chip": 0, "port": [self.port], "peer": "L2"}
        return {"switch": place, verb: f"{self.code:08X}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class VnpuCut:
    """A vNPU is on an NPU, cut by somebody else."""

    npu: int
    vnpu: int
    template: str
    opened: bool = False
    container: int = 0

    def scenario(self) -> dict[str, object]:
        """Return the step as scenarios spell it."""
        return asdict(self)


Step = (
    Fault
    | Recovery
    | Pulse
    | CardLost
    | CardBack
    | OnlyProcess
    | ProcessGone
    | SwitchEvent
    | VnpuCut
)


def schedule(steps: tuple[Step, ...], *, lead_s: float, gap_s: float) -> list[dict[str, object]]:
    """Return *steps* as a scenario: the first after *lead_s*, each further one *gap_s* later."""
    return [{"at_s": lead_s + i * gap_s, **step.scenario()} for i, step in enumerate(steps)]
