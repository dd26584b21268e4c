"""An independent kubelet: gRPC's C core and Google's messages, in a process of its own.

Started by ``client.PeerKubelet``, whose docstring describes what it can do. Reads one JSON
command a line from standard input, writes replies and events as JSON lines to standard output,
and ends with its input. Shares no code with the agent, so that the two can't be wrong together.
"""

import functools
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc

from tests.peer._generated.deviceplugin.v1beta1 import api_pb2, api_pb2_grpc
from tests.peer._generated.podresources.v1 import api_pb2 as v1_pb2
from tests.peer._generated.podresources.v1 import api_pb2_grpc as v1_grpc
from tests.peer._generated.podresources.v1alpha1 import api_pb2 as v1alpha1_pb2
from tests.peer._generated.podresources.v1alpha1 import api_pb2_grpc as v1alpha1_grpc

_NAMED_UNHEALTHY = 64
_UNARY_S = 10.0

_out = threading.Lock()


def tell(**facts: object) -> None:
    """Write one line to whoever started us."""
    with _out:
        sys.stdout.write(json.dumps(facts) + "\n")
        sys.stdout.flush()


class Stream:
    """One ListAndWatch stream, read by a thread of its own."""

    def __init__(self, number: int, stub: api_pb2_grpc.DevicePluginStub, *, every_s: float) -> None:
        self.number = number
        self.last: api_pb2.ListAndWatchResponse | None = None
        self._every_s = every_s
        self._over = threading.Event()
        self.call = stub.ListAndWatch(api_pb2.Empty())

    def read(self, *, most: int | None) -> None:
        """Tell of each list; after *most* lists stop reading, the stream still open."""
        code = "OK"
        try:
            for count, message in enumerate(self.call, start=1):
                self._tell(message, time.monotonic_ns())
                if count == most:
                    self._over.wait()
                    return
                if self._every_s:
                    self._over.wait(self._every_s)
        except grpc.RpcError as error:
            code = error.code().name
        tell(event="stream_end", stream=self.number, ns=time.monotonic_ns(), code=code)

    def cancel(self) -> None:
        self._over.set()
        self.call.cancel()

    def _tell(self, message: api_pb2.ListAndWatchResponse, now_ns: int) -> None:
        self.last = message
        sick = [device.ID for device in message.devices if device.health != "Healthy"]
        total = len(message.devices)
        tell(
            event="list",
            stream=self.number,
            ns=now_ns,
            total=total,
            healthy=total - len(sick),
            unhealthy=sick[:_NAMED_UNHEALTHY],
        )


class Kubelet(api_pb2_grpc.RegistrationServicer):
    """The state behind the commands; each public method is one of them."""

    def __init__(self, plugin_dir: str) -> None:
        self._dir = Path(plugin_dir)
        self._server: grpc.Server | None = None
        self._pods: grpc.Server | None = None
        self._dial = True
        self._refuse: str | None = None
        self._hang = False
        self._released = threading.Event()
        self._channels: dict[tuple[str, str | None], grpc.Channel] = {}
        self._former: list[grpc.Channel] = []
        self._streams: dict[int, Stream] = {}
        self._numbers = iter(range(1, sys.maxsize))

    # --- Registration ---------------------------------------------------------------------

    def serve(
        self,
        *,
        wipe: bool = True,
        dial: bool = True,
        refuse: str | None = None,
        hang: bool = False,
    ) -> dict[str, Any]:
        if wipe:
            for path in self._dir.iterdir():
                if path.is_socket():
                    path.unlink(missing_ok=True)
        self._dial, self._refuse, self._hang = dial, refuse, hang
        self._released.clear()
        self._server = grpc.server(futures.ThreadPoolExecutor(8))
        _add(api_pb2_grpc.add_RegistrationServicer_to_server, self, self._server)
        self._server.add_insecure_port(f"unix:{self._dir / 'kubelet.sock'}")
        self._server.start()
        return {"ns": time.monotonic_ns()}

    def Register(  # noqa: N802 -- the service's name for it
        self, request: api_pb2.RegisterRequest, context: grpc.ServicerContext
    ) -> api_pb2.Empty:
        now_ns = time.monotonic_ns()
        if self._hang:
            tell(event="registering", ns=now_ns)
            self._released.wait()
        if self._refuse is not None:
            context.abort(grpc.StatusCode.UNKNOWN, self._refuse)
        tell(
            event="registered",
            ns=now_ns,
            version=request.version,
            endpoint=request.endpoint,
            resource=request.resource_name,
            pre_start=request.options.pre_start_required,
            preferred=request.options.get_preferred_allocation_available,
        )
        if self._dial:
            # A connection for each registration, as the real one makes it: an older one may be
            # dead without having noticed it yet.
            if (former := self._channels.pop((request.endpoint, None), None)) is not None:
                self._former.append(former)
            threading.Thread(
                target=self.dial, kwargs={"endpoint": request.endpoint}, daemon=True
            ).start()
        return api_pb2.Empty()

    def stop(self, *, drop: bool = True) -> dict[str, Any]:
        stopped = None
        if self._server is not None:
            # Without any grace it has refused all callers on return; only then are they let go.
            stopped, self._server = self._server.stop(None), None
        self._released.set()
        if drop:
            self.hang_up()
        if stopped is not None:
            stopped.wait()
        return {"ns": time.monotonic_ns()}

    # --- DevicePlugin ---------------------------------------------------------------------

    def dial(
        self,
        *,
        endpoint: str,
        streams: int = 1,
        authority: str | None = None,
        every_s: float = 0.0,
        most: int | None = None,
    ) -> dict[str, Any]:
        stub = self._stub(endpoint, authority)
        stub.GetDevicePluginOptions(api_pb2.Empty(), timeout=_UNARY_S)
        numbers = []
        for _ in range(streams):
            stream = Stream(next(self._numbers), stub, every_s=every_s)
            self._streams[stream.number] = stream
            numbers.append(stream.number)
            read = functools.partial(stream.read, most=most)
            threading.Thread(target=read, daemon=True).start()
        return {"streams": numbers}

    def hang_up(self, *, stream: int | None = None) -> dict[str, Any]:
        if stream is not None:
            self._streams.pop(stream).cancel()
            return {}
        streams, self._streams = self._streams, {}
        channels, self._channels = self._channels, {}
        for one in streams.values():
            one.cancel()
        for channel in (*channels.values(), *self._former):
            channel.close()
        self._former.clear()
        return {}

    def devices(self, *, stream: int) -> dict[str, Any]:
        last = self._streams[stream].last
        listed = last.devices if last is not None else ()
        return {
            "devices": [
                [
                    device.ID,
                    device.health,
                    [node.ID for node in device.topology.nodes]
                    if device.HasField("topology")
                    else None,
                ]
                for device in listed
            ]
        }

    def options(self, *, endpoint: str, authority: str | None = None) -> dict[str, Any]:
        answer = self._stub(endpoint, authority).GetDevicePluginOptions(
            api_pb2.Empty(), timeout=_UNARY_S
        )
        return {
            "pre_start": answer.pre_start_required,
            "preferred": answer.get_preferred_allocation_available,
        }

    def allocate(
        self, *, endpoint: str, containers: list[list[str]], timeout_s: float = _UNARY_S
    ) -> dict[str, Any]:
        request = _allocate_request(containers)
        started_ns = time.monotonic_ns()
        answer = self._stub(endpoint).Allocate(request, timeout=timeout_s)
        took_ns = time.monotonic_ns() - started_ns
        return {"took_ns": took_ns, "containers": [_grant(r) for r in answer.container_responses]}

    def allocate_many(
        self, *, endpoint: str, containers: list[list[str]], times: int
    ) -> dict[str, Any]:
        stub, request, took_ns = self._stub(endpoint), _allocate_request(containers), []
        for _ in range(times):
            started_ns = time.monotonic_ns()
            stub.Allocate(request, timeout=_UNARY_S)
            took_ns.append(time.monotonic_ns() - started_ns)
        return {"took_ns": took_ns}

    def prefer(self, *, endpoint: str, containers: list[dict[str, Any]]) -> dict[str, Any]:
        request = api_pb2.PreferredAllocationRequest()
        for one in containers:
            request.container_requests.add(
                available_deviceIDs=one["available"],
                must_include_deviceIDs=one.get("must", []),
                allocation_size=one["size"],
            )
        answer = self._stub(endpoint).GetPreferredAllocation(request, timeout=_UNARY_S)
        return {"containers": [list(r.deviceIDs) for r in answer.container_responses]}

    def pre_start(self, *, endpoint: str, devices: list[str]) -> dict[str, Any]:
        request = api_pb2.PreStartContainerRequest(devices_ids=devices)
        self._stub(endpoint).PreStartContainer(request, timeout=_UNARY_S)
        return {}

    def raw(
        self,
        *,
        endpoint: str,
        method: str,
        body: str = "",
        zeros: int = 0,
        timeout_s: float = _UNARY_S,
    ) -> dict[str, Any]:
        call = self._channel(endpoint).unary_unary(
            method, request_serializer=None, response_deserializer=None
        )
        answer: bytes = call(bytes.fromhex(body) + bytes(zeros), timeout=timeout_s)
        return {"body": answer.hex()}

    def _stub(self, endpoint: str, authority: str | None = None) -> api_pb2_grpc.DevicePluginStub:
        stub: Callable[[grpc.Channel], api_pb2_grpc.DevicePluginStub] = (
            api_pb2_grpc.DevicePluginStub
        )
        return stub(self._channel(endpoint, authority))

    def _channel(self, endpoint: str, authority: str | None = None) -> grpc.Channel:
        key = (endpoint, authority)
        if key not in self._channels:
            options: list[tuple[str, Any]] = [
                ("grpc.use_local_subchannel_pool", 1),
                ("grpc.max_send_message_length", -1),
            ]
            if authority is not None:
                options.append(("grpc.default_authority", authority))
            self._channels[key] = grpc.insecure_channel(
                f"unix:{self._dir / endpoint}", options=options
            )
        return self._channels[key]

    # --- pod resources --------------------------------------------------------------------

    def pods(self, *, socket: str, **behaviour: Any) -> dict[str, Any]:
        if self._pods is not None:
            self._pods.stop(0).wait()
        self._pods = grpc.server(
            futures.ThreadPoolExecutor(4), options=[("grpc.max_send_message_length", -1)]
        )
        apis = behaviour.pop("apis", ["v1"])
        if "v1" in apis:
            lister = Lister("v1", v1_pb2.ListPodResourcesResponse, **behaviour)
            _add(v1_grpc.add_PodResourcesListerServicer_to_server, lister, self._pods)
        if "v1alpha1" in apis:
            lister = Lister("v1alpha1", v1alpha1_pb2.ListPodResourcesResponse, **behaviour)
            _add(v1alpha1_grpc.add_PodResourcesListerServicer_to_server, lister, self._pods)
        self._pods.add_insecure_port(f"unix:{socket}")
        self._pods.start()
        return {}


class Lister:
    """The pod-resources service of either version: says what it was told to say."""

    def __init__(
        self,
        version: str,
        answer: Callable[..., Any],
        *,
        pods: list[dict[str, Any]] | None = None,
        status: str | None = None,
        pad: int = 0,
        hang: bool = False,
    ) -> None:
        self._version = version
        self._answer = answer
        self._pods = pods or []
        self._status = status
        self._pad = pad
        self._hang = hang

    def List(self, request: object, context: grpc.ServicerContext) -> object:  # noqa: N802 -- as above
        tell(
            event="listed_pods",
            version=self._version,
            peer=context.peer(),
            ns=time.monotonic_ns(),
        )
        if self._hang:
            threading.Event().wait()
        if self._status is not None:
            context.abort(grpc.StatusCode[self._status], "as told")
        answer = self._answer()
        for pod in self._pods:
            one = answer.pod_resources.add(name=pod["name"], namespace=pod["namespace"])
            for container in pod.get("containers", []):
                part = one.containers.add(name=container["name"])
                for resource, ids in container.get("devices", {}).items():
                    part.devices.add(resource_name=resource, device_ids=ids)
        if self._pad:
            answer.pod_resources.add(name="pad", namespace="x" * self._pad)
        return answer

    GetAllocatableResources = Get = None  # the generated registration wants the names


def _add(register: Callable[[Any, grpc.Server], None], service: object, to: grpc.Server) -> None:
    """Add *service* to a server; the generated functions carry no types of their own."""
    register(service, to)


def _allocate_request(containers: list[list[str]]) -> api_pb2.AllocateRequest:
    request = api_pb2.AllocateRequest()
    for ids in containers:
        request.container_requests.add(devices_ids=ids)
    return request


def _grant(answer: api_pb2.ContainerAllocateResponse) -> dict[str, Any]:
    return {
        "envs": dict(answer.envs),
        "mounts": [[m.host_path, m.container_path, m.read_only] for m in answer.mounts],
        "devices": [[d.host_path, d.container_path, d.permissions] for d in answer.devices],
        "annotations": dict(answer.annotations),
        "cdi": [device.name for device in answer.cdi_devices],
    }


def _obey(kubelet: Kubelet, command: dict[str, Any]) -> None:
    number, verb = command.pop("id"), command.pop("do")
    try:
        tell(id=number, ok=getattr(kubelet, verb)(**command))
    except grpc.RpcError as error:
        tell(id=number, code=error.code().name, text=error.details() or "")
    except Exception as error:  # noqa: BLE001 -- the test shall see it, whatever it is
        tell(id=number, code="PEER", text=repr(error))


def _commands() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        yield json.loads(line)


def main() -> None:
    """Obey commands until the input ends; each has a thread, so that a hanging one holds none."""
    kubelet = Kubelet(sys.argv[1])
    for command in _commands():
        threading.Thread(target=_obey, args=(kubelet, command), daemon=True).start()


if __name__ == "__main__":
    main()
