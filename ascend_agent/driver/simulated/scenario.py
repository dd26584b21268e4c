"""The steps of a scenario as the simulated node plays them.

What is decided here: what a step of the configuration means, and which one can't be played. How a
person writes a scenario file, and what is said about a wrong one, is left to ``settings``.
"""

FAULT, RECOVER, PULSE, DROP, RETURN, HANG, DIE, PROCESS, GONE, VNPU, VNPU_GONE = (
    "fault",
    "recover",
    "pulse",
    "drop",
    "return",
    "hang",
    "die",
    "process",
    "gone",
    "vnpu",
    "vnpu-gone",
)
_LONGEST_S = 1e9
_PEERS = {"cpu": 0, "npu": 1, "L2": 2}
_WHOLE_CHIP, _NO_FAULT_ID, _MAJOR = 0xFFFF, 0xFFFFFFFF, 2
_USUAL_MIB = 100
_EVENTS_PER_S = 1000
_MOST_EVENTS = 20_000
_CODES = (FAULT, RECOVER, PULSE)
_NODE_CALLS = frozenset({"open", "enumerate", "subscribe"})
_NODE_CALLS |= {"switches_open", "switches_subscribe", "switches_read"}
_CARD_CALLS = frozenset({"identity", "health", "usage", "processes", "share_read", "share_enable"})
_CARD_CALLS |= {"share_disable", "vnpus_read", "vnpus_destroy"}


class UnplayableError(ValueError):
    """The configuration describes nothing that could be simulated; the text says what and why."""


class SwitchPlace:
    """Ports of one switch chip, what they lead to (``peer``: 0 CPU, 1 NPU, 2 L2 switch), and how.

    ``fault`` is the vendor's number of the fault, ``severity`` 0 to 3.
    """

    __slots__ = ("chip", "fault", "peer", "ports", "severity")

    def __init__(
        self, *, chip: int, ports: tuple[int, ...], peer: int, fault: int, severity: int
    ) -> None:
        self.chip = chip
        self.ports = ports
        self.peer = peer
        self.fault = fault
        self.severity = severity


class Step:
    """One thing that happens at ``at_ms`` after the node's start.

    ``npus`` are physical ids; ``code`` is set for faults, ``call`` and ``until_ms`` for a hang,
    ``process`` (its id and MiB of memory) where one takes an NPU or is gone from it, ``switch``
    where a fault is one of a switch, ``vnpu`` (its id, template, whether it is open, its container)
    where one is there from now on, has changed or is gone. A hang of a call that concerns the whole
    node has no card. A code whose end is told is listed until ``until_ms`` all the same.
    """

    __slots__ = (
        "at_ms",
        "call",
        "card",
        "code",
        "kind",
        "npus",
        "process",
        "switch",
        "until_ms",
        "vnpu",
    )

    def __init__(  # noqa: PLR0913 -- what each kind of step says, with a default each
        self,
        kind: str,
        at_ms: int,
        *,
        card: int | None = None,
        npus: tuple[int, ...] = (),
        code: int = 0,
        call: str = "",
        until_ms: int = 0,
        process: tuple[int, int] = (0, 0),
        switch: SwitchPlace | None = None,
        vnpu: tuple[int, str, int, int] = (0, "", 0, 0),
    ) -> None:
        self.kind = kind
        self.at_ms = at_ms
        self.card = card
        self.npus = npus
        self.code = code
        self.call = call
        self.until_ms = until_ms
        self.process = process
        self.switch = switch
        self.vnpu = vnpu


def parse_steps(raw: object, *, cards: list[list[int]]) -> list[Step]:
    """Return the steps in the order of their times; *cards* lists the physical ids of each card.

    Raises:
        UnplayableError: a step means nothing on this node; the text names it by its place, from 1.

    """
    if not isinstance(raw, list):
        raise UnplayableError(f"steps: {raw!r} is no list")
    steps = []
    for number, entry in enumerate(raw, 1):
        try:
            steps += _parse_entry(entry, cards)
        except UnplayableError as error:
            raise UnplayableError(f"step {number}: {error}") from error
    return sorted(steps, key=lambda step: step.at_ms)


def _parse_entry(raw: object, cards: list[list[int]]) -> list[Step]:
    if not isinstance(raw, dict):
        raise UnplayableError(f"{raw!r} is no mapping")
    at_ms = _milliseconds(raw, "at_s")
    return _storm(raw, at_ms, cards) if "storm" in raw else [_parse_step(raw, at_ms, cards)]


def _storm(raw: dict[str, object], at_ms: int, cards: list[list[int]]) -> list[Step]:
    """Return the events of a storm one by one: every other one is the end of the one before."""
    card, npus = _address(raw, cards)
    code, per_s = _code(raw["storm"]), _whole(raw, "per_s", otherwise=_EVENTS_PER_S)
    events = _milliseconds(raw, "for_s") * per_s // 1000
    if events > _MOST_EVENTS:
        raise UnplayableError(f"for_s: a storm of {events} events is more than {_MOST_EVENTS}")
    return [
        Step(
            RECOVER if event % 2 else FAULT,
            at_ms + event * 1000 // per_s,
            card=card,
            npus=npus,
            code=code,
        )
        for event in range(2 * max(1, events // 2))
    ]


def _parse_step(raw: dict[str, object], at_ms: int, cards: list[list[int]]) -> Step:
    if "worker" in raw:
        if raw["worker"] != "die":
            raise UnplayableError(f"worker: {raw['worker']!r} is not 'die'")
        return Step(DIE, at_ms)
    if "call" in raw:
        return _parse_hang(raw, at_ms, cards)
    if "switch" in raw:
        kind, code = _kind_and_code(raw)
        return Step(kind, at_ms, code=code, switch=_switch_place(raw["switch"]))
    card, npus = _address(raw, cards)
    if "process" in raw or "vnpu" in raw:
        return _parse_use(raw, at_ms, card, npus)
    if "drop" in raw:
        # A chip can't leave alone: the whole card loses its bus.
        return Step(DROP if raw["drop"] else RETURN, at_ms, card=card, npus=tuple(cards[card]))
    kind, code = _kind_and_code(raw)
    until_ms = at_ms + _milliseconds(raw, "listed_for_s") if "listed_for_s" in raw else 0
    return Step(kind, at_ms, card=card, npus=npus, code=code, until_ms=until_ms)


def _parse_use(raw: dict[str, object], at_ms: int, card: int, npus: tuple[int, ...]) -> Step:
    gone = bool(raw.get("gone"))
    if "vnpu" in raw:
        return Step(VNPU_GONE if gone else VNPU, at_ms, card=card, npus=npus, vnpu=_parse_vnpu(raw))
    process = (_whole(raw, "process"), _whole(raw, "memory_mib", otherwise=_USUAL_MIB))
    return Step(GONE if gone else PROCESS, at_ms, card=card, npus=npus, process=process)


def _kind_and_code(raw: dict[str, object]) -> tuple[str, int]:
    for kind in _CODES:
        if kind in raw:
            return kind, _code(raw[kind])
    raise UnplayableError(f"{raw!r} says nothing that happens")


def _parse_hang(raw: dict[str, object], at_ms: int, cards: list[list[int]]) -> Step:
    call = raw["call"]
    until_ms = at_ms + _milliseconds(raw, "hang_s")
    if call in _NODE_CALLS:
        return Step(HANG, at_ms, call=str(call), until_ms=until_ms)
    if call not in _CARD_CALLS:
        raise UnplayableError(f"call: {call!r} is none of {sorted(_CARD_CALLS | _NODE_CALLS)}")
    card, _ = _address(raw, cards)
    return Step(HANG, at_ms, card=card, call=str(call), until_ms=until_ms)


def _address(raw: dict[str, object], cards: list[list[int]]) -> tuple[int, tuple[int, ...]]:
    """Return the card and the NPUs a step speaks of: one, or all of its card."""
    npu, card = raw.get("npu"), raw.get("card")
    if isinstance(npu, int):
        for index, npus in enumerate(cards):
            if npu in npus:
                return index, (npu,)
        raise UnplayableError(f"npu: {npu} does not exist")
    if not isinstance(card, int) or not 0 <= card < len(cards):
        raise UnplayableError(f"card: {card!r} does not exist")
    return card, tuple(cards[card])


def _parse_vnpu(raw: dict[str, object]) -> tuple[int, str, int, int]:
    template = raw.get("template", "")
    if not isinstance(template, str):
        raise UnplayableError(f"template: {template!r} is no text")
    container = _whole(raw, "container", otherwise=0, least=0)
    return _whole(raw, "vnpu"), template, int(bool(raw.get("opened"))), container


def _switch_place(raw: object) -> SwitchPlace:
    if not isinstance(raw, dict):
        raise UnplayableError(f"switch: {raw!r} is no mapping")
    ports = raw.get("port", [_WHOLE_CHIP])
    if not isinstance(ports, list | tuple) or not all(isinstance(port, int) for port in ports):
        raise UnplayableError(f"port: {ports!r} is no list of ports")
    peer = raw.get("peer", "cpu")
    if peer not in _PEERS:
        raise UnplayableError(f"peer: {peer!r} is none of {', '.join(_PEERS)}")
    return SwitchPlace(
        chip=_whole(raw, "chip", least=0),
        ports=tuple(ports),
        peer=_PEERS[peer],
        fault=_whole(raw, "id", otherwise=_NO_FAULT_ID, least=0),
        severity=_whole(raw, "severity", otherwise=_MAJOR, least=0),
    )


def _milliseconds(raw: dict[str, object], key: str) -> int:
    value = raw.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LONGEST_S:
        raise UnplayableError(f"{key}: {value!r} is no number of seconds")
    return round(value * 1000)


def _whole(
    raw: dict[str, object], key: str, *, otherwise: int | None = None, least: int = 1
) -> int:
    value = raw.get(key, otherwise)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UnplayableError(f"{key}: {value!r} is no number from {least} on")
    return value


def _code(value: object) -> int:
    """Return a fault code from a number, or from hex digits as the vendor prints them."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    if isinstance(value, str):
        try:
            return int(value, 16)
        except ValueError:
            pass
    raise UnplayableError(f"{value!r} is no fault code")
