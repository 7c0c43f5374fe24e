#!/usr/bin/env python3
"""Plugs in many emulated boards at once and measures what the commands for all boards cost; inside
the guest. See scripts/dev usb-crowd."""

import argparse
import contextlib
import itertools
import json
import os
import statistics
import sys
import time

from tools.checks import Failure, expect, wait_for
from tools.usb.world import VHCI, Board, Program

KINDS = ("jtag", "cp2102", "ftdi")
# Ends a hang; no verdict depends on it.
PLUG_SECONDS = 1800
# Exit code of a command whose computer was too slow, among other reasons.
UNFIT = 18


def seconds_of(work):
    start = time.monotonic()
    result = work()
    return time.monotonic() - start, result


def prefer(process):
    """Gives a process priority: boards do not share a processor with the programs that use them."""
    for thread in os.listdir(f"/proc/{process.pid}/task"):
        os.setpriority(os.PRIO_PROCESS, int(thread), -20)


def say(text):
    print(f"usb-crowd: {text}", file=sys.stderr, flush=True)


class Crowd:
    """Many boards, of the three kinds in turn."""

    def __init__(self, notibot, count):
        self.program, self.count = Program(notibot), count
        # One emulated processor starts as many processes first.
        self.soak_seconds = max(10, 2 * count)

    def ports(self):
        """The paths of all boards; None as long as one of them is missing or has no id of udev."""
        ports = self.usb_ports()
        return ports if len(ports) == self.count else None

    def usb_ports(self):
        return [port["port"] for port in self.program.json("devices")["ports"] if port.get("usbID")]

    def soak(self, ports):
        """One process for each board, all at once. Returns how many had too little time to run."""
        late = 0
        with contextlib.ExitStack() as stack:
            words = ("soak", "--duration", f"{self.soak_seconds}s", "--rate", "1", "--timeout", "600", "-p")
            runs = [stack.enter_context(self.program.started(*words, port)) for port in ports]
            for port, run in zip(ports, runs, strict=True):
                output = run.stdout.read().decode()
                expect(run.wait() in (0, UNFIT), f"soak of {port} ended with {run.returncode}: {output[-1000:]}")
                late += run.returncode == UNFIT
        return late

    def measure(self):
        names = ",".join(itertools.islice(itertools.cycle(KINDS), self.count))
        row = {"boards": self.count}

        def measured(name, work):
            row[name], result = seconds_of(work)
            say(f"{self.count} boards, {name}: {row[name]:.2f} s")
            return result

        with self.program.started("emulate", "--usbip-attach", "--usb", names, "--json") as emulator:
            ports = measured("allThere", lambda: wait_for(self.ports, f"{self.count} ports", PLUG_SECONDS))
            row["devices"] = statistics.median(seconds_of(lambda: self.program.json("devices"))[0] for _ in range(5))
            document = measured("probe", lambda: self.program.json("devices", "--probe", "--timeout", "60"))
            answers = [port for port in document["ports"] if port.get("notibot")]
            expect(len(answers) == self.count, f"{len(answers)} of {self.count} boards answer: {document['ports'][:2]}")
            test = ("test", "--all", "--filter", "^(FRM-1|NTF-1)/", "--timeout", "60", "-q")
            measured("test", lambda: self.program.run(*test, limit=PLUG_SECONDS))
            row["soakOf"] = self.soak_seconds
            prefer(emulator)
            row["soaksTooLate"] = measured("soak", lambda: self.soak(ports))
        wait_for(lambda: not self.usb_ports(), "all ports are gone", PLUG_SECONDS)
        return {name: round(value, 2) if isinstance(value, float) else value for name, value in row.items()}


def bench(notibot):
    """Throughput and round trips of one board on each driver."""
    program = Program(notibot)
    for kind in KINDS:
        with Board(program, kind, "0001", "--profile", "bench") as board:
            size = ("--count", "3000", "--trips", "200", "--text-bytes", "400", "--timeout", "60")
            found = json.loads(program.run("bench", "-p", board.path(), *size, "--json", limit=PLUG_SECONDS))
        row = {"driver": kind, "KiBPerSecond": round(found["bytesPerSecond"] / 1024)}
        row["roundTripP50Ms"] = round(found["roundTripMicroseconds"]["p50"] / 1000, 2)
        print(json.dumps(row), flush=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/dev usb-crowd", description=__doc__)
    parser.add_argument("boards", type=int, nargs="*", default=[1, 10, 30, 100])
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--bench", action="store_true", help="throughput and round trips of one board instead")
    options = parser.parse_args()
    if not VHCI.exists():
        sys.exit("usb-crowd: this is not the guest: start scripts/dev usb-crowd")
    if options.bench:
        bench(options.notibot)
        return
    for count in options.boards:
        try:
            print(json.dumps(Crowd(options.notibot, count).measure()), flush=True)
        except Failure as failure:
            sys.exit(f"usb-crowd: {count} boards: {failure}")


if __name__ == "__main__":
    main()
