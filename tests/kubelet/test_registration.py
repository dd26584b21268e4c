import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from looptime import LoopTimeProxy

from ascend_agent.errors import KubeletGoneError, RegistrationRefusedError
from ascend_agent.kubelet.calls import Calls
from ascend_agent.kubelet.registration import register
from tests.kubelet.fakes import FILE_NAME, RESOURCE
from tests.kubelet.inprocess import served
from tests.peer._generated.deviceplugin.v1beta1 import api_pb2 as google

REGISTER = "/v1beta1.Registration/Register"


def kubelet(answer: Callable[[bytes], Coroutine[None, None, bytes]]) -> Calls:
    return Calls(unary={REGISTER: answer}, streaming={})


async def say(path: Path) -> None:
    await register(kubelet_socket=path, file_name=FILE_NAME, resource=RESOURCE, timeout_s=10)


@pytest.fixture
def path(plugin_dir: Path) -> Path:
    return plugin_dir / "kubelet.sock"


async def test_the_kubelet_is_told_version_socket_and_resource(path: Path) -> None:
    heard = []

    async def listen(body: bytes) -> bytes:
        heard.append(google.RegisterRequest.FromString(body))
        return b""

    async with served(kubelet(listen), path):
        await say(path)

    (request,) = heard
    assert (request.version, request.endpoint) == ("v1beta1", "Ascend910.sock")
    assert request.resource_name == "huawei.com/Ascend910"
    assert request.options.get_preferred_allocation_available
    assert not request.options.pre_start_required


async def test_a_kubelet_of_another_version_is_quoted_and_ours_is_named(path: Path) -> None:
    """Its text says which versions it speaks, ours which kubelet would do."""
    text = (
        'requested API version "v1beta1" is not supported by kubelet. '
        'Supported version is "v1beta2"'
    )

    async def refuse(body: bytes) -> bytes:
        raise GRPCError(Status.UNKNOWN, text)

    async with served(kubelet(refuse), path):
        with pytest.raises(RegistrationRefusedError) as refused:
            await say(path)

    assert str(refused.value) == (
        f"the kubelet refused huawei.com/Ascend910: {text}; the agent speaks v1beta1 alone, "
        "as kubelets of Kubernetes 1.28 to 1.37 do, and asks again"
    )


async def test_a_refusal_is_cut_and_shown_on_one_line(path: Path) -> None:
    async def refuse(body: bytes) -> bytes:
        raise GRPCError(Status.INVALID_ARGUMENT, "no\n" + "x" * 1000)

    async with served(kubelet(refuse), path):
        with pytest.raises(RegistrationRefusedError) as refused:
            await say(path)

    assert ": no?" + "x" * 194 + "...;" in str(refused.value)


async def test_a_refusal_without_text_names_its_status(path: Path) -> None:
    async def refuse(body: bytes) -> bytes:
        raise GRPCError(Status.PERMISSION_DENIED)

    async with served(kubelet(refuse), path):
        with pytest.raises(RegistrationRefusedError, match="PERMISSION_DENIED"):
            await say(path)


async def test_what_serves_no_registration_refuses(path: Path) -> None:
    async with served(Calls(unary={}, streaming={}), path):
        with pytest.raises(RegistrationRefusedError, match="does not serve this method"):
            await say(path)


@pytest.mark.parametrize("status", [Status.UNAVAILABLE, Status.CANCELLED])
async def test_a_kubelet_that_is_going_is_no_refusal(path: Path, status: Status) -> None:
    async def go(body: bytes) -> bytes:
        raise GRPCError(status, "shutting down")

    async with served(kubelet(go), path):
        with pytest.raises(KubeletGoneError, match="shutting down"):
            await say(path)


async def test_no_kubelet_is_no_refusal(path: Path) -> None:
    with pytest.raises(KubeletGoneError, match="No such file or directory"):
        await say(path)


async def test_a_kubelet_that_does_not_answer_is_given_up(
    path: Path, looptime: LoopTimeProxy
) -> None:
    """The older plugin's loop was blocked by it for ever."""

    async def hang(body: bytes) -> bytes:
        await asyncio.sleep(1000)
        return body

    async with served(kubelet(hang), path):
        with pytest.raises(KubeletGoneError, match="within 10 s"):
            await say(path)
        assert 9.9 < looptime < 10.1
