"""Built TFLite files, written by TensorFlow's converter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from model_zoo import data
from model_zoo.entry import Sample
from model_zoo.registry import register

TAGS = ("built", "requires:tensorflow")


def _converter(seed: int) -> Any:
    import tensorflow as tf

    from model_zoo.models.tensorflow_built import concrete

    return tf.lite.TFLiteConverter.from_concrete_functions([concrete(seed)])


def _image(seed: int) -> np.ndarray:
    return data.images(seed, 1, 3, 27, 25, layout="NHWC")


@register("tflite/conv/float32", "A small CNN in float32", tags=TAGS)
def _float() -> Sample:
    return Sample(_converter(401).convert(), {"image": _image(91)})


@register(
    "tflite/conv/float16",
    "A small CNN whose weights are stored in float16",
    suites=("full",),
    tags=(*TAGS, "quantised"),
)
def _half() -> Sample:
    import tensorflow as tf

    converter = _converter(402)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.target_spec.supported_types = [tf.float16]
    return Sample(converter.convert(), {"image": _image(92)})


@register(
    "tflite/conv/int8",
    "A small CNN quantised to int8 throughout",
    tags=(*TAGS, "quantised"),
    # TVM rescales in float32, TFLite in fixed point: a value between two steps may go either way.
    judges={"*": "quantised:steps=1,share=0.5"},
)
def _int8() -> Sample:
    import tensorflow as tf

    def calibration() -> Iterator[list[np.ndarray]]:
        for seed in range(500, 508):
            yield [_image(seed)]

    converter = _converter(403)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = calibration
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = tf.int8
    converter.inference_output_type = tf.int8
    pixels = np.round(_image(93) * 127.0).astype(np.int8)
    return Sample(converter.convert(), {"image": pixels})
