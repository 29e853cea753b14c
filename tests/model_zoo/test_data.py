"""Seeded inputs: shapes, ranges, repeatable values."""

from __future__ import annotations

import numpy as np

from model_zoo import data


def test_images_have_one_content_in_both_layouts() -> None:
    first = data.images(1, 2, 3, 17, 9)
    last = data.images(1, 2, 3, 17, 9, layout="NHWC")
    assert first.shape == (2, 3, 17, 9)
    assert last.shape == (2, 17, 9, 3)
    assert first.dtype == last.dtype == np.float32
    np.testing.assert_array_equal(first.transpose(0, 2, 3, 1), last)
    assert last.flags.c_contiguous
    assert np.abs(first).max() <= 1.0


def test_images_are_smooth_and_differ() -> None:
    pixels = data.images(2, 2, 1, 64, 64)
    steps = np.abs(np.diff(pixels, axis=-1)).mean()
    assert steps < 0.3 * pixels.std()
    assert np.abs(pixels[0] - pixels[1]).max() > 0.5


def test_audio_is_bounded_and_not_silent() -> None:
    sound = data.audio(3, 2, 1600)
    assert sound.shape == (2, 1600)
    assert sound.dtype == np.float32
    assert sound.std() > 0.01
    assert np.abs(sound).max() < 1.0


def test_tokens_stay_inside_the_vocabulary_and_off_the_padding() -> None:
    ids = data.tokens(4, (50, 40), 7)
    assert ids.dtype == np.int64
    assert set(np.unique(ids)) == {1, 2, 3, 4, 5, 6}


def test_writing_is_mostly_white_with_dark_strokes() -> None:
    page = data.writing(5, 48, 96)
    assert page.shape == (1, 3, 48, 96)
    assert page.dtype == np.float32
    assert 0.05 < (page < -0.5).mean() < 0.5


def test_the_same_seed_gives_the_same_values() -> None:
    np.testing.assert_array_equal(data.images(6, 1, 1, 8, 8), data.images(6, 1, 1, 8, 8))
    np.testing.assert_array_equal(data.audio(6, 1, 64), data.audio(6, 1, 64))
    assert np.any(data.audio(6, 1, 64) != data.audio(7, 1, 64))
