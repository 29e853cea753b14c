"""Trained ONNX files from published wheels."""

from __future__ import annotations

from typing import Any

import numpy as np

from model_zoo import data, sources
from model_zoo.entry import Sample, Source
from model_zoo.fetch import fetch
from model_zoo.registry import register

FULL = ("full",)

_ICLABEL = sources.mne_icalabel(
    "mne_icalabel/iclabel/network/assets/ICLabelNet.onnx",
    "b7dc72bc3fa5960b2843fc6d5ba60add842b0a240c6371598be09b595182c04b",
)
_MEGNET = sources.mne_icalabel(
    "mne_icalabel/megnet/assets/megnet.onnx",
    "1a6a5b7ac025c35a30534d5687f7123bdd93fa50e0946f5d1f547686ba3574f2",
)
_PITCH = sources.basic_pitch(
    "basic_pitch/saved_models/icassp_2022/nmp.onnx",
    "2c3c1d144bfa61ad236e92e169c13535c880469a12a047d4e73451f2c059a0ec",
)
_ANGLE = sources.rapidocr(
    "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx",
    "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
)
_DETECTION = sources.rapidocr(
    "rapidocr/models/PP-OCRv6_det_small.onnx",
    "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f",
)
_RECOGNITION = sources.rapidocr(
    "rapidocr/models/PP-OCRv6_rec_small.onnx",
    "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884",
)
_VOICE = sources.silero_vad(
    "silero_vad/data/silero_vad_openvino_16k.onnx",
    "7776b81ad1b0350c15d7f1555943b9232eb53e9ca5d989c6d0cea9ebc8664d87",
)
_VOICE_BRANCHES = sources.silero_vad(
    "silero_vad/data/silero_vad_16k_op15.onnx",
    "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49",
)
_QUALITY = sources.speechmos(
    "speechmos/dnsmos_models/model_v8.onnx",
    "9246480c58567bc6affd4200938e77eef49468c8bc7ed3776d109c07456f6e91",
)
_QUALITY_RAW = sources.speechmos(
    "speechmos/dnsmos_models/sig_bak_ovr.onnx",
    "269fbebdb513aa23cddfbb593542ecc540284a91849ac50516870e1ac78f6edd",
)
_ECHO = sources.speechmos(
    "speechmos/aecmos_models/Run_1663915512_Stage_0.onnx",
    "f53122f43cb7e5b77ec797e85c8b997cfc2aac8220857c709226d876de8c0a99",
)


def _open(source: Source) -> Any:
    import onnx

    return onnx.load(fetch(source))


def _fixed(source: Source, inputs: dict[str, np.ndarray]) -> Sample:
    """Open a model whose open dimensions are those of the inputs."""
    shapes = {name: tuple(values.shape) for name, values in inputs.items()}
    return Sample(_open(source), inputs, {"shape_dict": shapes})


@register(
    "onnx/iclabel/trained",
    "EEG component classifier: three inputs, three convolutional branches",
    source=_ICLABEL,
    tags=("trained",),
)
def _iclabel() -> Sample:
    return _fixed(_ICLABEL, iclabel_inputs())


def iclabel_inputs() -> dict[str, np.ndarray]:
    """Make four views of one component: scalp maps, spectra and autocorrelations."""
    random = data.generator(31)
    decay = np.exp(-np.linspace(0.0, 3.0, 100))
    maps = data.images(32, 4, 1, 32, 32)
    spectra = decay + random.normal(0.0, 0.05, (4, 1, 1, 100))
    waves = np.cos(np.linspace(0.0, 30.0, 100)) * decay + random.normal(0.0, 0.02, (4, 1, 1, 100))
    return {
        "topo": maps,
        "psds": spectra.astype(np.float32),
        "autocorr": waves.astype(np.float32),
    }


@register(
    "onnx/text-angle/trained",
    "Text angle classifier of RapidOCR: 35 batch norms, squeeze and excite, run-time reshapes",
    source=_ANGLE,
    suites=FULL,
    tags=("trained", "batch-norm"),
)
def _angle() -> Sample:
    return _fixed(_ANGLE, {"x": data.writing(33, 48, 192)})


@register(
    "onnx/text-detection/trained",
    "Text detector of RapidOCR: Resize, ConvTranspose, squeeze and excite",
    source=_DETECTION,
    tags=("trained",),
)
def _detection() -> Sample:
    return _fixed(_DETECTION, {"x": data.writing(34, 64, 96)})


@register(
    "onnx/text-recognition/trained",
    "Text recogniser of RapidOCR: attention over a line whose length is open, 18,710 classes",
    source=_RECOGNITION,
    suites=FULL,
    tags=("trained", "attention"),
    # Measured: probabilities near 1 differ by 1.5e-4 between ONNX Runtime and Forge.
    rtol=1e-3,
)
def _recognition() -> Sample:
    return _fixed(_RECOGNITION, {"x": data.writing(35, 48, 96)})


@register(
    "onnx/pitch/trained",
    "Pitch tracker of basic-pitch on 2 s of sound: a constant-Q transform in convolutions",
    source=_PITCH,
    suites=FULL,
    tags=("trained", "audio"),
    # A logarithm of squared sound near 0 stretches float32's rounding: 2e-4 was measured.
    rtol=1e-3,
    atol=1e-4,
)
def _pitch() -> Sample:
    return _fixed(_PITCH, {"serving_default_input_2:0": pitch_input()})


def pitch_input() -> np.ndarray:
    """Make the sound that basic-pitch hears: (1, 43844, 1) at 22,050 Hz."""
    return data.audio(36, 1, 43844, rate=22050.0)[:, :, None]


@register(
    "onnx/meg-artifacts/logits",
    "MEGnet up to its logits: a picture and 60 s of signal, batch norms that follow no convolution",
    source=_MEGNET,
    suites=FULL,
    tags=("trained", "batch-norm"),
)
def _megnet() -> Sample:
    inputs = {
        "spatial_input": data.images(37, 1, 3, 120, 120, layout="NHWC"),
        "temporal_input": data.audio(38, 1, 15000, rate=250.0)[:, :, None],
    }
    sample = _fixed(_MEGNET, inputs)
    # The softmax gives 0 or 1 to the last bit on any input tried, which would hide an error.
    (softmax,) = (node for node in sample.model.graph.node if node.op_type == "Softmax")
    sample.model.graph.node.remove(softmax)
    sample.model.graph.output[0].name = softmax.input[0]
    return sample


def voice_inputs() -> dict[str, np.ndarray]:
    """Make one chunk of sound for Silero's detector, and a state as an earlier chunk leaves it."""
    state = data.generator(40).uniform(-0.8, 0.8, (2, 1, 128))
    return {"input": data.audio(39, 1, 576), "state": state.astype(np.float32)}


@register(
    "onnx/voice-activity/static",
    "Silero's voice detector with fixed shapes: a short-time Fourier transform and an LSTM",
    source=_VOICE,
    suites=FULL,
    tags=("trained", "audio", "recurrent"),
)
def _voice() -> Sample:
    return Sample(_open(_VOICE), voice_inputs())


@register(
    "onnx/voice-activity/branches",
    "Silero's voice detector with open shapes, If nodes and an int64 sampling rate",
    source=_VOICE_BRANCHES,
    suites=FULL,
    tags=("trained", "audio", "recurrent", "control-flow"),
)
def _voice_branches() -> Sample:
    return _fixed(_VOICE_BRANCHES, {**voice_inputs(), "sr": np.asarray(16000, np.int64)})


@register(
    "onnx/speech-quality/features",
    "DNSMOS on two spectrograms of 9 s",
    source=_QUALITY,
    suites=FULL,
    tags=("trained", "audio", "slow"),
    time_limit=600.0,
)
def _quality() -> Sample:
    levels = np.abs(data.images(41, 2, 1, 900, 120)[:, 0])
    return _fixed(_QUALITY, {"input_1": levels})


@register(
    "onnx/speech-quality/raw",
    "DNSMOS on 9 s of sound",
    source=_QUALITY_RAW,
    suites=FULL,
    tags=("trained", "audio", "slow"),
    time_limit=600.0,
)
def _quality_raw() -> Sample:
    return _fixed(_QUALITY_RAW, {"input_1": data.audio(42, 1, 144160)})


@register(
    "onnx/echo-quality/trained",
    "AECMOS: three spectrograms, convolutions and bidirectional GRUs",
    source=_ECHO,
    suites=FULL,
    tags=("trained", "audio", "recurrent"),
)
def _echo() -> Sample:
    levels = np.abs(data.images(43, 1, 3, 60, 160))
    state = np.zeros((4, 1, 64), np.float32)
    return _fixed(_ECHO, {"input": levels, "h0": state})
