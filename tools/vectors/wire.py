"""Builds frames and TLVs of docs/PROTOCOL.md with cobs, zlib and struct, independent of the Swift
code."""

import struct
import zlib

from cobs import cobs

HELLO, SYN, SYNACK, DATA, ACK, NAK, UDATA, PING, PONG, RST, FIN = range(1, 12)
NAMES = ["", "HELLO", "SYN", "SYNACK", "DATA", "ACK", "NAK", "UDATA", "PING", "PONG", "RST", "FIN"]
HOST, DEVICE = 0, 1
LINK, LOG, RIG, ATT = 0, 1, 2, 4

# The values that every example uses.
BOOT_ID, BOOT_COUNT, RESET_REASON, UPTIME_MS = 0xB0071D42, 7, 1, 1500
DEVICE_ID = bytes.fromhex("246F28AABBCC")
NAME, VERSION, BUILD_HASH = b"notibot", b"1.0.0", bytes.fromhex("DEADBEEF")
NONCE, SESSION, SRC, RUN, CLOCK = 0x1122334455667788, 0x3A7C, 0xC0FFEE01, 1, (1234567890, 60)
HOST_LIMITS, DEVICE_LIMITS, CAPACITY = (64, 8, 517, 65536), (16, 8, 517, 4096), 64
FEATURES = 0b1111
SAMPLE = b'{"app":"Messages","title":"Jane Doe","text":"See you tomorrow!","timestamp":1234567890}'
# Notifications with an identity: two writes, then the change, dismissal and removal of the first.
FIRST_ID, SECOND_ID = 7, 8
FIRST = SAMPLE[:-1] + b',"id":7}'
SECOND = b'{"app":"Messages","title":"Jane Doe","text":"At noon.","timestamp":1234567890,"id":8}'
UPDATE = (
    b'{"app":"Messages","title":"Jane Doe","text":"See you on Monday!","timestamp":1234567890,"id":7,"rev":1,"ev":"m"}'
)
REMOVAL = b'{"app":"","title":"","text":"","timestamp":0,"id":7,"ev":"r"}'
DISMISSED = b'{"ev":"dismissed","item":1,"id":7,"src":3237998081}'


class Frame:
    """Header and payload; `wire` is the encoded frame."""

    def __init__(self, kind, direction, payload=b"", channel=LINK, session=0, seq=0, ack=0, credit=0, length=None):
        self.kind, self.direction, self.channel = kind, direction, channel
        self.session, self.seq, self.ack, self.credit = session, seq, ack, credit
        self.payload = payload
        first = kind << 4 | direction << 3 | channel
        self.header = struct.pack(
            "<BHHBBB", first, len(payload) if length is None else length, session, seq, ack, credit
        )

    @property
    def decoded(self):
        body = self.header + self.payload
        return body + struct.pack("<I", zlib.crc32(body))

    @property
    def stuffed(self):
        return cobs.encode(self.decoded)

    @property
    def wire(self):
        return b"\0" + self.stuffed + b"\0"

    def fields(self):
        """The expected result of a decoder, as JSON."""
        return {
            "type": NAMES[self.kind],
            "fromDevice": bool(self.direction),
            "channel": self.channel,
            "session": self.session,
            "sequence": self.seq,
            "ack": self.ack,
            "credit": self.credit,
            "payload": self.payload.hex(),
        }


def tlv(kind, value):
    return bytes([kind, len(value)]) + value


def u8(value):
    return struct.pack("<B", value)


def u16(value):
    return struct.pack("<H", value)


def u32(value):
    return struct.pack("<I", value)


def u64(value):
    return struct.pack("<Q", value)


MAGIC = tlv(0x81, b"NBOT")
NONCE_TLV = tlv(0x82, u64(NONCE))
VERSIONS = tlv(0x83, bytes([1, 1]))
BOOT_ID_TLV = tlv(0x0A, u32(BOOT_ID))


def limits(frames, requests, mtu, size):
    return tlv(0x06, struct.pack("<BBHI", frames, requests, mtu, size))


HELLO_PAYLOAD = (
    MAGIC
    + VERSIONS
    + BOOT_ID_TLV
    + tlv(0x0B, u32(BOOT_COUNT))
    + tlv(0x0C, u8(RESET_REASON))
    + tlv(0x0E, DEVICE_ID)
    + tlv(0x0F, NAME)
    + tlv(0x10, VERSION)
)
SYN_PAYLOAD = (
    MAGIC
    + NONCE_TLV
    + VERSIONS
    + tlv(0x05, u32(FEATURES))
    + limits(*HOST_LIMITS)
    + tlv(0x07, u32(SRC))
    + tlv(0x08, u32(RUN))
    + tlv(0x09, struct.pack("<qh", *CLOCK))
)


def uuid(text):
    """A 128-bit UUID on the wire: least significant byte first."""
    return bytes.fromhex(text.replace("-", ""))[::-1]


SERVICE = uuid("4fafc201-1fb5-459e-8fcc-c5c9c331914b")
COUNT = uuid("beb5483e-36e1-4688-b7f5-ea07361b26a8")
DATA_UUID = uuid("1c95d5e3-d8f7-413a-bf3d-7a2e5d7be87e")


def profile_bytes():
    """The bytes covered by PROFILE_HASH (ATT-4)."""
    return (
        struct.pack("<HH", 1, 0x2800)
        + SERVICE
        + struct.pack("<HH", 2, 0x2803)
        + struct.pack("<BH", 0x12, 3)
        + COUNT
        + struct.pack("<HH", 4, 0x2902)
        + struct.pack("<HH", 5, 0x2803)
        + struct.pack("<BH", 0x18, 6)
        + DATA_UUID
        + struct.pack("<HH", 7, 0x2902)
    )


PROFILE_HASH = zlib.crc32(profile_bytes())
SYNACK_PAYLOAD = (
    MAGIC
    + NONCE_TLV
    + tlv(0x84, u8(1))
    + tlv(0x05, u32(FEATURES))
    + limits(*DEVICE_LIMITS)
    + BOOT_ID_TLV
    + tlv(0x0B, u32(BOOT_COUNT))
    + tlv(0x0C, u8(RESET_REASON))
    + tlv(0x0D, u64(UPTIME_MS))
    + tlv(0x0E, DEVICE_ID)
    + tlv(0x0F, NAME)
    + tlv(0x10, VERSION)
    + tlv(0x11, BUILD_HASH)
    + tlv(0x12, u32(PROFILE_HASH))
    + tlv(0x13, u16(CAPACITY))
)


def rst(reason, nonce=None, refused=None, boot_id=BOOT_ID):
    payload = MAGIC
    if nonce is not None:
        payload += tlv(0x82, u64(nonce))
    payload += VERSIONS
    if boot_id is not None:
        payload += tlv(0x0A, u32(boot_id))
    payload += tlv(0x14, u8(reason))
    if refused is not None:
        payload += tlv(0x15, u8(refused))
    return payload


def write_request(value, handle=6):
    return b"\x12" + u16(handle) + value


def splitmix64(x):
    """NTF-32."""
    z = (x + 0x9E3779B97F4A7C15) % 2**64
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) % 2**64
    return z ^ z >> 31


def mixed(number, written):
    """The summand of one notification in a digest (NTF-32)."""
    return splitmix64(number * 2**32 + zlib.crc32(written))


def digest(held):
    """The digest of (id, JSON)."""
    return sum(mixed(number, written) for number, written in held) % 2**64


BOTH = [(FIRST_ID, FIRST), (SECOND_ID, SECOND)]


def sync(known, held):
    return u8(1) + u32(SRC) + u32(known) + u16(len(held)) + u64(digest(held))


def synced(held, highest):
    return u8(2) + u32(SRC) + u16(len(held)) + u64(digest(held)) + u32(highest) + u16(CAPACITY) + u32(BOOT_ID)


def gone(reason, number):
    return u8(4) + u8(reason) + u32(SRC) + u32(number)


RESYNC = u8(3)


def action(act, number, revision, press):
    return u8(5) + u8(act) + u32(SRC) + u32(number) + u16(revision) + u32(press)


def taken(press):
    return u8(6) + u32(SRC) + u32(press)


def in_session(kind, direction, payload=b"", **fields):
    return Frame(kind, direction, payload, session=SESSION, **fields)


def from_host(payload, seq, ack, channel=LINK):
    return in_session(DATA, HOST, payload, channel=channel, seq=seq, ack=ack, credit=64)


def from_device(payload, seq, ack, channel=LINK):
    return in_session(DATA, DEVICE, payload, channel=channel, seq=seq, ack=ack, credit=16)


# One of every kind: the examples of the docs site, roughly in the order of a session.
EXAMPLES = [
    ("HELLO at boot", Frame(HELLO, DEVICE, HELLO_PAYLOAD)),
    ("SYN", Frame(SYN, HOST, SYN_PAYLOAD)),
    ("SYNACK", in_session(SYNACK, DEVICE, SYNACK_PAYLOAD, credit=16)),
    ("ACK: the host takes the session", in_session(ACK, HOST, credit=64)),
    ("DATA: a notification is written", from_host(write_request(SAMPLE), 0, 0, channel=ATT)),
    ("DATA: the device took it", from_device(b"\x13", 0, 1, channel=ATT)),
    ("DATA: Count is 1 now", from_device(b"\x1b" + u16(3) + u16(1), 1, 1, channel=ATT)),
    ("ACK", in_session(ACK, HOST, ack=2, credit=64)),
    ("DATA: SYNC of a host that has written nothing", from_host(sync(0, []), 1, 2)),
    ("DATA: SYNCED of a device that holds nothing", from_device(synced([], 0), 2, 2)),
    ("DATA: a notification with an identity is written", from_host(write_request(FIRST), 2, 3, channel=ATT)),
    ("DATA: SYNC of two, both answered", from_host(sync(SECOND_ID, BOTH), 4, 7)),
    ("DATA: SYNCED of the same two", from_device(synced(BOTH, SECOND_ID), 7, 5)),
    ("DATA: the first is changed", from_host(write_request(UPDATE), 5, 8, channel=ATT)),
    ("DATA: the first was dismissed", from_device(b"\x1b" + u16(6) + DISMISSED, 9, 6, channel=ATT)),
    ("DATA: the same where it does not fit, GONE", from_device(gone(1, FIRST_ID), 9, 6)),
    ("DATA: the host removes it, and it is not reported again", from_host(write_request(REMOVAL), 6, 10, channel=ATT)),
    ("DATA: the device had to drop an event, RESYNC", from_device(RESYNC, 10, 7)),
    ("DATA: action 0 of the changed first is chosen, ACTION", from_device(action(0, FIRST_ID, 1, 1), 11, 7)),
    ("DATA: the host has made it durable, TAKEN", from_host(taken(1), 7, 12)),
    ("NAK from a device: 3 is missing", in_session(NAK, DEVICE, ack=3, credit=14)),
    ("NAK from a host: 3 is missing, 5 and 6 are held", in_session(NAK, HOST, u64(0b110), ack=3, credit=64)),
    ("UDATA: a line of the log", in_session(UDATA, DEVICE, b"I (1500) notibot: link up\n", channel=LOG)),
    ("PING", in_session(PING, HOST, ack=2, credit=64)),
    ("PONG: one DATA frame handled", in_session(PONG, DEVICE, u8(1), ack=1, credit=16)),
    ("RST: no such session", Frame(RST, DEVICE, rst(1), session=0x1234)),
    ("RST: no common version", Frame(RST, DEVICE, rst(2, nonce=NONCE))),
    ("RST: the critical TLV 9F is unknown", Frame(RST, DEVICE, rst(3, nonce=NONCE, refused=0x9F))),
    ("RST: malformed", Frame(RST, DEVICE, rst(4, nonce=NONCE))),
    ("FIN", in_session(FIN, HOST, ack=2, credit=64)),
]
