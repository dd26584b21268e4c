import asyncio

from ascend_agent.driver.turns import Call, Lane, Turns


def _call(number: int, lane: Lane, op: str = "health") -> Call:
    future = asyncio.get_running_loop().create_future()
    return Call(number=number, lane=lane, op=op, args=(), deadline_s=3, answer=future)


def _numbers(calls: list[Call]) -> list[int]:
    return [call.number for call in calls]


async def test_a_lane_gets_its_next_call_when_the_last_one_was_answered() -> None:
    turns = Turns()
    for call in (_call(1, 0), _call(2, 0), _call(3, 1)):
        turns.add(call)

    assert _numbers(turns.due()) == [1, 3]
    assert turns.due() == []
    turns.finish(1)
    assert _numbers(turns.due()) == [2]


async def test_a_call_that_runs_alone_waits_for_all_and_holds_back_the_later_ones() -> None:
    """Initialising the library while another call reads its tables is undefined."""
    turns = Turns()
    first, alone, later = _call(1, 0), _call(2, "node", "enumerate"), _call(3, 1)
    turns.add(first)
    turns.due()
    turns.add(alone)
    turns.add(later)
    assert turns.due() == []
    turns.finish(1)
    assert turns.due() == [alone]
    assert turns.due() == []
    turns.finish(2)
    assert turns.due() == [later]


async def test_parking_a_lane_names_the_calls_that_waited_for_it() -> None:
    turns = Turns()
    hung, same_lane, other_lane = _call(1, 0), _call(2, 0), _call(3, 1)
    turns.add(hung)
    turns.add(same_lane)
    turns.due()
    alone = _call(4, "node", "enumerate")
    turns.add(alone)
    turns.add(other_lane)

    assert turns.park(hung) == (same_lane, alone)
    assert turns.due() == [other_lane]
    assert turns.finish(1) is hung
    assert turns.parked == {}


async def test_nothing_runs_alone_while_a_lane_hangs() -> None:
    """The hung call is still inside the library."""
    turns = Turns()
    hung = _call(1, 0)
    turns.add(hung)
    turns.due()
    turns.park(hung)
    alone = _call(2, "node", "enumerate")
    turns.add(alone)

    assert turns.due() == []
    turns.finish(1)
    assert turns.due() == [alone]


async def test_a_call_nobody_waits_for_any_more_is_never_started() -> None:
    """A change whose caller was cancelled must not happen later behind a hung call."""
    turns = Turns()
    turns.add(_call(1, 0))
    turns.due()
    forgotten, wanted = _call(2, 0, "share_enable"), _call(3, 0)
    turns.add(forgotten)
    turns.add(wanted)
    forgotten.answer.cancel()
    turns.finish(1)

    assert turns.due() == [wanted]


async def test_an_unknown_number_is_nobodys() -> None:
    assert Turns().finish(5) is None


async def test_another_library_neither_waits_for_the_driver_nor_holds_it_up() -> None:
    """A switch library that hangs must not keep a card from being found (D3)."""
    turns = Turns()
    card, alone = _call(1, 0), _call(2, "node", "enumerate")
    switches, later = _call(3, "switches", "switches_read"), _call(4, "switches", "switches_read")
    turns.add(card)
    assert turns.due() == [card]
    for call in (alone, switches, later):
        turns.add(call)
    assert turns.due() == [switches]

    turns.finish(1)
    assert turns.due() == [alone]
    turns.add(_call(5, 0))
    assert turns.park(switches) == (later,)
    assert turns.due() == []
    turns.finish(2)
    assert _numbers(turns.due()) == [5]

    assert turns.blocking == ()
    again = _call(6, "node", "enumerate")
    turns.add(again)
    assert turns.due() == []
    turns.finish(5)
    assert turns.due() == [again]


async def test_another_library_that_hangs_fails_no_call_of_the_driver() -> None:
    turns = Turns()
    card, switches = _call(1, 0), _call(2, "switches", "switches_read")
    turns.add(card)
    turns.add(switches)
    turns.due()
    alone = _call(3, "node", "enumerate")
    turns.add(alone)

    assert turns.park(switches) == ()
    turns.finish(1)
    assert turns.due() == [alone]


async def test_while_the_driver_initialises_another_library_is_asked() -> None:
    turns = Turns()
    alone, switches = _call(1, "node", "enumerate"), _call(2, "switches", "switches_open")
    turns.add(alone)
    assert turns.due() == [alone]
    turns.add(switches)
    turns.add(_call(3, 0))

    assert turns.due() == [switches]
