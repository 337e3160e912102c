"""Small data and networks that ship with npusim."""

from .architectures import from_weights, mobilenet_v2, resnet18
from .images import Digits, Labelled, digits, to_int8
from .networks import digits_cnn
from .shifts import inverted, low_contrast, moved

__all__ = [
    "Digits",
    "Labelled",
    "digits",
    "digits_cnn",
    "from_weights",
    "inverted",
    "low_contrast",
    "mobilenet_v2",
    "moved",
    "resnet18",
    "to_int8",
]
