"""The networks that ship with the project."""

from importlib.resources import as_file, files

import npusim


def digits_cnn() -> npusim.Graph:
    """The int8 digit reader: image (1, 8, 8, 1) -> conv, conv, depthwise, 1x1, mean -> 10 logits.

    Codes of the input: `to_int8`. Trainable constants: "stem", "down", "depthwise", "pointwise",
    "head", each with a "/bias". Made by ``python -m npusim.models.train_digits``.
    """
    with as_file(files(__package__) / "digits_cnn.h5") as path:
        return npusim.load(path)
