#!/usr/bin/env python3
"""Measures what the README says of one notibot: suites, start-up, paced lines, memory. See scripts/measure."""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time


class Emulator:
    """An emulator process for the time of a `with`."""

    def __init__(self, notibot, *options):
        self.command = [notibot, "emulate", *options]

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            self.command + ["--link", os.path.join(self.folder.name, "notibot"), "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = json.loads(self.process.stdout.readline())["port"]
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def document(command, allowed=(0,)):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
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


def paced(notibot, profile, text_bytes, notifications, faults="off"):
    """A line of 921600 baud with 16 ms each way."""
    with Emulator(notibot, "--profile", profile, "--baud-pacing", "--latency", "16", "--faults", faults) as emulator:
        result = json.loads(document(
            [notibot, "bench", "-p", emulator.port, "-b", "921600", "--line-rate", "921600", "--count", str(notifications),
             "--trips", "0", "--text-bytes", str(text_bytes), "--json"]))
    return {"profile": profile, "textBytes": text_bytes, "faults": faults, "shareOfLine": result["lineShare"],
            "notificationsPerSecond": result["notificationsPerSecond"], "resends": result["resends"]}


def memory(notibot, notifications):
    """Resident memory of both processes before and after."""
    with Emulator(notibot, "--profile", "bench") as emulator:
        warm = [notibot, "bench", "-p", emulator.port, "--trips", "0", "--json", "--count"]
        document(warm + ["10000"])
        before = emulator.resident_bytes()
        result = json.loads(document(warm + [str(notifications)]))
        after = emulator.resident_bytes()
    return {"notifications": notifications, "hostStartBytes": result["residentBytesStart"], "hostEndBytes": result["residentBytesEnd"],
            "emulatorStartBytes": before, "emulatorEndBytes": after}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--notifications", type=int, default=1_000_000, help="for the memory figure")
    options = parser.parse_args()
    notibot = options.notibot

    def say(text):
        print(text, file=sys.stderr, flush=True)

    figures = {"schema": "notibot.measure", "version": 1}
    figures["suiteInProcess"] = suite(notibot, "emulator")
    say("suite in process     {seconds:6.1f} s   {passed} passed, {failed} failed, {skipped} skipped".format(**figures["suiteInProcess"]))
    figures["suitePTY"] = suite(notibot, "pty")
    say("suite over a PTY     {seconds:6.1f} s   {passed} passed, {failed} failed, {skipped} skipped".format(**figures["suitePTY"]))
    figures["count"] = count(notibot, 21)
    say("notibot count        {medianMs:6.1f} ms  median of {runs}, at most {maxMs:.1f} ms".format(**figures["count"]))
    figures["paced"] = [paced(notibot, "devkit", 400, 450), paced(notibot, "bench", 400, 2000), paced(notibot, "bench", 48, 5000)]
    for line in figures["paced"]:
        say("paced 921600, 16 ms  {share:6.1f} %   of the line, profile {profile}, texts of {textBytes} bytes, {resends} resends".format(
            share=line["shareOfLine"] * 100, **line))
    # Frames of 492 bytes: one bit in a hundred of them is flipped.
    figures["damaged"] = paced(notibot, "bench", 400, 4000, "flip=2.03e-5,seed=1")
    say("the same, damaged    {share:6.1f} %   of the line, 1 % of the frames damaged, {resends} resends".format(
        share=figures["damaged"]["shareOfLine"] * 100, **figures["damaged"]))
    figures["memory"] = memory(notibot, options.notifications)
    say("memory, {notifications} notifications: host {0:.1f} to {1:.1f} MB, emulator {2:.1f} to {3:.1f} MB".format(
        *(figures["memory"][key] / 1e6 for key in ("hostStartBytes", "hostEndBytes", "emulatorStartBytes", "emulatorEndBytes")),
        notifications=figures["memory"]["notifications"]))
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
