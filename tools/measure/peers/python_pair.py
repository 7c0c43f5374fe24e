#!/usr/bin/env python3
"""The scripts that notibot replaces, at their best: pyserial + cobs + zlib.crc32 on a
pseudo-terminal.

The host builds each JSON from fields, frames and sends it; the device (a second process on the
PTY's master) receives, checks, parses and validates the JSON, stores it and acknowledges. Frames
are those of docs/PROTOCOL.md: 00 COBS(header 8 | payload | CRC-32) 00 with an ATT Write Request;
the link's timers, resends, credit and sessions are left out, which favours Python. With --coalesce
the host joins the frames of a window into one write.

Prints one JSON object: notifications per second, CPU microseconds per notification (both
processes), and the round-trip percentiles of a run with one notification outstanding.
"""

import argparse
import json
import os
import pty
import resource
import struct
import sys
import time
import tty
import zlib

import serial
from cobs import cobs

HEADER = struct.Struct("<BHHBBB")
DATA_FROM_HOST, DATA_FROM_DEVICE = 0x44, 0x4C
SESSION = 0x3A7C


def frame(first, sequence, ack, payload):
    body = HEADER.pack(first, len(payload), SESSION, sequence & 255, ack & 255, 32) + payload
    return b"\0" + cobs.encode(body + struct.pack("<I", zlib.crc32(body))) + b"\0"


def payloads(buffer, expected_first):
    """Splits what arrived into the payloads of valid frames and the unfinished rest."""
    *chunks, rest = buffer.split(b"\0")
    found = []
    for chunk in chunks:
        if not chunk:
            continue
        try:
            data = cobs.decode(chunk)
        except cobs.DecodeError:
            continue
        if len(data) < 12 or zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
            continue
        first, length, session, sequence, _ack, _credit = HEADER.unpack_from(data)
        if first != expected_first or length != len(data) - 12 or session != SESSION:
            continue
        found.append((sequence, data[8:-4]))
    return found, rest


def device(master):
    store = {}
    buffer = b""
    expected = sent = 0
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            return
        if not data:
            return
        found, buffer = payloads(buffer + data, DATA_FROM_HOST)
        answers = []
        for sequence, pdu in found:
            if sequence != expected & 255 or pdu[:3] != b"\x12\x06\x00":
                continue
            expected += 1
            answer = b"\x13"
            try:
                item = json.loads(pdu[3:])
                if not (
                    isinstance(item["app"], str)
                    and isinstance(item["title"], str)
                    and isinstance(item["text"], str)
                    and isinstance(item["timestamp"], int)
                ):
                    raise ValueError
                store[expected % 64] = item
            except (ValueError, KeyError):
                answer = b"\x01\x12\x06\x00\x80"
            answers.append(frame(DATA_FROM_DEVICE, sent, expected, answer))
            sent += 1
        if answers:
            os.write(master, b"".join(answers))


class Host:
    def __init__(self, path):
        self.port = serial.Serial(path, 921600, timeout=5, exclusive=True)
        self.buffer = b""
        self.sent = self.answered = 0

    def notification(self, index, text):
        fields = {"app": "Messages", "title": f"Jane Doe {index}", "text": text, "timestamp": 1234567890 + index}
        return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()

    def receive(self):
        data = self.port.read(self.port.in_waiting or 1)
        if not data:
            sys.exit("no answer within 5 s")
        found, self.buffer = payloads(self.buffer + data, DATA_FROM_DEVICE)
        for sequence, pdu in found:
            if sequence == self.answered & 255 and pdu == b"\x13":
                self.answered += 1

    def run(self, count, window, text, coalesce):
        target = self.answered + count
        while self.answered < target:
            batch = []
            while self.sent < target and self.sent - self.answered < window:
                data = frame(
                    DATA_FROM_HOST, self.sent, self.answered, b"\x12\x06\x00" + self.notification(self.sent, text)
                )
                self.sent += 1
                if coalesce:
                    batch.append(data)
                else:
                    self.port.write(data)
            if batch:
                self.port.write(b"".join(batch))
            self.receive()


def cpu_seconds(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=50000)
    parser.add_argument("--trips", type=int, default=5000)
    parser.add_argument("--window", type=int, default=32)
    parser.add_argument("--text-bytes", type=int, default=48)
    parser.add_argument("--coalesce", action="store_true")
    options = parser.parse_args()

    master, slave = pty.openpty()
    tty.setraw(slave)
    child = os.fork()
    if child == 0:
        os.close(slave)
        device(master)
        os._exit(0)
    host = Host(os.ttyname(slave))
    text = "x" * options.text_bytes
    host.run(1000, options.window, text, options.coalesce)

    # The child's CPU is known only after it ended, so the phases' shares are read from /proc.
    def child_seconds():
        with open(f"/proc/{child}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    own, other, start = cpu_seconds(resource.RUSAGE_SELF), child_seconds(), time.perf_counter()
    host.run(options.count, options.window, text, options.coalesce)
    seconds = time.perf_counter() - start
    cpu = cpu_seconds(resource.RUSAGE_SELF) - own + child_seconds() - other

    trips = []
    for _ in range(options.trips):
        start = time.perf_counter_ns()
        host.run(1, 1, text, False)
        trips.append((time.perf_counter_ns() - start) / 1000)
    trips.sort()
    host.port.close()
    os.close(slave)
    os.close(master)
    os.waitpid(child, 0)
    report = {
        "notificationsPerSecond": options.count / seconds,
        "cpuMicrosecondsPerNotification": cpu * 1e6 / options.count,
        "roundTripMicroseconds": {
            "p50": trips[len(trips) // 2],
            "p99": trips[len(trips) * 99 // 100],
            "max": trips[-1],
        },
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
