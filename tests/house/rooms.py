"""TAP: the rooms of ARCHITECTURE hold: who includes whom, who uses which library, how files read."""
import os
import re
import sys

SRC = os.environ["NN_SRC"]
# headers of libraries, and the only place that may include them
LIBRARIES = {
    "zlib.h": "lib/file/", "lzma.h": "lib/file/", "zstd.h": "lib/file/",
    "png.h": "lib/file/picture/", "jpeglib.h": "lib/file/picture/",
    "cblas.h": "lib/device/cpu/blas", "openblas_config.h": "lib/device/cpu/blas",
    "mpi.h": "lib/comm/mpi/", "cuda.h": "lib/device/cuda/", "cuda_runtime.h": "lib/device/cuda/", "cuda_runtime_api.h": "lib/device/cuda/",
    "protobuf-c.h": "lib/onnx/", "protobuf-c/protobuf-c.h": "lib/onnx/",
    "microhttpd.h": "lib/serve/http/",
    "immintrin.h": ("lib/device/cpu/", "lib/base/"), "arm_neon.h": ("lib/device/cpu/", "lib/base/"), "dlfcn.h": "lib/base/",
}
# the wing that may take formulas and sizes from another one's headers
SHARED = {"device/cpu/": "lib/device/cuda/"}
WINGS = ("device/cpu/", "device/cuda/", "comm/self/", "comm/mpi/", "onnx/")
UNFINISHED = re.compile(r"\b(todo|fixme|xxx|stub|placeholder|not (yet )?implemented)\b", re.I)
PLATFORM = re.compile(r"^\s*#\s*(el)?if.*\b(__x86|__aarch64|__AVX|__ARM|__linux|__APPLE|_WIN|__GNUC__|__clang__)")
n = 0


def claim(text, wrong):
    global n
    n += 1
    print(f"{'not ok' if wrong else 'ok'} {n} - house: {text}")
    for line in wrong[:20]:
        print("#  " + line)


def table():
    rooms = {}
    text = open(f"{SRC}/ARCHITECTURE", encoding="utf-8").read()
    rows = text.split("room      may include\n")[1].split("\n\n")[0]
    for row in rows.splitlines():
        room, *may = row.split()
        rooms[room] = set(may) - {"-"} | {room}
    return rooms


def sources(*tops, kinds=(".c", ".h", ".def")):
    for top in tops:
        for folder, _, names in os.walk(f"{SRC}/{top}"):
            for name in sorted(names):
                if name.endswith(kinds):
                    path = os.path.relpath(f"{folder}/{name}", SRC)
                    with open(f"{SRC}/{path}", encoding="utf-8") as file:
                        yield path, file.read().splitlines()


def includes():
    for path, lines in sources("lib", "cmd"):
        for number, line in enumerate(lines, 1):
            found = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
            if found:
                yield path, f"{path}:{number}", found[1] == '"', found[2]


def room_of(path):
    parts = path.split("/")
    return parts[0] if parts[0] == "cmd" else parts[1] if len(parts) > 2 else "base"


def unit_of(path, headers):
    """A header and its sources are one: x.h, x.c, and x-more.c or x-inside.h beside them."""
    folder, name = os.path.split(os.path.splitext(path)[0])
    while "-" in name and f"{folder}/{name.rsplit('-', 1)[0]}.h" in headers:
        name = name.rsplit("-", 1)[0]
    return f"{folder}/{name}"


def circles():
    """Files of a room that include each other's headers, however indirectly: sorted tuples of units."""
    headers = {path for path, _ in sources("lib", "cmd", kinds=(".h",))}
    uses = {}
    for path, _, ours, name in includes():
        unit = unit_of(path, headers)
        uses.setdefault(unit, set())
        for target in ("lib/" + name, name):
            if ours and target in headers and room_of(target) == room_of(path):
                uses[unit].add(unit_of(target, headers))
    reach = {}
    for unit in uses:
        seen, todo = set(), list(uses[unit])
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                todo += uses.get(at, ())
        reach[unit] = seen
    return {tuple(sorted(v for v in reach[u] if u in reach.get(v, ())))
            for u in uses if any(v != u and u in reach.get(v, ()) for v in reach[u])}


def main():
    rooms = table()
    text = open(f"{SRC}/ARCHITECTURE", encoding="utf-8").read()
    parts = {path.rsplit("/", 1)[0] for path, _ in sources("lib") if path.count("/") > 2}
    claim("every part of a room is named in ARCHITECTURE",
          sorted(part for part in parts if f"  {os.path.basename(part)}/ " not in text))
    claim("files of a room do not include each other in circles",
          [" ".join(circle) for circle in sorted(circles())])
    found = {room_of(path) for path, _ in sources("lib", "cmd")}
    claim("every folder of lib is a room of ARCHITECTURE", sorted(found - rooms.keys()))

    across, wings, libraries = [], [], []
    for path, place, ours, name in includes():
        if not ours:
            if not path.startswith(LIBRARIES.get(name, "")):
                libraries.append(f"{place} includes <{name}>, which belongs to {LIBRARIES[name]}")
            continue
        room = name.split("/")[0] if "/" in name else None
        if room is not None and room not in rooms.get(room_of(path), ()):
            across.append(f'{place} includes "{name}"')
        for wing in WINGS:
            if name.startswith(wing) and not path.startswith(("lib/" + wing, SHARED.get(wing, "lib/" + wing))):
                wings.append(f'{place} includes "{name}"')
    claim("a room includes only what the table allows", across)
    claim("nobody outside a wing includes it", wings)
    claim("a library is used in one place", libraries)

    tags = {}
    for path, lines in sources("lib", "cmd", kinds=(".c", ".h")):
        for tag in re.findall(r"^\s*(?:struct|union|enum) (nn_\w+)\s*{", "\n".join(lines), re.M):
            tags.setdefault(tag, []).append(path)
    claim("a tag has one definition", [f"{tag}: {' '.join(paths)}" for tag, paths in sorted(tags.items())
                                       if len(paths) > 1])

    unfinished, conditionals, first = [], [], []
    for path, lines in sources("lib", "cmd", "man", "share", "tests",
                               kinds=(".c", ".h", ".def", ".bats", ".bash", ".py", ".sh", ".mk", ".in")):
        if path != "tests/house/rooms.py":
            unfinished += [f"{path}:{i}: {line.strip()}" for i, line in enumerate(lines, 1)
                           if UNFINISHED.search(line)]
    for path, lines in sources("lib", "cmd"):
        if not path.startswith("lib/base/") and not any(wing in path for wing in WINGS):
            conditionals += [f"{path}:{i}: {line}" for i, line in enumerate(lines, 1) if PLATFORM.match(line)]
        if not lines or not lines[0].startswith("/*"):
            first.append(path)
    claim("no source speaks of unfinished work", unfinished)
    claim("conditionals on the platform stand in base or a wing", conditionals)
    claim("every source begins with a comment on its idea", first)

    lists = open(f"{SRC}/tests/local.mk", encoding="utf-8").read()
    tests = [path for path, _ in sources("tests", kinds=(".bats", ".py", ".sh"))]
    claim("every test script stands in a list of tests/local.mk",
          [path for path in tests if path not in lists and not path.startswith("tests/bench/")])
    print(f"1..{n}")


main()
sys.exit(0)
