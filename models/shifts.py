"""What may happen to a deployed network's images or to its weights: shifts, in integers.

Each takes and returns images uint8 (N, H, W) or (N, H, W, C), 0 to `peak`: 16 for the digits'
ink, 255 for pixels. What is random is a function of seed and place alone (Philox4x64-10 of NumPy,
one counter an image), so image i looks the same whichever others are there.
"""

import numpy as np

from .images import INK

GAINS = (5, 8, 11)
"""Eighths that the channels of a picture are multiplied by, in turn."""
BLOCK_WORDS = 4
"""64-bit words that one step of the counter gives."""


def moved(images: np.ndarray, down: int = 0, right: int = 1) -> np.ndarray:
    """The sensor sits askew: every image moves by whole pixels, and empty paper (0) follows.

    images        uint8 (N, H, W) or (N, H, W, C)
    down, right   pixels, negative for up and left
    returns       of the same form, new; what leaves the frame is lost
    """
    height, width = images.shape[1:3]
    result = np.zeros_like(images)
    rows = slice(max(down, 0), height + min(down, 0))
    columns = slice(max(right, 0), width + min(right, 0))
    from_rows = slice(max(-down, 0), height - max(down, 0))
    from_columns = slice(max(-right, 0), width - max(right, 0))
    result[:, rows, columns] = images[:, from_rows, from_columns]
    return result


def inverted(images: np.ndarray, peak: int = INK) -> np.ndarray:
    """White ink on black paper: ``peak - x``, new."""
    return (peak - images).astype(np.uint8)


def low_contrast(images: np.ndarray, peak: int = INK) -> np.ndarray:
    """Poor light: ``peak // 4 + x // 4``, so 17 grey levels become 5; new."""
    return (peak // 4 + images // 4).astype(np.uint8)


def noisy(
    images: np.ndarray, peak: int = INK, seed: int = 0, numbers: np.ndarray | None = None
) -> np.ndarray:
    """A poor sensor: ``x + n``, clamped to 0..peak; n uniform in whole steps of +-peak / 4.

    seed      key of the generator; image number i starts at counter i << 64
    numbers   of the images, integers (N,); 0, 1, .. if None
    """
    reach, places = peak // 4, range(len(images)) if numbers is None else numbers.tolist()
    words = np.stack([_words(seed, i, images[0].size) for i in places])
    noise = words.reshape(images.shape) % np.uint64(2 * reach + 1)
    changed = images.astype(np.int64) + noise.astype(np.int64) - reach
    return np.clip(changed, 0, peak).astype(np.uint8)


def blurred(images: np.ndarray) -> np.ndarray:
    """Out of focus: (1 2 1) / 4 down and across, the frame's edge repeated; new."""
    edges = ((0, 0), (1, 1), (1, 1)) + ((0, 0),) * (images.ndim - 3)
    x = np.pad(images.astype(np.int64), edges, "edge")
    x = x[:, :-2] + 2 * x[:, 1:-1] + x[:, 2:]
    x = x[:, :, :-2] + 2 * x[:, :, 1:-1] + x[:, :, 2:]
    return ((x + 8) >> 4).astype(np.uint8)


def channel_gain(images: np.ndarray, peak: int = INK) -> np.ndarray:
    """A sensor of another white balance: channels times 5/8, 1, 11/8, down to whole steps.

    A single channel, such as that of (N, H, W), is multiplied by 5/8. At most `peak`; new.
    """
    channels = images.shape[3] if images.ndim == 4 else 1
    gains = np.resize(np.array(GAINS), channels) if channels > 1 else np.array(GAINS[0])
    return np.minimum(images.astype(np.int64) * gains // 8, peak).astype(np.uint8)


def dead_column(images: np.ndarray) -> np.ndarray:
    """A column of the sensor that reads nothing: the middle one is 0; new."""
    result = images.copy()
    result[:, :, images.shape[2] // 2] = 0
    return result


def shaded(images: np.ndarray) -> np.ndarray:
    """Light from the left: column c of W keeps (4 W - 3 c) / (4 W), down to whole steps; new."""
    width = images.shape[2]
    light = 4 * width - 3 * np.arange(width)
    light = light.reshape((1, 1, width) + (1,) * (images.ndim - 3))
    return (images.astype(np.int64) * light // (4 * width)).astype(np.uint8)


def bit_flipped(weights: np.ndarray, per_cent: int, seed: int = 0) -> np.ndarray:
    """Faulty memory: one bit of so many per cent of the weights is turned; int8, new.

    per_cent   0..100; the number of weights is rounded up
    seed       decides which weights and bits; more per cent turn the same ones and others
    raises     TypeError unless the weights are int8
    """
    if weights.dtype != np.int8:
        raise TypeError(f"bit_flipped: weights must be int8, got {weights.dtype}")
    words = _words(seed, 0, weights.size)
    chosen = np.argsort(words >> np.uint64(3), kind="stable")
    chosen = chosen[: -(-weights.size * per_cent // 100)]
    result = weights.copy().reshape(-1)
    bits = np.uint8(1) << (words[chosen] & np.uint64(7)).astype(np.uint8)
    result.view(np.uint8)[chosen] ^= bits
    return result.reshape(weights.shape)


def _words(seed: int, image: int, count: int) -> np.ndarray:
    """The first words (count,) uint64 from counter image << 64 on."""
    generator = np.random.Philox(key=seed, counter=image << 64)
    words: np.ndarray = generator.random_raw(-(-count // BLOCK_WORDS) * BLOCK_WORDS)
    return words[:count]
