#!/usr/bin/env python3
"""Sends SIGTERM, SIGINT or SIGHUP to every command of notibot at a random moment, and finds each
gone in time, with its reports written and nothing left behind. See scripts/dev signal-loop.

The commands are those that the program itself lists; one that is missing in `VARIANTS` is an
error."""

import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

from tools.loops import outcome

# A command is gone so many seconds after the signal, less what its threads waited for a processor
# meanwhile.
GONE_LIMIT_SECONDS = 2.0
# One that is still there after so many seconds, however busy the machine, is one that never ends.
HANG_LIMIT_SECONDS = 60.0
SAMPLE_SECONDS = 0.02
FLOOD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "flood.py")
SEND = ["--app", "a", "--title", "b", "--text", "c"]

# What each command is started with. PORT is replaced by one of `PORTS`, FOLDER by the round's own
# folder.
VARIANTS = {
    "docs": [[], ["CLI"]],
    "devices": [[], ["--probe"], ["--watch"]],
    "send": [["-p", "PORT", *SEND], ["-p", "emu:", "--file", "FOLDER/fifo"], ["-p", "emu:", "--file", "-"]],
    "forward": [
        ["-p", "PORT", "--outbox", "FOLDER/outbox"],
        ["-p", "PORT", "--outbox", "FOLDER/outbox", "--listen", "unix:FOLDER/s"],
    ],
    "ask": [["-p", "PORT", "--title", "a", "--text", "b", "--timeout", "10m"]],
    "outbox": [["--file", "FOLDER/none", "list"]],
    "count": [["-p", "PORT"]],
    "watch": [["-p", "PORT"], ["-p", "PORT", "--text", "--json"]],
    "monitor": [
        ["-p", "PORT"],
        ["-p", "PORT", "--until", "(a+)+$", "--fail-on", "a.*a.*a.*b$"],
        ["-p", "PORT", "--save", "FOLDER/held"],
    ],
    "bench": [["-p", "PORT", "--count", "1000000"]],
    "soak": [["-p", "PORT", "--duration", "1h", "--junit", "FOLDER/junit.xml"]],
    "emulate": [
        ["--link", "FOLDER/link", "--control", "FOLDER/c", "--att", "unix:FOLDER/a"],
        ["--tcp", "127.0.0.1:0"],
        ["--usbip", "127.0.0.1:0"],
        ["--view"],
    ],
    "view": [["--socket", "FOLDER/deaf"]],
    "control": [["--socket", "FOLDER/deaf", "stats"]],
    "proxy": [["-p", "PORT", "--link", "FOLDER/link", "--faults", "flip=1e-4"]],
    "share": [["-p", "PORT", "--socket", "FOLDER/share"]],
    "test": [
        ["-p", "PORT", "--junit", "FOLDER/junit.xml", "--json", "FOLDER/report.json"],
        ["--rig", "emulator", "--junit", "FOLDER/junit.xml"],
        ["--rig", "firmware", "--json", "FOLDER/report.json"],
        ["--rig", "pty", "--junit", "FOLDER/held", "--json", "FOLDER/report.json"],
        ["-p", "emu:", "-p", "emu:tiny", "--junit", "FOLDER/junit.xml"],
        ["--list"],
    ],
    "reset": [["-p", "PORT", "--timeout", "600"]],
    "flash": [
        ["-p", "PORT", "--esptool", "FOLDER/esptool", "FOLDER/data@0x110000"],
        ["-p", "PORT", "--no-install", "FOLDER/data@0x110000"],
    ],
    "gateway": [["status"]],
    "doctor": [[]],
    "udev-rules": [[]],
    "image": [["info", "FOLDER/fifo"]],
    "report": [["html", "FOLDER/fifo"]],
}
# Where PORT leads: an emulator in the process or in another one, and devices that do not behave.
PORTS = ["emu:", "link", "silent", "text", "lines", "frames", "session"]
# Where stdout leads: to a reader, or to a pipe that nobody reads.
OUTPUTS = ["read", "read", "read", "unread"]


class Background:
    """A helper program, whose first line is what it has to announce."""

    def __init__(self, *command):
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True
        )
        self.line = self.process.stdout.readline().strip()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def processor_wait(pid):
    """The seconds that the threads of a process have waited for a processor: the most of any
    one."""
    waits = [0]
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat") as fields:
                waits.append(int(fields.read().split()[1]))
    except (OSError, IndexError):
        pass
    return max(waits) / 1e9


def catches(pid, number):
    """Whether a process has a handler for a signal."""
    try:
        with open(f"/proc/{pid}/status") as status:
            mask = next(line for line in status if line.startswith("SigCgt")).split()[1]
    except (OSError, StopIteration):
        return False
    return bool(int(mask, 16) >> (number - 1) & 1)


def session_members(session):
    """The processes of a session that have not ended."""
    members = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat:
                fields = stat.read().rsplit(") ", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            members.append(int(name))
    return members


class Round:
    """One life of one command."""

    def __init__(self, loop, command, variant, seed):
        self.loop, self.command, self.random = loop, command, random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="notibot-sig.", dir="/tmp")
        self.background = []
        self.output = self.random.choice(OUTPUTS)
        self.port = self.random.choice(PORTS) if "PORT" in variant else "-"
        self.arguments = [self.filled(argument) for argument in variant]
        self.number = self.random.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
        self.is_doubled = self.random.random() < 0.5
        # Most die young: at start-up, while the port is opened, in the first exchange.
        self.delay = self.random.random() ** 2 * self.random.choice([0.1, 0.5, 2])
        self.findings = []

    def filled(self, argument):
        if argument != "PORT":
            return argument.replace("FOLDER", self.folder)
        if self.port == "emu:":
            return self.port
        link = os.path.join(self.folder, "emulated")
        if self.port in ("link", "session"):
            self.background.append(Background(self.loop.notibot, "emulate", "--profile", "quiet", "--link", link))
        if self.port == "link":
            return link
        behind = ["--port", link] if self.port == "session" else []
        self.background.append(Background(sys.executable, FLOOD, self.port, *behind))
        return self.background[-1].line

    def prepare(self):
        os.mkfifo(os.path.join(self.folder, "fifo"))
        held = os.path.join(self.folder, "held")
        os.mkfifo(held)
        # It has a reader, who reads nothing.
        self.held = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
        # An esptool that never ends, and something for it to write.
        tool = os.path.join(self.folder, "esptool")
        with open(tool, "w") as file:
            file.write('#!/bin/sh\necho esptool v5.6.0\n[ "$1" = version ] || exec sleep 600\n')
        os.chmod(tool, 0o700)
        with open(os.path.join(self.folder, "data"), "wb") as file:
            file.write(b"data" * 1024)
        deaf = socket.socket(socket.AF_UNIX)
        deaf.bind(os.path.join(self.folder, "deaf"))
        deaf.listen(1)
        self.deaf = deaf

    def start(self):
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("NOTIBOT_", "ESP", "GITHUB_"))
        }
        self.errors = open(os.path.join(self.folder, "errors"), "wb")
        self.process = subprocess.Popen(
            [self.loop.notibot, self.command, *self.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=environment,
            start_new_session=True,
            restore_signals=True,
        )
        if self.output == "read":
            self.reader = threading.Thread(target=self.process.stdout.read, daemon=True)
            self.reader.start()

    def run(self):
        self.prepare()
        self.start()
        try:
            self.process.wait(self.delay)
            return "ended before"
        except subprocess.TimeoutExpired:
            pass
        is_caught = catches(self.process.pid, self.number)
        begin = time.monotonic()
        first_wait = last_wait = processor_wait(self.process.pid)
        self.process.send_signal(self.number)
        if self.is_doubled:
            self.process.send_signal(self.number)
        while True:
            try:
                self.process.wait(SAMPLE_SECONDS)
                break
            except subprocess.TimeoutExpired:
                last_wait = max(last_wait, processor_wait(self.process.pid))
            if time.monotonic() - begin > HANG_LIMIT_SECONDS:
                self.findings.append("it never ended")
                self.process.kill()
                self.process.wait()
                return "hangs"
        self.seconds = time.monotonic() - begin
        self.fair_seconds = self.seconds - (last_wait - first_wait)
        if self.fair_seconds > self.loop.limit_seconds:
            self.findings.append(
                f"gone after {self.seconds:.2f} s only, {self.fair_seconds:.2f} s without waiting for a processor"
            )
        self.check_status(is_caught)
        if is_caught:
            self.check_reports()
        self.check_remains()
        return "caught" if is_caught else "killed"

    def check_status(self, is_caught):
        status = self.process.returncode
        allowed = {128 + self.number, *self.loop.statuses}
        # Between the look and the signal a command may have given it its usual effect back, which
        # it does to have nothing to close.
        if not is_caught or self.command in self.loop.plain:
            allowed.add(-self.number)
        if self.output == "unread":
            allowed.add(-signal.SIGPIPE)
        if status not in allowed:
            self.findings.append(f"it ended with {status}")

    def check_reports(self):
        for name in ("junit.xml", "report.json"):
            path = os.path.join(self.folder, name)
            if not any(argument == path for argument in self.arguments) or self.process.returncode == 2:
                continue
            try:
                with open(path, "rb") as file:
                    data = file.read()
                if name.endswith(".xml"):
                    assert xml.etree.ElementTree.fromstring(data).find(".//testcase") is not None, "no case in it"
                else:
                    assert json.loads(data)["totals"] is not None
            except Exception as error:
                self.findings.append(f"{name}: {type(error).__name__}: {error}")

    def check_remains(self):
        end = time.monotonic() + self.loop.limit_seconds
        while (left := session_members(self.process.pid)) and time.monotonic() < end:
            time.sleep(SAMPLE_SECONDS)
        if left:
            self.findings.append(f"it left {len(left)} processes")
        for name in ("link", "c", "a", "s"):
            if os.path.lexists(os.path.join(self.folder, name)) and self.process.returncode == 128 + self.number:
                self.findings.append(f"it left {name}")

    def close(self):
        for one in reversed(self.background):
            one.end()
        if self.output == "read":
            self.reader.join()
        for stream in (self.process.stdin, self.process.stdout, self.errors, self.deaf):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        os.close(self.held)
        if not self.findings:
            shutil.rmtree(self.folder)

    def describe(self):
        delay = f"{self.delay * 1000:.0f} ms"
        with open(os.path.join(self.folder, "errors"), errors="replace") as errors:
            words = errors.read().strip().split("\n")[-1]
        return (
            f"{self.command} {' '.join(self.arguments)} ({self.port}, stdout {self.output}): {self.number.name}"
            f"{' twice' if self.is_doubled else ''} after {delay}: {'; '.join(self.findings)} [{words}]"
        )


class SignalLoop:
    def __init__(self, notibot, seed, limit_seconds, only):
        self.notibot, self.random, self.limit_seconds = notibot, random.Random(seed), limit_seconds
        self.counts, self.findings, self.seconds = collections.Counter(), [], []
        listing = subprocess.run([notibot, "--experimental-dump-help"], stdout=subprocess.PIPE, check=True).stdout
        names = [one["commandName"] for one in json.loads(listing)["command"]["subcommands"]]
        self.commands = [name for name in names if name != "help"]
        missing = set(self.commands) - set(VARIANTS)
        if missing:
            self.findings.append(f"no way to start {', '.join(sorted(missing))}: add one to VARIANTS")
        self.commands = [command for command in self.commands if command in VARIANTS and only in (None, command)]
        self.plain = {"outbox", "image", "report", "docs", "doctor", "gateway", "udev-rules", "bench", "control"}
        self.statuses = {0, 1, 2, 10, 11, 12, 13, 14, 15, 16, 17, 18}

    def round(self, index, seed):
        command = self.commands[index % len(self.commands)]
        variants = VARIANTS[command]
        one = Round(self, command, variants[index // len(self.commands) % len(variants)], seed)
        try:
            outcome = one.run()
        finally:
            one.close()
        return one, outcome

    def run(self, rounds, jobs, progress):
        seeds = [self.random.getrandbits(32) for _ in range(rounds)]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for done, (one, outcome) in enumerate(pool.map(self.round, range(rounds), seeds), 1):
                self.counts[outcome] += 1
                self.findings += [one.describe()] if one.findings else []
                if hasattr(one, "seconds"):
                    self.seconds.append((one.seconds, one.fair_seconds))
                progress(done)

    def report(self):
        gone = sorted(seconds for seconds, _ in self.seconds) or [0]
        return {
            "commands": len(self.commands),
            **{f"{key.replace(' ', '_')}": self.counts[key] for key in ("caught", "killed", "ended before", "hangs")},
            "goneMedianSeconds": round(gone[len(gone) // 2], 3),
            "goneMostSeconds": round(gone[-1], 3),
            "goneMostFairSeconds": round(max((fair for _, fair in self.seconds), default=0), 3),
            "findings": self.findings,
        }


def main():
    parser = argparse.ArgumentParser(prog="scripts/dev signal-loop", description=__doc__)
    parser.add_argument("rounds", type=int, help="how many commands are started")
    parser.add_argument("--seed", type=int, default=None, help="decides which, and when the signal comes")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    limit = "a command is gone so long after the signal; waiting for a disk is counted, for a processor is not"
    parser.add_argument("--limit", type=float, default=GONE_LIMIT_SECONDS, metavar="SECONDS", help=limit)
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--only", metavar="COMMAND", choices=sorted(VARIANTS), help="only this command")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    # A shell starts background jobs with SIGINT ignored, and the commands would inherit that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    seed = outcome.seed_of("signal-loop", options.seed)
    start = time.monotonic()
    loop = SignalLoop(options.notibot, seed, options.limit, options.only)
    loop.run(options.rounds, options.jobs, outcome.progress_of("signal-loop", options.rounds))
    report = {
        "schema": "notibot.signal-loop",
        "version": 1,
        "seed": seed,
        "rounds": options.rounds,
        "seconds": round(time.monotonic() - start, 1),
        **loop.report(),
    }
    return outcome.show("signal-loop", report, options.json)


if __name__ == "__main__":
    sys.exit(main())
