from ascend_agent.model.cluster import ApiCounts, ApiPhase, ApiState, ClusterSeen
from ascend_agent.model.ids import Millis
from ascend_agent.model.pods import Pods
from ascend_agent.telemetry.cluster_families import cluster_families, count_families
from tests.fakes.cluster import node_object, pod
from tests.telemetry.samples import of, samples


def test_the_phase_of_the_connection_is_one_of_all() -> None:
    state = ApiState(phase=ApiPhase.FORBIDDEN, since_ms=Millis(1_500))

    found = samples(cluster_families(ClusterSeen(state=state)))

    assert {key for key, value in of(found, "api_phase").items() if value} == {
        'api_phase{phase="forbidden"}'
    }
    assert len(of(found, "api_phase")) == len(ApiPhase)
    assert found["api_phase_since_timestamp_seconds"] == 1.5


def test_a_view_is_live_or_old_and_absent_until_it_was_seen() -> None:
    """An alert on 0 must not fire for a node that has no API server at all."""
    assert samples(cluster_families(ClusterSeen())) == {}
    seen = ClusterSeen(
        node=node_object(live=False), pods=Pods(pods=(pod("a"), pod("b")), live=True)
    )

    found = samples(cluster_families(seen))

    assert of(found, "api_view_live") == {
        'api_view_live{view="node"}': 0,
        'api_view_live{view="pods"}': 1,
    }
    assert found["api_pods"] == 2


def test_every_count_has_a_series_of_its_own() -> None:
    counts = ApiCounts(
        lists=1,
        watches=2,
        reads=3,
        patches=4,
        errors=5,
        throttled=6,
        expired=7,
        broken_streams=8,
        skipped_objects=9,
        unknown_events=10,
        foreign_edits=11,
        events_posted=12,
        events_lost=13,
    )

    assert samples(count_families(counts)) == {
        'api_requests_total{kind="list"}': 1,
        'api_requests_total{kind="watch"}': 2,
        'api_requests_total{kind="read"}': 3,
        'api_requests_total{kind="patch"}': 4,
        "api_errors_total": 5,
        "api_throttled_total": 6,
        "api_expired_total": 7,
        "api_streams_broken_total": 8,
        "api_objects_skipped_total": 9,
        "api_events_unknown_total": 10,
        "api_foreign_edits_total": 11,
        "api_events_posted_total": 12,
        "api_events_lost_total": 13,
    }


def test_where_no_api_server_is_used_nothing_is_counted() -> None:
    assert samples(count_families(None)) == {}
