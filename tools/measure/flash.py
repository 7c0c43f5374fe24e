#!/usr/bin/env python3
"""Measures flashing an emulated ESP32-C3 with the real esptool.

    python3 -m tools.measure.flash --notibot PATH --esptool PATH [--trials N]

Of 1 MiB: esptool alone on an unlimited line, and at 921600 baud next to the time that its bytes
need on the line. Of an application of 1 MiB: `notibot flash` for the first time, unchanged, with
two changed sectors, and when the board reports that it runs the image. Medians, in one interleaved
run; one JSON document."""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

from tools.emulator import Emulator
from tools.esptool_matrix import images

CHIP, SIZE, RATE, BITS_PER_BYTE = "esp32c3", 1 << 20, 921_600, 10
TRIALS = 3
# With its headers it fills a partition of 1 MiB.
APP_BYTES = SIZE - 8192
# A command of the loader with data: its own header, that of the data, two ends.
BLOCK, HEADER = 0x4000, 8 + 16 + 2


def run(*words, **environment):
    """How many seconds a program takes, and its output."""
    start = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return seconds, done.stdout


class Bench:
    """A board with a flash of 4 MiB, and files to write."""

    def __init__(self, notibot, esptool, folder):
        self.notibot, self.esptool, self.folder = notibot, esptool, folder
        self.environment = {"NOTIBOT_ESPTOOL": esptool, "XDG_CACHE_HOME": str(folder / "cache")}

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return str(path)

    def board(self, *options):
        flash = self.folder / "flash.bin"
        flash.unlink(missing_ok=True)
        return Emulator(self.notibot, "--chip", CHIP, "--flash-file", str(flash), "--profile", "quiet", *options)

    def written_by_esptool(self, *options, rate):
        """Seconds of a write beyond esptool's start, those of the start, and bytes on the line."""
        # It cannot be compressed: what is on the line is known.
        content = random.Random(1).randbytes(SIZE)
        data = self.file("random.bin", content)
        empty = self.file("small.bin", b"\xff" * 16)
        with self.board(*options) as board:
            words = [self.esptool, "--chip", CHIP, "--port", board.port, *rate, "write-flash", "0x100000"]
            start, _ = run(*words, empty)
            seconds, _ = run(*words, data)
        escaped = sum(content.count(byte) for byte in (0xC0, 0xDB))
        return seconds - start, start, SIZE + escaped + SIZE // BLOCK * HEADER

    def flash(self, board, *images_and_options):
        seconds, output = run(
            self.notibot, "flash", "-p", board.port, "--json", *images_and_options, **self.environment
        )
        return seconds, json.loads(output)

    def trial(self, seconds):
        """One value for each figure."""
        free, start, _ = self.written_by_esptool(rate=[])
        paced, _, count = self.written_by_esptool("--baud-pacing", rate=["-b", str(RATE)])
        seconds["esptool"].append(free + start)
        seconds["pacedOverLimit"].append(paced / (count * BITS_PER_BYTE / RATE))
        first = images.app(CHIP, version="1.0.0", extra_bytes=APP_BYTES)
        parts = [
            self.file("boot.bin", images.boot_loader(CHIP)),
            self.file("table.bin", images.partition_table()),
            self.file("app.bin", first) + "@0x10000",
        ]
        with self.board("--baud-pacing") as board:
            whole, report = self.flash(board, *parts)
            assert report["outcome"] == "flashed", report
            boots = board.control.stats()["bootCount"]
            running, report = self.flash(board, parts[2])
            assert report["outcome"] == "running" and board.control.stats()["bootCount"] == boots, report
            unchanged, report = self.flash(board, *parts, "--force")
            assert [part["result"] for part in report["images"]] == ["present"] * 3, report
            self.file("app.bin", images.app(CHIP, version="1.0.1", extra_bytes=APP_BYTES))
            changed, report = self.flash(board, parts[2])
            assert report["images"][0]["writtenBytes"] == 8192, report
        for name, value in (("whole", whole), ("running", running), ("unchanged", unchanged), ("changed", changed)):
            seconds[name].append(value)
        seconds["changedOverWhole"].append(changed / whole)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--esptool", required=True)
    parser.add_argument("--trials", type=int, default=TRIALS)
    options = parser.parse_args()
    names = ("esptool", "pacedOverLimit", "whole", "running", "unchanged", "changed", "changedOverWhole")
    seconds = {name: [] for name in names}
    for _ in range(options.trials):
        with tempfile.TemporaryDirectory() as folder:
            Bench(options.notibot, options.esptool, pathlib.Path(folder)).trial(seconds)
    print(json.dumps({name: round(statistics.median(values), 2) for name, values in seconds.items()}))


if __name__ == "__main__":
    main()
