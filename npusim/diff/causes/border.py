"""Differences only at the border of the image: padding, seen without the model."""

from collections.abc import Iterator

import numpy as np

from ..case import SYMPTOM, Case, Explanation

THICKEST = 3
FEWEST = 6
"""Differing elements from which a border is told from chance."""


def border(case: Case) -> Iterator[Explanation]:
    """An explanation where the interior of every image is equal."""
    if case.expected.ndim != 4 or np.count_nonzero(case.differing) < FEWEST:
        return
    _, h, w, _ = case.expected.shape
    for thickness in range(1, THICKEST + 1):
        inside = np.zeros((h, w), bool)
        inside[thickness : h - thickness, thickness : w - thickness] = True
        ring = np.broadcast_to(~inside[..., np.newaxis], case.expected.shape)
        interior = int(np.count_nonzero(~ring))
        chance = (1 - interior / ring.size) ** np.count_nonzero(case.differing)
        if interior and chance < 1e-3 and ring[case.differing].all():
            cells = f"{thickness} cells" if thickness > 1 else "one cell"
            sentence = f"only the border of the image differs, {cells} wide: padding"
            evidence = f"all {interior:,} elements inside are equal"
            yield Explanation("padding", sentence, evidence, ~case.differing | ring, SYMPTOM)
            return
