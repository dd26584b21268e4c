"""HealthReader: health value and standing codes, and the signature of a lost chip."""

from ascend_agent.model.npu import DriverApi
from tests.contract.drivers import Driver, patient
from tests.contract.steps import CardBack, CardLost, Fault, Pulse, Recovery

CODE = 0x80E01801
OTHER = 0x80C98000


async def test_health_is_answered_for_every_chip(driver: Driver) -> None:
    """Both questions are always asked; a value the scale doesn't have would be an error."""
    async with driver.open() as node:
        for identity in (await node.identities()).values():
            answer = await node.health.read_health(identity.address)

            assert not answer.lost
            assert answer.health in {0, 1, 2, 3}
            assert answer.codes is not None
            assert answer.rc == 0


async def test_a_new_node_is_healthy(scripted: Driver) -> None:
    async with scripted.open() as node:
        for identity in (await node.identities()).values():
            answer = await node.health.read_health(identity.address)

            assert (answer.health, answer.lost, answer.rc) == (0, False, 0)
            assert answer.codes == frozenset()


@patient
async def test_codes_stand_on_their_own_chip_until_they_are_cleared(scripted: Driver) -> None:
    steps = (
        Fault(npu=2, code=CODE),
        Fault(npu=2, code=OTHER),
        Recovery(npu=2, code=CODE),
        Recovery(npu=2, code=OTHER),
    )
    async with scripted.open(*steps) as node:
        identities = await node.identities()
        seen = []
        for _ in steps:
            await node.happen()
            answer = await node.health.read_health(identities[2].address)
            seen.append((answer.health, answer.codes))
            assert (await node.health.read_health(identities[1].address)).codes == frozenset()

        assert seen == [
            (2, frozenset({CODE})),
            (2, frozenset({CODE, OTHER})),
            (2, frozenset({OTHER})),
            (0, frozenset()),
        ]


@patient
async def test_a_code_that_is_noticed_once_does_not_stand(scripted: Driver) -> None:
    async with scripted.open(Pulse(npu=1, code=CODE)) as node:
        address = await node.address(1)
        await node.happen()

        assert (await node.health.read_health(address)).codes == frozenset()


@patient
async def test_a_lost_chip_answers_as_lost_until_it_is_back(scripted: Driver) -> None:
    """On the address it had: the list does not change by itself. Its codes are not known then."""
    async with scripted.open(CardLost(card=1), CardBack(card=1)) as node:
        identities = await node.identities()
        # Two NPUs a card, or one: NPU 2 or NPU 1 is the first of card 1.
        first = identities[2 if identities[1].address.card == 0 else 1].address
        other = identities[0].address
        await node.happen()
        lost = await node.health.read_health(first)
        beside = await node.health.read_health(other)
        await node.happen()
        back = await node.health.read_health(first)

        assert (lost.health, lost.lost, lost.codes, lost.rc) == (None, True, None, -8012)
        assert not beside.lost
        assert (back.lost, back.health) == (False, 0)


@patient
async def test_an_address_that_may_move_tells_whose_answer_it_gave(scripted: Driver) -> None:
    """API v2 knows no other address than an index, and what is behind a lost card moves up."""
    async with scripted.open(CardLost(card=0)) as node:
        before = await node.identities()
        indexed = node.state.api is DriverApi.V2
        await node.happen()
        after = await node.identities(reinitialise=True)
        for identity in after.values():
            answer = await node.health.read_health(identity.address)
            assert answer.phy == (identity.phy if indexed else None)

        old = await node.health.read_health(before[2].address)

        assert old.phy == (3 if indexed else None)
