"""The host's side of docs/PROTOCOL.md, as far as the checks need it. Nothing of the firmware's code
is in it."""

import struct
import zlib

from cobs import cobs

from tools.vectors import wire
from tools.vectors.wire import tlv

HELLO, SYN, SYNACK, UDATA = wire.HELLO, wire.SYN, wire.SYNACK, wire.UDATA
DATA, ACK = wire.DATA, wire.ACK
COUNT, NOTIFICATION, NOTIFICATION_CCCD = 3, 6, 7
NONCE, FEATURES, LIMITS = 0x82, 0x05, 0x06
BOOT_ID, BOOT_COUNT, RESET_REASON, DEVICE_ID, FIRMWARE_NAME = 0x0A, 0x0B, 0x0C, 0x0E, 0x0F
PIPELINE = 1


def encode(kind, channel=0, session=0, seq=0, ack=0, credit=0, payload=b""):
    return wire.Frame(kind, wire.HOST, payload, channel, session, seq, ack, credit).wire


class Frame:
    def __init__(self, body):
        first, length, self.session, self.seq, self.ack, self.credit = struct.unpack("<BHHBBB", body[:8])
        self.kind, self.channel, self.from_device = first >> 4, first & 7, first >> 3 & 1
        self.payload = body[8:-4]
        if length != len(self.payload) or zlib.crc32(body[:-4]) != struct.unpack("<I", body[-4:])[0]:
            raise cobs.DecodeError("length or CRC")

    @property
    def tlvs(self):
        result, at = {}, 0
        while at < len(self.payload):
            kind, length = self.payload[at], self.payload[at + 1]
            result[kind] = self.payload[at + 2 : at + 2 + length]
            at += 2 + length
        return result


class Host:
    """One session over one line of a chip."""

    def __init__(self, chip, line):
        self.chip, self.line = chip, line
        self.buffer = b""
        self.text = b""
        self.session = self.seq = self.expected = 0
        self.limit = 0  # the number of DATA frames that the device takes, from the session's start
        self.sent = 0

    def frames(self, milliseconds):
        """The frames that arrive in this time, as they come."""
        end = self.chip.now_ns + int(milliseconds * 1_000_000)
        while True:
            stop = self.chip.run_until(end, True)
            self.buffer += self.chip.take_only(self.line)
            while b"\0" in self.buffer:
                candidate, self.buffer = self.buffer.split(b"\0", 1)
                try:
                    frame = Frame(cobs.decode(candidate)) if len(candidate) > 12 else None
                except (cobs.DecodeError, struct.error):
                    frame = None
                if frame is None:
                    self.text += candidate
                else:
                    self.take(frame)
                    yield frame
            if stop == 0:
                return

    def take(self, frame):
        if frame.session != self.session or frame.kind not in (DATA, ACK):
            return
        granted = self.sent - (self.seq - frame.ack & 0xFF) + frame.credit
        self.limit = max(self.limit, granted)
        if frame.kind == DATA and frame.seq == self.expected:
            self.expected = self.expected + 1 & 0xFF
            self.acknowledge()

    def acknowledge(self):
        self.send(ACK)

    def send(self, kind, channel=0, payload=b"", seq=0):
        self.chip.feed(self.line, encode(kind, channel, self.session, seq, self.expected, 64, payload))

    def next(self, kinds, milliseconds=2000):
        for frame in self.frames(milliseconds):
            if frame.kind in kinds:
                return frame
        raise TimeoutError(f"no frame of {kinds} within {milliseconds} ms; text: {self.text!r}")

    def syn(self, nonce, features=0):
        payload = (
            wire.MAGIC
            + tlv(NONCE, struct.pack("<Q", nonce))
            + wire.VERSIONS
            + tlv(FEATURES, struct.pack("<I", features))
            + tlv(LIMITS, struct.pack("<BBHI", 64, 8, 517, 65536))
        )
        return encode(SYN, payload=payload)

    def open(self, nonce=0x1122334455667788, features=0):
        """SYN and SYNACK; returns the TLVs of the SYNACK."""
        self.session = 0
        self.chip.feed(self.line, self.syn(nonce, features))
        answer = self.next((SYNACK,))
        assert answer.tlvs[NONCE] == struct.pack("<Q", nonce), "SYNACK has another nonce"
        assert answer.from_device == 1
        self.session, self.limit = answer.session, answer.credit
        self.seq = self.expected = self.sent = 0
        self.acknowledge()
        return answer.tlvs

    def request(self, pdu):
        """Sends one ATT PDU, without waiting."""
        self.send(DATA, wire.ATT, pdu, self.seq)
        self.seq = self.seq + 1 & 0xFF
        self.sent += 1

    def answer(self, milliseconds=2000):
        return self.next((DATA,), milliseconds).payload

    def exchange(self, pdu):
        self.request(pdu)
        return self.answer()

    def write(self, json):
        return self.exchange(b"\x12" + struct.pack("<H", NOTIFICATION) + json)

    def count(self):
        answer = self.exchange(b"\x0a" + struct.pack("<H", COUNT))
        assert answer[0] == 0x0B, answer
        return int.from_bytes(answer[1:], "little")
