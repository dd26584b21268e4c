"""How the API server is doing, put together from what each part of the connection tells.

Told and logged on change only; the phase is the worst of what is wrong.
"""

import logging
from collections.abc import Callable, Sequence

from ascend_agent.errors import ClusterError, ForbiddenError
from ascend_agent.model.cluster import ApiPhase, ApiState
from ascend_agent.model.ids import Millis, NodeName
from ascend_agent.runtime.latest import LatestWriter

log = logging.getLogger(__name__)


class PublishedState:
    """The state of one connection; *parts* are the names of those who tell."""

    def __init__(
        self,
        *,
        writer: LatestWriter[ApiState],
        now: Callable[[], Millis],
        parts: Sequence[str],
        node: NodeName,
    ) -> None:
        self._writer = writer
        self._now = now
        self._node = node
        self._silent = set(parts)
        self._troubles: dict[str, ClusterError] = {}
        self._exists = True
        self._state = ApiState(phase=ApiPhase.CONNECTING, since_ms=now())
        writer.put(self._state)

    def connect(self, *, server: str, credentials: str) -> None:
        """Say where the API server is and what shows us to it."""
        self._put(self._state.phase, self._state.detail, server=server, credentials=credentials)

    def hear(self, part: str, trouble: ClusterError | None) -> None:
        """Take how *part* fares; None: well."""
        self._silent.discard(part)
        if trouble is None:
            self._troubles.pop(part, None)
        else:
            self._troubles[part] = trouble
        self._judge()

    def hear_node(self, *, exists: bool) -> None:
        """Take whether the API server has a Node of our name."""
        self._exists = exists
        self._judge()

    def _judge(self) -> None:
        troubles = list(self._troubles.values())
        forbidden = [trouble for trouble in troubles if isinstance(trouble, ForbiddenError)]
        if forbidden:
            self._put(ApiPhase.FORBIDDEN, _texts(forbidden))
        elif troubles:
            self._put(ApiPhase.UNREACHABLE, _texts(troubles))
        elif self._silent:
            self._put(ApiPhase.CONNECTING, "")
        elif not self._exists:
            detail = f"the API server knows no node {self._node}; check --node-name"
            self._put(ApiPhase.NO_SUCH_NODE, detail)
        else:
            self._put(ApiPhase.READY, "")

    def _put(
        self,
        phase: ApiPhase,
        detail: str,
        *,
        server: str | None = None,
        credentials: str | None = None,
    ) -> None:
        before = self._state
        self._state = ApiState(
            phase=phase,
            since_ms=before.since_ms if phase is before.phase else self._now(),
            server=before.server if server is None else server,
            credentials=before.credentials if credentials is None else credentials,
            detail=detail,
        )
        self._writer.put(self._state)
        if phase is not before.phase:
            self._log()

    def _log(self) -> None:
        facts = {"server": self._state.server, "why": self._state.detail}
        match self._state.phase:
            case ApiPhase.READY:
                log.info("api server answers", extra={"server": self._state.server})
            case ApiPhase.UNREACHABLE:
                log.warning("api server unreachable", extra=facts)
            case ApiPhase.FORBIDDEN:
                log.error("api server refuses the agent", extra=facts)
            case ApiPhase.NO_SUCH_NODE:
                log.error("own node unknown to the api server", extra=facts)
            case _:
                pass  # said when it is over


def _texts(troubles: Sequence[ClusterError]) -> str:
    return "; ".join(dict.fromkeys(str(trouble) for trouble in troubles))
