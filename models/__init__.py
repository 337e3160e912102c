"""Small data and networks that ship with npusim."""

from .architectures import from_weights, mobilenet_v2, resnet18
from .images import Digits, Labelled, digits, to_int8
from .networks import digits_cnn
from .shifts import (
    bit_flipped,
    blurred,
    channel_gain,
    dead_column,
    inverted,
    low_contrast,
    moved,
    noisy,
    shaded,
)

__all__ = [
    "Digits",
    "Labelled",
    "bit_flipped",
    "blurred",
    "channel_gain",
    "dead_column",
    "digits",
    "digits_cnn",
    "from_weights",
    "inverted",
    "low_contrast",
    "mobilenet_v2",
    "moved",
    "noisy",
    "resnet18",
    "shaded",
    "to_int8",
]
