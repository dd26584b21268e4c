"""Tells the kubelet about one resource.

Decided here: what a refusal is, and what only means that nobody is there yet. When to try, and
when to try again, is left to the flow that serves the resource.
"""

from pathlib import Path

from grpclib.exceptions import GRPCError

from ascend_agent.errors import RegistrationRefusedError
from ascend_agent.kubelet import codec
from ascend_agent.kubelet.channel import KubeletChannel
from ascend_agent.kubelet.texts import shown
from ascend_agent.model.ids import ResourceName

_REGISTER = "/v1beta1.Registration/Register"
_KUBELETS = "Kubernetes 1.28 to 1.37"
_LARGEST_ANSWER = 64 * 1024  # an empty message
# The kubelet names the versions it speaks at the end of a sentence longer than other texts get.
_REFUSAL_SHOWN = 200


async def register(
    *, kubelet_socket: Path, file_name: str, resource: ResourceName, timeout_s: float
) -> None:
    """Register *resource*, served on the socket *file_name* of the kubelet's directory.

    Raises:
        RegistrationRefusedError: the kubelet said no; the text is its own.
        KubeletGoneError: nobody answers within *timeout_s*.
        KubeletError: we may not connect, or the answer is no answer.

    """
    body = codec.format_registration(endpoint=file_name, resource=resource)
    channel = KubeletChannel(path=kubelet_socket, largest_answer=_LARGEST_ANSWER)
    try:
        await channel.call(_REGISTER, body, timeout_s=timeout_s)
    except GRPCError as error:
        text = shown(error.message or error.status.name, limit=_REFUSAL_SHOWN)
        raise RegistrationRefusedError(
            f"the kubelet refused {resource}: {text}; the agent speaks {codec.API_VERSION} alone, "
            f"as kubelets of {_KUBELETS} do, and asks again"
        ) from error
    finally:
        channel.close()
