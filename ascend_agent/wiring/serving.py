"""What serves the kubelet, where a resource is a kind of chip, and what a container is given."""

import asyncio
from collections.abc import Sequence

from ascend_agent.driver.usage import DriverUsage
from ascend_agent.flows.allocate import Allocate
from ascend_agent.flows.answer import Answer
from ascend_agent.flows.decide import Decide
from ascend_agent.flows.held_npus import HeldNpus
from ascend_agent.flows.offers import ResourceOffers
from ascend_agent.flows.serve_resource import ServeResource
from ascend_agent.host.processes import ProcOwners, StatedOwners
from ascend_agent.injection import find_injections
from ascend_agent.injection.logical import WithLogicalIds
from ascend_agent.interfaces import Injection
from ascend_agent.kubelet.endpoint import KubeletEndpoint
from ascend_agent.runtime.supervisor import TaskSpec
from ascend_agent.settings import Settings
from ascend_agent.wiring.parts import ENDLESS, Parts, spec_of


def offers_of(parts: Parts) -> list[ResourceOffers]:
    """Return what is offered of each of the dialect's words."""
    return [
        ResourceOffers(
            word=word,
            resource=parts.dialect.resource_of(word),
            dialect=parts.dialect,
            mode=parts.mode,
            shares=parts.settings.shares,
            share_policy=parts.settings.share_policy,
            spec_of=spec_of,
        )
        for word in parts.dialect.words
    ]


def tasks(parts: Parts, offers: Sequence[ResourceOffers]) -> list[TaskSpec]:
    """Return what serves the kubelet, one resource a task."""
    bus, settings = parts.bus, parts.settings
    sent = bus.sent.claim("kubelet-endpoints")
    served = bus.served.claim("allocate")
    held = _held_npus(parts) if settings.refuse_held and settings.shares == 1 else None
    made = []
    for offer in offers:
        allocator = Allocate(
            offers=offer,
            decide=Decide(offers=offer, bus=bus, clock=parts.clock, reader=None),
            answer=Answer(
                offers=offer,
                injection=injection_of(settings),
                host=parts.host.files,
                held=held,
                bus=bus,
            ),
            bus=bus,
            served=served,
            clock=parts.clock,
            timeout_s=settings.allocate_timeout_s,
            turn=asyncio.Lock(),
        )
        endpoint = KubeletEndpoint(
            plugin_dir=settings.device_plugin_dir,
            file_name=f"{offer.word}.sock",
            kubelet_socket=settings.kubelet_socket,
            resource=offer.resource,
            allocator=allocator,
            sent=sent,
        )
        flow = ServeResource(
            offers=offer,
            endpoint=endpoint,
            bus=bus,
            state=bus.serving[offer.resource].claim(f"serve-resource {offer.word}"),
        )
        made.append(TaskSpec(name=f"serve-resource {offer.word}", run=flow.run))
    return made


def injection_of(settings: Settings) -> Injection:
    """Return how a container gets its NPUs."""
    way = find_injections()[settings.injection]
    return WithLogicalIds(way) if settings.logical_ids else way


def cdi_task(parts: Parts) -> TaskSpec:
    """Return what keeps the file by which a runtime finds NPUs, for ``--inject=cdi``."""
    from ascend_agent.flows.write_cdi_spec import WriteCdiSpec  # noqa: PLC0415 -- --inject=cdi
    from ascend_agent.host.cdi import CdiFile  # noqa: PLC0415 -- the same

    flow = WriteCdiSpec(
        bus=parts.bus,
        host=parts.host.files,
        writer=CdiFile(directory=parts.settings.cdi_dir),
        spec_of=spec_of,
    )
    return TaskSpec(name="write-cdi-spec", backoff=ENDLESS, run=flow.run)


def _held_npus(parts: Parts) -> HeldNpus:
    stated = parts.settings.simulated.pods_of_processes if parts.simulated else {}
    owners = ProcOwners()
    return HeldNpus(
        usage=DriverUsage(parts.worker),
        owners=StatedOwners(stated, others=owners) if stated else owners,
        driver=parts.bus.driver,
        # A refusal must be in time.
        patience_s=min(1.0, parts.settings.allocate_timeout_s / 3),
    )
