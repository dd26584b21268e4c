"""Binds a pod to its node: takes the node's lock, says so in the pod, creates the Binding."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from ascend_agent.sim.hami.client import ApiClient, Cache, RequestError, key_of
from ascend_agent.sim.hami.lock import format_lock, is_lock_of, may_take
from ascend_agent.sim.hami.notices import Notice, Tell
from ascend_agent.sim.hami.versions import SchedulerVersion
from ascend_agent.sim.hami.words import BIND_PHASE, BIND_TIME, LOCK, Json, annotations_of

_TRIES: Final = 5
_CONFLICT: Final = 409


class Binder:
    """The second half of scheduling a pod; *pods* is who there is, for locks of the gone."""

    def __init__(
        self,
        api: ApiClient,
        *,
        pods: Cache,
        version: SchedulerVersion,
        now: Callable[[], datetime],
        tell: Tell,
    ) -> None:
        self._api = api
        self._pods = pods
        self._version = version
        self._now = now
        self._tell = tell

    async def lock(self, pod: Json, node: str) -> bool:
        """Lock *node* for *pod*; return False while another holds it.

        Raises:
            RequestError: the API server refused; ``bind`` and ``patch`` raise it alike.

        """
        text = format_lock(pod, self._version, now=self._now())
        if not text:
            return True
        for _ in range(_TRIES):
            found = await self._api.get(f"/api/v1/nodes/{node}")
            held = annotations_of(found).get(LOCK)
            if is_lock_of(held, pod):
                return True
            if not may_take(held, self._version, now=self._now(), exists=self._pods.has):
                return False
            version = found["metadata"]["resourceVersion"]
            metadata = {"annotations": {LOCK: text}, "resourceVersion": version}
            try:
                await self._api.patch(f"/api/v1/nodes/{node}", {"metadata": metadata})
            except RequestError as error:
                if error.code != _CONFLICT:
                    raise
                continue  # somebody else changed the node: look again whose it is
            self._say("locked", pod, node)
            return True
        return False

    async def bind(self, pod: Json, node: str) -> None:
        """Create the Binding of *pod*; where that fails, the pod says so."""
        namespace, name = key_of(pod)
        item = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": namespace, "name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        try:
            await self._api.create(f"/api/v1/namespaces/{namespace}/pods/{name}/binding", item)
        except RequestError:
            await self.patch(pod, {"metadata": {"annotations": self.phase("failed")}})
            raise
        # The watch shows the node later; until then nobody may bind the pod again.
        bound = self._pods.items.get((namespace, name))
        if bound is not None:
            bound["spec"]["nodeName"] = node
        self._say("bound", pod, node)

    async def patch(self, pod: Json, patch: Json) -> Json:
        """Patch *pod*; the cache hears of it before the watch tells."""
        namespace, name = key_of(pod)
        answer = await self._api.patch(f"/api/v1/namespaces/{namespace}/pods/{name}", patch)
        self._pods.hear("MODIFIED", answer)
        return answer

    def phase(self, text: str) -> dict[str, str]:
        """Return the annotations that say how far binding is."""
        return {BIND_PHASE: text, BIND_TIME: str(int(self._now().timestamp()))}

    def _say(self, event: str, pod: Json, node: str) -> None:
        self._tell(Notice(event=event, facts={"pod": "/".join(key_of(pod)), "node": node}))
