"""Small convolutional networks in torch."""

# mypy: disallow-subclassing-any=False
from __future__ import annotations

from typing import cast

import torch
from torch import nn


class ConvBnRelu(nn.Sequential):
    """``Conv2d(3,16,3,2) → BN → ReLU → Conv2d(16,64,3,2) → BN → ReLU``."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(3, 16, 3, 2),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 64, 3, 2),
            nn.BatchNorm2d(64),
            nn.ReLU(),
        )


class FooOp(torch.autograd.Function):
    """A custom operator that does nothing, exported as ``devtech::FooOp``."""

    @staticmethod
    def symbolic(graph: torch.Graph, value: torch.Value) -> torch.Value:
        """Say what the exporter writes."""
        return cast(torch.Value, graph.op("devtech::FooOp", value))  # type: ignore[attr-defined]

    @staticmethod
    def forward(ctx: object, value: torch.Tensor) -> torch.Tensor:
        """Give the input back."""
        return value


class ConvBnReluFoo(ConvBnRelu):
    """The same with the custom operator between the two halves."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        for index, layer in enumerate(self):
            images = layer(images)
            if index == 2:
                images = cast(torch.Tensor, FooOp.apply(images))
        return images


class StridedClassifier(nn.Module):
    """A few wide strides over a 224 × 224 picture, a pooled head."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 7, stride=4, padding=3),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, padding=1),
            nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.SiLU(),
        )
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(16, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return cast(torch.Tensor, self.head(self.pool(self.features(images)).flatten(1)))


class Residual(nn.Module):
    """Two convolutions beside a shortcut, which is a strided 1 × 1 where the shape changes."""

    def __init__(self, wide: int, wider: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(wide, wider, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(wider),
            nn.ReLU(),
            nn.Conv2d(wider, wider, 3, padding=1, bias=False),
            nn.BatchNorm2d(wider),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or wide != wider:
            self.shortcut = nn.Sequential(
                nn.Conv2d(wide, wider, 1, stride, bias=False), nn.BatchNorm2d(wider)
            )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(images) + self.shortcut(images))


class ResidualNet(nn.Sequential):
    """A residual network of three stages."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            Residual(16, 16, 1),
            Residual(16, 24, 2),
            Residual(24, 32, 2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(32, 10),
        )


class Separable(nn.Module):
    """Expand, filter each channel alone, project; a shortcut where the shape stays."""

    def __init__(self, wide: int, wider: int, stride: int, kernel: int) -> None:
        super().__init__()
        inner = 3 * wide
        self.keeps_shape = stride == 1 and wide == wider
        self.body = nn.Sequential(
            nn.Conv2d(wide, inner, 1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU6(),
            nn.Conv2d(inner, inner, kernel, stride, kernel // 2, groups=inner, bias=False),
            nn.BatchNorm2d(inner),
            nn.Hardswish(),
            nn.Conv2d(inner, wider, 1),
            nn.BatchNorm2d(wider),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        filtered: torch.Tensor = self.body(images)
        if self.keeps_shape:
            return images + filtered
        return filtered


class SeparableNet(nn.Module):
    """Depthwise separable blocks as in mobile networks."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(
            Separable(8, 8, 1, 3), Separable(8, 12, 2, 5), Separable(12, 12, 1, 3)
        )
        self.head = nn.Linear(12, 7)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        features = self.blocks(self.stem(images))
        return torch.softmax(self.head(features.mean(dim=(2, 3))), dim=-1)


class TwoHeads(nn.Module):
    """One trunk and two heads, whose results come as a dict that is not in alphabetical order."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ELU())
        self.scores = nn.Conv2d(8, 3, 1)
        self.boxes = nn.Conv2d(8, 4, 1)

    def forward(self, images: torch.Tensor) -> dict[str, torch.Tensor]:
        features = self.trunk(images)
        return {
            "scores": torch.sigmoid(self.scores(features)),
            "boxes": self.boxes(features).permute(0, 2, 3, 1),
        }
