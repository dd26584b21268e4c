"""The checks ``api-server``, ``api-rules`` and ``clock``: what one visit there has told.

What is asked, and how, is decided in ``ask_cluster``; what is needed, in ``rules``.
"""

import re
from typing import Final

from ascend_agent.doctor.answers import ClusterFacts, ClusterOff, ClusterTrouble
from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, skipped, warn
from ascend_agent.doctor.place import Place
from ascend_agent.doctor.rules import required
from ascend_agent.settings import DialectName

_TESTED: Final = (28, 37)
_MINOR: Final = re.compile(r"v1\.(?P<minor>\d+)")
_TOKEN_S: Final = 300.0
_SKEW_S: Final = 5.0
_BAD_SKEW_S: Final = 60.0


async def _look_server(place: Place) -> tuple[Finding, ...]:
    answer = await place.cluster()
    match answer:
        case ClusterOff(why=why) if place.settings.dialect is DialectName.HAMI:
            return (
                fail(
                    "no api server to ask",
                    f"{why}; HAMi's scheduler writes there what a pod gets",
                    remedy="run it in a pod with its service account's token, or give --kubeconfig",
                ),
            )
        case ClusterOff(why=why):
            return (skipped("api server", why),)
        case ClusterTrouble():
            place_text = f"{answer.server or '?'}, credentials: {answer.credentials or 'none'}"
            return (
                fail(
                    "api server does not answer",
                    f"{answer.why} ({place_text})",
                    remedy=answer.remedy,
                ),
            )
        case ClusterFacts():
            return judge_server(answer)


def judge_server(facts: ClusterFacts) -> tuple[Finding, ...]:
    """Return what is to be said of a server that answers."""
    found = [
        ok(
            "api server answers",
            f"{facts.server}, {facts.version}, credentials: {facts.credentials}",
        )
    ]
    match = _MINOR.match(facts.version)
    least, most = _TESTED
    if match is None or not least <= int(match["minor"]) <= most:
        found.append(
            warn(
                "untested version",
                f"{facts.version}; tested are 1.{least} to 1.{most}",
                remedy="expect it to work, and report it if it does not",
            )
        )
    if facts.token_left_s is not None and facts.token_left_s < _TOKEN_S:
        found.append(
            warn(
                "token about to end",
                f"good for {max(facts.token_left_s, 0):.0f} s more, and not renewed",
                remedy="the kubelet renews a pod's token long before: see its log, and whether the "
                "token is mounted with subPath, which never changes",
            )
        )
    return tuple(found)


async def _look_rules(place: Place) -> tuple[Finding, ...]:
    answer = await place.cluster()
    if not isinstance(answer, ClusterFacts):
        return (skipped("rbac rules", "no API server answers, see the check api-server"),)
    found = []
    for rule in required(place.settings):
        match answer.allowed.get(rule.text):
            case True:
                found.append(ok(f"may {rule.text}"))
            case False:
                found.append(
                    fail(
                        f"may not {rule.text}",
                        f"needed {rule.why}",
                        remedy=f"grant the agent's account to {rule.text}: helm upgrade does, "
                        "with rbac.create=true",
                    )
                )
            case None:
                found.append(
                    warn(
                        f"unknown whether it may {rule.text}",
                        "the server would not say",
                        remedy=f"kubectl auth can-i {rule.text} --as=system:serviceaccount:"
                        "NAMESPACE:NAME",
                    )
                )
    return tuple(found)


async def _look_clock(place: Place) -> tuple[Finding, ...]:
    answer = await place.cluster()
    if not isinstance(answer, ClusterFacts) or answer.ahead_s is None:
        return (skipped("clock", "no API server has told its time"),)
    return (judge_clock(answer.ahead_s),)


def judge_clock(ahead_s: float) -> Finding:
    """Return the finding for a clock that is *ahead_s* ahead of the API server's."""
    way = "ahead of" if ahead_s > 0 else "behind"
    text = f"{abs(ahead_s):.0f} s {way} the API server's"
    remedy = "set the clock by NTP (chronyc tracking, timedatectl), on whichever of the two is off"
    if abs(ahead_s) > _BAD_SKEW_S:
        return fail("clock is wrong", text, remedy=remedy)
    if abs(ahead_s) > _SKEW_S:
        return warn("clock is off", text, remedy=remedy)
    return ok("clock agrees with the api server's")


SERVER: Final = Check(
    name="api-server",
    asks="Does the API server answer, and accept our credentials?",
    advice=(
        "Does not answer: the detail has address, credentials and the reason; 401 means that the "
        "token is not accepted, a TLS error that the CA is not the right one.\n"
        "Without a node name or credentials the agent uses no API server and serves all the same; "
        "with --dialect hami it can serve nobody then."
    ),
    look=_look_server,
)
RULES_GRANTED: Final = Check(
    name="api-rules",
    asks="Is each RBAC rule granted that these settings need?",
    advice=(
        "May not: the finding names verb and resource; the chart grants them, and nothing more is "
        "needed."
    ),
    look=_look_rules,
)
CLOCK: Final = Check(
    name="clock",
    asks="Does this node's clock agree with the API server's?",
    advice=(
        "Wrong by more than a minute: tokens and certificates are judged wrongly, and times that "
        "a scheduler compares are off.\n"
        "The agent's own timers don't depend on it."
    ),
    look=_look_clock,
)
