"""The examples of wire.py, byte by byte, as Markdown: a page of the docs site."""

import struct
import zlib

from tools.vectors import wire

LIMITS_FIELDS = ["frames", "requests", "mtu", "bytes"]
REASONS = {1: "no such session", 2: "no common version", 3: "unknown critical TLV", 4: "malformed"}
TLV_NAMES = {
    0x81: "MAGIC",
    0x82: "NONCE",
    0x83: "VERSIONS",
    0x84: "VERSION",
    0x05: "FEATURES",
    0x06: "LIMITS",
    0x07: "SRC",
    0x08: "RUN",
    0x09: "CLOCK",
    0x0A: "BOOT_ID",
    0x0B: "BOOT_COUNT",
    0x0C: "RESET_REASON",
    0x0D: "UPTIME",
    0x0E: "DEVICE_ID",
    0x0F: "FIRMWARE_NAME",
    0x10: "FIRMWARE_VERSION",
    0x11: "BUILD_HASH",
    0x12: "PROFILE_HASH",
    0x13: "CAPACITY",
    0x14: "REASON",
    0x15: "REFUSED",
}


def spaced(data):
    return data.hex(" ").upper()


def number(data):
    return int.from_bytes(data, "little")


def value_meaning(kind, value):
    name = TLV_NAMES[kind]
    if name in ("MAGIC", "FIRMWARE_NAME", "FIRMWARE_VERSION"):
        return f"`{value.decode()}`"
    if name in ("NONCE", "SRC", "BOOT_ID", "PROFILE_HASH"):
        return f"0x{number(value):0{2 * len(value)}X}"
    if name == "FEATURES":
        return "bits " + ", ".join(str(bit) for bit in range(32) if number(value) >> bit & 1)
    if name == "VERSIONS":
        return f"{value[0]} to {value[1]}"
    if name == "LIMITS":
        return ", ".join(
            f"{key} {entry}" for key, entry in zip(LIMITS_FIELDS, struct.unpack("<BBHI", value), strict=False)
        )
    if name == "CLOCK":
        seconds, zone = struct.unpack("<qh", value)
        return f"{seconds} s, zone {zone:+d} minutes"
    if name == "DEVICE_ID":
        return value.hex(":").upper()
    if name == "BUILD_HASH":
        return "bytes as they are"
    if name == "REASON":
        return f"{value[0]}, {REASONS[value[0]]}"
    if name == "RESET_REASON":
        return f"{value[0]}, power-on"
    if name == "REFUSED":
        return f"TLV type 0x{value[0]:02X}"
    return str(number(value)) + (" ms" if name == "UPTIME" else "")


def tlv_rows(payload, offset):
    while payload:
        kind, length = payload[0], payload[1]
        value = payload[2 : 2 + length]
        yield offset, payload[:2], f"{TLV_NAMES[kind]}, {length} byte{'s' * (length != 1)}"
        yield offset + 2, value, value_meaning(kind, value)
        payload, offset = payload[2 + length :], offset + 2 + length


def att_rows(pdu, offset):
    if pdu[0] == 0x13:
        yield offset, pdu, "ATT Write Response"
        return
    yield offset, pdu[:1], "ATT Write Request" if pdu[0] == 0x12 else "ATT Handle Value Notification"
    handle = number(pdu[1:3])
    yield offset + 1, pdu[1:3], f"handle {handle}, {'Count' if handle == 3 else 'Data'}"
    if handle == 3:
        yield offset + 3, pdu[3:], f"the count, {number(pdu[3:])}"
        return
    for start in range(3, len(pdu), 16):
        piece = pdu[start : start + 16]
        yield offset + start, piece, f"`{piece.decode()}`"


SYNC_FIELDS = {
    1: ("SYNC", [("src", 4), ("known", 4), ("n", 2), ("digest", 8)]),
    2: ("SYNCED", [("src", 4), ("n", 2), ("digest", 8), ("hwm", 4), ("capacity", 2), ("boot id", 4)]),
    3: ("RESYNC", []),
    4: ("GONE", [("reason", 1), ("src", 4), ("id", 4)]),
    5: ("ACTION", [("act", 1), ("src", 4), ("id", 4), ("rev", 2), ("press", 4)]),
    6: ("TAKEN", [("src", 4), ("press", 4)]),
}
GONE_REASONS = {1: "dismissed", 2: "evicted", 3: "expired"}


def sync_rows(payload, offset):
    name, fields = SYNC_FIELDS[payload[0]]
    yield offset, payload[:1], f"kind {payload[0]} {name}"
    start = 1
    for field, size in fields:
        value = payload[start : start + size]
        shown = str(number(value))
        if field in ("src", "boot id", "digest"):
            shown = f"0x{number(value):0{2 * size}X}"
        elif field == "reason":
            shown += f", {GONE_REASONS[number(value)]}"
        yield offset + start, value, f"{field} {shown}"
        start += size


def payload_rows(frame, offset):
    payload = frame.payload
    if frame.kind in (wire.HELLO, wire.SYN, wire.SYNACK, wire.RST):
        yield from tlv_rows(payload, offset)
    elif frame.kind == wire.DATA and frame.channel == wire.LINK:
        yield from sync_rows(payload, offset)
    elif frame.kind == wire.DATA:
        yield from att_rows(payload, offset)
    elif frame.kind == wire.NAK and payload:
        held = [str(frame.ack + 1 + bit) for bit in range(64) if number(payload) >> bit & 1]
        yield offset, payload, f"bitmap: {' and '.join(held)} are held"
    elif frame.kind == wire.UDATA:
        for start in range(0, len(payload), 16):
            piece = payload[start : start + 16]
            shown = piece.decode().replace("\n", "\\n")
            yield (
                offset + start,
                piece,
                f"`{shown}`" if not shown.endswith(" ") else f"`{shown}` with a space at the end",
            )
    elif frame.kind == wire.PONG:
        yield offset, payload, f"*handled* {payload[0]}"


def rows(frame):
    header, decoded = frame.header, frame.decoded
    side = "from the device" if frame.direction else "from the host"
    yield 0, header[:1], f"type {frame.kind} {wire.NAMES[frame.kind]}, {side}, channel {frame.channel}"
    yield 1, header[1:3], f"payload length {len(frame.payload)}"
    yield 3, header[3:5], f"session 0x{frame.session:04X}" if frame.session else "no session"
    yield 5, header[5:6], f"seq {frame.seq}"
    yield 6, header[6:7], f"ack {frame.ack}"
    yield 7, header[7:8], f"credit {frame.credit}"
    yield from payload_rows(frame, 8)
    yield len(decoded) - 4, decoded[-4:], f"CRC-32 0x{number(decoded[-4:]):08X}"


def example(heading, frame):
    table = "\n".join(f"| {offset} | `{spaced(data)}` | {meaning} |" for offset, data, meaning in rows(frame))
    encoded = "\n".join(spaced(frame.wire[start : start + 32]) for start in range(0, len(frame.wire), 32))
    return f"{heading}\n\n| offset | bytes | meaning |\n|---|---|---|\n{table}\n\n```\n{encoded}\n```\n"


def page():
    """The page of the site; at its end a digest step by step (NTF-32)."""
    examples = "\n".join(example(f"## {title}", frame) for title, frame in wire.EXAMPLES)
    jsons = "\n".join(written.decode() for _, written in wire.BOTH)
    sums = [(key, zlib.crc32(written), wire.mixed(key, written)) for key, written in wire.BOTH]
    table = "\n".join(
        f"| {key} | 0x{crc:08X} | 0x{key << 32 | crc:016X} | 0x{mixed:016X} |" for key, crc, mixed in sums
    )
    return f"""\
# The protocol, byte by byte

Every frame type and TLV of [the protocol](PROTOCOL.md). The tables show decoded bytes, that is
before stuffing; the block under each is the wire. They are examples, not the log of one session.
`firmware-fixtures/vectors/frames.jsonl` has the same frames for tests.

{examples}
## A digest

Of the two notifications that SYNC and SYNCED count above, as they were written:

```
{jsons}
```

| id | CRC-32 of the JSON | id·2³² + CRC-32 | splitmix64 of that |
|---|---|---|---|
{table}

Their sum is 0x{sum(mixed for _, _, mixed in sums):X}, modulo 2⁶⁴ 0x{wire.digest(wire.BOTH):016X}. The digest of none is 0.
"""
