"""Tell a reader who has only the folder what it is."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from validation.bundles import layout
from validation.bundles.machine import install_command
from validation.bundles.manifest import Manifest
from validation.result import CheckResult

_PARTS = {
    layout.MODEL: "the model",
    layout.CASE: "the case with the function that builds the model, pickled",
    layout.OPTIONS: "options of the loader that are more than data, pickled",
    layout.INPUTS: "the inputs, a file a sample",
    layout.REFERENCE: "what the model's own framework gave for them",
    layout.OURS: "what Forge gave",
    layout.UNFOLDED: "the IR before folding, for `forge.load`",
    layout.FOLDED: "the IR that was compiled, for `forge.load`",
    layout.ROW: "the whole result",
    layout.ENVIRONMENT: "versions, processor and variables it was measured with",
}


def readme(manifest: Manifest, row: CheckResult, name: str) -> str:
    """Write the text of a bundle's ``README.md``."""
    return "\n".join([*_verdict(manifest, row), *_commands(manifest, row, name), *_parts(manifest)])


def _verdict(manifest: Manifest, row: CheckResult) -> Iterator[str]:
    yield f"# {_line(row.id)}"
    yield ""
    yield f"{manifest.expected}. Target {_line(row.target)}; written {manifest.created}."
    yield ""
    yield _block(row.message)
    if row.evidence:
        yield ""
        yield "What was measured:"
        yield ""
        yield from (f"- {_line(each)}" for each in row.evidence)


def _commands(manifest: Manifest, row: CheckResult, name: str) -> Iterator[str]:
    yield ""
    yield "## Replay it"
    yield ""
    yield _block(f"forge replay {shlex.quote(name)}")
    yield ""
    yield "Exit code 1: it still fails, 0: it passes now."
    if needs_trust(manifest):
        yield (
            "This bundle holds pickled Python, which runs when it is opened: add `--trust` if you "
            "know who made it."
        )
    if layout.FOLDED in manifest.files:
        yield (
            "`--without-model` compiles the stored IR and compares it with the stored reference; "
            "no framework is needed then."
        )
    yield ""
    yield "## The environment"
    yield ""
    yield f"Python {row.versions.get('python', '')} on {_line(row.versions.get('platform', ''))}."
    yield ""
    yield _block(install_command(row.versions, row.framework))


def _parts(manifest: Manifest) -> Iterator[str]:
    yield ""
    yield "## What is in here"
    yield ""
    for part, text in _PARTS.items():
        if any(f == part or f.startswith(f"{part}/") for f in manifest.files):
            yield f"- `{part}`: {text}"
    origin = manifest.origin
    if origin is not None:
        brought = f", from {origin.distribution} {origin.version}" if origin.distribution else ""
        word = "zoo entry" if origin.kind == "zoo" else "file"
        yield f"- the model is also the {word} `{_line(origin.name)}`{brought}"
    if manifest.left_out:
        yield ""
        yield "## What was left out"
        yield ""
        for part, reason in manifest.left_out.items():
            yield f"- `{part}`: {_line(reason)}"
    yield ""


def needs_trust(manifest: Manifest) -> bool:
    """Tell whether a replay would have to unpickle something, as far as file names tell."""
    pickles = (layout.OPTIONS, layout.CASE, f"{layout.MODEL}/model.pkl")
    return manifest.trusted or any(name in manifest.files for name in pickles)


def _line(text: str) -> str:
    return " ".join(text.split())


def _block(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
