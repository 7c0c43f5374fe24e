"""Prints what the image costs: the interpreter's speed, instructions per received byte on a full
line, CPU to spare."""

import argparse
import os
import struct
import sys

import chip
import host

JSON = (
    '{"app":"Measure","title":"Notification %d","text":"'
    + "A text of usual length, two lines on the display. " * 4
    + '","timestamp":1700000000}'
)
NOTIFICATIONS = 80  # the capacity
IN_FLIGHT = 8
SPARE_LIMIT_PERCENT = 10


def full_line(library, image, line):
    """Writes notifications as fast as the credit allows. Returns bytes, instructions and shares of
    the time."""
    with library.chip(image) as machine:
        peer = host.Host(machine, line)
        peer.next((host.HELLO,), 200)
        peer.open(features=host.PIPELINE)
        peer.exchange(b"\x02" + struct.pack("<H", 517))
        begin, fed, sent, answered = machine.statistics, 0, 0, 0
        while answered < NOTIFICATIONS:
            while sent - answered < IN_FLIGHT and sent < NOTIFICATIONS and peer.sent < peer.limit:
                body = (JSON % sent).encode()
                fed -= machine.pending(line)
                peer.request(b"\x12" + struct.pack("<H", host.NOTIFICATION) + body)
                fed += machine.pending(line)
                sent += 1
            answer = peer.answer()
            if answer != b"\x13":
                raise RuntimeError(f"notification {answered}: {answer!r}")
            answered += 1
        end = machine.statistics
        if sum(end.lost_bytes) != 0:
            raise RuntimeError("the chip lost bytes")
        elapsed = end.now_ns - begin.now_ns
        return {
            "bytes": fed,
            "instructions": end.instructions - begin.instructions,
            "ns": elapsed,
            "awake": (end.awake_ns - begin.awake_ns) / elapsed,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True)
    parser.add_argument("--images", required=True)
    options = parser.parse_args()
    library = chip.Library(options.library)
    failed = False
    for name, line in (("uart", chip.UART0), ("usb", chip.USB)):
        with open(os.path.join(options.images, f"notibot-esp32c3-{name}.bin"), "rb") as file:
            image = file.read()
        cost = full_line(library, image, line)
        spare = 100 - 100 * cost["awake"]
        print(
            f"{name}: image {len(image)} bytes; {cost['instructions'] / cost['bytes']:.0f} instructions per received byte; "
            f"{cost['bytes'] / cost['ns'] * 1e9:.0f} bytes/s, {NOTIFICATIONS / cost['ns'] * 1e9:.0f} notifications/s; "
            f"{spare:.0f} % of the CPU to spare at 80 MHz"
        )
        failed |= line == chip.UART0 and spare < SPARE_LIMIT_PERCENT
    if failed:
        print(f"measure: below {SPARE_LIMIT_PERCENT} % to spare", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
