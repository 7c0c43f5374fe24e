"""The conformance suite through each driver; the emulator is the USB device."""

import json
import os
import tempfile

from tools.checks import expect
from tools.usb.world import Board

# Ends a hang of one run of the suite.
LIMIT_S = 1500


def suite_through(kind):
    def story(program):
        with tempfile.TemporaryDirectory() as folder, Board(program, kind) as board:
            board.path()
            report = os.path.join(folder, "report.json")
            options = ["--control", board.control.path, "--quiet", "--json", report]
            text = program.run("test", "-p", board.port, *options, status=(0, 1), limit=LIMIT_S)
            totals = json.loads(open(report).read())["totals"]
            counts = ", ".join(f"{totals[name]} {name}" for name in ("passed", "failed", "errored", "skipped"))
            print(f"    {kind}: {counts}", flush=True)
            expect(totals["passed"] > 0, "no case ran")
            expect(totals["failed"] + totals["errored"] == 0, text)

    story.__name__ = f"suite_{kind}"
    story.__doc__ = f"Every case of the conformance suite holds through the driver of {kind}"
    return story


STORIES = tuple(suite_through(kind) for kind in ("jtag", "cp2102", "ftdi"))
