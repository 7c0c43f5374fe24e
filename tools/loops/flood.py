#!/usr/bin/env python3
"""A device that sends faster than anybody can take, for tests: prints the path of its
pseudo-terminal, then floods it with KIND.

text     console text without an end of line
lines    lines of console text
frames   PINGs of no session
session  a device that opens sessions like the emulator behind --port, and sends PINGs without a
pause from the session with the number of --from on
crawl    the same, but the device's list of attributes goes on and on, one handle in each answer
unsynced a device that opens sessions like the emulator behind --port, but sends no SYNCED from the
session with the number of --from on
silent   nothing at all"""

import argparse
import os
import pty
import select
import sys
import termios
import tty
import zlib

HELD_LIMIT_BYTES = 1 << 16
SYNACK, DATA, PING, FROM_DEVICE, DELIVERY, ATT, PROFILE_HASH = 3, 4, 8, 0x08, 0, 4, 0x12
# Kinds of the payload of DATA in channel 0; the host ignores the second one.
SYNCED, UNKNOWN = 2, 0xEE


def cobs_encode(data):
    result = bytearray()
    for block in (data + b"\0").split(b"\0")[:-1]:
        while len(block) >= 254:
            result += b"\xff" + block[:254]
            block = block[254:]
        result += bytes([len(block) + 1]) + block
    return bytes(result)


def cobs_decode(data):
    result = bytearray()
    while data:
        code = data[0]
        result += data[1:code]
        data = data[code:]
        if code < 255 and data:
            result.append(0)
    return bytes(result)


def frame(kind, payload, channel=0, session=0, sequence=0, ack=0, credit=0):
    body = (
        bytes([kind << 4 | FROM_DEVICE | channel])
        + len(payload).to_bytes(2, "little")
        + session.to_bytes(2, "little")
        + bytes([sequence, ack, credit])
        + payload
    )
    return b"\0" + cobs_encode(body + zlib.crc32(body).to_bytes(4, "little")) + b"\0"


class Device:
    """What passes from the emulator to the host, watched and changed."""

    def __init__(self, kind, first):
        self.kind = kind
        self.first = first
        self.sessions = 0
        self.flood = b""
        self.pending = b""

    def pass_on(self, data):
        self.pending += data
        *candidates, self.pending = self.pending.split(b"\0")
        return b"".join(self.changed(candidate) for candidate in candidates)

    def changed(self, candidate):
        body = cobs_decode(candidate)
        if len(body) < 12 or zlib.crc32(body[:-4]) != int.from_bytes(body[-4:], "little"):
            return candidate + b"\0"
        kind, channel, session = body[0] >> 4, body[0] & 7, int.from_bytes(body[3:5], "little")
        payload = body[8:-4]
        if self.kind == "crawl":
            if kind == SYNACK:
                payload = self.with_another_profile(payload)
            elif (kind == DATA and channel == ATT and payload[:2] == b"\x01\x10") or (
                kind == DATA and channel == ATT and payload[:1] == b"\x11"
            ):
                payload = self.group(payload[2:4])
            return frame(kind, payload, channel, session, body[5], body[6], body[7])
        self.sessions += kind == SYNACK
        if self.sessions >= self.first and self.kind == "unsynced":
            if kind == DATA and channel == DELIVERY and payload[:1] == bytes([SYNCED]):
                payload = bytes([UNKNOWN]) + payload[1:]
        elif self.sessions >= self.first:
            # The numbers of a PING are those of the last frame that the device sent.
            self.flood = frame(PING, b"", session=session, ack=body[6], credit=body[7]) * 50
        return frame(kind, payload, channel, session, body[5], body[6], body[7])

    @staticmethod
    def group(handle):
        """The response with one more service, of this handle alone; an error names the handle that
        was asked for."""
        return bytes([0x11, 6]) + handle * 2 + b"\x01\x18"

    @staticmethod
    def with_another_profile(tlvs):
        result, rest = b"", tlvs
        while len(rest) >= 2:
            kind, value, rest = rest[0], rest[2 : 2 + rest[1]], rest[2 + rest[1] :]
            if kind == PROFILE_HASH:
                value = bytes(byte ^ 0x55 for byte in value)
            result += bytes([kind, len(value)]) + value
        return result


def open_pair():
    master, slave = pty.openpty()
    tty.setraw(slave, termios.TCSANOW)
    os.set_blocking(master, False)
    return master, slave


def serve(master, port, device):
    board = os.open(port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    tty.setraw(board, termios.TCSANOW)
    to_host, to_board = b"", b""
    while True:
        if len(to_host) < HELD_LIMIT_BYTES and device.flood:
            to_host += device.flood
        readable, writable, _ = select.select(
            [master, board], ([master] if to_host else []) + ([board] if to_board else []), []
        )
        if master in readable:
            to_board += os.read(master, 4096)
        if board in readable:
            to_host += device.pass_on(os.read(board, 4096))
        if master in writable:
            to_host = to_host[os.write(master, to_host) :]
        if board in writable:
            to_board = to_board[os.write(board, to_board) :]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["text", "lines", "frames", "session", "crawl", "unsynced", "silent"])
    parser.add_argument("--port", help="of the emulator behind 'session', 'crawl' and 'unsynced'")
    parser.add_argument("--from", type=int, default=1, dest="first", metavar="N", help="the first changed session")
    options = parser.parse_args()
    master, slave = open_pair()
    print(os.ttyname(slave), flush=True)
    if options.kind in ("session", "crawl", "unsynced"):
        return serve(master, options.port, Device(options.kind, options.first))
    data = {"text": b"a" * 4096, "lines": b"a" * 60 + b"\n", "silent": b"", "frames": frame(PING, b"") * 50}[
        options.kind
    ]
    while True:
        select.select([master], [master] if data else [], [])
        try:
            while os.read(master, 65536):
                pass
        except BlockingIOError:
            pass
        try:
            while data:
                os.write(master, data)
        except BlockingIOError:
            pass


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError, OSError) as error:
        sys.exit(0 if isinstance(error, KeyboardInterrupt) else str(error))
