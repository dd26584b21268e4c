"""What CI runs, one session a question; ``nox -s NAME`` asks one alone.

Every session installs from the hash-pinned files of ``requirements/``. CI starts with the
README's test command and goes on with these (``.ci/run``).
"""

import json
import tempfile
from pathlib import Path

import nox

nox.needs_version = ">=2026.10"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = False  # CI's too: a node of ours may have one Python
nox.options.sessions = ["lint", "types", "layers", "protos", "docs", "tests", "wheel"]

PYTHONS = ("3.11", "3.12", "3.13")


def install(session: nox.Session, requirements: str) -> None:
    """Install a pinned set and the package itself, editable: the worker imports it isolated."""
    session.env["UV_PYTHON_DOWNLOADS"] = "never"
    session.install("--require-hashes", "-r", f"requirements/{requirements}")
    session.install("--no-deps", "--no-build-isolation", "-e", ".")


@nox.session
def lint(session: nox.Session) -> None:
    """Ask ruff for every rule but the explained ones, and for the format; and the Dockerfile."""
    install(session, "dev.txt")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("hadolint", "Dockerfile")
    # Of this one only what BuildKit itself would say: the rest repeats hadolint or is about looks.
    # The checks left off would ask a registry.
    only = ("--no-config", "--slow-checks=off", "--ignore=hadolint/*", "--ignore=tally/*")
    session.run("tally", "lint", *only, "Dockerfile")


@nox.session
def types(session: nox.Session) -> None:
    """Check the package, the tests and the tools with mypy --strict."""
    install(session, "dev.txt")
    session.run("mypy", "--strict")


@nox.session
def layers(session: nox.Session) -> None:
    """Check who imports whom."""
    install(session, "dev.txt")
    session.run("lint-imports")


@nox.session
def protos(session: nox.Session) -> None:
    """Check that the generated messages are those of ``protos/``; ``-- --write`` makes them."""
    install(session, "dev.txt")
    write = session.posargs == ["--write"]
    session.run("python", "protos/generate.py", *([] if write else ["--check"]))


@nox.session
def docs(session: nox.Session) -> None:
    """Check that the generated documents are fresh; ``-- --write`` makes them."""
    install(session, "dev.txt")
    write = session.posargs == ["--write"]
    session.run("python", "-m", "tools.requirements", "--check")
    session.run("python", "-m", "tools.docs", *([] if write else ["--check"]))


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests on each Python that is installed."""
    install(session, "test.txt")
    session.run("python", "-m", "pytest", "-n", "auto", *session.posargs)


@nox.session(python=PYTHONS)
def coverage(session: nox.Session) -> None:
    """Run the tests and ask for 95 % overall, branches included, and for all of policy."""
    install(session, "test.txt")
    run = ("-n", "auto", "--cov", "--cov-report=")
    session.run("python", "-m", "pytest", *run, *session.posargs)
    session.run("python", "-m", "coverage", "report", "--fail-under=95")
    policy = ("chips", "dialects", "faults", "injection", "model", "slicing")
    include = ",".join(f"ascend_agent/{folder}/*" for folder in policy)
    session.run("python", "-m", "coverage", "report", f"--include={include}", "--fail-under=100")


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel, install it away from its sources and let it serve a simulated node."""
    session.env["UV_PYTHON_DOWNLOADS"] = "never"
    pins = ("-r", "requirements/run.txt", "-r", "requirements/build.txt")
    session.install("--require-hashes", *pins)
    with tempfile.TemporaryDirectory() as folder:
        session.run("hatchling", "build", "-t", "wheel", "-d", folder)
        (built,) = Path(folder).glob("*.whl")
        session.install("--no-deps", str(built))
        with session.chdir(folder):
            printed = session.run("ascend-agent", "sim", "--for", "5", "--json", silent=True)
    events = {json.loads(line)["event"] for line in str(printed).splitlines()}
    session.log("the wheel's simulated node told of: %s", ", ".join(sorted(events)))
    if not {"registered", "devices"} <= events:
        session.error("the wheel's simulated node never reached its kubelet")


@nox.session
def image(session: nox.Session) -> None:
    """Build the image with Debian's buildah, twice, and look into it and run it with runc."""
    install(session, "test.txt")
    with tempfile.TemporaryDirectory() as folder:
        session.run("python", "-m", "tools.image", folder)
        session.env["ASCEND_IMAGE"] = folder
        session.run("python", "-m", "pytest", "-m", "image", "tests/image", *session.posargs)


@nox.session
def arm64(session: nox.Session) -> None:
    """Ask the package index for an arm64 wheel, under a pinned hash, of each run-time dependency.

    Fetched for the image's Python and a glibc older than its base's; nothing of it can run here.
    """
    install(session, "dev.txt")
    where = ("--python-platform=aarch64-manylinux_2_28", "--python-version=3.13")
    with tempfile.TemporaryDirectory() as folder:
        session.run(
            *("uv", "pip", "install", "--quiet", *where, "--only-binary=:all:", "--no-deps"),
            *("--require-hashes", "-r", "requirements/run.txt", "--target", folder),
        )
        tags = [path.read_text() for path in Path(folder).glob("*.dist-info/WHEEL")]
    own = sum("aarch64" in text for text in tags)
    session.log("%d wheels, of which %d hold arm64 code", len(tags), own)


@nox.session
def fake_dcmi(session: nox.Session) -> None:
    """Build the fake vendor libraries: ``nox -s fake_dcmi -- OUTDIR`` makes both in OUTDIR."""
    install(session, "test.txt")
    session.run("python", "-m", "tests.fake_dcmi.build", *session.posargs)


@nox.session(venv_backend="none")
def cluster_assets(session: nox.Session) -> None:
    """Build what is missing of the programs that ``cluster`` starts; needs Go, nothing else."""
    session.run("python3", "-m", "tools.cluster_assets", *session.posargs)


@nox.session
def cluster(session: nox.Session) -> None:
    """Run the scenes on a real control plane and node, after building what they lack.

    ``nox -s cluster -- tests/cluster -k token`` runs some; ``tests/chart`` has the others.
    """
    install(session, "test.txt")
    session.run("python", "-m", "tools.cluster_assets")
    # A scene mostly waits, so two run at once, each beside a control plane and node of its own.
    # Whoever has nothing left to do takes over half of what the other has.
    how = ("-n", "2", "--dist", "worksteal", "-m", "cluster")
    places = [] if any(each.startswith("tests/") for each in session.posargs) else scenes()
    session.run("python", "-m", "pytest", *how, *places, *session.posargs)


def scenes() -> list[str]:
    """Return the files with scenes: to collect all others takes longer than many a scene."""
    files = sorted(Path("tests").rglob("test_*.py"))
    return [str(each) for each in files if "mark.cluster" in each.read_text()]


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Run the benchmarks named: ``nox -s benchmarks -- allocate startup``."""
    install(session, "test.txt")
    for name in session.posargs:
        session.run("python", "-m", f"benchmarks.{name}", "--json")


@nox.session
def soak(session: nox.Session) -> None:
    """Let 10 million random events through the fold and say what they leave; an hour or less."""
    install(session, "test.txt")
    session.run("python", "-m", "benchmarks.soak", *session.posargs)
