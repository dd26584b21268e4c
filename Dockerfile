# Two stages: the first builds the wheel and a complete environment from hash-pinned files, the
# second carries that environment alone. glibc is needed, since the vendor's library is mounted from
# the host, and so is the interpreter's path: both stages start from the same image.
# Pin the base by digest in a release build: --build-arg BASE=python:3.13-slim@sha256:...
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
WORKDIR /src
COPY requirements requirements
RUN python -m venv --copies /build \
    && /build/bin/pip install --no-cache-dir --require-hashes -r requirements/build.txt \
    && python -m venv --without-pip /opt/ascend-agent \
    && /build/bin/pip --python /opt/ascend-agent/bin/python install --no-cache-dir --no-compile \
        --require-hashes --only-binary :all: -r requirements/run.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY ascend_agent ascend_agent
RUN /build/bin/hatchling build -t wheel -d /dist \
    && /build/bin/pip --python /opt/ascend-agent/bin/python install --no-cache-dir --no-compile \
        --no-deps --no-index /dist/*.whl
# The root file system is mounted read-only, so bytecode is made here: without it every start
# would compile 0.5 s long.
RUN /opt/ascend-agent/bin/python -m compileall -q --invalidation-mode unchecked-hash \
        /opt/ascend-agent/lib

FROM ${BASE}
# The base image's own pip serves nobody here.
RUN python -m pip uninstall -y pip && rm -rf /root/.cache
COPY --from=build /opt/ascend-agent /opt/ascend-agent
ENV PATH=/opt/ascend-agent/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
LABEL org.opencontainers.image.title="ascend-agent" \
      org.opencontainers.image.licenses="Apache-2.0"
ENTRYPOINT ["ascend-agent"]
CMD ["run"]
