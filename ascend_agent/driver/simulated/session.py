"""What one driver worker sees of the simulated node: the library's tables and its answers.

As with the vendor's library, initialising takes a snapshot of the cards that never changes by
itself: a card lost later keeps its logic id and answers "not ready", a card that was lost then
has none, and those behind it have moved up. Time is an argument, in milliseconds since the
node's start; who waits for it is left to ``backend`` and ``driver``.
"""

from ascend_agent.driver.simulated.node import SimulatedNode, SimulatedNpu, mix
from ascend_agent.driver.simulated.scenario import (
    FAULT,
    PULSE,
    RECOVER,
    RETURN,
    Step,
    UnplayableError,
)
from ascend_agent.driver.simulated.switches import OPERATIONS, SimulatedSwitches
from ascend_agent.driver.simulated.vnpus import SimulatedVnpus

Answer = dict[str, object]

REFUSED = -99999
"""Return code of an ``open`` that can't succeed; "detail" says why."""

_OK, _UNKNOWN, _INNER, _NOT_EXIST, _LOST, _NOT_SUPPORTED = 0, -8001, -8005, -8008, -8012, -8255
_RESET_FINISHED = 0x8C2FA009
_ASSERTIONS = {RECOVER: 0, FAULT: 1, PULSE: 2}
_MINOR, _MAJOR = 1, 2
_READING_MS = 5_000
_UNPLACED = -1


def refuse(error: UnplayableError) -> Answer:
    """Return the answer to an ``open`` whose configuration describes no node."""
    detail = f"the simulated node can't be made: {error}"
    return {"rc": REFUSED, "call": "open", "kind": "refused", "detail": detail}


class Session:
    """One worker's view of *node*; ``wall_ms`` is the wall clock at the node's start."""

    def __init__(self, node: SimulatedNode, *, wall_ms: int) -> None:
        self.node = node
        self.subscribed = False
        self._preset = node.preset
        self.switches = SimulatedSwitches(node, wall_ms=wall_ms)
        self._wall_ms = wall_ms
        self._listed: list[SimulatedNpu] | None = None
        self._lost_cards = 0
        self._shared_at: dict[int, int] = {}
        self._vnpus = SimulatedVnpus(node)

    def card_of(self, args: tuple[int, ...]) -> int | None:
        """Return the card that a call's arguments address, None where it concerns the node."""
        if len(args) < 3:  # noqa: PLR2004 -- card, slot, logic id
            return None
        npu = self._find(args)
        return npu.card if npu else None

    def answer(self, op: str, args: tuple[int, ...], now_ms: int) -> Answer:
        """Return what the driver answers to an operation made now."""
        if op in OPERATIONS:
            return self.switches.answer(op, now_ms)
        if op == "open":
            return self._open(now_ms)
        if self._listed is None:
            return {"rc": _INNER, "call": op, "detail": "the driver was not initialised"}
        return self._answer_initialised(op, args, now_ms)

    def _answer_initialised(self, op: str, args: tuple[int, ...], now_ms: int) -> Answer:
        if op == "enumerate":
            return self._enumerate(bool(args[0]), now_ms)
        if op == "subscribe":
            return self._subscribe()
        npu = self._find(args)
        if npu is None:
            return {"rc": _UNKNOWN if self._preset.api == "v1" else _NOT_EXIST, "call": op}
        return self._answer_for(npu, op, args, now_ms)

    def _answer_for(self, npu: SimulatedNpu, op: str, args: tuple[int, ...], now_ms: int) -> Answer:
        if op == "health":
            return self._health(npu, now_ms)
        if not self.node.present(npu.card, now_ms):
            return {"rc": _LOST, "call": op}
        if op == "identity":
            return self._identity(npu, args[2])
        if op.startswith("vnpus_"):
            return self._vnpus.answer(op, npu.phy, args[3:], now_ms)
        if op.startswith("share_"):
            return self._share(npu, op, now_ms)
        return self._usage(npu, now_ms) if op == "usage" else self._processes(npu, now_ms)

    def events(self, step: Step) -> list[Answer]:
        """Return the events that the driver reports when *step* happens, in its own words."""
        listed = self._listed or ()
        found = [(logic, npu) for logic, npu in enumerate(listed) if npu.phy in step.npus]
        if step.kind == RETURN:
            return [
                self._event(logic, _RESET_FINISHED, 2, _MINOR, step.at_ms) for logic, _ in found
            ]
        if step.kind not in _ASSERTIONS:
            return []
        return [
            self._event(
                logic,
                step.code,
                _ASSERTIONS[step.kind],
                _MAJOR,
                # Quirk: a recovery carries the time of the fault it ends, on every chip.
                self.node.raised_at(npu.phy, step.code, step.at_ms),
            )
            for logic, npu in found
        ]

    def told(self, step: Step) -> list[Answer]:
        """Return what this worker's subscriptions have it tell when *step* happens."""
        if step.switch is None:
            return self.events(step) if self.subscribed else []
        return self.switches.events(step) if self.switches.subscribed else []

    def _open(self, now_ms: int) -> Answer:
        self._initialise(now_ms)
        return {
            "rc": _OK,
            "api": self._preset.api,
            "library": "simulated",
            "dcmi_version": "25.2.0",
            "driver_version": "25.2.0",
        }

    def _initialise(self, now_ms: int) -> None:
        here = [card for card in range(len(self.node.cards)) if self.node.present(card, now_ms)]
        self._listed = [npu for npu in self.node.npus if npu.card in here]
        self._lost_cards = len(self.node.cards) - len(here)

    def _enumerate(self, reinitialise: bool, now_ms: int) -> Answer:  # noqa: FBT001 -- the wire's 0 or 1
        if reinitialise:
            self._initialise(now_ms)
        chips = [
            [npu.card, npu.slot, logic, npu.card]
            if self._preset.api == "v1"
            else [_UNPLACED, _UNPLACED, logic, logic]
            for logic, npu in enumerate(self._listed or ())
        ]
        return {
            "rc": _OK,
            "chips": chips,
            "cards": len(self.node.cards),
            "lost_cards": self._lost_cards,
            "failed": [],
        }

    def _subscribe(self) -> Answer:
        if not self._preset.callbacks:
            return {"rc": _NOT_SUPPORTED, "call": "subscribe"}
        self.subscribed = True
        return {"rc": _OK}

    def _find(self, args: tuple[int, ...]) -> SimulatedNpu | None:
        card, slot, logic = args[:3]
        listed = self._listed or []
        if self._preset.api == "v2":
            return listed[logic] if 0 <= logic < len(listed) else None
        return next((npu for npu in listed if (npu.card, npu.slot) == (card, slot)), None)

    def _health(self, npu: SimulatedNpu, now_ms: int) -> Answer:
        whose = npu.phy if self._preset.api == "v2" else None
        if not self.node.present(npu.card, now_ms):
            lost = {"health_rc": _LOST, "health": 0, "codes_rc": _INNER, "codes": []}
            return {"rc": _OK, "phy": whose, **lost}
        return {
            "rc": _OK,
            "phy": whose,
            "health_rc": _OK,
            "health": self.node.health(npu.phy, now_ms),
            "codes_rc": _OK,
            "codes": self.node.codes(npu.phy, now_ms),
        }

    def _identity(self, npu: SimulatedNpu, logic: int) -> Answer:
        preset = self._preset
        absent = {"product": preset.product, "mainboard": preset.mainboard_id, "bus": npu.bus}
        return {
            "rc": _OK,
            "phy": npu.phy,
            "logic": logic,
            "chip_type": "Ascend",
            "chip_name": preset.chip_name,
            "npu_name": preset.npu_name,
            "chip_version": "V1",
            "ai_cores": preset.ai_cores,
            "board_id": preset.board_id,
            "board_slot": npu.card,
            "mainboard_id": preset.mainboard_id,
            "product": preset.product,
            "die": npu.die,
            "bus": npu.bus,
            "memory_mib": preset.memory_mib,
            "memory_kind": preset.memory_kind,
            "affinity": npu.affinity,
            "unavailable": {
                name: _NOT_SUPPORTED for name, value in absent.items() if value is None
            },
        }

    def _usage(self, npu: SimulatedNpu, now_ms: int) -> Answer:
        """Return readings of an NPU with little to do; they move every few seconds."""
        preset = self._preset
        noise = mix(self.node.seed, npu.phy, now_ms // _READING_MS)
        percent = noise % 5
        used_mib = preset.memory_mib // 20 + noise % 64
        used_mib += sum(self.node.processes(npu.phy, now_ms).values())
        return {
            "rc": _OK,
            "memory_mib": preset.memory_mib,
            "memory_used_mib": min(used_mib, preset.memory_mib),
            "ai_core_percent": percent,
            "vector_percent": percent // 2 if preset.vector else None,
            "npu_percent": percent if preset.npu_percent else None,
        }

    def _processes(self, npu: SimulatedNpu, now_ms: int) -> Answer:
        holding = self.node.processes(npu.phy, now_ms)
        return {"rc": _OK, "processes": [[pid, mib << 20] for pid, mib in holding.items()]}

    def _share(self, npu: SimulatedNpu, op: str, now_ms: int) -> Answer:
        if not self._preset.share:
            return {"rc": _NOT_SUPPORTED, "call": "share"}
        # One flag a card, as on real cards of two dies; a card that was away has forgotten it.
        card = npu.card
        if op == "share_enable":
            self._shared_at[card] = now_ms
        elif op == "share_disable":
            self._shared_at.pop(card, None)
        shared_at = self._shared_at.get(card)
        enabled = shared_at is not None and shared_at >= self.node.returned_at(card, now_ms)
        return {"rc": _OK, "enabled": int(enabled)}

    def _event(self, logic: int, code: int, assertion: int, severity: int, at_ms: int) -> Answer:
        return {
            "logic": logic,
            "code": code,
            "assertion": assertion,
            "severity": severity,
            "raised": self._wall_ms + at_ms,
            "name": f"simulated {code:08X}",
        }
