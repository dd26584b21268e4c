"""The rules the agent needs, as one table."""

import pytest

from ascend_agent.doctor.rules import RULES, required
from ascend_agent.settings import Settings


def test_nothing_may_be_written_that_was_switched_off() -> None:
    """Least privilege: without labels, annotations and Events the agent asks for no patch."""
    quiet = Settings(node_labels=False, node_annotations=False, kubernetes_events=False)

    assert {rule.verb for rule in required(quiet)} == {"list", "watch"}


@pytest.mark.parametrize("one", ["node_labels", "node_annotations"])
def test_either_of_labels_and_annotations_needs_the_node_to_be_changed(one: str) -> None:
    neither = {"node_labels": False, "node_annotations": False}
    more = set(required(Settings.model_validate(neither | {one: True})))

    assert {rule.text for rule in more - set(required(Settings.model_validate(neither)))} == {
        "patch nodes"
    }


@pytest.mark.parametrize(
    ("off", "rules"),
    [
        ("node_labels", set()),
        ("kubernetes_events", {"create events -n default", "patch events -n default"}),
    ],
)
def test_what_is_switched_on_needs_its_own_verbs(off: str, rules: set[str]) -> None:
    more = set(required(Settings())) - set(required(Settings.model_validate({off: False})))

    assert {rule.text for rule in more} == rules


def test_a_config_map_is_read_by_its_name_alone() -> None:
    """As ``kubectl auth can-i`` takes it, so that people can try."""
    named = required(Settings(fault_config_map="kube-system/rules"))

    assert [rule.text for rule in named if rule not in required(Settings())] == [
        "list configmaps/rules -n kube-system",
        "watch configmaps/rules -n kube-system",
    ]


def test_a_rule_is_listed_once_and_says_what_for() -> None:
    assert len({rule.text for rule in RULES}) == len(RULES)
    assert all(rule.why for rule in RULES)


def test_hami_needs_its_pods_and_events_about_them() -> None:
    """Lists and watches of the own Node are enough to read it live as well."""
    settings = {"node_labels": False, "node_annotations": False, "node_name": "n1"}
    told = required(Settings.model_validate({**settings, "dialect": "hami"}))
    quiet = {"kubernetes_events": False, "dialect": "hami", **settings}

    assert sorted(rule.text for rule in told) == [
        "create events",
        "get pods",
        "list nodes",
        "list pods",
        "patch events",
        "patch nodes",
        "patch pods",
        "watch nodes",
        "watch pods",
    ]
    assert not [rule for rule in required(Settings.model_validate(quiet)) if "events" in rule.text]
