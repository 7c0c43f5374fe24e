#!/usr/bin/env python3
"""Measures what the README says of one notibot: suites, start-up, paced lines, memory, forwarding,
reconnection. See scripts/measure."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from tools.emulator import Emulator


def document(command, allowed=(0,)):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in allowed:
        sys.exit(f"measure: {' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def suite(notibot, rig):
    """Seconds of the whole process, and how the cases ended."""
    start = time.perf_counter()
    report = json.loads(document([notibot, "test", "--rig", rig, "--json", "-"]))
    seconds = time.perf_counter() - start
    return {"seconds": seconds, **report["totals"]}


def count(notibot, runs):
    """Milliseconds of `notibot count`, from fork to exit."""
    with Emulator(notibot) as emulator:
        times = []
        for _ in range(runs):
            start = time.perf_counter()
            document([notibot, "count", "-p", emulator.port])
            times.append((time.perf_counter() - start) * 1000)
    return {"medianMs": statistics.median(times), "maxMs": max(times), "runs": runs}


def devices(notibot, runs):
    """Milliseconds of `notibot devices`, from fork to exit."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        document([notibot, "devices"])
        times.append((time.perf_counter() - start) * 1000)
    return {"medianMs": statistics.median(times), "maxMs": max(times), "runs": runs}


def paced(notibot, profile, text_bytes, notifications, faults="off", latency=16):
    """A line of 921600 baud with some ms each way."""
    with Emulator(
        notibot, "--profile", profile, "--baud-pacing", "--latency", str(latency), "--faults", faults
    ) as emulator:
        result = json.loads(
            document(
                [
                    notibot,
                    "bench",
                    "-p",
                    emulator.port,
                    "-b",
                    "921600",
                    "--line-rate",
                    "921600",
                    "--count",
                    str(notifications),
                    "--trips",
                    "0",
                    "--text-bytes",
                    str(text_bytes),
                    "--json",
                ]
            )
        )
    return {
        "profile": profile,
        "textBytes": text_bytes,
        "faults": faults,
        "latencyMs": latency,
        "shareOfLine": result["lineShare"],
        "notificationsPerSecond": result["notificationsPerSecond"],
        "resends": result["resends"],
    }


def network(notibot):
    """Client and server of RFC 2217 on loopback: not to be compared with a port of this machine."""
    with Emulator(notibot, "--profile", "bench", "--rfc2217", "127.0.0.1:0") as emulator:
        report = json.loads(
            document(
                [
                    notibot,
                    "bench",
                    "-p",
                    emulator.port,
                    "--count",
                    "20000",
                    "--trips",
                    "5000",
                    "--commands",
                    "1000",
                    "--json",
                ]
            )
        )
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
        warm = [notibot, "bench", "-p", emulator.port, "--trips", "0", "--json", "--count"]
        document([*warm, "10000"])
        before = emulator.resident_bytes()
        result = json.loads(document([*warm, str(notifications)]))
        after = emulator.resident_bytes()
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
        path = os.path.join(folder, "lines")
        with open(path, "w") as lines:
            for index in range(notifications):
                lines.write(
                    json.dumps(
                        {"app": "Messages", "title": f"Jane Doe {index}", "text": "x" * 48, "timestamp": 1234567890}
                    )
                    + "\n"
                )
        command = [
            notibot,
            "forward",
            "-p",
            emulator.port,
            "--outbox",
            os.path.join(folder, "outbox"),
            "--entries-limit",
            str(max(10_000, notifications)),
            "--json",
        ]
        start = time.perf_counter()
        with open(path) as lines:
            done = subprocess.run(command, stdin=lines, capture_output=True)
        seconds = time.perf_counter() - start
        delivered = done.stdout.count(b'"delivered"')
        if done.returncode != 0 or delivered != notifications:
            sys.exit(
                f"measure: forward ended with {done.returncode}, {delivered} delivered: {done.stderr.decode().strip()}"
            )
    return {"notifications": notifications, "seconds": seconds, "notificationsPerSecond": notifications / seconds}


def journal(notibot, notifications):
    """Microseconds that a notification costs in the journal, over its whole life."""
    with tempfile.TemporaryDirectory() as folder:
        return json.loads(
            document(
                [notibot, "bench", "--journal", os.path.join(folder, "outbox"), "--count", str(notifications), "--json"]
            )
        )


class Events:
    """The events of a `notibot forward` that has nothing to do, one after the other."""

    def __init__(self, notibot, port, folder):
        self.process = subprocess.Popen(
            [notibot, "forward", "-p", port, "--outbox", os.path.join(folder, "outbox"), "--json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def next(self, name, reason=None):
        """Waits for an event; returns when it was read, in ms."""
        for line in self.process.stdout:
            event = json.loads(line)
            if event.get("event") == name and reason in (None, event.get("reason")):
                return time.perf_counter() * 1000
        sys.exit(f"measure: forward ended before '{name}'")

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def spread(times):
    return {"medianMs": statistics.median(times), "maxMs": max(times), "runs": len(times)}


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
            restarts.append(events.next("down", "the device restarted") - start)
            ups.append(events.next("up") - start)
            events.next("synced")
        events.close()
    return {"plug": spread(plugs), "restart": spread(restarts), "restartUp": spread(ups)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--notifications", type=int, default=1_000_000, help="for the memory figure")
    parser.add_argument("--html", help="write a page with the figures to this file")
    options = parser.parse_args()
    notibot = options.notibot

    def say(text):
        print(text, file=sys.stderr, flush=True)

    figures = {"schema": "notibot.measure", "version": 1}
    figures["suiteInProcess"] = suite(notibot, "emulator")
    say(
        "suite in process     {seconds:6.1f} s   {passed} passed, {failed} failed, {skipped} skipped".format(
            **figures["suiteInProcess"]
        )
    )
    figures["suitePTY"] = suite(notibot, "pty")
    say(
        "suite over a PTY     {seconds:6.1f} s   {passed} passed, {failed} failed, {skipped} skipped".format(
            **figures["suitePTY"]
        )
    )
    figures["count"] = count(notibot, 21)
    say("notibot count        {medianMs:6.1f} ms  median of {runs}, at most {maxMs:.1f} ms".format(**figures["count"]))
    figures["devices"] = devices(notibot, 21)
    say(
        "notibot devices      {medianMs:6.1f} ms  median of {runs}, at most {maxMs:.1f} ms".format(**figures["devices"])
    )
    figures["paced"] = [
        paced(notibot, "devkit", 400, 450),
        paced(notibot, "bench", 400, 2000),
        paced(notibot, "bench", 48, 5000),
    ]
    for line in figures["paced"]:
        say(
            "paced 921600, 16 ms  {share:6.1f} %   of the line, profile {profile}, texts of {textBytes} bytes, {resends} resends".format(
                share=line["shareOfLine"] * 100, **line
            )
        )
    # Frames of 492 bytes: one bit in a hundred of them is flipped.
    figures["damaged"] = [paced(notibot, "bench", 400, 4000, "flip=2.03e-5,seed=1", latency) for latency in (16, 1)]
    for line in figures["damaged"]:
        say(
            "damaged, {latencyMs:>2} ms       {share:6.1f} %   of the line, 1 % of the frames damaged, {resends} resends".format(
                share=line["shareOfLine"] * 100, **line
            )
        )
    figures["network"] = network(notibot)
    say(
        "RFC 2217, loopback   {:6.2f} ms  round trip p50; a rate {:.2f} ms, both modem lines {:.2f} ms".format(
            *(figures["network"][key]["p50"] for key in ("roundTripMs", "rateCommandMs", "linesCommandMs"))
        )
    )
    figures["memory"] = memory(notibot, options.notifications)
    say(
        "memory, {notifications} notifications: host {0:.1f} to {1:.1f} MB, emulator {2:.1f} to {3:.1f} MB".format(
            *(
                figures["memory"][key] / 1e6
                for key in ("hostStartBytes", "hostEndBytes", "emulatorStartBytes", "emulatorEndBytes")
            ),
            notifications=figures["memory"]["notifications"],
        )
    )
    figures["forward"] = forward(notibot, 20_000)
    say(
        "forward              {notificationsPerSecond:6.0f} /s  durable notifications, {notifications} of a file".format(
            **figures["forward"]
        )
    )
    figures["journal"] = journal(notibot, 20_000)
    say(
        "journal              {}".format(
            ", ".join(
                "{microsecondsPerNotification:.1f} us a notification in batches of {batchSize}".format(**row)
                for row in figures["journal"]["batches"]
            )
        )
    )
    figures["reconnect"] = reconnect(notibot, 21)
    for key, title in (
        ("plug", "port back to up"),
        ("restart", "restart detected"),
        ("restartUp", "HELLO to up again"),
    ):
        say(
            "{title:<21}{medianMs:6.1f} ms  median of {runs}, at most {maxMs:.1f} ms".format(
                title=title, **figures["reconnect"][key]
            )
        )
    text = json.dumps(figures, indent=2)
    print(text)
    if options.html:
        subprocess.run([notibot, "report", "html", "-", "-o", options.html], input=text, text=True, check=True)


if __name__ == "__main__":
    main()
