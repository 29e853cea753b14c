"""Build the sample of a bundle again, in the worker that replays it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge import InvalidInput
from validation.bundles import layout
from validation.bundles.manifest import Origin
from validation.bundles.parts import path_record
from validation.bundles.reading import Bundle, read_bundle, untrusted
from validation.bundles.sources import ModelFile
from validation.case import BuiltSample, Sample
from validation.references import framework_named
from validation.references.protocol import Arrays, Framework
from validation.zoos import installed_zoo

_PICKLES = (".pkl", ".pickle")
_CLASSES = "classes.json"
_SIDE_FILES = ("kind.json", _CLASSES)


@dataclass(frozen=True)
class BundledSample:
    """Builds the sample of a bundle.

    Attributes:
        folder: The bundle's.
        trust: What is pickled in it may be opened.
    """

    folder: Path
    trust: bool = False

    def __call__(self) -> Sample:
        bundle = read_bundle(self.folder)
        if not bundle.has(layout.MODEL):
            return self._fetched(bundle)
        refuse_code(bundle, self.trust)
        options = bundle.options(self.trust)
        if bundle.manifest.model == "file":
            (path,) = bundle.path(layout.MODEL).iterdir()
            return self._opened(bundle, path, options)
        framework = framework_named(bundle.manifest.case["framework"])
        model = restore_model(bundle, framework, self.trust)
        inputs = _inputs(bundle)
        return BuiltSample(model, inputs[0] if inputs else None, options, inputs[1:])

    def _fetched(self, bundle: Bundle) -> Sample:
        origin = bundle.manifest.origin
        if origin is None:
            return bundle.case(self.trust).build()
        if origin.kind == "zoo":
            sample = _zoo_sample(bundle, origin)
            recorded = bundle.samples(layout.INPUTS)
            if not recorded:
                return sample
            return BuiltSample(sample.model, recorded[0], sample.options, recorded[1:])
        return self._opened(bundle, _checked(origin), bundle.options(self.trust))

    def _opened(self, bundle: Bundle, path: Path, options: Mapping[str, Any]) -> Sample:
        framework = bundle.manifest.case["framework"]
        return ModelFile(framework, path, self.trust, _inputs(bundle), options)()


def restore_model(bundle: Bundle, framework: Framework, trust: bool) -> Any:
    """Restore the model that was stored in a bundle.

    What ``Framework.store`` wrote is meant for ``restore``, which trusts it. Without ``trust`` its
    files are first opened as a stranger's would be.

    Raises:
        InvalidInput: It cannot be opened, or would run code of its own.
    """
    folder = bundle.path(layout.MODEL)
    if not trust:
        for path in _models_in(folder, framework):
            framework.open(path, trust=False)
    return framework.restore(folder)


def refuse_code(bundle: Bundle, trust: bool) -> None:
    """Refuse what can be known to run code when it is opened, without opening it.

    Raises:
        InvalidInput: It is there, and ``trust`` is not given.
    """
    if trust:
        return
    if bundle.manifest.pickled_options and not _from_zoo(bundle):
        bundle.options(trust)
    if not bundle.has(layout.MODEL):
        if bundle.manifest.origin is None:
            bundle.case(trust)
        return
    pickles = [n for n in bundle.manifest.files if n.startswith("model/") and n.endswith(_PICKLES)]
    if pickles and bundle.manifest.model == "stored":
        raise untrusted(f"the model in {str(bundle.folder)!r} is pickled Python", bundle)
    classes = f"{layout.MODEL}/{_CLASSES}"
    listed = bundle.manifest.files.get(classes)
    if listed and (listed.size > 2 or (bundle.folder / classes).read_bytes() != b"[]"):
        raise untrusted(f"the model in {str(bundle.folder)!r} has classes of its own", bundle)


def _from_zoo(bundle: Bundle) -> bool:
    origin = bundle.manifest.origin
    return not bundle.has(layout.MODEL) and origin is not None and origin.kind == "zoo"


def _models_in(folder: Path, framework: Framework) -> list[Path]:
    """List what ``store`` wrote as files that a user might give as well."""
    suffixes = framework.suffixes
    paths = sorted(path for path in folder.iterdir() if path.name not in _SIDE_FILES)
    models = [path for path in paths if path.is_dir() or path.suffix.lower() in suffixes]
    if not models:
        raise InvalidInput(f"{str(folder)!r} holds no model of {framework.name}.")
    return models


def _inputs(bundle: Bundle) -> list[Arrays]:
    """Read the inputs; none where they are to be made up again."""
    inputs = bundle.samples(layout.INPUTS)
    if not inputs and not bundle.manifest.made_up:
        reasons = [r for n, r in bundle.manifest.left_out.items() if n.startswith(layout.INPUTS)]
        why = reasons[0] if reasons else "the cell ended before they were there"
        raise InvalidInput(f"{str(bundle.folder)!r} holds no inputs: {why}.")
    return inputs


def _zoo_sample(bundle: Bundle, origin: Origin) -> Sample:
    for entry in installed_zoo().entries:
        if entry.id == origin.name and entry.framework == bundle.manifest.case["framework"]:
            sample: Sample = entry.build()
            return sample
    raise InvalidInput(
        f"the model of {str(bundle.folder)!r} is the zoo entry {origin.name!r}, and no zoo that is "
        "installed here has it.",
        hint=f"pip install {origin.distribution}=={origin.version}",
    )


def _checked(origin: Origin) -> Path:
    path = Path(origin.name)
    wanted = origin.file
    if wanted is None or not (path.is_file() or path.is_dir()):
        raise InvalidInput(f"the model is not in the bundle, and there is no file {str(path)!r}.")
    changed = path.is_file() and path.stat().st_size != wanted.size
    if changed or path_record(path) != wanted:
        raise InvalidInput(f"the file {str(path)!r} is no longer the model of the bundle.")
    return path
