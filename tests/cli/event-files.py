"""Read the event files of a directory, checksums and all: `FILE STEP NAME VALUE` a figure, files in their order.

TensorBoard's own reader is asked for the same where it is installed."""
import glob
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        (n,) = struct.unpack_from("<Q", data)
        assert struct.unpack_from("<I", data, 8)[0] == masked(data[:8])
        record = data[12 : 12 + n]
        assert struct.unpack_from("<I", data, 12 + n)[0] == masked(record)
        yield record
        data = data[16 + n :]


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            n, at = varint(data, at)
            value, at = data[at : at + n], at + n
        else:
            form, n = ("<d", 8) if key & 7 == 1 else ("<f", 4)
            value, at = struct.unpack_from(form, data, at)[0], at + n
        found[key >> 3] = value
    assert at == len(data)
    return found


all_figures = []
for number, path in enumerate(sorted(glob.glob(sys.argv[1] + "/events.out.tfevents.*"))):
    with open(path, "rb") as file:
        events = [fields(record) for record in records(file.read())]
    assert events[0][3] == b"brain.Event:2" and all(1.6e9 < event[1] < 1e10 for event in events)
    for event in events[1:]:
        figure = fields(fields(event[5])[1])
        all_figures.append((number, event.get(2, 0), figure[1].decode(), figure[2]))
for figure in all_figures:
    print(*figure)

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError:
    sys.exit()
seen = EventAccumulator(sys.argv[1], {"scalars": 0, "tensors": 0})
seen.Reload()
names = {name for _, _, name, _ in all_figures}
assert set(seen.Tags()["scalars"]) == names
for name in names:
    assert sorted((e.step, e.value) for e in seen.Scalars(name)) == sorted((s, v) for _, s, n, v in all_figures if n == name)
print("TensorBoard agrees", file=sys.stderr)
