"""The conformance suite through each driver; the emulator is the USB device."""

import json
import os
import tempfile

from tools.checks import expect, wait_for
from tools.emulator import Emulator

# Ends a hang of one run of the suite.
LIMIT_S = 1500


def suite_through(kind):
    def story(program):
        words = ("--usbip-attach", "--usb", kind)
        with tempfile.TemporaryDirectory() as folder, Emulator(program.path, *words) as emulator:
            wait_for(lambda: has_board(program), "the port of the board")
            report = os.path.join(folder, "report.json")
            options = ["--control", emulator.control.path, "--quiet", "--json", report]
            text = program.run("test", "-p", emulator.port, *options, status=(0, 1), limit=LIMIT_S)
            totals = json.loads(open(report).read())["totals"]
            counts = ", ".join(f"{totals[name]} {name}" for name in ("passed", "failed", "errored", "skipped"))
            print(f"    {kind}: {counts}", flush=True)
            expect(totals["passed"] > 0, "no case ran")
            expect(totals["failed"] + totals["errored"] == 0, text)

    story.__name__ = f"suite_{kind}"
    story.__doc__ = f"Every case of the conformance suite holds through the driver of {kind}"
    return story


def has_board(program):
    return any(port["isKnownBoard"] for port in program.json("devices")["ports"])


STORIES = tuple(suite_through(kind) for kind in ("jtag", "cp2102", "ftdi"))
