"""The whole error tree.

AgentError
├── ConfigError                      cannot start; exit 2
├── WiringError · LaggedError · TaskEndedError · RestartBudgetSpentError
├── DriverError(call, code, npu)     DriverUnavailableError · DriverBusyError · NotSupportedError ·
│                                    NpuLostError · NpuUnresponsiveError
├── KubeletError                     RegistrationRefusedError · KubeletGoneError · KubeletBusyError
│                                    BadMessageError: OversizeMessageError
├── ClusterError(verb, object)       ClusterUnreachableError · ThrottledError · ConflictError ·
│                                    ForbiddenError: UnauthenticatedError · NotFoundError ·
│                                    ExpiredError · RejectedError
├── HostError                        a file, lock or port of the host can't be used
│                                    DamagedFileError
└── AllocationError                  raised in flows/allocate alone; becomes a gRPC status

A type says what the catcher does: retry, treat as absent, turn into a fault, give up.
"""


class AgentError(Exception):
    """Everything this agent raises on purpose."""


class ConfigError(AgentError):
    """The settings can't be used; the text names the option, its value and the remedy."""


class WiringError(AgentError):
    """A programming error in the composition: two writers of one channel, a channel unclaimed."""


class LaggedError(AgentError):
    """A reader of a Topic fell behind; it must read the whole truth again."""

    def __init__(self, topic: str, missed: int) -> None:
        super().__init__(f"reader of {topic} missed {missed} events")
        self.missed = missed


class TaskEndedError(AgentError):
    """A supervised task returned; it should run for ever, so that is a failure too."""

    def __init__(self, name: str) -> None:
        super().__init__(f"task {name} ended by itself")


class RestartBudgetSpentError(AgentError):
    """A supervised task failed more often than its budget allows; the agent ends with exit 1."""

    def __init__(self, name: str, failures: int) -> None:
        super().__init__(f"task {name} failed {failures} times in a row")
        self.name = name


class DriverError(AgentError):
    """A driver call failed; carries the call, its return code and the NPU or lane it was for."""

    def __init__(self, call: str, code: int, where: str = "", detail: str = "") -> None:
        place = f" on {where}" if where else ""
        text = f": {detail}" if detail else ""
        super().__init__(f"{call}{place} {self._outcome(code)}{text}")
        self.call = call
        self.code = code
        self.where = where

    def _outcome(self, code: int) -> str:
        return f"answered {code}"


class DriverUnavailableError(AgentError):
    """No worker can be asked: library missing or refused, init failed, worker ended."""


class DriverBusyError(DriverError):
    """The driver asks to come back later (busy, upgrading, occupied)."""


class NotSupportedError(DriverError):
    """This chip has no such feature (-8255); treat it as absent, for ever."""


class NpuLostError(DriverError):
    """The driver no longer reaches the chip (-8012, -8008)."""


class NpuUnresponsiveError(DriverError):
    """The lane of this chip missed its deadline, or is parked because an earlier call did."""

    def _outcome(self, code: int) -> str:  # noqa: ARG002 -- a code that nobody answered
        return "got no answer"


class KubeletError(AgentError):
    """Something between us and the kubelet went wrong."""


class RegistrationRefusedError(KubeletError):
    """The kubelet answered our registration with an error; the text is its own."""


class KubeletGoneError(KubeletError):
    """Nobody answers on the kubelet's socket."""


class KubeletAbsentError(KubeletGoneError):
    """Nobody answers, because there is no socket at all."""


class KubeletBusyError(KubeletError):
    """The kubelet limits how often we may ask (ResourceExhausted); ask again later."""


class BadMessageError(KubeletError):
    """A message from the other side breaks its protocol or our limits; the text says where."""


class OversizeMessageError(BadMessageError):
    """A message is longer than we accept; it was refused before it was read."""


class ClusterError(AgentError):
    """A request to the API server failed; carries the verb and the object it was for."""

    def __init__(self, verb: str, target: str, why: str) -> None:
        super().__init__(f"{verb} {target}: {why}")
        self.verb = verb
        self.target = target
        self.why = why


class ClusterUnreachableError(ClusterError):
    """Nobody answered, or the server could not (5xx); try again later."""


class ThrottledError(ClusterError):
    """The server asks to come back later (429, 503 with Retry-After); ``after_s`` may be None."""

    def __init__(self, verb: str, target: str, why: str, *, after_s: float | None) -> None:
        super().__init__(verb, target, why)
        self.after_s = after_s


class ConflictError(ClusterError):
    """The object is not what the edit was decided on (409, a failed test); read, decide again."""


class StaleEditError(ConflictError):
    """Somebody changed a key that an edit was decided on; nothing was written.

    ``found`` is what stands there now, None: nothing.
    """

    def __init__(self, key: str, found: str | None) -> None:
        super().__init__("patch", "the own node", f"{key} is not what the edit was decided on")
        self.key = key
        self.found = found


class ForbiddenError(ClusterError):
    """A rule is missing (403); only an administrator can help, the text names the rule."""


class UnauthenticatedError(ForbiddenError):
    """The credentials are not accepted (401), fresh ones neither."""


class NotFoundError(ClusterError):
    """There is no such object (404)."""


class ExpiredError(ClusterError):
    """The version asked for is too old (410); list again."""


class RejectedError(ClusterError):
    """The server understood and refuses (400, 422 and other 4xx); asking again changes nothing."""


class HostError(AgentError):
    """The host won't let us use a file, a lock or a port; the text names it and the remedy."""


class DamagedFileError(HostError):
    """A file of ours is there and is of no use; the text says what is wrong with it."""


class AllocationError(AgentError):
    """An Allocate can't be granted; the text reaches the pod's event, so it names the remedy."""
