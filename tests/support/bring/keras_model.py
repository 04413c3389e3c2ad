"""Run by TensorFlow's own Python: a small Keras model is exported, and trained as Keras trains it.

Argument: a folder to write to.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from stackproof.matrix.bringing.from_tensorflow import export_keras

STEPS = 10
LR = 0.05
MOMENTUM = 0.9


def build() -> keras.Model:
    """Return a convolutional network with batch norms and exact GELU; its output is the mean squared error."""
    layers = keras.layers
    images, targets = keras.Input((8, 8, 3), batch_size=6), keras.Input((3,), batch_size=6)
    x = layers.Conv2D(4, 3, padding="same", name="conv1")(images)
    x = layers.Activation("relu")(layers.BatchNormalization(name="norm1")(x))
    x = layers.Conv2D(4, 3, padding="same", strides=2, use_bias=False, name="conv2")(x)
    x = layers.Activation("relu")(layers.BatchNormalization(name="norm2")(x))
    x = layers.GlobalAveragePooling2D()(layers.DepthwiseConv2D(3, name="deep")(x))
    x = layers.Dense(8, activation="gelu", name="hidden")(x)
    x = layers.Dense(8, activation="tanh", trainable=False, name="frozen")(x)
    x = layers.Dense(3, name="out")(layers.LayerNormalization(name="norm3")(x))
    return keras.Model([images, targets], keras.ops.mean(keras.ops.square(x - targets)), name="small")


def native(weights: list[np.ndarray], batches: list[tuple[np.ndarray, np.ndarray]]) -> list[float]:
    """Train in float64, as a user of Keras would."""
    keras.config.set_floatx("float64")
    model = build()
    model.set_weights(weights)
    optimizer = keras.optimizers.SGD(LR, momentum=MOMENTUM)
    losses = []
    for images, targets in batches:
        with tf.GradientTape() as tape:
            loss = model([images.astype(np.float64), targets.astype(np.float64)], training=True)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        losses.append(float(loss))
    return losses


def sequence() -> keras.Model:
    """Return a chain of layers, which has no structure of inputs."""
    layers = keras.layers
    return keras.Sequential([keras.Input((6,), batch_size=4), layers.Dense(5, activation="relu"), layers.Dense(1)])


def main(folder: Path) -> None:
    keras.utils.set_random_seed(0)
    draws = np.random.default_rng(0)
    images = draws.standard_normal((STEPS, 6, 8, 8, 3)).astype(np.float32)
    targets = draws.standard_normal((STEPS, 6, 3)).astype(np.float32)
    model = build()
    export_keras(model, [images[0], targets[0]], folder / "layers.onnx", input_names=["images", "targets"])
    numbers = draws.standard_normal((4, 6)).astype(np.float32)
    export_keras(sequence(), [numbers], folder / "further" / "sequence.onnx", input_names=["numbers"])
    np.savez(folder / "layers.npz", images=images, targets=targets)
    story = {
        "losses": native(model.get_weights(), list(zip(images, targets, strict=True))),
        "parameters": [variable.path for variable in model.trainable_variables],
        "optimizer": {"kind": "sgd", "lr": LR, "momentum": MOMENTUM},
    }
    (folder / "layers.json").write_text(json.dumps(story))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
