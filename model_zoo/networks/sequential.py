"""Small torch networks over tables and sequences."""

# mypy: disallow-subclassing-any=False
from __future__ import annotations

import math
from typing import cast

import torch
from torch import nn


class TabularNet(nn.Module):
    """Embedded categories beside numeric columns; batch norm after Linear."""

    def __init__(self, categories: int = 50) -> None:
        super().__init__()
        self.embedding = nn.Embedding(categories, 8)
        self.layers = nn.Sequential(
            nn.Linear(3 * 8 + 5, 32),
            nn.BatchNorm1d(32),
            nn.ReLU(),
            nn.Linear(32, 16),
            nn.GELU(),
            nn.Linear(16, 4),
        )

    def forward(self, categories: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        looked_up = self.embedding(categories).flatten(1)
        return torch.log_softmax(self.layers(torch.cat([looked_up, numbers], dim=1)), dim=-1)


class AttentionBlock(nn.Module):
    """Causal self-attention and a feed-forward part; the last step is given apart."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.before_feed = nn.LayerNorm(width)
        self.feed = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, sequence: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        sequence = sequence + self._attend(self.before_attention(sequence))
        sequence = sequence + self.feed(self.before_feed(sequence))
        return sequence, sequence[:, -1]

    def _attend(self, sequence: torch.Tensor) -> torch.Tensor:
        batch, steps, width = sequence.shape
        parts = self.query_key_value(sequence).reshape(batch, steps, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        scores = query @ key.transpose(-2, -1) / math.sqrt(width // self.heads)
        future = torch.triu(torch.ones(steps, steps, dtype=torch.bool), diagonal=1)
        weights = torch.softmax(scores.masked_fill(future, -math.inf), dim=-1)
        attended = (weights @ value).transpose(1, 2).reshape(batch, steps, width)
        return cast(torch.Tensor, self.project(attended))
