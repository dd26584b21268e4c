"""What the metrics page tells about the API server: how it does, and what it has to do for us."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from ascend_agent.model.cluster import ApiCounts, ApiPhase, ClusterSeen
from ascend_agent.telemetry.series import counter, gauge, states

_MS_PER_S = 1000


def cluster_families(seen: ClusterSeen) -> Iterator[Metric]:
    """Yield how the connection stands and how current what it shows is."""
    state, node, pods = seen.state, seen.node, seen.pods
    yield gauge(
        "api_phase",
        "1 for where the connection to the API server stands, 0 for the others.",
        ("phase",),
        list(states((), ApiPhase, state.phase)) if state else [],
    )
    yield gauge(
        "api_phase_since_timestamp_seconds",
        "When that phase began, in seconds since the epoch.",
        (),
        [((), state.since_ms / _MS_PER_S)] if state else [],
    )
    views = (("node", node), ("pods", pods))
    yield gauge(
        "api_view_live",
        "1 while a watch keeps what we know of the own node or its pods current, 0 while it is "
        "as last seen; absent until seen.",
        ("view",),
        [((name,), view.live) for name, view in views if view is not None],
    )
    yield gauge(
        "api_pods",
        "Pods of this node, finished ones included, as the API server showed them last.",
        (),
        [((), len(pods.pods))] if pods else [],
    )


def count_families(counts: ApiCounts | None) -> Iterator[Metric]:
    """Yield what went back and forth; nothing where no API server is used."""
    if counts is None:
        return
    yield counter(
        "api_requests",
        "Requests to the API server: pages of lists, watches opened, single reads, patches.",
        ("kind",),
        [
            (("list",), counts.lists),
            (("watch",), counts.watches),
            (("read",), counts.reads),
            (("patch",), counts.patches),
        ],
    )
    yield counter("api_errors", "Requests that failed.", (), [((), counts.errors)])
    yield counter(
        "api_throttled", "Requests that were told to come back later.", (), [((), counts.throttled)]
    )
    yield counter(
        "api_expired",
        "Versions that were too old to go on from, so that all was listed again.",
        (),
        [((), counts.expired)],
    )
    yield counter(
        "api_streams_broken",
        "Watches that ended before their time.",
        (),
        [((), counts.broken_streams)],
    )
    yield counter(
        "api_objects_skipped",
        "Objects that could not be read and were passed over.",
        (),
        [((), counts.skipped_objects)],
    )
    yield counter(
        "api_events_unknown",
        "Events of watches whose type is none that we know.",
        (),
        [((), counts.unknown_events)],
    )
    yield counter(
        "api_foreign_edits",
        "Values of ours that somebody else changed.",
        (),
        [((), counts.foreign_edits)],
    )
    yield counter(
        "api_events_posted",
        "Kubernetes Events about NPUs that were made or changed.",
        (),
        [((), counts.events_posted)],
    )
    yield counter(
        "api_events_lost",
        "What happened to NPUs that no Event tells of: too much at once, or refused.",
        (),
        [((), counts.events_lost)],
    )
