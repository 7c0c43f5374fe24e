"""The figures of scripts/dev measure: suites, start-up, paced lines, memory, forwarding,
reconnection."""

import json
import os
import pathlib
import pty
import select
import statistics
import subprocess
import sys
import tempfile
import time
import tty

from tools.emulator import Emulator
from tools.processes import memory_kib


def document(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"measure: {' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def bench(notibot, port, count, trips=0, **more):
    """The report of `notibot bench`; `more`: further options, with _ for -."""
    words = [word for name, value in more.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    sizes = ["--count", str(count), "--trips", str(trips)]
    return json.loads(document([notibot, "bench", "-p", port, *sizes, *words, "--json"]))


def suite(notibot, rig):
    """Seconds of the whole process, and how the cases ended."""
    start = time.perf_counter()
    report = json.loads(document([notibot, "test", "--rig", rig, "--json", "-"]))
    seconds = time.perf_counter() - start
    return {"seconds": seconds, **report["totals"]}


def spread(times):
    return {"medianMs": statistics.median(times), "maxMs": max(times), "runs": len(times)}


def first_byte(notibot, runs):
    """Milliseconds of `notibot count`, from fork to its first byte on a line without a board."""
    times = []
    for _ in range(runs):
        board, line = pty.openpty()
        tty.setraw(line)
        start = time.perf_counter()
        command = [notibot, "count", "-p", os.ttyname(line)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not select.select([board], [], [], 60)[0]:
            sys.exit(f"measure: {' '.join(command)} sent nothing")
        times.append((time.perf_counter() - start) * 1000)
        process.terminate()
        process.wait()
        os.close(board)
        os.close(line)
    return spread(times)


def started(runs, *command):
    """Milliseconds of a command, from fork to exit."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        document(command)
        times.append((time.perf_counter() - start) * 1000)
    return spread(times)


def count(notibot, runs):
    with Emulator(notibot) as emulator:
        return started(runs, notibot, "count", "-p", emulator.port)


def devices(notibot, runs):
    return started(runs, notibot, "devices")


def network(notibot):
    """Client and server of RFC 2217 on loopback: not to be compared with a port of this machine."""
    with Emulator(notibot, "--profile", "bench", "--rfc2217", "127.0.0.1:0") as emulator:
        report = bench(notibot, emulator.port, 20_000, trips=5000, commands=1000)
    assert report["path"] == "network", report["path"]
    commands = report["commandMicroseconds"]
    return {
        "path": "network",
        "notificationsPerSecond": report["notificationsPerSecond"],
        "roundTripMs": {key: value / 1000 for key, value in report["roundTripMicroseconds"].items()},
        "rateCommandMs": {key: value / 1000 for key, value in commands["rate"].items()},
        "linesCommandMs": {key: value / 1000 for key, value in commands["lines"].items()},
    }


def memory(notibot, notifications):
    """Resident memory of both processes before and after."""
    with Emulator(notibot, "--profile", "bench") as emulator:
        bench(notibot, emulator.port, 10_000)
        before = 1024 * memory_kib(emulator.process.pid)
        result = bench(notibot, emulator.port, notifications)
        after = 1024 * memory_kib(emulator.process.pid)
    return {
        "notifications": notifications,
        "hostStartBytes": result["residentBytesStart"],
        "hostEndBytes": result["residentBytesEnd"],
        "emulatorStartBytes": before,
        "emulatorEndBytes": after,
    }


def forward(notibot, notifications):
    """Durable notifications per second: all that a file has, from start to end of `notibot
    forward`."""
    with Emulator(notibot, "--profile", "bench") as emulator, tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "lines")
        contents = (
            {"app": "Messages", "title": f"Jane Doe {index}", "text": "x" * 48, "timestamp": 1234567890}
            for index in range(notifications)
        )
        path.write_text("".join(json.dumps(content) + "\n" for content in contents))
        command = [notibot, "forward", "-p", emulator.port, "--outbox", f"{folder}/outbox", "--json"]
        start = time.perf_counter()
        with open(path) as lines:
            limit = ["--entries-limit", str(max(10_000, notifications))]
            done = subprocess.run([*command, *limit], stdin=lines, capture_output=True)
        seconds = time.perf_counter() - start
        delivered = done.stdout.count(b'"delivered"')
        if done.returncode != 0 or delivered != notifications:
            ending = f"{done.returncode}, {delivered} delivered: {done.stderr.decode().strip()}"
            sys.exit(f"measure: forward ended with {ending}")
    return {"notifications": notifications, "seconds": seconds, "notificationsPerSecond": notifications / seconds}


def journal(notibot, notifications):
    """Microseconds that a notification costs in the journal, over its whole life."""
    with tempfile.TemporaryDirectory() as folder:
        place = [f"{folder}/outbox", "--count", str(notifications), "--json"]
        return json.loads(document([f"{notibot}-dev", "journal", *place]))


class Events:
    """The events of a `notibot forward` that has nothing to do, one after the other."""

    def __init__(self, notibot, port, folder):
        command = [notibot, "forward", "-p", port, "--outbox", f"{folder}/outbox", "--json"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def next(self, name):
        """Waits for an event; returns when it was read, in ms."""
        for line in self.process.stdout:
            if json.loads(line).get("event") == name:
                return time.perf_counter() * 1000
        sys.exit(f"measure: forward ended before '{name}'")

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


# How long an emulated restart takes, from the command to the first HELLO.
RESTART_MS = 300


def reconnect(notibot, runs):
    """Milliseconds from the order to plug in to `up`, and from the HELLO of a restarted device to
    the event that reports it."""
    with Emulator(notibot, "--profile", "quiet") as emulator, tempfile.TemporaryDirectory() as folder:
        events = Events(notibot, emulator.port, folder)
        events.next("synced")
        plugs, restarts, ups = [], [], []
        for _ in range(runs):
            emulator.control.ask(command="unplug")
            events.next("down")
            start = time.perf_counter() * 1000
            emulator.control.ask(command="plug")
            plugs.append(events.next("up") - start)
            events.next("synced")
        for _ in range(runs):
            # After a session of less than a second the next one is not asked for at once.
            time.sleep(1.1)
            start = time.perf_counter() * 1000 + RESTART_MS
            emulator.control.ask(command="reboot")
            restarts.append(events.next("down") - start)
            ups.append(events.next("up") - start)
            events.next("synced")
        events.close()
    return {"plug": spread(plugs), "restart": spread(restarts), "restartUp": spread(ups)}
