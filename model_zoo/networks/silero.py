"""Silero's voice activity detector for 16 kHz (MIT; weights from its wheel)."""

# mypy: disallow-subclassing-any=False
from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


class VoiceDetector(nn.Module):
    """One chunk of sound and the state before it, to speech probability and the state after it.

    Shapes: sound (batch, 576), state (2, batch, 128) → probability (batch, 1), state.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stft_conv = nn.Conv1d(1, 258, 256, stride=128, bias=False)
        self.conv1 = nn.Conv1d(129, 128, 3, padding=1)
        self.conv2 = nn.Conv1d(128, 64, 3, stride=2, padding=1)
        self.conv3 = nn.Conv1d(64, 64, 3, stride=2, padding=1)
        self.conv4 = nn.Conv1d(64, 128, 3, padding=1)
        self.lstm_cell = nn.LSTMCell(128, 128)
        self.final_conv = nn.Conv1d(128, 1, 1)

    def forward(
        self, sound: torch.Tensor, state: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        padded = functional.pad(sound.unsqueeze(1), (0, 64), mode="reflect")
        real, imaginary = self.stft_conv(padded).chunk(2, dim=1)
        features = torch.sqrt(real.square() + imaginary.square())
        for layer in (self.conv1, self.conv2, self.conv3, self.conv4):
            features = torch.relu(layer(features))
        hidden, cell = self.lstm_cell(features.squeeze(-1), (state[0], state[1]))
        logit = self.final_conv(torch.relu(hidden).unsqueeze(-1))
        return torch.sigmoid(logit).squeeze(-1), torch.stack([hidden, cell])
