"""A net of Keras answers as nn-predict does with its weights: convolutions, depthwise ones, batch norm, a flattened picture."""
import os, subprocess, tempfile
import keras, numpy as np

PREDICT = os.path.join(os.environ.get("NN_BUILD", "build"), "cmd", "nn-predict")
L = keras.layers
os.chdir(tempfile.mkdtemp())
keras.utils.set_random_seed(3)
rng = np.random.default_rng(0)
count = 0


def ok(good, claim, why=""):
    global count
    count += 1
    print(f"{'' if good else 'not '}ok {count} - weights: {claim}" + (f"\n# {why}" if not good else ""), flush=True)


def agrees(model, text, samples, claim):
    """By paths of variables and by position, with ? in place of the number of classes."""
    for w in model.weights:
        values = rng.normal(size=w.shape) * 0.5
        w.assign(np.abs(values) + 0.01 if "variance" in w.path else values)
    want = model.predict(samples, verbose=0)
    np.save("x.npy", samples.transpose(0, 3, 1, 2) if samples.ndim == 4 else samples)
    np.savez("paths.npz", **{w.path: w.numpy() for w in model.weights})
    np.savez("numbers.npz", *model.get_weights())
    for weights in "paths.npz", "numbers.npz":
        run = subprocess.run([PREDICT, "-m", text, weights, "x.npy", "-o", "y.npy"], capture_output=True, text=True)
        gap = np.abs(np.load("y.npy") - want).max() / np.abs(want).max() if run.returncode == 0 else None
        ok(gap is not None and gap < 1e-5, f"{claim}, {weights}", run.stderr or gap)


agrees(keras.Sequential([L.Input((7,)), L.Dense(16, activation="relu"), L.Dense(16, activation="tanh"), L.Dense(16), L.Dense(3)]),
       "dense 16, relu, dense 16, tanh, dense 16, dense ?", rng.normal(size=(5, 7)).astype("f"), "Keras' dense layers of one shape")
agrees(keras.Sequential([L.Input((8, 8, 2)), L.Conv2D(4, 3, padding="same", activation="relu"), L.BatchNormalization(),
                         L.DepthwiseConv2D(3, depth_multiplier=2), L.MaxPooling2D(2), L.Flatten(), L.BatchNormalization(),
                         L.Dense(16, activation="relu"), L.LayerNormalization(), L.Dense(3)]),
       "conv2d 4 3x3 pad=1, relu, batchnorm, conv2d 8 3x3 groups=4, maxpool2d 2, flatten, batchnorm, dense 16, relu, layernorm, dense ?",
       rng.normal(size=(5, 8, 8, 2)).astype("f"), "Keras' convolutions, norms and a flattened picture")
sequences = rng.normal(size=(5, 6, 3)).astype("f")
for cell, text in (L.LSTM, "lstm"), (L.GRU, "gru"), (L.SimpleRNN, "rnn"):
    agrees(keras.Sequential([L.Input((6, 3)), cell(4, return_sequences=True), cell(4, return_sequences=True), cell(4), L.Dense(3)]),
           f"{text} 4, {text} 4, {text} 4, last, dense ?", sequences, f"Keras' {cell.__name__} of one shape")
    agrees(keras.Sequential([L.Input((6, 3)), L.Bidirectional(cell(5, return_sequences=True)), cell(4), L.Dense(20), L.Dense(20), L.Dense(2)]),
           f"{text} 5 bidirectional=yes, {text} 4, last, dense 20, dense 20, dense ?", sequences, f"Keras' {cell.__name__} both ways, then one way")
agrees(keras.Sequential([L.Input((6, 3)), L.LSTM(4, use_bias=False, return_sequences=True), L.Flatten(), L.Dense(2)]),
       "lstm 4 bias=no, flatten, dense ?", sequences, "Keras' LSTM without a bias")
print(f"1..{count}")
