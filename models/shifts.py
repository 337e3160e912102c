"""What may happen to a deployed digit reader's images: three shifts of the input, in integers.

Each takes and returns images (N, 8, 8) uint8 in 0..16.
"""

import numpy as np

from .images import INK


def moved(images: np.ndarray, down: int = 0, right: int = 1) -> np.ndarray:
    """The sensor sits askew: every image moves by whole pixels, and empty paper (0) follows.

    images        (N, 8, 8) uint8
    down, right   pixels, negative for up and left
    returns       (N, 8, 8) uint8, new; what leaves the frame is lost
    """
    height, width = images.shape[1:]
    result = np.zeros_like(images)
    rows = slice(max(down, 0), height + min(down, 0))
    columns = slice(max(right, 0), width + min(right, 0))
    from_rows = slice(max(-down, 0), height - max(down, 0))
    from_columns = slice(max(-right, 0), width - max(right, 0))
    result[:, rows, columns] = images[:, from_rows, from_columns]
    return result


def inverted(images: np.ndarray) -> np.ndarray:
    """White ink on black paper: ``16 - x``; (N, 8, 8) uint8, new."""
    return (INK - images).astype(np.uint8)


def low_contrast(images: np.ndarray) -> np.ndarray:
    """Poor light: ``4 + x // 4``, so 17 grey levels become 5; (N, 8, 8) uint8, new."""
    return (4 + images // 4).astype(np.uint8)
