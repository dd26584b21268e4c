"""The own Node object, edits of API objects as values, and how the API server is doing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ascend_agent.model.ids import Millis, NodeName, ObjectVersion, PodUid
from ascend_agent.model.pods import PodKey, PodRef, Pods


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeObject:
    """The own Node, acknowledged patches laid over it until the watch shows them.

    ``live`` is False while the watch is broken: the object is then as last seen.
    """

    name: NodeName
    uid: str
    version: ObjectVersion
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    live: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEdit:
    """Labels and annotations of the own Node as they should be; None: the key should be absent.

    Keys that are not named stay as they are. Only what differs is sent, as one merge patch.
    ``expects`` names annotations with the value on which the edit was decided: it is refused where
    one has another value by then, which is not the one wanted either. ``answered`` names
    annotations in which others write as well, in turn with us: who does is no stranger.
    """

    labels: Mapping[str, str | None]
    annotations: Mapping[str, str | None]
    expects: Mapping[str, str | None] = field(default_factory=dict)
    answered: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodEdit:
    """The same for one pod; refused by the API server where another pod has the name by now.

    It refuses it too where an annotation that ``expects`` names has another value, however late
    the edit comes to it. Such an edit only sets annotations of a pod that has some.
    """

    pod: PodKey
    uid: PodUid
    labels: Mapping[str, str | None]
    annotations: Mapping[str, str | None]
    expects: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAnnotationRemoval:
    """Remove an annotation of the own Node only while it has the value *expected*.

    A JSON patch with a test: it needs no version and can never remove another's value.
    """

    key: str
    expected: str


Edit = NodeEdit | PodEdit | NodeAnnotationRemoval


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEvent:
    """One Kubernetes Event about the own Node, or about *pod*, as it should stand there.

    ``name`` is its own for ever; what else is here may change, as it happens again. ``warning``:
    of type Warning, else Normal. ``count`` is how often it happened from ``first_ms`` to
    ``last_ms``, agent time. Texts longer than the API allows are cut.
    """

    name: str
    node_uid: str
    warning: bool
    reason: str
    action: str
    message: str
    count: int
    first_ms: Millis
    last_ms: Millis
    pod: PodRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigMapKey:
    """Namespace and name of a ConfigMap."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class MetadataField(Enum):
    """Which map of an object's metadata."""

    LABELS = "labels"
    ANNOTATIONS = "annotations"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignEdit:
    """Somebody else changed what we wrote: *wrote* is ours, *found* is theirs, None means absent.

    ``pod`` None: the own Node.
    """

    pod: PodKey | None
    field: MetadataField
    key: str
    wrote: str | None
    found: str | None
    at_ms: Millis


class ApiPhase(Enum):
    """How the API server is doing, as far as this agent is concerned."""

    OFF = "off"  # no API server is to be talked to; the detail says why
    CONNECTING = "connecting"
    READY = "ready"
    UNREACHABLE = "unreachable"
    FORBIDDEN = "forbidden"
    NO_SUCH_NODE = "no-such-node"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiState:
    """One state of the connection to the API server.

    ``server`` is its address, ``credentials`` where ours came from, for people (CF-10); ``detail``
    says what is wrong and what to do, empty while READY.
    """

    phase: ApiPhase
    since_ms: Millis
    server: str = ""
    credentials: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCounts:
    """What went back and forth with the API server since the agent started.

    ``lists`` counts pages, ``watches`` streams opened, ``reads`` single objects, ``patches``
    requests to change one; ``errors`` those of all that failed, ``throttled`` and ``expired``
    (410) among them. ``broken_streams`` ended otherwise than by the server's own time limit.
    ``skipped_objects`` could not be read, ``unknown_events`` had a type that is none.
    ``events_posted`` counts Events made or changed, ``events_lost`` what no Event will tell of.
    """

    lists: int = 0
    watches: int = 0
    reads: int = 0
    patches: int = 0
    errors: int = 0
    throttled: int = 0
    expired: int = 0
    broken_streams: int = 0
    skipped_objects: int = 0
    unknown_events: int = 0
    foreign_edits: int = 0
    events_posted: int = 0
    events_lost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSeen:
    """What is known of the API server's side at one moment; None: not told yet."""

    state: ApiState | None = None
    node: NodeObject | None = None
    pods: Pods | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a scheduler must be able to read about this node.

    ``wake_at`` is when to ask again though nothing changed. ``left_out`` says of each value that
    can't be published which one and why; the others are published all the same.
    """

    edits: tuple[Edit, ...]
    left_out: tuple[str, ...] = ()
    wake_at: Millis | None = None
