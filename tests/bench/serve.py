"""make bench-serve [VERBS=...]: nn-serve under load, beside peers and its own fixed waits; reloads, slow clients, a soak.

usage: serve.py [start|load|peers|wait|reload|slow|soak]...      without any: start load peers wait reload slow
  start   from exec to the ready line and to the first answer, memory then, least of 20
  load    closed loops of 1, 8 and 32 clients, each form of body, the null model beside the model
  peers   beside what libmicrohttpd does alone (tests/bench/ceiling), and Triton with our library where TRITON names its tritonserver
  wait    requests a second of closed loops, median latency of open ones: fixed waits of 0 to 1000 us, then the tuned wait beside the best
  reload  RELOADS (1000) reloads while clients ask; every answer is that of one of the two models
  slow    1,000 clients that send a byte a second, and what others notice
  soak    REQUESTS (5000000) requests; resident memory after 1 %, after each tenth, and the last over the first
Reads NN_BUILD and SECONDS, the length of a measurement (1), MINUTES, how long a soak lasts in place of REQUESTS, and CLIENTS
(1000), the slow ones. Client and server share the machine.
"""
import http.client
import json
import math
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

BUILD = os.environ["NN_BUILD"] + "/cmd/"
SECONDS = os.environ.get("SECONDS", "1")
CNN = "conv2d 16 3x3, relu, maxpool2d 2, conv2d 32 3x3, relu, maxpool2d 2, flatten, dense 10"
NETS = [("784-128-10", (784,), "dense 128, relu, dense 10"), ("1024-2048-2048-1000", (1024,), "dense 2048, relu, dense 2048, relu, dense 1000"),
        ("CNN", (1, 28, 28), CNN)]
TRIES = int(os.environ.get("TRIES", "3"))
WAITS = ["auto", "0", "50", "100", "200", "500", "1000"]
MOST_TURNS = 31


def npy(path, shape, code, value):
    count = 1
    for n in shape:
        count *= n
    head = f"{{'descr': '<{code}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * (-(11 + len(head)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode())
        file.write(struct.pack("<f" if code == "f4" else "<q", value) * count)


def model(path, shape, text, seed=1):
    npy("x.npy", (16, *shape), "f4", 0.5)
    npy("y.npy", (16,), "i8", 1)
    subprocess.run([BUILD + "nn-train", "-q", "--steps=0", f"--seed={seed}", "--normalize=none", "-m", text, "-o", path, "x.npy", "y.npy"], check=True)


class Server:
    """nn-serve, or another command that prints its URL and ends at SIGTERM."""

    def __init__(self, *arguments, command=(BUILD + "nn-serve", "--listen=127.0.0.1:0")):
        self.process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE)
        self.url = self.process.stdout.readline().decode().strip()
        self.port = int(self.url.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0

    def resident_kb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(server, *arguments):
    """The row that nn-bench load prints, and requests per CPU-second of the server."""
    cpu = server.cpu_s()
    out = subprocess.run([BUILD + "nn-bench", "-q", "load", server.url, f"--time={SECONDS}", "--to=jsonl", *arguments], check=True, capture_output=True)
    row = json.loads(out.stdout.splitlines()[0])
    row["per_cpu_s"] = row["ok"] / max(server.cpu_s() - cpu, 1e-3)
    return row


def run_start():
    """The first answer is that of a request which is sent as soon as the port is known."""
    print(f"{'net':20} {'ready ms':>9} {'answer ms':>9} {'resident kB':>11} {'file kB':>9}")
    for name, shape, text in NETS:
        model("net.st", shape, text)
        body = json.dumps({"instances": [full(shape)]})
        best = [1e9] * 3
        for _ in range(20):
            begun = time.monotonic()
            with Server("net.st") as server:
                ready = time.monotonic() - begun
                status, _ = ask(http.client.HTTPConnection("127.0.0.1", server.port), body)
                answered = time.monotonic() - begun
                assert status == 200
                best = [min(a, b) for a, b in zip(best, (ready, answered, server.resident_kb()))]
        print(f"{name:20} {best[0] * 1e3:9.1f} {best[1] * 1e3:9.1f} {best[2]:11} {os.path.getsize('net.st') >> 10:9}", flush=True)


def full(shape):
    return 0.25 if not shape else [full(shape[1:])] * shape[0]


# Triton's repository: our library behind its server (tests/bench/triton.c), rows of up to 64 requests at once
TRITON = """backend: "nn"
max_batch_size: 64
input [{{ name: "input", data_type: TYPE_FP32, dims: [784] }}]
output [{{ name: "output", data_type: TYPE_FP32, dims: [10] }}]
instance_group [{{ kind: KIND_CPU, count: {instances} }}]
dynamic_batching {{ max_queue_delay_microseconds: {wait} }}
"""


def triton(instances, wait):
    """The command that starts it, in sh: its URL is told when it is ready."""
    home = f"triton-{instances}-{wait}"
    os.makedirs(home + "/models/net/1")
    os.makedirs(home + "/backends/nn")
    shutil.copy("net.st", home + "/models/net/1")
    shutil.copy(os.path.join(os.path.dirname(BUILD[:-1]), "tests/bench/.libs/libtriton_nn.so"), home + "/backends/nn")
    with open(home + "/models/net/config.pbtxt", "w", encoding="ascii") as file:
        file.write(TRITON.format(instances=instances, wait=wait))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    options = (f"--model-repository={home}/models --backend-directory={home}/backends --http-port={url.rsplit(':', 1)[1]} --http-address=127.0.0.1 "
               "--allow-grpc=false --allow-metrics=false --log-info=false --disable-auto-complete-config")
    ready = ("import os, time, urllib.request as u\nserver = os.getppid()\nwhile os.getppid() == server:\n"
             f" try: u.urlopen('{url}/v2/health/ready'); print('{url}'); break\n except OSError: time.sleep(0.1)")
    return ("sh", "-c", f'{sys.executable} -c "{ready}" & exec {os.environ["TRITON"]} {options} >/dev/null 2>&1')


def peers(server):
    """Servers to be compared with: a name and what starts it."""
    with urllib.request.urlopen(server.url + "/v2/models/net") as answer:
        metadata = answer.read().decode()
    ceiling = os.path.join(os.path.dirname(BUILD[:-1]), "tests/bench/ceiling")
    if os.path.exists(ceiling):
        answer = json.dumps({"predictions": [[0.123456] * 10]})
        yield "libmicrohttpd", (ceiling, str(len(os.sched_getaffinity(0))), metadata, answer)
    if os.environ.get("TRITON"):
        for instances, wait in ((1, 0), (2, 0), (1, 1000)):
            yield f"Triton {instances}, {wait} us", triton(instances, wait)


def run_peers():
    """ratio: nn-serve's requests a second over the peer's, and of a CPU-second, turns beside each other, the middle one."""
    model("net.st", *NETS[0][1:])
    print(f"{'peer':17} {'body':7} {'clients':>7} {'requests/s':>10} {'nn-serve':>10} {'ratio':>6} {'per CPU-s':>10} {'nn-serve':>10} {'ratio':>6} "
          f"{'p50 us':>8} {'nn-serve':>8} {'p99 us':>8} {'nn-serve':>8}")
    with Server("net.st") as server:
        for name, command in peers(server):
            with Server(command=command) as peer:
                for body in ("v2", "binary") if name.startswith("Triton") else ("json", "v2"):
                    for clients in (1, 8, 32):
                        rows = [load(s, "--model=net", f"--body={body}", f"--connections={clients}") for _ in range(TRIES) for s in (peer, server)]
                        middle = lambda key, i: sorted(r[key] or float("nan") for r in rows[i::2])[TRIES // 2]
                        ratio = lambda key: sorted(b[key] / a[key] for a, b in zip(rows[::2], rows[1::2]))[TRIES // 2]
                        print(f"{name:17} {body:7} {clients:7} " + " ".join(
                            f"{middle(key, 0):10.0f} {middle(key, 1):10.0f} {ratio(key):6.2f}" for key in ("samples_per_s", "per_cpu_s")) + " " +
                            " ".join(f"{middle(key, i) * 1e6:8.0f}" for key in ("p50_s", "p99_s") for i in (0, 1)), flush=True)


def run_load():
    print(f"{'net':20} {'body':7} {'clients':>7} {'requests/s':>10} {'per CPU-s':>10} {'p50 us':>8} {'p99 us':>8} {'batch':>6} {'null/s':>9}")
    for name, shape, text in NETS:
        model("net.st", shape, text)
        with Server("net.st") as server:
            for body in ("json", "v2", "binary"):
                for clients in (1, 8, 32):
                    row = load(server, f"--body={body}", f"--connections={clients}")
                    null = load(server, f"--body={body}", f"--connections={clients}", "--model=net:null")
                    print(f"{name:20} {body:7} {clients:7} {row['samples_per_s']:10.0f} {row['per_cpu_s']:10.0f} {row['p50_s'] * 1e6:8.0f} "
                          f"{(row['p99_s'] or float('nan')) * 1e6:8.0f} {row['batch_mean'] or 1:6.1f} {null['samples_per_s']:9.0f}", flush=True)


def wait_figure(server, title, arguments):
    """Of a closed loop requests a second, of an open one the median latency in microseconds, below 0 so that more is better in both."""
    row = load(server, "--body=binary", *arguments)
    return -(row["p50_s"] or float("nan")) * 1e6 if "/s" in title else row["samples_per_s"]


def beside(turns, some, others):
    """Figures of a turn over others of it, above 1 is better: the median over turns, and two others it lies between in 19 of 20 cases."""
    sums = [(sum(t[i] for i in some) / len(some), sum(t[i] for i in others) / len(others)) for t in turns]
    ratios = sorted(b / a if b < 0 else a / b for a, b in sums)
    middle = len(ratios) // 2
    off = min(middle, math.ceil(math.sqrt(len(ratios))))
    return ratios[middle], ratios[middle - off], ratios[middle + off]


def compare(servers, title, arguments):
    """
    Turns of two servers of the tuned wait and two of the best fixed one, until the medians of their ratios are known to 5 %,
    MOST_TURNS at most: half a second near saturation tells a median latency to 25 %. Arrivals are the same for all of a turn and
    others in the next. Returns the tuned ones over the fixed ones, the second fixed one over the first, and the number of turns.
    """
    turns = []
    for turn in range(1, MOST_TURNS + 1):
        first, figures = turn % 4, {}
        for i in (*range(first, 4), *range(first)):
            figures[i] = wait_figure(servers[i], title, [*arguments, f"--seed={turn}"])
        turns.append([figures[i] for i in range(4)])
        if turn % 2:
            found = [beside(turns, (0, 1), (2, 3)), beside(turns, (3,), (2,))]
            if turn > 2 * TRIES and all(high - low < 0.1 for _, low, high in found):
                break
    return *found, turn


def run_wait():
    """
    A search over fixed waits finds the best one; of six figures that differ by chance that is the luckiest, and two servers of one
    wait differ by several percent for as long as they live. So the tuned wait and the best fixed one take turns anew, each with
    another server of the same wait beside it: what `again` is from 1 chance alone does.
    """
    tuned, again = [], []
    print(f"{'net':20} {'load':>14} " + " ".join(f"{w:>8}" for w in WAITS) + "    best   tuned   between      again   between   turns")
    for name, shape, text in NETS:
        model("net.st", shape, text)
        servers = [Server("net.st", f"--max-delay={w}") for w in WAITS]
        try:
            most = load(servers[1], "--body=binary", "--connections=32")["samples_per_s"]
            loads = [("1 client", ["--connections=1"]), ("8 clients", ["--connections=8"]), ("32 clients", ["--connections=32"])]
            loads += [(f"{most * part:.0f}/s", [f"--rate={most * part:.0f}", "--connections=64"]) for part in (0.1, 0.3, 0.5)]
            for title, arguments in loads:
                tries = [[] for _ in WAITS]
                for turn in range(TRIES):        # each begins with another: what was measured before is felt
                    for i in (*range(turn % len(WAITS), len(WAITS)), *range(turn % len(WAITS))):
                        tries[i].append(wait_figure(servers[i], title, arguments))
                found = [sorted(t)[TRIES // 2] for t in tries]
                best = max(range(1, len(WAITS)), key=lambda i: found[i])
                with Server("net.st", f"--max-delay={WAITS[0]}") as second, Server("net.st", f"--max-delay={WAITS[best]}") as twin:
                    one, other, turns = compare([servers[0], second, servers[best], twin], title, arguments)
                tuned.append(one)
                again.append(other)
                print(f"{name:20} {title:>14} " + " ".join(f"{abs(f):8.0f}" for f in found) + f" {WAITS[best]:>7} " +
                      " ".join(f"{middle:7.2f} {low:4.2f}-{high:4.2f}" for middle, low, high in (one, other)) + f" {turns:7}", flush=True)
        finally:
            for server in servers:
                server.__exit__()
    for what, ratios in (("tuned", tuned), ("that wait again", again)):
        middles = [middle for middle, _, _ in ratios]
        print(f"wait: {what} over the best fixed wait: least {min(middles):.2f}, mean {sum(middles) / len(middles):.2f}, "
              f"{sum(m < 0.95 for m in middles)} of {len(middles)} more than 5 % behind, {sum(high < 0.95 for _, _, high in ratios)} of them for certain")


def ask(connection, body):
    connection.request("POST", "/v1/models/net:predict", body)
    answer = connection.getresponse()
    return answer.status, answer.read()


def run_reload():
    reloads = int(os.environ.get("RELOADS", "1000"))
    shape, text = NETS[0][1:]
    body = json.dumps({"instances": [[0.25] * 784]})
    for seed in (1, 2):
        model(f"{seed}.st", shape, text, seed)
    shutil.copy("1.st", "net.st")
    with Server("net.st") as server:
        known, counts, stop = [], [0, 0], threading.Event()

        def answer():
            return ask(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60), body)

        def replace(seed):
            shutil.copy(f"{seed}.st", "next.st")
            os.replace("next.st", "net.st")
            server.process.send_signal(signal.SIGHUP)

        def client():
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            while not stop.is_set():
                counts[ask(connection, body) not in known] += 1

        known.append(answer())
        replace(2)
        while (other := answer()) == known[0]:
            pass
        known.append(other)
        threads = [threading.Thread(target=client) for _ in range(4)]
        for thread in threads:
            thread.start()
        begun = time.monotonic()
        for i in range(reloads):
            replace(1 + i % 2)
            while answer() != known[i % 2]:
                pass
        seconds = time.monotonic() - begun
        stop.set()
        for thread in threads:
            thread.join()
        print(f"reload: {reloads} in {seconds:.1f} s under load, {counts[0]} answers of one of the two models, {counts[1]} others; "
              f"resident {server.resident_kb()} kB")


def run_slow():
    model("net.st", *NETS[0][1:])
    with Server("net.st", "--header-timeout=120", "--max-connections=2000") as server:
        before = load(server, "--connections=8")
        clients = []
        for _ in range(int(os.environ.get("CLIENTS", "1000"))):
            clients.append(socket.create_connection(("127.0.0.1", server.port)))
        stop = threading.Event()

        def drip():
            text = b"POST /v1/models/net:predict HTTP/1.1\r\nHost: x\r\nX-Slow: " + b"x" * 1000
            for i in range(len(text)):
                for client in clients:
                    client.send(text[i:i + 1])
                if stop.wait(1):
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        time.sleep(2)
        row = load(server, "--connections=8")
        stop.set()
        thread.join()
        print(f"slow: {before['samples_per_s']:.0f} requests/s, p99 {(before['p99_s'] or float('nan')) * 1e6:.0f} us; beside {len(clients)} clients of a byte a second "
              f"{row['samples_per_s']:.0f}, {(row['p99_s'] or float('nan')) * 1e6:.0f} us; resident {server.resident_kb()} kB")


def run_soak():
    requests, minutes = int(os.environ.get("REQUESTS", "5000000")), float(os.environ.get("MINUTES", "0"))
    model("net.st", *NETS[0][1:])
    with Server("net.st") as server:
        answered = errors = early = 0
        begun = time.monotonic()
        for part in (0.01, *(i / 10 for i in range(1, 11))):
            while (time.monotonic() - begun < minutes * 60 * part) if minutes else answered < requests * part:
                row = load(server, "--body=binary", "--connections=32", "--time=1")
                answered += row["ok"]
                errors += row["errors"]
            resident = server.resident_kb()
            early = early or resident
            print(f"soak: {part:4.0%}: {answered} answers, {errors} errors, resident {resident} kB", flush=True)
        print(f"soak: resident at the end over that at 1 %: {resident / early:.3f}")


def main():
    verbs = sys.argv[1:] or ["start", "load", "peers", "wait", "reload", "slow"]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for verb in verbs:
            {"start": run_start, "load": run_load, "peers": run_peers, "wait": run_wait, "reload": run_reload, "slow": run_slow, "soak": run_soak}[verb]()


main()
