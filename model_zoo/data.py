"""Seeded inputs that look like what a model is made for."""

from __future__ import annotations

import numpy as np


def generator(seed: int) -> np.random.Generator:
    """Make the random generator of one sample."""
    return np.random.default_rng(seed)


def images(
    seed: int, batch: int, channels: int, height: int, width: int, *, layout: str = "NCHW"
) -> np.ndarray:
    """Make pictures: smooth shapes with a little noise on them, float32 within [-1, 1].

    Args:
        seed: Of the random generator.
        batch: How many.
        channels: Colours.
        height: In pixels.
        width: In pixels.
        layout: ``NCHW`` or ``NHWC``, the order of the result's axes.
    """
    rng = generator(seed)
    coarse = rng.uniform(-1.0, 1.0, (batch, channels, 6, 6))
    smooth = _stretch(_stretch(coarse, height, axis=2), width, axis=3)
    noise = rng.normal(0.0, 0.05, smooth.shape)
    pixels = np.clip(smooth + noise, -1.0, 1.0).astype(np.float32)
    return pixels if layout == "NCHW" else np.ascontiguousarray(pixels.transpose(0, 2, 3, 1))


def writing(seed: int, height: int, width: int) -> np.ndarray:
    """Make one line of dark strokes on white, as text looks, float32 (1, 3, height, width)."""
    rng = generator(seed)
    page = np.ones((height, width))
    cell = max(height // 2, 8)
    top, bottom = height // 4, height - height // 4
    for left in range(cell // 2, width - cell, cell):
        for _ in range(3):
            column = left + int(rng.integers(0, cell - 4))
            row = int(rng.integers(top, bottom - 2))
            page[top:bottom, column : column + 2] = -1.0
            page[row : row + 2, left : left + cell - 3] = -1.0
    noisy = np.clip(page + rng.normal(0.0, 0.05, (3, height, width)), -1.0, 1.0)
    return noisy.astype(np.float32)[None]


def audio(seed: int, batch: int, samples: int, rate: float = 16000.0) -> np.ndarray:
    """Make sound: a few harmonics that swell and fade, and noise, float32 (batch, samples)."""
    rng = generator(seed)
    time = np.arange(samples) / rate
    pitch = rng.uniform(110.0, 330.0, (batch, 1))
    sound = np.zeros((batch, samples))
    for harmonic in range(1, 6):
        phase = rng.uniform(0.0, 2 * np.pi, (batch, 1))
        sound += np.sin(2 * np.pi * harmonic * pitch * time + phase) / harmonic
    swell = 0.5 + 0.5 * np.sin(2 * np.pi * 3.0 * time + rng.uniform(0.0, 2 * np.pi, (batch, 1)))
    sound = 0.2 * sound * swell + rng.normal(0.0, 0.01, sound.shape)
    return sound.astype(np.float32)


def tokens(seed: int, shape: tuple[int, ...], vocabulary: int) -> np.ndarray:
    """Draw token ids, int64 within [1, vocabulary); 0 is left to padding."""
    return generator(seed).integers(1, vocabulary, shape, dtype=np.int64)


def _stretch(values: np.ndarray, size: int, axis: int) -> np.ndarray:
    """Interpolate linearly along one axis."""
    count = values.shape[axis]
    position = np.linspace(0.0, count - 1.0, size)
    lower = np.minimum(position.astype(int), count - 2)
    shape = [1] * values.ndim
    shape[axis] = size
    weight = (position - lower).reshape(shape)
    left = np.take(values, lower, axis=axis)
    right = np.take(values, lower + 1, axis=axis)
    return np.asarray(left * (1.0 - weight) + right * weight)
