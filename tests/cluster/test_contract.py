"""The real API server keeps what unit tests rest on; ``tests/sim/cluster`` holds the fake to it."""

import pytest

from tests.cluster.account import make_node
from tests.cluster.api import Api, node_path
from tests.cluster.contract import Claim, Ground, each_claim

pytestmark = pytest.mark.cluster


@each_claim
async def test_the_real_api_server_keeps_that(claim: Claim, api: Api, own_namespace: str) -> None:
    name = f"node-{own_namespace}"
    await make_node(api, name)
    await claim(Ground(api=api, namespace=own_namespace, node=name))
    await api.delete(node_path(name))
