"""A net around each layer (NETS of long/same-ranks.py) on a device: the CPU's model, state and predictions, and a training that
the other one goes on with. usage: layers.py [NET]...

The device is that of NN_MODULE_PATH where NN_DEVICE says so, else of the tests: NN_TEST_MODULE, or apart."""
import importlib.util
import os
import shutil
import subprocess
import sys

SRC, BUILD = os.environ["NN_SRC"], os.environ["NN_BUILD"]
spec = importlib.util.spec_from_file_location("same_ranks", SRC + "/tests/long/same-ranks.py")
same = importlib.util.module_from_spec(spec)
sys.argv, chosen = sys.argv[:1], sys.argv[1:]
spec.loader.exec_module(same)
OPTIMIZERS = list(same.FACTORS["optimizer"].values())


def predict(device, data):
    """What nn-predict says of the model there is."""
    run = subprocess.run(["nn-predict", "-q", f"--device={device}", "m", data], cwd=same.DIR, capture_output=True, check=False)
    return run.stdout if run.returncode == 0 and run.stdout else f"nn-predict on {device}: status {run.returncode}: {run.stderr.decode()[:300]}"


def train(args, how):
    """What came of it, which stays in m: sums of model and state, or what went wrong."""
    run = subprocess.run(["nn-train", *args, *how, "--checkpoint-every=1h", "-o", "m"], cwd=same.DIR, capture_output=True, check=False)
    if run.returncode or run.stderr:
        return f"status {run.returncode}: {run.stderr.decode(errors='replace')[:300]}"
    with open(same.DIR + "/m", "rb") as f:
        return f"model {same.sum_of(f.read())}, state {same.sum_of(same.tensors(same.DIR + '/m.state.safetensors'))}"


def go_on(args):
    """The second epoch on the device, the first was on the CPU."""
    first = train(args, ["--device=cpu", "--epochs=1"])
    return first if first.startswith("status") else train(args, ["--device=cuda", "--epochs=2", "--resume"])


def wrong(number, net):
    """How a net fails, or nothing: each has another optimizer, every third is of f64; every other one micro-batches, the
    others go on where the CPU was."""
    data = "towns-kind.csv" if "town" in same.NETS[net] else "kind.csv"
    optimizer = OPTIMIZERS[number % len(OPTIMIZERS)] if net != "embedding-sparse" else ["--optimizer=adam"]
    precision = ["--precision=f64"] if number % 3 == 0 else []
    args = ["-q", "-m", same.NETS[net] + ", dense ?", "--target=kind", "-b", "64", "-t", "1", *optimizer, *precision, data]
    one = train(args, ["--device=cpu", "--epochs=2"])
    answers = predict("cpu", data)
    if one.startswith("status") or isinstance(answers, str):
        return f"cpu: {one}, {answers}"
    if predict("cuda", data) != answers:
        return f"{' '.join(args)}: predictions differ, {predict('cuda', data)!r:.200}"
    found = train(args, ["--device=cuda", "--epochs=2", "--micro-batch=7"]) if number % 2 else go_on(args)
    return f"{' '.join(args)}: {found}, cpu: {one}" if found != one else None


def each_net(wrong_of, claim):
    """A line of TAP for each net, or those chosen: wrong_of(number, net) says how it fails to do what is claimed."""
    same.write_data()
    nets, failed = chosen or list(same.NETS), False
    for number, net in enumerate(nets, 1):
        says = wrong_of(number, net)
        failed |= bool(says)
        print(f"{'not ok' if says else 'ok'} {number} - device: {net} {claim}" + (f"\n# {says}" if says else ""))
    print(f"1..{len(nets)}")
    shutil.rmtree(same.DIR)
    return failed


def main():
    os.environ["XDG_CACHE_HOME"] = same.DIR
    if "NN_DEVICE" not in os.environ:
        os.environ["NN_MODULE_PATH"] = f"{BUILD}/tests/device/{os.environ.get('NN_TEST_MODULE') or 'apart'}/.libs"
    return each_net(wrong, "makes the CPU's model and predictions")


if __name__ == "__main__":
    sys.exit(main())
