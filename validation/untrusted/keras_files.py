"""Check a Keras file before Keras opens it: the archive, the configuration, the weights."""

from __future__ import annotations

import io
from pathlib import Path

from forge import InvalidInput
from validation.untrusted.archives import check_archive, read_member
from validation.untrusted.files import check_file
from validation.untrusted.hdf5 import check_hdf5, read_attribute
from validation.untrusted.keras_config import check_config, parse_config

_CONFIG, _WEIGHTS, _ARRAYS = "config.json", "model.weights.h5", "model.weights.npz"
_LARGEST_CONFIG = 256 << 20


def check_keras_file(path: Path, trust: bool) -> None:
    """Check a ``.keras`` or ``.h5`` file.

    Args:
        path: The file.
        trust: Its configuration may name whatever it likes.

    Raises:
        InvalidInput: It is no whole Keras model, would unpack to far more than it stores, reads
            other files, or holds code of its own and has no ``trust``.
    """
    where = str(path)
    size = check_file(path).st_size
    if path.suffix.lower() == ".keras":
        try:
            members = {member.filename: member for member in check_archive(path, where)}
            config = parse_config(read_member(path, _CONFIG, _LARGEST_CONFIG), where)
        except InvalidInput as error:
            raise InvalidInput(
                f"{where} is no Keras archive: {error.message}",
                hint="a .keras file is a zip archive with a config.json; is it whole?",
            ) from error
        if not trust:
            check_config(config, where)
        if _ARRAYS in members or _WEIGHTS not in members:
            raise InvalidInput(
                f"{where} has not its weights in {_WEIGHTS}.",
                hint="save the model again with model.save(path)",
            )
        weights = read_member(path, _WEIGHTS, members[_WEIGHTS].file_size)
        check_hdf5(io.BytesIO(weights), len(weights), f"{_WEIGHTS} of {where}")
        return
    text = read_attribute(path, "model_config", where)
    if text is None:
        raise InvalidInput(
            f"{where} holds weights without a model.",
            hint="build the model, model.load_weights(path), and give the model in memory",
        )
    config = parse_config(text, where)
    if not trust:
        check_config(config, where)
    check_hdf5(path, size, where)
