"""Compares `notibot monitor` with esp-idf-monitor on the same bytes: the lines that a filter shows,
and the functions behind addresses. `scripts/dev monitor-peers` starts it. Differences by choice are
listed in docs/CLI.md."""

import argparse
import concurrent.futures
import contextlib
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading

from esp_idf_monitor.base.constants import PANIC_IDLE
from esp_idf_monitor.base.line_matcher import LineMatcher
from esp_idf_monitor.base.logger import Logger
from esp_idf_monitor.base.serial_handler import SerialHandler
from esp_pylib.logger import log

from tools.measure.crash import TOOL, build, digest, registers

LIMIT_S = 600
# Begins a line of the report of a crash or a warning, which notibot prints whatever the filter.
REPORT = "!"
INPUTS = {
    "levels": [
        "E (1) wifi: e", "W (2) wifi: w", "I (3) wifi: i", "D (4) wifi: d", "V (5) wifi: v", "I (6) main: other",
    ],
    "forms": [
        "I (12:34:56.789) wifi: clock", "I (126-11-22 10:00:00.000) wifi: date", "I wifi: without a time",
        "I (5) wifi:without a blank", "I (5) wifi", "I (5) wifi: ", "I () wifi: empty time",
        " I (5) wifi: indented", "I (5)wifi: glued", "i (5) wifi: small", "N (5) wifi: none",
    ],
    "colours": [
        "\x1b[0;32mI (5) wifi: green\x1b[0m", "\x1b[32mI (5) wifi: short\x1b[0m",
        "\x1b[1;31mE (5) main: bold\x1b[0m", "\x1b[0mI (5) wifi: reset", "\x1b[0;3I (5) wifi: cut",
    ],
    "tags": [
        "I (5) a b: blanks", "I (5) wifi.sta: dot", "I (5) wifi/1: slash", "I (a: b) c: d", "I think that: yes",
    ],
    "plain": [
        "hello", "", "rst:0x1 (POWERON),boot:0x13 (SPI_FAST_FLASH_BOOT)", "main: x", "E", "E ", "E (5", "I: x",
    ],
    "unicode": ["I (5) wifi: grün 日本", "W (5) größe: x", "größe"],
    "frameworks": ["[ 1234][E][main.cpp:12] setup(): x", "[D][wifi:042]: x", "INFO - x", "<inf> main: x"],
    "panic": [
        "I (5) wifi: before",
        "!Guru Meditation Error: Core  0 panic'ed (LoadProhibited). Exception was unhandled.",
        "!",
        "!Core  0 register dump:",
        "!PC      : 0x400d35dd  PS      : 0x00060031",
        "!",
        "!Backtrace: 0x400d35da:0x3ffbe9d0 |<-CORRUPTED",
        "!",
        "!Rebooting...",
        "ets Jul 29 2019 12:21:46",
        "",
        "I (6) main: after",
    ],
    "watchdog": [
        "!E (9) task_wdt: Task watchdog got triggered. The following tasks did not reset the watchdog in time:",
        "!E (9) task_wdt:  - IDLE (CPU 0)",
        "!",
        "!Backtrace: 0x400d35da:0x3ffbe9d0",
        "I (10) wifi: on",
    ],
}  # fmt: skip
FILTERS = [None, "", "*:V", "*:W", "wifi", "wifi:W", "*:N wifi:I", "wifi: *:E", "*:* wifi:N", "*:D main:e wifi:*"]
ENDS = ["\r\n", "\n", "\r"]


class Recorder(Logger):
    """What esp-idf-monitor prints of the device, and of its own."""

    def __init__(self, elf_files):
        super().__init__(elf_files, None, False, "", bool(elf_files), TOOL)
        self.shown, self.notes = b"", []

    def print(self, string):
        if isinstance(string, bytes):
            self.shown += string
        elif string:
            self.notes.append(re.sub(r"\[/?[a-z: ]+\]", "", string))


class Peer:
    """esp-idf-monitor without its port."""

    def __init__(self, print_filter, elf_files=()):
        self.recorder = Recorder(list(elf_files))
        self.matcher = LineMatcher(print_filter or "")
        self.handler = SerialHandler(
            b"", self.recorder, "disable", PANIC_IDLE, b"", "esp32c3", False, False, None, False,
            list(elf_files), TOOL, True,
        )  # fmt: skip
        self.dump = type("NoDump", (), {"check": staticmethod(lambda line: contextlib.nullcontext())})()

    def receive(self, data, is_last=False):
        """Returns whether something was printed."""
        before = len(self.recorder.shown)
        self.handler.handle_serial_input(data, None, self.dump, None, self.matcher, lambda line: None, is_last)
        return len(self.recorder.shown) > before


def monitored(notibot, data, *options):
    """The output of `notibot monitor` for a console that ends after these bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            connection, _ = listener.accept()
            with connection:
                connection.sendall(data)

        server = threading.Thread(target=serve, daemon=True)
        server.start()
        words = [notibot, "monitor", "-p", f"socket://127.0.0.1:{listener.getsockname()[1]}", "--no-reconnect"]
        words += ["--no-fail-on-crash", "--color", "never", "--frames", "none", *options]
        ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False)
        server.join()
    # 14: the port is gone.
    if ended.returncode != 14:
        raise AssertionError(f"{words}: exit code {ended.returncode}: {ended.stderr.decode()}")
    return ended.stdout.decode()


def compare_lines(notibot, lines, print_filter, end):
    peer, expected = Peer(print_filter), []
    data = "".join(line.removeprefix(REPORT) + end for line in lines).encode()
    if end == "\r":
        # A CR at the end of a read waits for what follows, and is then inside of a line.
        peer.receive(data)
        peer.receive(b"", is_last=True)
        expected = peer.recorder.shown.decode().split(end)[:-1]
    else:
        for line in lines:
            text = line.removeprefix(REPORT)
            if peer.receive((text + end).encode()) or line.startswith(REPORT):
                expected.append(text)
    options = [] if print_filter is None else ["--filter", print_filter]
    printed = monitored(notibot, data, *options).split("\n")[:-1]
    printed = [line for line in printed if not line.startswith("--- ")]
    expected = [re.sub(r"\x1b\[[0-9;]*m", "", line).replace("\x1b", r"\x1B") for line in expected]
    if printed != expected:
        raise AssertionError(f"esp-idf-monitor: {expected}\nnotibot:         {printed}")


def reports(folder):
    """Reports with addresses of a program, by name, and that program."""
    elf, (inner, outer) = build(pathlib.Path(folder), 20)
    at = [inner + 8, outer + 12, outer + 16]
    pairs = " ".join(f"{address:#010x}:0x3fc8f1e0" for address in at)
    head = "Guru Meditation Error: Core  0 panic'ed (Load access fault). Exception was unhandled.\r\n\r\n"
    known = f"ELF file SHA256: {digest(elf)[:9]}\r\n\r\nRebooting...\r\n"
    zeros = "ELF file SHA256: 0000000000000000\r\n\r\nRebooting...\r\n"
    dump = "Core  0 register dump:\r\n" + registers(at[0], at[1])
    second = f"Core  1 register dump:\r\nMEPC    : {at[2]:#010x}\r\n\r\nBacktrace: {at[2]:#010x}:0x3fc8f1e0\r\n"
    return elf, {
        "registers": head + dump + known,
        "backtrace": f"{head}Backtrace: {pairs}\r\n\r\n{known}",
        "a backtrace without blanks": f"{head}Backtrace:{pairs.replace(' ', '')} |<-CORRUPTED\r\n\r\n{known}",
        "a hash of zeros": f"{head}Backtrace: {pairs}\r\n\r\n{zeros}",
        "the hash before the backtrace": f"{head}{zeros[:-17]}\r\nBacktrace: {pairs}\r\n\r\nRebooting...\r\n",
        "abort": f"abort() was called at PC {at[0]:#x} on core 0\r\n\r\nBacktrace: {pairs}\r\n\r\n{known}",
        "two cores": f"{head}Core  0 register dump:\r\n\r\nBacktrace: {pairs}\r\n\r\n{second}\r\n{known}",
    }


def compare_functions(notibot, elf, text):
    peer = Peer(None, [str(elf)])
    peer.receive(text.encode())
    places = {}
    for note in peer.recorder.notes:
        if found := re.search(r"(0x[0-9a-f]{8}): (\S+) at (.+):(\d+)", note):
            places[int(found[1], 16)] = (found[2], pathlib.Path(found[3]).name)
    output = monitored(notibot, text.encode(), "--elf", str(elf), "--json")
    crash = next(record for record in map(json.loads, output.splitlines()) if record["event"] == "crash")
    frames = {frame["address"]: (frame["function"], pathlib.Path(frame["file"]).name) for frame in crash["frames"]}
    # A backtrace begins with the PC, which the registers and the message of an abort repeat.
    if not places or frames != places:
        raise AssertionError(f"esp-idf-monitor: {places}\nnotibot:         {frames}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--filter", default="", help="only comparisons whose name contains this")
    options = parser.parse_args()
    # About ELF files that are missing or of another build.
    log.warn = lambda *_, **__: None
    with tempfile.TemporaryDirectory() as folder:
        elf, crashes = reports(folder)
        checks = {
            f"{name}, {'LF' if end == chr(10) else 'CR' if end == chr(13) else 'CR LF'}, filter {print_filter!r}": (
                compare_lines, lines, print_filter, end,
            )
            for name, lines in INPUTS.items() for print_filter in FILTERS for end in (ENDS if name == "levels" else ENDS[:1])
        }  # fmt: skip
        checks |= {f"functions: {name}": (compare_functions, elf, text) for name, text in crashes.items()}
        checks = {name: check for name, check in checks.items() if options.filter in name}
        failures = 0
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            jobs = {name: pool.submit(check, options.notibot, *rest) for name, (check, *rest) in checks.items()}
        for name, job in jobs.items():
            if problem := job.exception():
                failures += 1
                print(f"FAIL {name}\n{problem}")
    print(f"{len(checks) - failures} of {len(checks)} comparisons passed")
    sys.exit(1 if failures or not checks else 0)


if __name__ == "__main__":
    main()
