"""Defects of a device, injected by altering the PDUs between a correct device and the peripheral.
Each must be detected by a check; a client library alone detects fewer.

A mutant has the lifetime of one bearer. `begin` returns PDUs to send to the device first; `sent`
and `received` return the PDUs that replace a PDU."""

COUNT, COUNT_CCCD, DATA = b"\x03\x00", b"\x04\x00", b"\x06\x00"


class Mutant:
    def begin(self) -> list[bytes]:
        return []

    def sent(self, pdu: bytes) -> list[bytes]:
        return [pdu]

    def received(self, pdu: bytes) -> list[bytes]:
        return [pdu]


class NotifiesUnasked(Mutant):
    """Subscribes the device behind the client's back, and hides the answer."""

    def __init__(self):
        self.hidden = 1

    def begin(self):
        return [b"\x12" + COUNT_CCCD + b"\x01\x00"]

    def received(self, pdu):
        if self.hidden:
            self.hidden -= 1
            return []
        return [pdu]


class KeepsCCCD(Mutant):
    """Keeps the subscription of the previous client."""

    subscribed: list[bytes] = []

    def __init__(self):
        self.hidden = len(self.subscribed)

    def begin(self):
        return [b"\x12" + cccd + b"\x01\x00" for cccd in self.subscribed]

    def sent(self, pdu):
        if pdu[0] == 0x12 and len(pdu) == 5 and pdu[3:] == b"\x01\x00":
            KeepsCCCD.subscribed = [pdu[1:3]]
        elif pdu[0] == 0x12 and len(pdu) == 5 and pdu[1:3] in self.subscribed:
            KeepsCCCD.subscribed = []
        return [pdu]

    def received(self, pdu):
        if self.hidden:
            self.hidden -= 1
            return []
        return [pdu]


class KeepsMTU(Mutant):
    """Begins a bearer with the MTU of the previous one."""

    last: bytes | None = None

    def __init__(self):
        self.hidden = 1 if self.last else 0

    def begin(self):
        return [self.last] if self.last else []

    def sent(self, pdu):
        if pdu[0] == 0x02:
            KeepsMTU.last = pdu
        return [pdu]

    received = KeepsCCCD.received


class BigEndianCount(Mutant):
    def __init__(self):
        self.reading = False

    def sent(self, pdu):
        self.reading = pdu[:3] == b"\x0a" + COUNT
        return [pdu]

    def received(self, pdu):
        if (self.reading and pdu[0] == 0x0B) or pdu[:3] == b"\x1b" + COUNT:
            return [pdu[:-2] + pdu[-1:] + pdu[-2:-1]]
        return [pdu]


class CountsParts(BigEndianCount):
    """Counts each part of a long write."""

    parts = 0

    def received(self, pdu):
        if pdu[0] == 0x17:
            CountsParts.parts += 1
        if (self.reading and pdu[0] == 0x0B) or pdu[:3] == b"\x1b" + COUNT:
            count = int.from_bytes(pdu[-2:], "little") + CountsParts.parts
            return [pdu[:-2] + (count & 0xFFFF).to_bytes(2, "little")]
        return [pdu]


class IgnoresCancel(Mutant):
    def sent(self, pdu):
        return [b"\x18\x01" if pdu == b"\x18\x00" else pdu]


class IgnoresGaps(Mutant):
    """Joins the parts regardless of their offsets."""

    def __init__(self):
        self.length, self.offset = 0, b""

    def sent(self, pdu):
        if pdu[0] == 0x18:
            self.length = 0
        if pdu[0] != 0x16 or len(pdu) < 5:
            return [pdu]
        self.offset = pdu[3:5]
        changed = pdu[:3] + self.length.to_bytes(2, "little") + pdu[5:]
        self.length += len(pdu) - 5
        return [changed]

    def received(self, pdu):
        return [pdu[:3] + self.offset + pdu[5:] if pdu[0] == 0x17 else pdu]


class Changing(Mutant):
    """Changes every answer in the same way."""

    def __init__(self, change):
        self.received = change


def changing(name: str, change):
    return name, lambda: Changing(change)


def replacing(name: str, old: str, new: str):
    """Replaces one answer with another."""
    return changing(name, lambda pdu: [bytes.fromhex(new) if pdu == bytes.fromhex(old) else pdu])


class NotifiesFirst(Mutant):
    """Notifies before it answers the write."""

    def __init__(self):
        self.held = None
        self.subscribed = self.is_write = False

    def sent(self, pdu):
        if pdu[:3] == b"\x12" + COUNT_CCCD:
            self.subscribed = pdu[3:] == b"\x01\x00"
        self.is_write = pdu[:3] == b"\x12" + DATA
        return [pdu]

    def received(self, pdu):
        if pdu == b"\x13" and self.is_write and self.subscribed:
            self.held = pdu
            return []
        if self.held and pdu[0] == 0x1B:
            held, self.held = self.held, None
            return [pdu, held]
        return [pdu]


MUTANTS = dict(
    [
        ("notifies who has not subscribed", NotifiesUnasked),
        ("count is big-endian", BigEndianCount),
        changing("too long is 0x0E", lambda pdu: [pdu[:4] + b"\x0e" if pdu[0] == 1 and pdu[4:] == b"\x0d" else pdu]),
        replacing("bad JSON is taken", "0112060080", "13"),
        replacing("bad JSON is 0x81", "0112060080", "0112060081"),
        changing("the echo of a part lacks a byte", lambda pdu: [pdu[:-1] if pdu[0] == 0x17 else pdu]),
        ("Execute ignores its flag", IgnoresCancel),
        ("gaps are not seen", IgnoresGaps),
        ("CCCDs outlive the connection", KeepsCCCD),
        replacing("a CCCD takes one byte", "011204000d", "13"),
        ("MTU outlives the connection", KeepsMTU),
        replacing("Count can be written", "0112030003", "13"),
        replacing("Data can be read", "010a060002", "0b"),
        ("each part is counted", CountsParts),
        changing(
            "errors name the next handle",
            lambda pdu: [pdu[:2] + bytes([pdu[2] + 1 & 0xFF]) + pdu[3:] if pdu[0] == 1 and pdu[2] else pdu],
        ),
        changing("errors name Write Request", lambda pdu: [pdu[:1] + b"\x12" + pdu[2:] if pdu[0] == 1 else pdu]),
        changing("discovery answers as at MTU 23", lambda pdu: [pdu[:23] if pdu[0] == 0x09 else pdu]),
        changing(
            "Data is said to take commands",
            lambda pdu: [pdu.replace(b"\x18\x06\x00", b"\x1c\x06\x00") if pdu[0] == 0x09 else pdu],
        ),
        changing("notifies twice", lambda pdu: [pdu, pdu] if pdu[0] == 0x1B else [pdu]),
        ("notifies before the answer", NotifiesFirst),
    ]
)
