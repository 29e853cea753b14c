"""The project's tasks. ``nox -l`` lists them; each makes the environment it needs."""

from __future__ import annotations

import nox

nox.needs_version = ">=2024.10.9"
nox.options.sessions = ["lint", "types", "tests"]
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"

# The versions that a release is qualified with; the extras in pyproject.toml say what can work.
CONSTRAINTS = "constraints.txt"
FRAMEWORKS = ("onnx", "torch", "tensorflow", "keras", "tflite")


def install(session: nox.Session, *extras: str, groups: tuple[str, ...] = ()) -> None:
    """Install the project, with the pinned versions of what it needs."""
    group_arguments = [argument for group in groups for argument in ("--group", group)]
    session.install("-c", CONSTRAINTS, "-e", f".[{','.join(extras)}]", *group_arguments)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and formatting."""
    session.install("--group", "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check types, strictly."""
    session.install("--group", "types")
    session.run("mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests, with every framework installed."""
    install(session, "all", groups=("tests",))
    session.run("pytest", *session.posargs)


@nox.session
def qualify(session: nox.Session) -> None:
    """Check the zoo's smoke suite through every loader and write reports/qualification.md."""
    install(session, "all")
    session.run(
        "forge", "matrix", "--suite", "smoke", "--report", "reports/qualification", *session.posargs
    )


@nox.session(default=False)
def full(session: nox.Session) -> None:
    """Check the whole zoo."""
    install(session, "all")
    session.run("forge", "matrix", "--suite", "full", "--report", "reports/full", *session.posargs)


@nox.session(default=False)
def bench_import(session: nox.Session) -> None:
    """Measure import time with only the core dependencies installed."""
    session.install("-c", CONSTRAINTS, ".")
    session.run("python", "benchmarks/import_time.py")


@nox.session(default=False)
def mutation(session: nox.Session) -> None:
    """Put faults into zoo models at every stage, and count which are found and rightly blamed."""
    install(session, "all", groups=("mutation",))
    session.run("python", "-m", "benchmarks.mutation", *session.posargs)


def _register(framework: str) -> None:
    @nox.session(name=framework, default=False, tags=["frameworks"])
    def check_one(session: nox.Session) -> None:
        install(session, framework, "zoo")
        arguments = ("--suite", "smoke", "--framework", framework)
        session.run(
            "forge", "matrix", *arguments, "--report", f"reports/{framework}", *session.posargs
        )


# One session a framework, each with nothing but that framework installed: nox -t frameworks
for name in FRAMEWORKS:
    _register(name)
