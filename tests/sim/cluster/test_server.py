"""The fake API server keeps the contract that the real one keeps, too."""

from ascend_agent.sim.cluster import FakeApiServer
from tests.cluster.account import make_node
from tests.cluster.api import Api
from tests.cluster.connected import AUTHORITY
from tests.cluster.contract import Claim, Ground, each_claim


@each_claim
async def test_the_fake_api_server_keeps_that(claim: Claim) -> None:
    async with (
        FakeApiServer().running() as server,
        Api(url=server.url, authority=AUTHORITY, credential=None) as api,
    ):
        await make_node(api, "n1")
        await claim(Ground(api=api, namespace="default", node="n1"))
