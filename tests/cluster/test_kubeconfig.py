"""A kubeconfig is used as kubectl would, and what is wrong with it is said once, with its name."""

import asyncio
import base64
import hashlib
import json
import os
import traceback
from pathlib import Path
from typing import Any

import pytest
import yaml

from ascend_agent.cluster.credentials import file_mark
from ascend_agent.cluster.kubeconfig import Kubeconfig
from ascend_agent.errors import ClusterUnreachableError
from tests.cluster.connected import LIBRARY

_CONTEXT = "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"


def write(
    folder: Path,
    *,
    user: dict[str, Any] | None = None,
    cluster: dict[str, Any] | None = None,
) -> Path:
    context = {"cluster": "c", **({"user": "u"} if user is not None else {})}
    document = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": context}],
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1", **(cluster or {})}}],
        "users": [{"name": "u", "user": user}] if user is not None else [],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(document))
    return path


def source(path: Path) -> Kubeconfig:
    return Kubeconfig(path=path, library=LIBRARY)


async def test_a_token_and_an_address_are_read(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        user={"token": "abc"},
        cluster={"tls-server-name": "kube", "proxy-url": "http://proxy:1"},
    )
    one = source(path)
    access = await one.current()

    assert (access.server, access.authorization) == ("https://10.0.0.1", "Bearer abc")
    assert (access.tls.name, access.proxy, access.tls.verify) == ("kube", "http://proxy:1", True)
    assert str(path) in one.origin


async def test_certificates_are_files_or_data(tmp_path: Path) -> None:
    """Paths are relative to the kubeconfig."""
    for name in ("ca.pem", "crt.pem", "key.pem"):
        (tmp_path / name).write_text(name)
    data = base64.b64encode(b"an authority").decode()
    files = {"client-certificate": "crt.pem", "client-key": "key.pem"}

    first = await source(
        write(tmp_path, user=files, cluster={"certificate-authority": "ca.pem"})
    ).current()
    second = await source(
        write(tmp_path, user=files, cluster={"certificate-authority-data": data})
    ).current()

    assert first.tls.authority == str(tmp_path / "ca.pem")
    assert (first.tls.certificate, first.tls.key) == (
        str(tmp_path / "crt.pem"),
        str(tmp_path / "key.pem"),
    )
    assert second.tls.authority is not None
    assert file_mark(Path(second.tls.authority)) == hashlib.sha256(b"an authority").hexdigest()
    assert first.authorization is None


async def test_a_token_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one\n")
    one = source(write(tmp_path, user={"tokenFile": "token"}))
    first = await one.current()
    (tmp_path / "token").write_text("two\n")
    at_once = await one.current()
    await asyncio.sleep(61)
    later = await one.current()

    assert [access.authorization for access in (first, at_once, later)] == [
        "Bearer one",
        "Bearer one",
        "Bearer two",
    ]


async def test_a_renewed_certificate_changes_the_marks(tmp_path: Path) -> None:
    for name in ("crt.pem", "key.pem"):
        (tmp_path / name).write_text("old")
    one = source(write(tmp_path, user={"client-certificate": "crt.pem", "client-key": "key.pem"}))
    before = await one.current()
    (tmp_path / "crt.pem").write_text("new")

    assert (await one.renew()).tls != before.tls


async def test_a_context_without_a_user_is_anonymous(tmp_path: Path) -> None:
    access = await source(write(tmp_path)).current()

    assert access.authorization is None


async def test_a_password_is_sent_as_such(tmp_path: Path) -> None:
    access = await source(write(tmp_path, user={"username": "u", "password": "p"})).current()

    assert access.authorization == "Basic " + base64.b64encode(b"u:p").decode()


@pytest.mark.peer
async def test_a_plugin_is_asked_for_a_token_once(tmp_path: Path) -> None:
    """It is a program: without an end its token is good until the server refuses it."""
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "from-plugin"},
    }
    (tmp_path / "answer").write_text(json.dumps(answer))
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!/bin/sh\necho x >> {tmp_path}/runs\ncat {tmp_path}/answer\n")
    plugin.chmod(0o755)
    spec = {"command": str(plugin), "apiVersion": answer["apiVersion"]}
    one = source(write(tmp_path, user={"exec": spec}))

    for _ in range(3):
        assert (await one.current()).authorization == "Bearer from-plugin"
    once = (tmp_path / "runs").read_text()
    status = {"token": "second", "expirationTimestamp": "2099-01-01T00:00:00Z"}
    (tmp_path / "answer").write_text(json.dumps({**answer, "status": status}))

    assert once == "x\n"
    assert (await one.renew()).authorization == "Bearer second"
    (tmp_path / "answer").write_text("no json")
    with pytest.raises(ClusterUnreachableError, match="exec"):
        await one.renew()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "a: [",
        "current-context: x",
        "current-context: x\ncontexts: 7\nclusters: []",
        "current-context: x\ncontexts: []\nclusters: []",
        f"{_CONTEXT}clusters: []",
        f"{_CONTEXT}clusters: [{{name: c, cluster: {{}}}}]",
        f"{_CONTEXT}clusters: [{{name: c, cluster: {{server: 'ftp://a'}}}}]",
    ],
)
async def test_a_file_that_is_wrong_is_named_with_the_remedy(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)

    with pytest.raises(ClusterUnreachableError, match="leave --kubeconfig out") as caught:
        await source(path).current()
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "user",
    [
        {"tokenFile": "none"},
        {"client-certificate": "none", "client-key": "none"},
        {"exec": {"apiVersion": "v1"}},
    ],
)
async def test_what_it_names_and_is_not_there_is_said(tmp_path: Path, user: dict[str, Any]) -> None:
    with pytest.raises(ClusterUnreachableError):
        await source(write(tmp_path, user=user)).current()


async def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ClusterUnreachableError, match="No such file"):
        await source(tmp_path / "none").current()


@pytest.mark.parametrize("kind", ["pipe", "directory"])
@pytest.mark.parametrize("what", ["config", "token"])
async def test_what_is_no_file_is_named_and_holds_nobody_up(
    tmp_path: Path, kind: str, what: str
) -> None:
    """Reading a pipe would stop the whole agent: all of it is on one loop."""
    path = write(tmp_path, user={"tokenFile": "token"})
    odd = tmp_path / what
    odd.unlink(missing_ok=True)
    os.mkfifo(odd) if kind == "pipe" else odd.mkdir()

    with pytest.raises(ClusterUnreachableError, match=str(odd)):
        await source(path).current()


@pytest.mark.parametrize("value", ["{s3cret", '"s3cret\\q"', "s3cret: s3cret", "s3cret\0"])
async def test_a_slip_near_a_token_does_not_show_it(tmp_path: Path, value: str) -> None:
    """It used to be logged: errors of the YAML parser hold the line that they are about. AP-9."""
    path = tmp_path / "config"
    path.write_text(f"users:\n- user:\n    token: {value}\n")

    with pytest.raises(ClusterUnreachableError, match="the file is no YAML") as caught:
        await source(path).current()

    shown = "".join(traceback.format_exception(caught.value))
    assert "s3cret" not in shown
