#!/usr/bin/env python3
"""Unplugs and plugs an emulated USB device while `notibot forward` delivers to it, and compares the
display with what was sent; inside the guest. See scripts/dev hotplug-loop."""

import argparse
import contextlib
import json
import os
import re
import selectors
import statistics
import subprocess
import sys
import tempfile
import time

from tools.checks import Failure
from tools.emulator import Emulator
from tools.loops.outcome import progress_of
from tools.usb.world import LIMIT_S, VHCI, Program

DRIVERS = ("jtag", "cp2102", "ftdi")
UEVENT = re.compile(r"^(KERNEL|UDEV) *\[(\d+\.\d+)\] (\w+) +\S*/(tty\w+) \(tty\)$")


class Lines:
    """Lines of several pipes, each with the time of its arrival, in that order."""

    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.rest = {}
        self.found = []

    def add(self, pipe, parse):
        os.set_blocking(pipe.fileno(), False)
        self.rest[pipe] = b""
        self.selector.register(pipe, selectors.EVENT_READ, parse)

    def _read(self, limit):
        ready = self.selector.select(max(0, limit - time.monotonic()))
        now = time.monotonic()
        for key, _ in ready:
            data = os.read(key.fd, 65536)
            if not data:
                self.selector.unregister(key.fileobj)
            *lines, self.rest[key.fileobj] = (self.rest[key.fileobj] + data).split(b"\n")
            for line in lines:
                event = key.data(line.decode(), now)
                if event:
                    self.found.append(event)

    def forget(self):
        """Drops what has happened so far."""
        self._read(0)
        self.found.clear()

    def wait(self, what, matches):
        """The first event that matches, since `forget`."""
        limit = time.monotonic() + LIMIT_S
        while True:
            for event in self.found:
                if matches(event):
                    return event
            if time.monotonic() > limit or not self.selector.get_map():
                raise Failure(f"{what} did not happen; what did: {self.found[-20:]}")
            self._read(limit)


def uevent(line, _):
    """(source, action, name, time) of a line of `udevadm monitor`."""
    found = UEVENT.match(line)
    return found and (found[1], found[3], found[4], float(found[2]))


def report(line, now):
    """(event, "forward", name of the port, time) of a line of `forward --json`."""
    document = json.loads(line)
    if "event" in document:
        return (document["event"], "forward", str(document), now)
    if document["result"] in ("rejected", "refused", "full"):
        return ("refused", "forward", str(document), now)
    return None


class Loop:
    """One device, one journal, many cycles."""

    def __init__(self, notibot, driver, folder):
        self.notibot, self.driver = notibot, driver
        self.journal = os.path.join(folder, "outbox")
        self.sent = []
        self.times = {"gone": [], "noticed": [], "by-id": [], "session": []}
        self.names = set()
        self.lines = Lines()

    @contextlib.contextmanager
    def started(self, words, parse, **more):
        with Program(words[0]).started(*words[1:], stderr=None, **more) as process:
            self.lines.add(process.stdout, parse)
            yield process

    def send(self, forward, count):
        for _ in range(count):
            title = f"{self.driver}-{len(self.sent) + 1:05d}"
            self.sent.append(title)
            content = {"app": "Hotplug", "title": title, "text": "x" * 200, "timestamp": 1234567890}
            forward.stdin.write(json.dumps(content).encode() + b"\n")
        forward.stdin.flush()

    def cycle(self, control, forward, is_held):
        """Unplugs and plugs once; `is_held`: another descriptor stays open meanwhile."""
        name = self.name
        held = os.open(f"/dev/{name}", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK) if is_held else None
        try:
            self.send(forward, 2)
            self.lines.forget()
            start = time.monotonic()
            control.must(command="unplug")
            self.times["noticed"].append(self.lines.wait("down", lambda event: event[0] == "down")[3] - start)
            gone = self.lines.wait("the removal", lambda event: event[:3] == ("UDEV", "remove", name))
            self.times["gone"].append(gone[3] - start)
            self.send(forward, 1)
            self.lines.forget()
            control.must(command="plug")
            node = self.lines.wait("a node", lambda event: event[:2] == ("KERNEL", "add"))
            link = self.lines.wait("by-id", lambda event: event[:2] == ("UDEV", "add"))
            session = self.lines.wait("a session", lambda event: event[0] == "up")
            self.times["by-id"].append(link[3] - node[3])
            self.times["session"].append(session[3] - node[3])
            self.name = node[2]
            self.names.add(self.name)
            # The lowest number that no descriptor keeps.
            expected = name.rstrip("0123456789") + ("1" if is_held and name.endswith("0") else "0")
            if self.name != expected:
                raise Failure(f"{name} returned as {self.name}, {'held' if is_held else 'released'}")
        finally:
            if held is not None:
                os.close(held)

    def run(self, cycles, progress):
        words = ["stdbuf", "-oL", "udevadm", "monitor", "--kernel", "--udev", "--subsystem-match=tty"]
        with self.started(words, uevent):
            with Emulator(self.notibot, "--usbip-attach", "--usb", self.driver, "--profile", "quiet") as emulator:
                node = self.lines.wait("a node", lambda event: event[:2] == ("UDEV", "add"))
                self.name = node[2]
                words = [self.notibot, "forward", "-p", emulator.port, "--outbox", self.journal, "--json"]
                with self.started(words, report, stdin=subprocess.PIPE) as forward:
                    self.lines.wait("a session", lambda event: event[0] == "up")
                    for number in range(cycles):
                        self.cycle(emulator.control, forward, is_held=number % 2 == 1)
                        progress(number + 1)
                    forward.stdin.close()
                    status = forward.wait(LIMIT_S)
                    if status != 0:
                        raise Failure(f"forward ended with {status}")
                return [json.loads(item["json"])["title"] for item in emulator.control.all_items()]


def table(times):
    rows = []
    for name, seconds in times.items():
        marks = sorted(round(1000 * value, 1) for value in seconds)
        p99 = marks[min(len(marks) - 1, int(0.99 * len(marks)))]
        rows.append({"of": name, "p50Ms": round(statistics.median(marks), 1), "p99Ms": p99, "maxMs": marks[-1]})
    return rows


def main():
    parser = argparse.ArgumentParser(prog="scripts/dev hotplug-loop", description=__doc__)
    parser.add_argument("cycles", type=int)
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--driver", choices=DRIVERS, action="append")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not os.access(VHCI / "attach", os.W_OK):
        sys.exit("hotplug-loop: this is not the guest: start scripts/dev hotplug-loop")
    reports = []
    for driver in options.driver or DRIVERS:
        with tempfile.TemporaryDirectory() as folder:
            loop = Loop(options.notibot, driver, folder)
            try:
                shown = loop.run(options.cycles, progress_of(f"hotplug-loop: {driver}", options.cycles))
            except (Failure, AssertionError) as failure:
                sys.exit(f"hotplug-loop: {driver}: {failure}")
        entry = {
            "driver": driver,
            "cycles": options.cycles,
            "sent": len(loop.sent),
            "lost": len(set(loop.sent) - set(shown)),
            "doubled": len(shown) - len(set(shown)),
            "foreign": len(set(shown) - set(loop.sent)),
            "nodes": sorted(loop.names),
            "times": table(loop.times),
        }
        reports.append(entry)
        if options.json:
            print(json.dumps(entry), flush=True)
            continue
        print("{driver}: {cycles} cycles, {sent} sent, {lost} lost, {doubled} doubled".format(**entry), flush=True)
        for row in entry["times"]:
            print("  {of:<8} p50 {p50Ms} ms, p99 {p99Ms} ms, max {maxMs} ms".format(**row), flush=True)
    sys.exit(any(entry["lost"] or entry["doubled"] or entry["foreign"] for entry in reports))


if __name__ == "__main__":
    main()
