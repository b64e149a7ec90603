"""Every call of the CUDA runtime fails in turn, once or for good, in nn-train and nn-predict on tests/device/runtime.c: one line
that names the device, status 1, 3 or 4 (3 alone where another process has it), what was on disk intact, and no hang. usage:
faults.py [CALL...]"""
import os
import shutil
import subprocess
import sys
import tempfile

DIR = tempfile.mkdtemp()
os.environ["NN_MODULE_PATH"] = os.environ["NN_BUILD"] + "/tests/device/runtime/.libs"
os.environ["XDG_CACHE_HOME"] = DIR
TRAIN = ["nn-train", "-q", "-m", "dense 4, relu, dense ?", "--target=kind", "-b", "48", "--clip-norm=1", "--checkpoint-every=1h", "-o", "m",
         "--epochs=2", "--resume", "--device=cuda", "some.csv"]
SAYS = {"": "", ":lost": " for good", ":busy": " as another process has the device"}
PREDICT = ["nn-predict", "--device=cuda", "whole", "some.csv"]


def run(command, **more):
    return subprocess.run(command, cwd=DIR, env={**os.environ, **more}, capture_output=True, check=False, timeout=60)


def bytes_of(name):
    with open(f"{DIR}/{name}", "rb") as f:
        return f.read()


def begin_again():
    for name in "base", "base.state.safetensors":
        shutil.copyfile(f"{DIR}/{name}", f"{DIR}/m{name[4:]}")


def intact():
    """Files are as they were, or another device goes on with them to the same end."""
    if bytes_of("m") == bytes_of("base") and bytes_of("m.state.safetensors") == bytes_of("base.state.safetensors"):
        return True
    return run([*TRAIN, "--device=cpu"]).returncode == 0 and bytes_of("m") == bytes_of("whole")


def wrong(command, fault, want):
    """How a call's failure is told wrongly, or nothing; a failure that nobody has to know changes nothing."""
    begin_again()
    try:
        found = run(command, NN_CUDA_FAULT=fault)
    except subprocess.TimeoutExpired:
        return "hangs"
    lines = found.stderr.decode(errors="replace").splitlines()
    if found.returncode == 0:
        result = bytes_of("m") if command is TRAIN else found.stdout
        return None if result == want and not lines else f"status 0, {lines}, other bytes: {result != want}"
    if found.returncode not in ((3,) if fault.endswith(":busy") else (1, 3, 4)) or len(lines) != 1 or "device cuda" not in lines[0]:
        return f"status {found.returncode}, {lines}"
    return None if intact() else f"status {found.returncode}, {lines}: what was there is broken"


def claim(number, name, command, kind, want):
    open(f"{DIR}/calls", "w", encoding="ascii").close()
    begin_again()
    run(command, NN_CUDA_CALLS="calls")
    calls = int(bytes_of("calls"))
    failures = []
    for n in sys.argv[1:] or range(1, calls + 1):
        says = wrong(command, f"{n}{kind}", want)
        if says:
            failures.append(f"# call {n}{kind}: {says}")
    print(f"{'not ok' if failures else 'ok'} {number} - device: {name}: any of its calls fails{SAYS[kind]}")
    for text in failures[:40]:
        print(text)
    return bool(failures)


def main():
    with open(f"{DIR}/some.csv", "w", encoding="ascii") as f:
        f.write("a,b,kind\n" + "".join(f"{i * 7 % 11},{i * i % 13},{'xy'[i % 3 == 0]}\n" for i in range(96)))
    run([*TRAIN[:-4], "--epochs=1", "--device=cpu", "some.csv"])
    for name in "m", "m.state.safetensors":
        os.rename(f"{DIR}/{name}", f"{DIR}/base{name[1:]}")
    begin_again()
    run([*TRAIN, "--device=cpu"])
    os.rename(f"{DIR}/m", f"{DIR}/whole")
    answers = run([*PREDICT, "--device=cpu"]).stdout
    failed, number = False, 0
    for name, command, want in ("a training", TRAIN, bytes_of("whole")), ("a prediction", PREDICT, answers):
        for kind in SAYS:
            number += 1
            failed |= claim(number, name, command, kind, want)
    print(f"1..{number}")
    shutil.rmtree(DIR)
    return failed


if __name__ == "__main__":
    sys.exit(main())
