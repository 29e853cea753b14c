"""The three networks of MTCNN, which finds faces (MIT; weights from facenet-pytorch's wheel)."""

# mypy: disallow-subclassing-any=False
from __future__ import annotations

import torch
from torch import nn


def _convolutions(*layers: tuple[int, int, int, int]) -> list[tuple[str, nn.Module]]:
    """Name the layers: (channels in, channels out, kernel, pool), each behind its PReLU.

    A pool of 0 is none. Pools move by 2 and round their size up.
    """
    named: list[tuple[str, nn.Module]] = []
    for index, (wide, wider, kernel, pool) in enumerate(layers, start=1):
        named.append((f"conv{index}", nn.Conv2d(wide, wider, kernel)))
        named.append((f"prelu{index}", nn.PReLU(wider)))
        if pool:
            named.append((f"pool{index}", nn.MaxPool2d(pool, 2, ceil_mode=True)))
    return named


class _Network(nn.Module):
    """A chain of named layers, kept at the top level as the published state dicts have them."""

    def __init__(self, chain: list[tuple[str, nn.Module]]) -> None:
        super().__init__()
        self.chain = tuple(name for name, _ in chain)
        for name, layer in chain:
            self.add_module(name, layer)

    def features(self, values: torch.Tensor) -> torch.Tensor:
        for name in self.chain:
            values = self.get_submodule(name)(values)
        return values


class ProposalNet(_Network):
    """P-Net: box offsets and face probability at each place of a picture of any size."""

    def __init__(self) -> None:
        super().__init__(_convolutions((3, 10, 3, 2), (10, 16, 3, 0), (16, 32, 3, 0)))
        self.conv4_1 = nn.Conv2d(32, 2, 1)
        self.conv4_2 = nn.Conv2d(32, 4, 1)

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.features(images)
        return self.conv4_2(features), torch.softmax(self.conv4_1(features), dim=1)


class RefineNet(_Network):
    """R-Net: box offsets and face probability of a 24 × 24 picture."""

    def __init__(self) -> None:
        super().__init__(_convolutions((3, 28, 3, 3), (28, 48, 3, 3), (48, 64, 2, 0)))
        self.dense4 = nn.Linear(576, 128)
        self.prelu4 = nn.PReLU(128)
        self.dense5_1 = nn.Linear(128, 2)
        self.dense5_2 = nn.Linear(128, 4)

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        # The weights come from a framework that flattens width first.
        flat = self.features(images).permute(0, 3, 2, 1).flatten(1)
        features = self.prelu4(self.dense4(flat))
        return self.dense5_2(features), torch.softmax(self.dense5_1(features), dim=1)


class OutputNet(_Network):
    """O-Net: box offsets, five landmarks and face probability of a 48 × 48 picture."""

    def __init__(self) -> None:
        super().__init__(
            _convolutions((3, 32, 3, 3), (32, 64, 3, 3), (64, 64, 3, 2), (64, 128, 2, 0))
        )
        self.dense5 = nn.Linear(1152, 256)
        self.prelu5 = nn.PReLU(256)
        self.dense6_1 = nn.Linear(256, 2)
        self.dense6_2 = nn.Linear(256, 4)
        self.dense6_3 = nn.Linear(256, 10)

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        flat = self.features(images).permute(0, 3, 2, 1).flatten(1)
        features = self.prelu5(self.dense5(flat))
        probability = torch.softmax(self.dense6_1(features), dim=1)
        return self.dense6_2(features), self.dense6_3(features), probability
