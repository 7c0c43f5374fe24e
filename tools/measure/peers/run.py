#!/usr/bin/env python3
"""Runs notibot, the Python pair and the C loop in turn, A B C C B A …, and compares medians.

Interleaving makes a noisy machine hit all of them alike; ratios are worth quoting, single figures
are not.
Prints a table on stderr and one JSON document on stdout.
"""

import argparse
import json
import os
import statistics
import sys

from tools.emulator import Emulator
from tools.measure.runs import bench, document

HERE = os.path.dirname(os.path.abspath(__file__))
FIGURES = {
    "notificationsPerSecond": lambda run: run["notificationsPerSecond"],
    "cpuMicrosecondsPerNotification": lambda run: run["cpuMicrosecondsPerNotification"],
    "roundTripP50Microseconds": lambda run: run["roundTripMicroseconds"]["p50"],
    "roundTripP99Microseconds": lambda run: run["roundTripMicroseconds"]["p99"],
}


def notibot(program, options):
    """A fresh emulator for each run; its CPU counts as the device's does in the other pairs."""
    with Emulator(program, "--profile", options.profile) as emulator:
        sizes = {"window": options.window, "text_bytes": options.text_bytes, "peer_pid": emulator.process.pid}
        return bench(program, emulator.port, options.count, options.trips, **sizes)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--c-loop", required=True)
    parser.add_argument("--against", metavar="PATH", help="another build of notibot, compared in the same rounds")
    parser.add_argument("--profile", default="bench")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=50000)
    parser.add_argument("--trips", type=int, default=5000)
    parser.add_argument("--window", type=int, default=32)
    parser.add_argument("--text-bytes", type=int, default=48)
    options = parser.parse_args()

    sizes = [str(value) for value in (options.count, options.trips, options.window, options.text_bytes)]
    names = ("--count", "--trips", "--window", "--text-bytes")
    pair = [sys.executable, os.path.join(HERE, "python_pair.py")]
    pair += [word for words in zip(names, sizes, strict=True) for word in words]
    measures = {
        "notibot": lambda: notibot(options.notibot, options),
        "python": lambda: json.loads(document(pair)),
        "pythonCoalesced": lambda: json.loads(document([*pair, "--coalesce"])),
        "c": lambda: json.loads(document([options.c_loop, *sizes])),
    }
    if options.against:
        measures["against"] = lambda: notibot(options.against, options)
    runs = {name: [] for name in measures}
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
        # Every other round backwards: what ran just before makes a difference of a few per cent.
        for name in list(measures)[:: -1 if number % 2 else 1]:
            runs[name].append(measures[name]())

    medians = {
        name: {figure: statistics.median(read(run) for run in done) for figure, read in FIGURES.items()}
        for name, done in runs.items()
    }
    ratios = {
        name: {
            figure: statistics.median(read(a) / read(b) for a, b in zip(runs["notibot"], done, strict=False))
            for figure, read in FIGURES.items()
        }
        for name, done in runs.items()
        if name != "notibot"
    }
    print(f"\n{'':34}" + "".join(f"{name:>17}" for name in runs), file=sys.stderr)
    for figure in FIGURES:
        print(f"{figure:34}" + "".join(f"{medians[name][figure]:17.1f}" for name in runs), file=sys.stderr)
        print(
            f"{'  notibot / this':34}{'':17}" + "".join(f"{ratios[name][figure]:17.2f}" for name in ratios),
            file=sys.stderr,
        )
    report = {
        "schema": "notibot.bench-peers",
        "version": 1,
        "rounds": options.rounds,
        "count": options.count,
        "trips": options.trips,
        "window": options.window,
        "textBytes": options.text_bytes,
        "medians": medians,
        "notibotOver": ratios,
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
