"""Keep TensorFlow's converters from writing to the user's log while Forge calls them."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_LOGGERS = ("absl", "tensorflow", "tf2onnx")


@contextmanager
def quiet() -> Iterator[None]:
    """Raise the level of the Python loggers involved, and put it back."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
