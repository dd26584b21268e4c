"""Asks the API server once for everything the checks want, as the agent's own account.

Nothing is written: whether a rule is granted is asked by SelfSubjectAccessReview, which every
account may do by default, and which leaves no object behind.
"""

import asyncio
import base64
import binascii
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from typing import Any, Final

from ascend_agent.cluster.credentials import Access, Credentials, ServiceAccount
from ascend_agent.cluster.fields import child, children, parse_json, texts
from ascend_agent.cluster.kubeconfig import Kubeconfig
from ascend_agent.cluster.lean import Library, load_library
from ascend_agent.cluster.refusals import Asked
from ascend_agent.cluster.server import ApiServer, Request
from ascend_agent.cluster.tally import Tally
from ascend_agent.doctor.answers import (
    ClusterAnswer,
    ClusterFacts,
    ClusterOff,
    ClusterTrouble,
    OwnNode,
)
from ascend_agent.doctor.rules import Rule, required
from ascend_agent.errors import ClusterError, UnauthenticatedError
from ascend_agent.settings import Settings

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_NAMES_ALONE: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_REFUSED: Final = (
    "the token is not one of this cluster, or has ended: in a pod restart it, elsewhere renew the "
    "kubeconfig; a clock that is wrong by minutes ends tokens too"
)
_UNREACHED: Final = (
    "check the address, firewall and NO_PROXY; a CA that Python 3.13 finds too old needs "
    "--relax-tls"
)


async def ask_cluster(settings: Settings, *, deadline_s: float) -> ClusterAnswer:
    """Return what the API server says, or why it says nothing; never raises."""
    if settings.api_obstacle:
        return ClusterOff(why=settings.api_obstacle)
    credentials: Credentials | None = None
    server = settings.api_server or ""
    try:
        async with asyncio.timeout(deadline_s):
            library = await asyncio.to_thread(
                load_library, kubeconfig=settings.kubeconfig is not None
            )
            credentials = _credentials(settings, library)
            access = await credentials.current()
            server = access.server
            return await _ask(settings, library, credentials, access, within_s=deadline_s)
    except TimeoutError:
        why = f"no answer within {deadline_s:g} s"
        return ClusterTrouble(
            server=server, credentials=_origin(credentials), why=why, remedy=_UNREACHED
        )
    except ClusterError as error:
        remedy = _REFUSED if isinstance(error, UnauthenticatedError) else _UNREACHED
        return ClusterTrouble(
            server=server, credentials=_origin(credentials), why=str(error), remedy=remedy
        )


def _origin(credentials: Credentials | None) -> str:
    return credentials.origin if credentials else ""


def _credentials(settings: Settings, library: Library) -> Credentials:
    if settings.kubeconfig is not None:
        return Kubeconfig(path=settings.kubeconfig, library=library)
    return ServiceAccount(server=settings.api_server or "", directory=settings.service_account_dir)


async def _ask(
    settings: Settings,
    library: Library,
    credentials: Credentials,
    access: Access,
    *,
    within_s: float,
) -> ClusterFacts:
    client = ApiServer(
        library=library,
        credentials=credentials,
        relax_tls=settings.relax_tls,
        user_agent=f"ascend-agent-doctor/{version('ascend-agent')}",
        tally=Tally(),
    )
    headers: dict[str, str] = {}
    try:
        about = await client.ask(
            Request(
                method="GET",
                path="/version",
                asked=Asked(verb="get", target="/version", rule="/version"),
            ),
            within_s=within_s,
            hear=headers.update,
        )
        now = time.time()
        node = await _read_node(client, settings.node_name or "")
        pods = await _read_pods(client, settings.node_name or "")
        allowed = {
            rule.text: await _review(client, rule, settings.node_name or "")
            for rule in required(settings)
        }
    finally:
        await client.close()
    return ClusterFacts(
        server=access.server,
        credentials=credentials.origin,
        version=str(about.get("gitVersion") or "?"),
        node=node,
        allowed=allowed,
        ahead_s=ahead_s(headers, now=now),
        token_left_s=token_left_s(access.authorization, now=now),
        pods=pods,
    )


async def _read_node(client: ApiServer, name: str) -> OwnNode | str:
    request = Request(
        method="GET",
        path="/api/v1/nodes",
        query=(("fieldSelector", f"metadata.name={name}"), ("resourceVersion", "0")),
        asked=Asked(verb="list", target=f"nodes/{name}", rule="nodes"),
    )
    try:
        items = children(await client.ask(request), "items")
    except ClusterError as error:
        return str(error)
    if not items:
        return f"the cluster has no node {name!r}"
    return parse_node(items[0])


async def _read_pods(client: ApiServer, node: str) -> Mapping[str, str]:
    """Return the names of the node's pods by uid; empty where we may not list them."""
    request = Request(
        method="GET",
        path="/api/v1/pods",
        query=(("fieldSelector", f"spec.nodeName={node}"), ("resourceVersion", "0")),
        asked=Asked(verb="list", target=f"pods of {node}", rule="pods"),
        accept=_NAMES_ALONE,
    )
    try:
        items = children(await client.ask(request), "items")
    except ClusterError:
        return {}  # the check api-rules says so
    found = (child(item, "metadata") for item in items)
    return {str(one.get("uid")): f"{one.get('namespace')}/{one.get('name')}" for one in found}


def parse_node(found: Mapping[str, Any]) -> OwnNode:
    """Return the fields that checks rest on; what is missing is empty."""
    metadata, status = child(found, "metadata"), child(found, "status")
    about = child(status, "nodeInfo")
    return OwnNode(
        labels=texts(metadata, "labels"),
        annotations=texts(metadata, "annotations"),
        capacity=texts(status, "capacity"),
        allocatable=texts(status, "allocatable"),
        runtime=str(about.get("containerRuntimeVersion") or ""),
        kubelet=str(about.get("kubeletVersion") or ""),
    )


async def _review(client: ApiServer, rule: Rule, node: str) -> bool | None:
    """Return whether the rule is granted, None where the server would not say."""
    attributes = {"verb": rule.verb, "resource": rule.resource}
    if rule.namespace is not None:
        attributes["namespace"] = rule.namespace
    if rule.name is not None:
        attributes["name"] = rule.name
    elif (rule.verb, rule.resource) == ("patch", "nodes"):
        attributes["name"] = node
    request = Request(
        method="POST",
        path=_REVIEWS,
        body={
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        },
        content_type="application/json",
        asked=Asked(
            verb="create", target="selfsubjectaccessreviews", rule="selfsubjectaccessreviews"
        ),
    )
    try:
        answer = await client.ask(request)
    except ClusterError:
        return None
    allowed = child(answer, "status").get("allowed")
    return allowed if isinstance(allowed, bool) else None


def ahead_s(headers: Mapping[str, str], *, now: float) -> float | None:
    """Return how far *now* is ahead of the Date header, None where there is none."""
    said = next((value for name, value in headers.items() if name.lower() == "date"), "")
    try:
        return now - parsedate_to_datetime(said).timestamp()
    except (ValueError, TypeError, OverflowError):  # the last for a year of twenty digits
        return None


def token_left_s(authorization: str | None, *, now: float) -> float | None:
    """Return for how long a token is good by its own word, None where it does not say."""
    parts = (authorization or "").removeprefix("Bearer ").split(".")
    if len(parts) != 3:  # noqa: PLR2004 -- header, claims, signature
        return None
    try:
        claims = parse_json(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, binascii.Error):
        return None
    ends = claims.get("exp") if isinstance(claims, dict) else None
    try:
        return float(ends) - now if isinstance(ends, int | float) else None
    except OverflowError:
        return None  # a number of hundreds of digits, which says nothing
