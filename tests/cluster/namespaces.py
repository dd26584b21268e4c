"""What a controller manager would make of a new namespace.

The API server's admission refuses a pod whose ServiceAccount is missing, and the kubelet starts
none whose ConfigMap ``kube-root-ca.crt`` is. A namespace that is deleted stays, for ever ending,
because the one that finishes it is missing too; so a scene clears its own and leaves it.
"""

from collections.abc import Mapping

from tests.cluster.api import Api, ApiError, pods_path

_EXISTS = 409


async def make_namespace(api: Api, name: str, *, authority: str) -> None:
    """Make namespace *name*, or only what it lacks: some come with the server.

    *authority* is the PEM text its pods trust the API server by.
    """
    inside = f"/api/v1/namespaces/{name}"
    await _ensure(api, "/api/v1/namespaces", {"metadata": {"name": name}})
    await _ensure(api, f"{inside}/serviceaccounts", {"metadata": {"name": "default"}})
    trusted = {"metadata": {"name": "kube-root-ca.crt"}, "data": {"ca.crt": authority}}
    await _ensure(api, f"{inside}/configmaps", trusted)


async def clear_namespace(api: Api, name: str) -> None:
    """Delete the pods of *name* without waiting for whoever runs them."""
    await api.delete(pods_path(name), grace_s=0)


async def _ensure(api: Api, path: str, body: Mapping[str, object]) -> None:
    try:
        await api.create(path, dict(body))
    except ApiError as error:
        if error.code != _EXISTS:
            raise
