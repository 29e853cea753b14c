"""ICLabel, which tells what an independent component of an EEG is.

BSD-3-Clause; the weights come from mne-icalabel's wheel.
"""

# mypy: disallow-subclassing-any=False
from __future__ import annotations

from typing import Any

import torch
from torch import nn


class _Branch(nn.Module):
    """Three convolutions with leaky ReLUs."""

    def __init__(self, widths: tuple[int, int, int], **convolution: Any) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, widths[0], **convolution)
        self.conv2 = nn.Conv2d(widths[0], widths[1], **convolution)
        self.conv3 = nn.Conv2d(widths[1], widths[2], **convolution)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        for layer in (self.conv1, self.conv2, self.conv3):
            values = nn.functional.leaky_relu(layer(values), 0.2)
        return values


class ComponentClassifier(nn.Module):
    """Scalp maps (4n, 1, 32, 32), spectra and autocorrelations (4n, 1, 1, 100) → classes (n, 7).

    Each component comes four times (its map mirrored and negated), and the four answers
    are averaged, so a batch is a multiple of 4.
    """

    def __init__(self) -> None:
        super().__init__()
        line: dict[str, Any] = {"kernel_size": (1, 3), "padding": (0, 1)}
        self.img_conv = _Branch((128, 256, 512), kernel_size=4, padding=1, stride=2)
        self.psds_conv = _Branch((128, 256, 1), **line)
        self.autocorr_conv = _Branch((128, 256, 1), **line)
        self.conv = nn.Conv2d(712, 7, 4)

    def forward(
        self, maps: torch.Tensor, spectra: torch.Tensor, autocorrelations: torch.Tensor
    ) -> torch.Tensor:
        planes = [self.img_conv(maps)]
        for branch, values in (
            (self.psds_conv, spectra),
            (self.autocorr_conv, autocorrelations),
        ):
            # The 100 values of a line become 100 channels, the same at each of 4 x 4 places.
            line = branch(values).permute(0, 3, 1, 2)
            planes.append(line.repeat(1, 1, 4, 4))
        classes = torch.softmax(self.conv(torch.cat(planes, dim=1)), dim=1).flatten(1)
        components = classes.shape[0] // 4
        return classes.reshape(4, components, 7).mean(dim=0)

    def restore(self, state: dict[str, torch.Tensor]) -> ComponentClassifier:
        """Load the published weights, which name most tensors twice, and set eval mode."""
        self.load_state_dict({key: state[key] for key in self.state_dict()})
        self.eval()
        return self
