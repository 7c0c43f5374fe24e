#!/usr/bin/env python3
"""Measures the figures in docs/PERFORMANCE.md, or compares two builds. See scripts/dev measure."""

import argparse
import dataclasses
import json
import statistics
import subprocess
import sys
from collections.abc import Callable

from tools.measure.runs import count, devices, first_byte, forward, journal, memory, network, reconnect, suite

SUITE = "{seconds:6.1f} s   {passed} passed, {failed} failed, {skipped} skipped"
START = "{medianMs:6.1f} ms  median of {runs}, at most {maxMs:.1f} ms"


@dataclasses.dataclass(frozen=True)
class Figure:
    """What is measured: its key in the document, how, and its line for a reader."""

    key: str
    title: str
    measure: Callable[[str], dict]
    line: str
    # What two builds are compared by: a name, and how to read it. Fewer is better, but for
    # names that end with "/s" or "%".
    compared: dict[str, Callable[[dict], float]]
    # The values of `line` that it does not find by name.
    shown: Callable[[dict], tuple] = lambda result: ()


def figures(notifications, only):
    """Those with a key in `only`, or all; `notifications`: for the memory figure."""
    table = (
        # Another build can have other cases: their seconds are not compared.
        Figure("suiteInProcess", "suite in process", lambda n: suite(n, "emulator"), SUITE, {}),
        Figure("suitePTY", "suite over a PTY", lambda n: suite(n, "pty"), SUITE, {}),
        Figure("count", "notibot count", lambda n: count(n, 21), START, {"ms": lambda r: r["medianMs"]}),
        Figure("firstByte", "first byte", lambda n: first_byte(n, 21), START, {"ms": lambda r: r["medianMs"]}),
        Figure("devices", "notibot devices", lambda n: devices(n, 21), START, {"ms": lambda r: r["medianMs"]}),
        Figure(
            "network",
            "RFC 2217, loopback",
            network,
            "{0:6.2f} ms  round trip p50; a rate {1:.2f} ms, both modem lines {2:.2f} ms",
            {"round trip ms": lambda r: r["roundTripMs"]["p50"]},
            lambda r: tuple(r[key]["p50"] for key in ("roundTripMs", "rateCommandMs", "linesCommandMs")),
        ),
        Figure(
            "memory",
            "memory",
            lambda n: memory(n, notifications),
            "{notifications} notifications: host {0:.1f} to {1:.1f} MB, emulator {2:.1f} to {3:.1f} MB",
            {"host MB": lambda r: r["hostEndBytes"] / 1e6, "emulator MB": lambda r: r["emulatorEndBytes"] / 1e6},
            lambda r: tuple(
                r[key] / 1e6 for key in ("hostStartBytes", "hostEndBytes", "emulatorStartBytes", "emulatorEndBytes")
            ),
        ),
        Figure(
            "forward",
            "forward",
            lambda n: forward(n, 20_000),
            "{notificationsPerSecond:6.0f} /s  durable notifications, {notifications} of a file",
            {"notifications/s": lambda r: r["notificationsPerSecond"]},
        ),
        Figure(
            "journal",
            "journal",
            lambda n: journal(n, 20_000),
            "{0}",
            {"us, largest batch": lambda r: r["batches"][-1]["microsecondsPerNotification"]},
            lambda r: (
                ", ".join(
                    "{microsecondsPerNotification:.1f} us a notification in batches of {batchSize}".format(**row)
                    for row in r["batches"]
                ),
            ),
        ),
        Figure(
            "reconnect",
            "reconnect",
            lambda n: reconnect(n, 21),
            "{0:6.1f} ms  port back to up; restart detected {1:.1f} ms, HELLO to up again {2:.1f} ms: medians of 21",
            {"plug ms": lambda r: r["plug"]["medianMs"], "restart ms": lambda r: r["restart"]["medianMs"]},
            lambda r: tuple(r[key]["medianMs"] for key in ("plug", "restart", "restartUp")),
        ),
    )
    return [figure for figure in table if not only or figure.key in only]


def say(text):
    print(text, file=sys.stderr, flush=True)


def measured(notibot, table):
    """The document of one build. A key that several figures have becomes a list."""
    document = {"schema": "notibot.measure", "version": 1}
    for figure in table:
        result = figure.measure(notibot)
        say(f"{figure.title:<21}" + figure.line.format(*figure.shown(result), **result))
        if sum(other.key == figure.key for other in table) > 1:
            document.setdefault(figure.key, []).append(result)
        else:
            document[figure.key] = result
    return document


def compared(notibot, other, table, rounds):
    """Each figure of two builds in turn, and the median of the ratios of the rounds."""
    rows = []
    for figure in table:
        if not figure.compared:
            continue
        pairs = [(figure.measure(notibot), figure.measure(other)) for _ in range(rounds)]
        for name, read in figure.compared.items():
            values = [(read(mine), read(theirs)) for mine, theirs in pairs]
            row = {
                "figure": figure.title,
                "unit": name,
                "notibot": statistics.median(mine for mine, _ in values),
                "against": statistics.median(theirs for _, theirs in values),
                "ratio": statistics.median(mine / theirs for mine, theirs in values),
                "ratios": [round(mine / theirs, 3) for mine, theirs in values],
            }
            rows.append(row)
            say("{figure:<21}{notibot:10.2f} {against:10.2f} {unit:<18} ratio {ratio:.2f}".format(**row))
    return {"schema": "notibot.measure-against", "version": 1, "rounds": rounds, "figures": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--notifications", type=int, default=1_000_000, help="for the memory figure")
    parser.add_argument("--only", nargs="+", metavar="KEY", help="these figures, by their keys in the document")
    parser.add_argument("--html", help="write a page with the figures to this file")
    parser.add_argument("--against", metavar="PATH", help="another build of notibot: print ratios, round by round")
    parser.add_argument("--rounds", type=int, default=3, help="with --against; default: 3")
    options = parser.parse_args()
    table = figures(options.notifications, options.only)
    if options.against:
        print(json.dumps(compared(options.notibot, options.against, table, options.rounds), indent=2))
        return
    text = json.dumps(measured(options.notibot, table), indent=2)
    print(text)
    if options.html:
        subprocess.run([options.notibot, "report", "html", "-", "-o", options.html], input=text, text=True, check=True)


if __name__ == "__main__":
    main()
