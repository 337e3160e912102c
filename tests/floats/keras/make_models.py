"""Writes the models beside it, and what Keras computes of them.

    pip install keras jax h5py
    python tests/floats/keras/make_models.py

Made with Keras 3.15.1 on jax 0.10.2. Each .h5 is what `model.save` writes; the .npz of the same
name holds x, float32 images, and y, the model's float32 outputs.
"""

import os
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers

HERE = Path(__file__).parent


def sequential():
    return keras.Sequential(
        [
            keras.Input((12, 10, 3)),
            layers.Conv2D(6, 3, padding="same", strides=2, use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(max_value=6.0),
            layers.ZeroPadding2D(((0, 1), (1, 0))),
            layers.DepthwiseConv2D(3, depth_multiplier=2, activation="relu6"),
            layers.SeparableConv2D(8, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Dropout(0.2),
            layers.Flatten(),
            layers.Dense(7, activation="relu"),
            layers.Dense(4),
            layers.Softmax(),
        ]
    )


def functional():
    images = keras.Input((16, 16, 3))
    x = layers.Conv2D(8, 3, padding="same")(images)
    x = layers.BatchNormalization(scale=False)(x)
    a = layers.Activation("relu")(x)
    x = layers.Conv2D(8, 3, padding="same", groups=2)(a)
    x = layers.BatchNormalization(center=False, epsilon=1e-2)(x)
    y = layers.Conv2D(8, 1)(a)
    x = layers.Add()([x, a, y])
    x = layers.ReLU()(x)
    x = layers.AveragePooling2D((3, 2), strides=2, padding="same")(x)
    x = layers.GlobalAveragePooling2D(keepdims=True)(x)
    x = layers.Conv2D(5, 1)(x)
    x = layers.Reshape((5,))(x)
    return keras.Model(images, layers.Activation("softmax")(x))


def drawn(rng, variable, values):
    """Random weights; variances are above 0."""
    if "variance" in variable.name:
        return np.abs(rng.standard_normal(values.shape)) + 0.5
    return rng.standard_normal(values.shape) * 0.4


def main():
    rng = np.random.default_rng(0)
    for make in (sequential, functional):
        model = make()
        pairs = zip(model.weights, model.get_weights(), strict=True)
        model.set_weights([drawn(rng, variable, values) for variable, values in pairs])
        x = rng.standard_normal((4, *model.input_shape[1:])).astype(np.float32)
        y = np.asarray(model.predict(x, verbose=0))
        np.savez(HERE / f"{make.__name__}.npz", x=x, y=y)
        model.save(HERE / f"{make.__name__}.h5")


if __name__ == "__main__":
    main()
