"""A real etcd and kube-apiserver on this machine's own address, made in seconds.

There is no controller manager and no scheduler: nothing makes the ServiceAccount ``default`` of a
new namespace, ends namespaces, or binds pods. Who wants these does it by hand (``namespaces.py``).
Every decision of the API server is in the audit log, who asked and which binding allowed it.
"""

import asyncio
import json
import signal
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import aiohttp

from tests.cluster import tokens
from tests.cluster.api import Api, ApiError, Json
from tests.cluster.credentials import Credential, write_kubeconfig
from tests.cluster.pki import Pki
from tests.cluster.ports import free_port
from tests.cluster.process import Process
from tests.cluster.programs import program
from tests.cluster.waiting import eventually

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
_START_LIMIT_S: Final = 90
_PROBE_S: Final = 2
_LAST_MADE: Final = "/api/v1/namespaces/default"  # of those the server makes when it first starts
_AUDIT: Final[Json] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLog:
    """What the API server was asked and how it answered, one event a line."""

    path: Path

    def position(self) -> int:
        """Return where the log ends now, for ``events(since=...)``."""
        return self.path.stat().st_size if self.path.exists() else 0

    def events(self, *, since: int = 0) -> list[Json]:
        """Return the events, of form audit.k8s.io/v1 Event, written after position *since*."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as log:
            log.seek(since)
            whole, _, _ = log.read().rpartition(b"\n")
        return [json.loads(line) for line in whole.splitlines()]

    async def event(
        self, fits: Callable[[Json], object], *, since: int = 0, limit_s: float = 10
    ) -> Json:
        """Wait for an event that fits: the server writes it after it has answered."""

        async def first() -> Json | None:
            return next((event for event in self.events(since=since) if fits(event)), None)

        return await eventually(first, what="an event in the audit log", limit_s=limit_s)


class ControlPlane:
    """etcd and an API server with RBAC, on the same ports and data until the block ends."""

    def __init__(self, *, server_options: Sequence[str] = ()) -> None:
        etcd, server = program("etcd"), program("kube-apiserver")
        self._directory = tempfile.TemporaryDirectory(prefix="cp")
        self.folder = Path(self._directory.name)
        self.pki = Pki(folder=self.folder / "pki")
        self.audit = AuditLog(path=self.folder / "audit.log")
        self.etcd_port, self.port = free_port(), free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.etcd = self._etcd(etcd)
        self.server = self._server(server, server_options)
        self.outages = 0  # after one, whoever watched looks again only when its back-off is over
        self._admin: Credential | None = None

    @property
    def authority(self) -> Path:
        """Return the certificate that vouches for the API server's, and for clients'."""
        return self.pki.authority

    @property
    def authority_pem(self) -> str:
        """Return the text of ``authority``."""
        return self.authority.read_text()

    @property
    def admin(self) -> Credential:
        """Return the credential of a user who may do everything."""
        if self._admin is None:
            raise RuntimeError("the control plane was not started")
        return self._admin

    async def __aenter__(self) -> Self:
        try:
            self.pki.make()
            self._admin = self.pki.client("admin", groups=("system:masters",))
            (self.folder / "audit.json").write_text(json.dumps(_AUDIT))
            self.etcd.start()
            await self.start_server()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        # Nothing is worth a graceful end: the data goes with the folder.
        await self.server.stop(by=signal.SIGKILL)
        await self.etcd.stop(by=signal.SIGKILL)
        self._directory.cleanup()

    async def start_server(self) -> None:
        """Start the API server and wait until it is ready.

        Raises:
            ProcessError: etcd or the API server ended; the text holds the end of its log.
            TimeoutError: it never got ready.

        """
        self.server.start()
        await self.until_ready()

    async def stop_server(self, *, graceful: bool = False) -> None:
        """End the API server: gracefully as in an upgrade, or at once as in a crash."""
        self.outages += 1
        await self.server.stop(by=signal.SIGTERM if graceful else signal.SIGKILL)

    async def restart_server(self, *, graceful: bool = False) -> None:
        """End the API server and start it on the same port."""
        await self.stop_server(graceful=graceful)
        await self.start_server()

    async def stop_etcd(self) -> None:
        """End etcd at once; the API server stays, refuses writes and says it is not ready."""
        self.outages += 1
        await self.etcd.stop(by=signal.SIGKILL)

    async def start_etcd(self) -> None:
        """Start etcd on the data it had, and wait until the API server is ready."""
        self.etcd.start()
        await self.until_ready()

    def halt(self, process: Process) -> None:
        """Have the API server or etcd stand still: it answers nothing; ``revive`` ends that."""
        self.outages += 1
        process.send(signal.SIGSTOP)

    async def revive(self) -> None:
        """Start what does not run and wait until it is ready; raises as ``start_server``."""
        for process in (self.etcd, self.server):
            process.send(signal.SIGCONT)
            if not process.running:
                process.start()
        await self.until_ready()

    async def until_ready(self) -> None:
        """Wait until the API server says it is ready, and reads from etcd.

        It says so for a while after etcd is gone, and before its own namespaces are made. Raises
        as ``start_server``.
        """
        async with self.api() as api:

            async def ready() -> bool | None:
                self.etcd.check()
                self.server.check()
                try:
                    async with asyncio.timeout(_PROBE_S):
                        await api.text("/readyz")
                        await api.get(_LAST_MADE)
                        return True
                except (aiohttp.ClientError, ApiError, TimeoutError):
                    return None

            try:
                await eventually(ready, what="kube-apiserver's /readyz", limit_s=_START_LIMIT_S)
            except TimeoutError as error:
                error.add_note(self.server.tail())
                raise

    def api(self, credential: Credential | None = None) -> Api:
        """Return a client, not yet open, for *credential*; for the admin where there is none."""
        return Api(url=self.url, authority=self.authority, credential=credential or self.admin)

    def kubeconfig(
        self, path: Path, credential: Credential | None = None, *, server: str | None = None
    ) -> Path:
        """Write a kubeconfig to *path*; *server* is another URL, such as a fault proxy's."""
        return write_kubeconfig(
            path,
            server=server or self.url,
            authority=self.authority,
            credential=credential or self.admin,
        )

    async def token(
        self,
        service_account: str,
        namespace: str,
        *,
        seconds: int = 3600,
        bound_to: Json | None = None,
    ) -> str:
        """Return a token of the API server's own, as the kubelet would project into a pod.

        *seconds* are at least 600, or the server refuses. *bound_to* (``kind``, ``apiVersion``,
        ``name``, ``uid`` of a pod, node or secret) makes the token end with that object.
        """
        wanted: Json = {"expirationSeconds": seconds}
        if bound_to is not None:
            wanted["boundObjectRef"] = bound_to
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": wanted}
        async with self.api() as api:
            made = await api.create(path, body)
        token: str = made["status"]["token"]
        return token

    async def token_ending(self, service_account: str, namespace: str, *, lasts_s: float) -> str:
        """Return a token that ends in *lasts_s* seconds; the server takes it for 60 s longer."""
        async with self.api() as api:
            path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}"
            uid: str = (await api.get(path))["metadata"]["uid"]
        claims = tokens.claims(
            issuer=ISSUER, namespace=namespace, name=service_account, uid=uid, lasts_s=lasts_s
        )
        return tokens.signed(claims, key=self.pki.token_key)

    def audit_events(self, *, since: int = 0) -> list[Json]:
        """Return the audit log's events; *since* is an earlier ``audit.position()``."""
        return self.audit.events(since=since)

    def _etcd(self, path: Path) -> Process:
        url = f"http://127.0.0.1:{self.etcd_port}"
        peer = f"http://127.0.0.1:{free_port()}"
        options = {
            "name": "test",
            "data-dir": self.folder / "etcd",
            "listen-client-urls": url,
            "advertise-client-urls": url,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"test={peer}",
            "unsafe-no-fsync": "true",
            "log-level": "warn",
        }
        return Process(
            name="etcd",
            command=[path, *(f"--{key}={value}" for key, value in options.items())],
            log=self.folder / "etcd.log",
        )

    def _server(self, path: Path, further: Sequence[str]) -> Process:
        client = self.folder / "pki"
        shown = self.pki.server
        options = {
            "etcd-servers": f"http://127.0.0.1:{self.etcd_port}",
            "bind-address": "127.0.0.1",
            "secure-port": self.port,
            # Without a default route the server finds no address of its own to tell.
            "advertise-address": "127.0.0.1",
            "endpoint-reconciler-type": "none",
            "service-cluster-ip-range": "10.0.0.0/24",
            "tls-cert-file": shown.certificate,
            "tls-private-key-file": shown.key,
            "client-ca-file": self.authority,
            "authorization-mode": "Node,RBAC",
            "allow-privileged": "true",
            "service-account-issuer": ISSUER,
            "service-account-key-file": self.pki.token_check,
            "service-account-signing-key-file": self.pki.token_key,
            # For pods/log and exec; Pki.client numbers its certificates, and the admin's is first.
            "kubelet-client-certificate": client / "client-0.crt",
            "kubelet-client-key": client / "client-0.key",
            # Else an open watch over HTTP/1.1 holds up a graceful end until it is killed.
            "shutdown-watch-termination-grace-period": "2s",
            "audit-policy-file": self.folder / "audit.json",
            "audit-log-path": self.audit.path,
        }
        command: list[str | Path] = [path, *(f"--{key}={value}" for key, value in options.items())]
        return Process(
            name="kube-apiserver",
            command=[*command, *further],
            log=self.folder / "kube-apiserver.log",
            environment={"GOGC": "400"},  # a fifth less time to start, for 80 MB
        )
