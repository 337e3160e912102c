"""Pictures of every depth, orientation and transparency: taken exactly, or refused by name."""

import io
import re

import numpy as np
import pytest
from PIL import Image, ImageOps

from npusim import images
from npusim.graph import ModelError, Quantization, Tensor

GREY16 = (np.arange(12, dtype=np.uint16) * 5600 + 255).reshape(3, 4)
COLOUR = np.random.default_rng(4).integers(0, 256, (3, 4, 3), dtype=np.uint8)


def encoded(picture, form="PNG", **options):
    data = io.BytesIO()
    picture.save(data, form, **options)
    return data.getvalue()


def with_alpha(pixels, alpha):
    plane = np.full((*pixels.shape[:2], 1), alpha, np.uint8)
    return np.concatenate([pixels, plane], axis=2)


@pytest.mark.parametrize("form", ["PNG", "TIFF", "PPM"])
def test_decode_takes_the_upper_byte_of_16_bits(form):
    data = encoded(Image.fromarray(GREY16), form)
    actual = images.decode(data, "x")
    assert actual.dtype == np.uint8
    assert np.array_equal(actual[..., 0], GREY16 // 256)


@pytest.mark.parametrize("orientation", range(10))
@pytest.mark.parametrize("pixels", [COLOUR, COLOUR[..., 0], GREY16], ids=["rgb", "grey", "16 bits"])
def test_decode_turns_a_picture_as_pillow_does(pixels, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(Image.fromarray(pixels), exif=exif)
    actual = images.decode(data, "x")
    upright = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))))
    expected = upright // 256 if pixels is GREY16 else upright
    assert np.array_equal(actual, expected.reshape(*expected.shape[:2], -1))
    assert actual.flags.c_contiguous


def test_exif_that_cannot_be_read_says_nothing():
    data = encoded(Image.fromarray(COLOUR), exif=b"Exif\0\0MM no TIFF")
    assert np.array_equal(images.decode(data, "x"), COLOUR)


def test_decode_drops_an_opaque_alpha():
    assert np.array_equal(images.decode(encoded(Image.fromarray(with_alpha(COLOUR, 255))), "x"),
                          COLOUR)  # fmt: skip
    grey = with_alpha(COLOUR[..., :1], 255)
    assert np.array_equal(images.decode(encoded(Image.fromarray(grey, "LA")), "x"), COLOUR[..., :1])


def palette():
    picture = Image.fromarray(np.arange(12, dtype=np.uint8).reshape(3, 4), "P")
    picture.putpalette(list(range(36)))
    return picture


TRANSPARENT = {
    "one pixel": (lambda: Image.fromarray(
        np.where(np.arange(48).reshape(3, 4, 4) == 3, 254, with_alpha(COLOUR, 255))
        .astype(np.uint8)), {}, 1),
    "all pixels": (lambda: Image.fromarray(with_alpha(COLOUR, 0)), {}, 12),
    "grey": (lambda: Image.fromarray(with_alpha(COLOUR[..., :1], 9), "LA"), {}, 12),
    "palette": (palette, {"transparency": 5}, 1),
}  # fmt: skip


@pytest.mark.parametrize("case", TRANSPARENT)
def test_decode_rejects_transparent_pixels(case):
    make, options, count = TRANSPARENT[case]
    message = (f"a.png: pixels must be opaque, got {count} that are transparent; "
               "flatten the picture onto a background")  # fmt: skip
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        images.decode(encoded(make(), **options), "a.png")


@pytest.mark.parametrize(("dtype", "mode"), [(np.float32, "F"), (np.int32, "I")])
def test_decode_rejects_other_depths(dtype, mode):
    data = encoded(Image.fromarray(np.zeros((3, 4), dtype)), "TIFF")
    message = (f"a.tif: pixels must have 8 or 16 bits a channel, got Pillow's mode {mode}; "
               "scale them to 8 bits")  # fmt: skip
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        images.decode(data, "a.tif")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["mean", "std"])
def test_normalization_must_be_finite(name, value):
    tensor = Tensor("x", (1, 4, 4, 3), "int8", "input", Quantization(0.02, 0))
    plain = images.Normalization((0.5,), (0.5, 0.5, 0.5))
    values = (0.5, value, 0.5)
    message = f"x.png: {name} must be finite, got 0.5, {value}, 0.5"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        images.code_table(tensor, 3, plain._replace(**{name: values}), "x.png")


@pytest.mark.parametrize(("name", "label"), [("input", "input"), ("x", "input x")])
def test_other_inputs_take_no_pictures(name, label):
    tensor = Tensor(name, (1, 4, 4, 3), "int16", "input", Quantization(0.02, 0))
    message = f"{label}: must be int8, uint8 or float32 to take pictures, got int16; "
    with pytest.raises(ModelError, match=f"^{re.escape(message)}give codes instead$"):
        images.code_table(tensor, 3, None, "x.png")
