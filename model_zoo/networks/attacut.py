"""The two networks of AttaCut, which splits Thai text into words (MIT; weights from its wheel)."""

# mypy: disallow-subclassing-any=False
from __future__ import annotations

from typing import cast

import torch
from torch import nn

_KERNELS_AND_DILATIONS = ((3, 1), (5, 3), (9, 2))


class Branch(nn.Module):
    """A dilated convolution that keeps the length, with a batch norm where the network has one."""

    def __init__(self, wide: int, filters: int, kernel: int, dilation: int, norm: bool) -> None:
        super().__init__()
        padding = kernel // 2 * dilation
        self.conv = nn.Conv1d(wide, filters, kernel, padding=padding, dilation=dilation)
        self.bn = nn.BatchNorm1d(filters) if norm else nn.Identity()

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return cast(torch.Tensor, self.bn(self.conv(features)))


class Segmenter(nn.Module):
    """Three branches side by side, the largest taken, then two dense layers a character."""

    def __init__(self, wide: int, filters: int, norm: bool) -> None:
        super().__init__()
        for index, (kernel, dilation) in enumerate(_KERNELS_AND_DILATIONS, start=1):
            self.add_module(f"conv{index}", Branch(wide, filters, kernel, dilation, norm))
        self.linear1 = nn.Linear(filters, 32)
        self.linear2 = nn.Linear(32, 1)

    def segment(self, embedded: torch.Tensor) -> torch.Tensor:
        """Map (batch, length, width) to one logit a character, (batch × length,)."""
        features = embedded.transpose(1, 2)
        branches = torch.stack(
            [self.conv1(features), self.conv2(features), self.conv3(features)], dim=-1
        )
        largest = branches.max(dim=-1).values.transpose(1, 2)
        return cast(torch.Tensor, self.linear2(torch.relu(self.linear1(largest)))).flatten()


class Characters(Segmenter):
    """attacut-c: characters alone, (batch, length) int64."""

    vocabulary = 139

    def __init__(self) -> None:
        super().__init__(48, 196, norm=False)
        self.embeddings = nn.Embedding(self.vocabulary, 48, padding_idx=0)

    def forward(self, characters: torch.Tensor) -> torch.Tensor:
        return self.segment(self.embeddings(characters))


class Syllables(Segmenter):
    """attacut-sc: characters and the syllables they lie in, (batch, 2, length) int64."""

    vocabularies = (139, 6227)

    def __init__(self) -> None:
        super().__init__(48, 64, norm=True)
        self.ch_embeddings = nn.Embedding(self.vocabularies[0], 32, padding_idx=0)
        self.sy_embeddings = nn.Embedding(self.vocabularies[1], 16, padding_idx=0)

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        characters, syllables = indices.unbind(1)
        embedded = torch.cat([self.ch_embeddings(characters), self.sy_embeddings(syllables)], dim=2)
        return self.segment(embedded)
