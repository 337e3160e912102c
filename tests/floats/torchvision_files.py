"""Weights as torchvision's files hold them, of a narrow MobileNetV2."""

import numpy as np

EXPANSIONS = [1, *[6] * 16]


def norm(rng, name, channels):
    return {
        f"{name}.weight": rng.uniform(0.5, 1.5, channels).astype(np.float32),
        f"{name}.bias": rng.standard_normal(channels).astype(np.float32),
        f"{name}.running_mean": rng.standard_normal(channels).astype(np.float32),
        f"{name}.running_var": rng.uniform(0.5, 1.5, channels).astype(np.float32),
        f"{name}.num_batches_tracked": np.array(7),
    }


def convolution(rng, names, shape):
    w = rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
    return {f"{names[0]}.weight": w.astype(np.float32), **norm(rng, names[1], shape[0])}


def narrow_mobilenet(seed=0, classes=5):
    """A MobileNetV2 of 8 channels everywhere, by today's names."""
    rng = np.random.default_rng(seed)
    found = convolution(rng, ("features.0.0", "features.0.1"), (8, 3, 3, 3))
    for number, expansion in enumerate(EXPANSIONS, 1):
        name, wide, k = f"features.{number}.conv", 8 * expansion, 0
        if expansion > 1:
            found |= convolution(rng, (f"{name}.0.0", f"{name}.0.1"), (wide, 8, 1, 1))
            k = 1
        found |= convolution(rng, (f"{name}.{k}.0", f"{name}.{k}.1"), (wide, 1, 3, 3))
        found |= convolution(rng, (f"{name}.{k + 1}", f"{name}.{k + 2}"), (8, wide, 1, 1))
    found |= convolution(rng, ("features.18.0", "features.18.1"), (16, 8, 1, 1))
    found["classifier.1.weight"] = rng.standard_normal((classes, 16)).astype(np.float32)
    found["classifier.1.bias"] = rng.standard_normal(classes).astype(np.float32)
    return found


def old_name(name):
    """As older files call it: a block's layers, activations among them, are counted through."""
    parts = name.split(".")
    if parts[0] != "features" or parts[2] != "conv":
        return name
    inner, rest = parts[3:-1], parts[-1]
    number = 3 * int(inner[0]) + (int(inner[1]) if len(inner) > 1 else 0)
    if len(inner) == 1:  # the projection and its norm, behind one or two layers
        layers = 1 if parts[1] == "1" else 2
        number = 3 * layers + int(inner[0]) - layers
    return ".".join([*parts[:3], str(number), rest])


def folded_file(weights):
    """The same network with its norms in weights and biases, as files call it."""
    found = {}
    for name, w in weights.items():
        if w.ndim != 4:
            continue
        layer = name.removesuffix(".weight")
        *front, last = layer.split(".")
        n = ".".join([*front, str(int(last) + 1)])
        factor = weights[f"{n}.weight"] / np.sqrt(weights[f"{n}.running_var"] + 1e-5)
        found[name] = w * factor[:, None, None, None]
        found[f"{layer}.bias"] = weights[f"{n}.bias"] - weights[f"{n}.running_mean"] * factor
    return found | {k: v for k, v in weights.items() if k.startswith("classifier")}
