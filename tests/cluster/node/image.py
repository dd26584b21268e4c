"""The one image of every pod here: static busybox, packed as an OCI archive by ourselves.

No registry is at hand, and none is needed: ``ctr images import`` takes the archive. Layout and
media types: OCI image-spec, sections "Image Layout" and "Image Manifest".
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

IMAGE = "ascend.test/busybox:1"
"""What pods call it: with a host, or containerd would look for it among Docker's."""

_BUSYBOX = Path("/bin/busybox")
_APPLETS = ("cat", "env", "ls", "sed", "sh", "sleep", "stat")
_ANNOTATION = "io.containerd.image.name"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"


class NoBusyboxError(RuntimeError):
    """This machine has no static busybox; the text says how to get it."""


def write_archive(path: Path, *, architecture: str) -> None:
    """Write the image as an OCI archive; *architecture* is Go's name of this machine's.

    Raises:
        NoBusyboxError: as the class says.

    """
    if not _BUSYBOX.exists():
        raise NoBusyboxError(f"{_BUSYBOX} is missing: apt-get install busybox-static")
    blobs: dict[str, bytes] = {}
    layer = _blob(blobs, _LAYER, _layer(_BUSYBOX.read_bytes()))
    config = {
        "architecture": architecture,
        "os": "linux",
        "config": {"Entrypoint": ["/bin/sleep"], "Cmd": ["2147483647"], "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": _blob(blobs, _CONFIG, _json(config)),
        "layers": [layer],
    }
    entry = _blob(blobs, _MANIFEST, _json(manifest)) | {"annotations": {_ANNOTATION: IMAGE}}
    index = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": [entry]}
    with tarfile.open(path, "w") as archive:
        _add(archive, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add(archive, "index.json", _json(index))
        for digest, content in blobs.items():
            _add(archive, f"blobs/sha256/{digest}", content)


def _layer(busybox: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        for folder in ("bin", "dev", "etc", "proc", "sys", "tmp"):
            member = tarfile.TarInfo(folder)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            layer.addfile(member)
        _add(layer, "bin/busybox", busybox, mode=0o755)
        for applet in _APPLETS:
            member = tarfile.TarInfo(f"bin/{applet}")
            member.type, member.linkname = tarfile.SYMTYPE, "busybox"
            layer.addfile(member)
    return buffer.getvalue()


def _blob(blobs: dict[str, bytes], media_type: str, content: bytes) -> dict[str, object]:
    """Keep *content* under its digest, and return its descriptor."""
    digest = hashlib.sha256(content).hexdigest()
    blobs[digest] = content
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}


def _json(value: Mapping[str, object]) -> bytes:
    return json.dumps(value).encode()


def _add(archive: tarfile.TarFile, name: str, content: bytes, *, mode: int = 0o644) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), mode
    archive.addfile(member, io.BytesIO(content))
