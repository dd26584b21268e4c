"""Who changes a key of ours again and again is met ever more slowly, and forgotten after peace."""

import pytest

from ascend_agent.flows.disputes import Disputes
from ascend_agent.model.cluster import (
    Edit,
    ForeignEdit,
    MetadataField,
    NodeAnnotationRemoval,
    NodeEdit,
    PodEdit,
)
from ascend_agent.model.ids import Millis, PodUid
from ascend_agent.model.pods import PodKey

POD = PodKey(namespace="default", name="p")
BOTH = NodeEdit(labels={"a": "1", "b": None}, annotations={"a": "2"})


def changed(
    key: str, *, pod: PodKey | None = None, field: MetadataField = MetadataField.LABELS
) -> ForeignEdit:
    return ForeignEdit(pod=pod, field=field, key=key, wrote="1", found="x", at_ms=Millis(0))


def at(seconds: float) -> Millis:
    return Millis(round(seconds * 1000))


def quarrel(edit: ForeignEdit, *, times: int) -> Disputes:
    disputes = Disputes()
    for _ in range(times):
        disputes.note(edit, at(0))
    return disputes


def test_the_first_change_rests_not_at_all_and_each_further_one_for_longer() -> None:
    disputes = Disputes()

    rests = [disputes.note(changed("a"), at(0)).rests_until for _ in range(8)]

    assert rests == [at(s) for s in (0, 5, 20, 60, 180, 300, 300, 300)]


def test_the_third_change_makes_it_a_dispute_and_no_other_does() -> None:
    disputes = Disputes()

    assert [disputes.note(changed("a"), at(0)).opened for _ in range(5)] == [
        False,
        False,
        True,
        False,
        False,
    ]


def test_a_quarter_of_an_hour_of_peace_wipes_it_out() -> None:
    disputes = quarrel(changed("a"), times=5)

    assert disputes.note(changed("a"), at(900)).times == 6
    assert disputes.note(changed("a"), at(900 + 900.001)).times == 1


def test_only_the_key_that_is_disputed_rests() -> None:
    disputes = quarrel(changed("a"), times=3)

    kept, until = disputes.without_resting(BOTH, at(1))

    assert kept == NodeEdit(labels={"b": None}, annotations={"a": "2"})
    assert until == at(20)
    assert disputes.without_resting(BOTH, at(20)) == (BOTH, None)


def test_an_annotation_is_another_key_than_a_label_of_the_same_name() -> None:
    disputes = quarrel(changed("a", field=MetadataField.ANNOTATIONS), times=2)

    kept, until = disputes.without_resting(BOTH, at(1))

    assert kept == NodeEdit(labels={"a": "1", "b": None}, annotations={})
    assert until == at(5)


def test_a_pods_key_is_another_one_than_the_nodes() -> None:
    disputes = quarrel(changed("a", pod=POD), times=2)
    of_pod = PodEdit(pod=POD, uid=PodUid("u"), labels={"a": "1"}, annotations={})

    assert disputes.without_resting(BOTH, at(1)) == (BOTH, None)
    assert disputes.without_resting(of_pod, at(1)) == (None, at(5))


def test_a_key_that_an_edit_does_not_name_delays_nothing() -> None:
    disputes = quarrel(changed("other"), times=2)

    assert disputes.without_resting(BOTH, at(1)) == (BOTH, None)


@pytest.mark.parametrize("edit", [NodeAnnotationRemoval(key="a", expected="1")])
def test_an_edit_with_a_test_of_its_own_never_rests(edit: Edit) -> None:
    disputes = quarrel(changed("a", field=MetadataField.ANNOTATIONS), times=5)

    assert disputes.without_resting(edit, at(1)) == (edit, None)
