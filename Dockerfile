# The image of the agent, from the sources beside this file; docs/image.md says how to build it.
# One stage builds the wheel and a complete environment from hash-pinned files, and then carries the
# interpreter with the libraries that it needs into an empty root. The result holds these alone:
# no shell, no package manager, no compiler. glibc is needed, since the vendor's library comes from
# the host and was made for it.

# BASE wants a digest, image@sha256:..., or the build refuses; UNPINNED=yes allows a tag for a try.
ARG BASE=python:3.13-slim-bookworm

FROM ${BASE} AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY image image
ARG BASE UNPINNED=no VERSION=unknown REVISION=unknown SOURCE=unknown
# 2026-01-01. A release gives its commit's time.
ARG SOURCE_DATE_EPOCH=1767225600
RUN python3 -m image.arguments --base "$BASE" --unpinned "$UNPINNED" --version "$VERSION" \
        --revision "$REVISION" --source "$SOURCE" --epoch "$SOURCE_DATE_EPOCH"

# The secrets pip and ca are optional: settings and a CA for a package index of one's own.
COPY requirements requirements
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=ca \
    python3 -m venv /build \
    && /build/bin/pip install --no-cache-dir --require-hashes -r requirements/build.txt \
    && python3 -m venv --without-pip /opt/ascend-agent \
    && /build/bin/pip --python /opt/ascend-agent/bin/python install --no-cache-dir --no-compile \
        --require-hashes --only-binary :all: -r requirements/run.txt
COPY ascend_agent ascend_agent
RUN /build/bin/hatchling build -t wheel -d /dist \
    && /build/bin/pip --python /opt/ascend-agent/bin/python install --no-cache-dir --no-compile \
        --no-deps --no-index /dist/*.whl
# Makes the bytecode, too: on a read-only root every start would compile anew.
RUN python3 -m image.assemble --into /image --environment /opt/ascend-agent \
        --epoch "$SOURCE_DATE_EPOCH"

FROM scratch
COPY --from=build /image/system /
COPY --from=build /image/agent /
ENV PATH=/opt/ascend-agent/bin PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
ARG BASE VERSION=unknown REVISION=unknown SOURCE=unknown
LABEL org.opencontainers.image.title="ascend-agent" \
      org.opencontainers.image.description="Kubernetes node agent for Huawei Ascend NPUs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.base.name="${BASE}"
# Root: the kubelet's folders and the driver's device nodes are root's alone.
# hadolint ignore=DL3002
USER 0:0
ENTRYPOINT ["ascend-agent"]
CMD ["run"]
