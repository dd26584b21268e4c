"""The seams: what flows ask of mechanisms, and what policy answers to flows.

Small Protocols by use. Mechanisms implement the first half and are wired in ``app``; policy
implements the second half as pure functions of its arguments.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from ascend_agent.model.allocation import (
    AllocationRequest,
    Allocations,
    Assignment,
    ContainerGrant,
    DeviceGroup,
    DirectoryWant,
    Holder,
    InjectionWants,
    NeedFresh,
    PathKind,
    PreferenceRequest,
    Refused,
)
from ascend_agent.model.chip import ChipSpec, Ports
from ascend_agent.model.cluster import (
    ApiState,
    Edit,
    ForeignEdit,
    NodeEvent,
    NodeObject,
    Report,
)
from ascend_agent.model.fault import DriverFault
from ascend_agent.model.fault_rules import FaultFiles
from ascend_agent.model.hami import HamiFiles
from ascend_agent.model.health import HealthAnswer, NpuView
from ascend_agent.model.ids import (
    DieId,
    Millis,
    NumaNode,
    PhyId,
    PluginDeviceId,
    PodUid,
    ResourceName,
)
from ascend_agent.model.isolation import PublishedIsolation
from ascend_agent.model.kubelet import Offer, PluginDirectory, SocketIdentity
from ascend_agent.model.nics import NicLook
from ascend_agent.model.npu import (
    Enumeration,
    LaneId,
    Npu,
    NpuAddress,
    NpuIdentity,
    NpuProcess,
    NpuUsage,
)
from ascend_agent.model.pods import Pod, PodKey, Pods
from ascend_agent.model.surroundings import LinkState, ProcessTimes, SwitchFault
from ascend_agent.model.vnpu import Vnpu, VnpuId
from ascend_agent.model.world import NodeWorld, World
from ascend_agent.runtime.latest import Latest

if TYPE_CHECKING:
    from ascend_agent.model.metered import SoftReadings  # loaded where HAMi schedules alone

# --- what mechanisms offer -----------------------------------------------------------------


class InventoryReader(Protocol):
    """Which NPUs the driver lists, and what each one is."""

    async def enumerate(self, *, reinitialise: bool) -> Enumeration:
        """Return the driver's list; with *reinitialise* the driver looks at the hardware anew.

        With a parked lane a second worker takes over first, so a hung card can't block this.

        Raises:
            DriverUnavailableError: no worker could be asked.
            DriverError: the driver answered with an error.

        """

    async def read_identity(self, address: NpuAddress) -> NpuIdentity:
        """Return what the chip at *address* is.

        Raises:
            NpuUnresponsiveError: its lane missed the deadline or is parked.
            DriverError: the driver answered with an error.
            DriverUnavailableError: no worker could be asked.

        """


class HealthReader(Protocol):
    """Health value and standing fault codes of one NPU."""

    async def read_health(self, address: NpuAddress) -> HealthAnswer:
        """Ask for codes and health, always both; -8012 is an answer (lost), not an error.

        Raises:
            NpuUnresponsiveError, DriverError, DriverUnavailableError: as ``read_identity``.

        """


class DriverNews(Protocol):
    """What the worker tells unasked."""

    def news(self) -> AsyncIterator["DriverFault | DriverResync"]:
        """Yield fault events, and a ``DriverResync`` whenever continuity was lost."""


class DriverResync(Protocol):
    """Continuity was lost: for one lane (it answers again), or for all (None: a new worker)."""

    @property
    def lane(self) -> LaneId | None:
        """Return the lane concerned, None for all."""

    @property
    def reason(self) -> str:
        """Return why, for the log."""


class SwitchReader(Protocol):
    """The faults of the node's switches; the library behind it is optional and may fail alone.

    Each method raises DriverUnavailableError where no worker could be asked,
    NpuUnresponsiveError where the library hangs, and DriverError where it answered with an error;
    none of that says anything about an NPU.
    """

    async def open_switches(self) -> None:
        """Load and initialise the library in the current worker; safe to repeat.

        Raises:
            NotSupportedError: there is no such library here, or it may not be loaded; says why.

        """

    async def subscribe_switches(self) -> None:
        """Have faults told from now on; safe to repeat."""

    async def read_switch_faults(self) -> tuple[SwitchFault, ...]:
        """Return the faults that stand; ``raised_ms`` 0 where the library does not say when."""

    def switch_news(self) -> "AsyncIterator[SwitchFault | DriverResync]":
        """Yield faults as they are told, and a resync whenever all must be asked for anew."""


class UsageReader(Protocol):
    """Memory, utilisation and processes of one NPU; errors as ``InventoryReader``."""

    async def read_usage(self, address: NpuAddress) -> NpuUsage:
        """Return memory and utilisation."""

    async def read_processes(self, address: NpuAddress) -> tuple[NpuProcess, ...]:
        """Return the host processes that hold memory of the NPU."""


class DeviceShare(Protocol):
    """The driver's flag that lets several containers open one NPU."""

    async def enable_share(self, address: NpuAddress) -> bool:
        """Switch sharing on if it is off, read it back and return it; True where not needed.

        Raises: as ``InventoryReader``; -8255 counts as not needed and returns True.
        """


class ShareSwitch(Protocol):
    """The same flag, looked at and taken back; errors as ``DeviceShare``."""

    async def read_share(self, address: NpuAddress) -> bool:
        """Return whether sharing is on, without changing anything.

        Raises: as ``InventoryReader``; NotSupportedError where neither the driver's library nor
        its tool knows the flag. Slices whose bounds the containers keep themselves need one.
        """

    async def disable_share(self, address: NpuAddress) -> None:
        """Switch sharing off; -8255 means that there is nothing to do."""


class ShareRecord(Protocol):
    """For which NPUs this agent has switched sharing on; it outlives a restart."""

    async def read(self) -> frozenset[DieId]:
        """Return their dies, none where the record is damaged.

        Raises:
            HostError: it can't be read now.

        """

    async def write(self, dies: Collection[DieId]) -> None:
        """Have it name *dies* and no others; raises HostError, and then the old one stands."""


class VnpuReader(Protocol):
    """The vNPUs of one NPU."""

    async def read_vnpus(self, address: NpuAddress) -> tuple[Vnpu, ...]:
        """Return its vNPUs, ascending by id; a chip that can't be cut (-8255) has none.

        Raises: as ``InventoryReader``.
        """


class VnpuRemover(Protocol):
    """Takes vNPUs away; a change of the chip, so one at a time on the whole node."""

    async def destroy_vnpu(self, address: NpuAddress, vnpu: VnpuId) -> None:
        """Destroy one vNPU.

        Raises: as ``InventoryReader``; of one that is gone already, nothing.
        """


class HostFiles(Protocol):
    """Which of the paths an answer relies on exist on the host right now (IM-6)."""

    async def existing(self, paths: Sequence[str]) -> frozenset[str]:
        """Return those of *paths* that exist."""

    async def entries(self, directory: DirectoryWant) -> tuple[str, ...]:
        """Return the paths in *directory* that are no directories, sorted; empty if absent."""

    async def base_mounts(self) -> tuple[str, ...] | None:
        """Return the host's own mount list (``base.list``), None where there is none."""

    async def kinds(self, paths: Sequence[str]) -> Mapping[str, PathKind]:
        """Return what is at each of *paths* that exists, links followed; never ``ANY``."""


class ContainerDirectories(Protocol):
    """The directories below the soft mode's root that belong to one container each.

    Names are ``<pod uid>_<container>``; nothing outside the root is ever touched. All raise
    HostError.
    """

    async def make(self, name: str) -> None:
        """Make the directory anew, empty and open to every user; what was there goes."""

    async def remove(self, name: str) -> None:
        """Remove the directory with what is in it; one that is gone already is fine."""


class AgingDirectories(ContainerDirectories, Protocol):
    """The same for whoever removes those that nobody needs any more."""

    async def ages(self) -> Mapping[str, Millis]:
        """Return each directory with how long ago it last changed, in milliseconds."""

    async def age(self, name: str) -> Millis | None:
        """Return the same of one directory, None where there is none."""


class RegistryFiles(Protocol):
    """The files in which containers on one NPU take turns; all raise HostError."""

    async def sizes(self, npus: Collection[PhyId]) -> Mapping[PhyId, int]:
        """Return the size in bytes of each file there is of *npus*, 0 for what is no file."""

    async def remove(self, npu: PhyId) -> None:
        """Remove the file of *npu*; one that is gone already is fine."""


class SoftPreparation(Protocol):
    """Makes the host ready to limit containers in soft mode."""

    async def prepare(self) -> None:
        """Install what is missing or differs; files in use are replaced, never written to.

        Raises:
            HostError: soft mode can't be offered; the text says what is wrong and what to do.

        """


class SoftMeter(Protocol):
    """What containers with soft slices say of themselves, in files of the host."""

    def read(self, *, containers: Collection[str], npus: Collection[PhyId]) -> "SoftReadings":
        """Return what can be read now; never raises, and may block for the disk.

        *containers* are the names of their directories.
        """


class HamiConfigFiles(Protocol):
    """Reads HAMi's two files, and again whenever one of them changed."""

    def looks(self) -> AsyncIterator[HamiFiles]:
        """Yield the files as they are now, then at each change; what can't be read is said."""


class ProcessOwners(Protocol):
    """Whose the processes of the host are."""

    async def pod_of(self, pids: Sequence[int]) -> Mapping[int, PodUid | None]:
        """Return the pod of each process that lives, None for one of no pod or of our own.

        Raises:
            HostError: it can't be found out.

        """


class ProcessClock(Protocol):
    """How much the processes of the host have computed."""

    async def times_of(self, pids: Sequence[int]) -> Mapping[int, ProcessTimes]:
        """Return the times of each process that lives.

        Raises:
            HostError: it can't be found out.

        """


class LinkReader(Protocol):
    """The network ports of one NPU."""

    async def read_link(self, npu: Npu, ports: Ports) -> LinkState:
        """Return which of its ports are down; the driver must list the NPU.

        Raises:
            HostError: it can't be found out, which says nothing about the ports.

        """


class TrafficReader(Protocol):
    """What the network ports of one NPU have moved."""

    async def read_traffic(self, npu: Npu, ports: Ports) -> int:
        """Return packets or flits, sent and received, since some reset; errors as ``LinkReader``.

        An NPU without ports has moved nothing: 0.
        """


class StateFile(Protocol):
    """The one file in which something of this agent outlives a restart."""

    async def read(self) -> str | None:
        """Return what is in it, None where there is none.

        Raises:
            DamagedFileError: what is there can't be such a file.
            HostError: it can't be read now.

        """

    async def write(self, text: str) -> None:
        """Replace it as a whole; raises HostError, and then the old one still stands."""

    async def set_aside(self) -> str:
        """Give what is there another name and return it; raises HostError."""


class SmallFile(Protocol):
    """A file that others write, read whole."""

    async def read(self) -> bytes | None:
        """Return what is in it now, None where there is none.

        Raises:
            HostError: it can't be read.

        """


class NicWatcher(Protocol):
    """Looks at the host's network cards, and again whenever one of them may have changed."""

    def looks(self) -> AsyncIterator[NicLook]:
        """Yield how they are now, then after each change; the first look is never kept back."""

    async def pci_paths(self, buses: Sequence[str]) -> Mapping[str, str]:
        """Return where the PCI devices of these addresses lie, as ``Nic.path``; absent: unknown."""


class NumaReader(Protocol):
    """Which NUMA node an NPU hangs on."""

    def read_numa(self, identity: NpuIdentity) -> NumaNode | None:
        """Return the node by PCI device, else by the driver's CPU affinity, else None."""


class DirectoryWatcher(Protocol):
    """Looks at the device-plugin directory, and again whenever something there may have changed."""

    def looks(self) -> AsyncIterator[PluginDirectory]:
        """Yield how the directory looks now, then at each change and at a slow poll."""


class FaultConfigFiles(Protocol):
    """Reads the operator's files with fault rules, and again whenever one of them changed."""

    def looks(self) -> AsyncIterator[FaultFiles]:
        """Yield the files as they are now, then at each change; what can't be read is said."""


class ResourceEndpoint(Protocol):
    """One resource towards the kubelet: a socket, its streams, its registration."""

    async def open(self) -> SocketIdentity:
        """Serve on a fresh socket in the plugin directory and return the socket's identity.

        Raises:
            KubeletError: the socket can't be made; the text names path, reason and remedy.

        """

    def in_place(self) -> bool:
        """Return whether the socket in the directory is the one we serve on."""

    def displaced(self) -> bool:
        """Return whether something else stands where our socket would."""

    async def register(self) -> None:
        """Tell the kubelet about this resource.

        Raises:
            RegistrationRefusedError: the kubelet said no.
            KubeletGoneError: nobody answers on its socket within the deadline.

        """

    def publish(self, offer: Offer) -> None:
        """Make *offer* the list that every open and every new stream shows; nothing queues."""

    @property
    def streams(self) -> Latest[int]:
        """How many ListAndWatch streams are open."""

    async def close(self) -> None:
        """Drain, remove the socket if it is still ours; safe in any state, any number of times."""


class Allocator(Protocol):
    """Answers the kubelet's questions about one resource."""

    async def allocate(self, requests: Sequence[AllocationRequest]) -> tuple[ContainerGrant, ...]:
        """Return one grant a container; raises AllocationError, and then nothing was given."""

    async def prefer(
        self, requests: Sequence[PreferenceRequest]
    ) -> tuple[tuple[PluginDeviceId, ...], ...]:
        """Return the ids the kubelet should take, one tuple a container."""

    async def check(self, devices: Sequence[PluginDeviceId]) -> None:
        """Raise AllocationError where one of *devices* is unknown or unhealthy (KL-10)."""


class PodResources(Protocol):
    """The kubelet's own account of who holds which kubelet device."""

    async def read_holders(self) -> Mapping[ResourceName, Mapping[PluginDeviceId, Holder]]:
        """Return the holders of all devices, by resource.

        Raises:
            KubeletGoneError: nobody answers on the pod-resources socket.
            KubeletError: the kubelet answered with an error.

        """

    async def read_listed(self, resource: ResourceName) -> Mapping[PodKey, frozenset[str]]:
        """Return which containers have devices of *resource*, by pod.

        A pod is there, without any, from before the kubelet admits it. Init containers that end
        are never told. Raises as ``read_holders``, and KubeletAbsentError where not even the
        socket is there.
        """

    def close(self) -> None:
        """Give the connection up; safe to repeat, and the next read makes a new one."""


class CdiWriter(Protocol):
    """Keeps the CDI specification file on the host."""

    async def write(self, document: Mapping[str, object]) -> bool:
        """Replace the file atomically; return False where it already said the same."""


class InstanceLock(Protocol):
    """The lock that lets one agent serve a node (KL-4)."""

    def try_acquire(self) -> bool:
        """Take the lock if it is free; True while we hold it. Never waits."""

    def holder(self) -> str:
        """Return what the holder wrote about itself, for people."""

    def release(self) -> None:
        """Give the lock back; safe when not held."""


class ClusterWatch(Protocol):
    """What the API server shows of this node, kept current by one watch a kind (SC-2, AP-1)."""

    def nodes(self) -> AsyncIterator[NodeObject]:
        """Yield the own Node now and after each change, also when ``live`` changes."""

    def pods(self) -> AsyncIterator[Pods]:
        """Yield the pods of this node once they are known, then after each change."""

    def states(self) -> AsyncIterator[ApiState]:
        """Yield how the API server is doing, now and after each change."""

    def foreign_edits(self) -> AsyncIterator[ForeignEdit]:
        """Yield what others changed of what we wrote; never our own edits coming back."""

    def fault_config(self) -> AsyncIterator[Mapping[str, str] | None]:
        """Yield the data of the ConfigMap with fault rules now and after each change of it.

        None: the server said that there is none. An error says nothing, so nothing is yielded
        then; where no ConfigMap is to be followed, nothing ever is.
        """


class ClusterEditor(Protocol):
    """Writes to the API server."""

    async def apply(self, edit: Edit) -> None:
        """Have *edit* acknowledged; return at once where the object already looks that way.

        Waits its turn (rate limit), retries with jitter what a retry can help, and honours
        Retry-After; the caller sets the deadline by cancelling. Once it returned, watchers see
        the object with the edit in it.

        Raises:
            ConflictError: the pod is another one by now, or the expected value is not there.
            NotFoundError, ForbiddenError, RejectedError: a retry would not help.

        """


class ClusterReader(Protocol):
    """Live reads of what the watches show, for decisions that can't wait for them.

    All raise ClusterError where it could not be read, which says nothing about the object. What
    was read is shown to watchers as well.
    """

    async def read_node(self) -> NodeObject:
        """Return the own Node as the API server has it now; NotFoundError: there is none."""

    async def read_pods(self) -> tuple[Pod, ...]:
        """Return the pods of this node as the API server has them now, ordered by key."""

    async def read_pod(self, key: PodKey) -> Pod | None:
        """Return the pod as the API server has it now, None where there is none."""


class EventPoster(Protocol):
    """Posts Kubernetes Events about the own Node and pods on it."""

    async def post_event(self, event: NodeEvent, *, known: bool) -> None:
        """Have the API server show *event*; *known*: it has an earlier state of it to be changed.

        One attempt with a deadline: while nobody answers, what is to be said may change.

        Raises:
            NotFoundError: *known*, and the Event is gone by now (they live for an hour).
            ClusterError: it was not posted.

        """

    def lose_events(self, count: int) -> None:
        """Count happenings that no Event will tell of."""


# --- what policy answers -------------------------------------------------------------------


class SchedulerDialect(Protocol):
    """How one scheduler and this agent speak. No I/O, no clock."""

    name: ClassVar[str]
    words: ClassVar[tuple[str, ...]]
    """Every device word this dialect may offer."""

    def word_of(self, npu: Npu, spec: ChipSpec) -> str:
        """Return the device word under which *npu* is offered."""

    def resource_of(self, word: str) -> ResourceName:
        """Return the extended resource of a device word."""

    def assign(self, request: AllocationRequest, world: World) -> Assignment | NeedFresh | Refused:
        """Return the NPUs for this request, or what must be read before that can be said."""

    def prefer(self, request: PreferenceRequest, world: World) -> tuple[PluginDeviceId, ...]:
        """Return the ids the kubelet should hand out, best first; empty means no wish."""

    def holders(
        self,
        held: Mapping[ResourceName, Mapping[PluginDeviceId, Holder]],
        worlds: Sequence[World],
    ) -> Allocations:
        """Return who uses which NPU, given what PodResources says.

        What it says of all pods is what it says of each, put together. Of *worlds* it rests on
        pods, configuration, shares and names of NPUs, never on their health.
        """

    def report(self, world: NodeWorld) -> Report:
        """Return what the scheduler must be able to read about this node.

        Asked again whenever anything in *world* changed, so each report is the whole one.
        """

    def isolation_said(self, node: NodeObject) -> PublishedIsolation:
        """Return what is said of isolation where ``report`` says it, as *node* is."""

    def is_release(self, edit: ForeignEdit) -> bool:
        """Return whether *edit* is of the list of separated NPUs, off which people take them."""


class SlicingMode(Protocol):
    """How an NPU is cut for the kubelet. No I/O, no clock."""

    name: ClassVar[str]
    needs_device_share: ClassVar[bool]

    def advertise(
        self, views: Sequence[NpuView], *, word: str, shares: int
    ) -> tuple[DeviceGroup, ...]:
        """Return the kubelet's list, healthy and unhealthy, ordered by physical id."""


class Injection(Protocol):
    """One way for NPUs to get into a container. No I/O, no clock."""

    @property
    def name(self) -> str:
        """Return what the way is called."""

    @property
    def reads_mounts(self) -> bool:
        """Return whether ``wants`` looks at the host's mount list, which costs reading it."""

    def wants(
        self, npus: Sequence[tuple[Npu, ChipSpec]], *, base_mounts: tuple[str, ...] | None
    ) -> InjectionWants:
        """Return what a container of these NPUs should get; *npus* ascend by physical id."""
