"""The rules the agent needs, as one table."""

from ascend_agent.doctor.rules import RULES, required
from ascend_agent.settings import Settings


def test_nothing_may_be_written_that_was_switched_off() -> None:
    """Least privilege: without labels the agent asks for no patch."""
    assert {rule.verb for rule in required(Settings(node_labels=False))} == {"list", "watch"}


def test_labels_need_one_verb_more() -> None:
    more = set(required(Settings())) - set(required(Settings(node_labels=False)))

    assert [rule.text for rule in more] == ["patch nodes"]


def test_a_rule_is_listed_once_and_says_what_for() -> None:
    assert len({rule.text for rule in RULES}) == len(RULES)
    assert all(rule.why for rule in RULES)
