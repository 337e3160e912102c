"""Small data and networks that ship with npusim."""

from .images import Digits, Labelled, digits, to_int8
from .networks import digits_cnn
from .shifts import inverted, low_contrast, moved

__all__ = [
    "Digits",
    "Labelled",
    "digits",
    "digits_cnn",
    "inverted",
    "low_contrast",
    "moved",
    "to_int8",
]
