#!/usr/bin/env python3
"""Runs unmodified esptool against the emulator: chips, transports, commands and versions, and the
faults of flashing. `scripts/dev esptool-matrix` starts it."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import tty

from tools import checks
from tools.emulator import Emulator
from tools.esptool_matrix import images

LIMIT_SECONDS = 300
CHIPS = list(images.CHIP_IDS)
CHECKS = []
FLASH_BYTES = 4 << 20


def check(*, is_short=False):
    def register(function):
        function.is_short = is_short
        CHECKS.append(function)
        return function

    return register


class Tool:
    """One version of esptool."""

    def __init__(self, version, environment):
        self.version, self.programs = version, pathlib.Path(environment) / "bin"
        self.is_old = int(version.split(".")[0]) < 5

    def run(self, port, *words, program="esptool", status=0, text=""):
        """Runs esptool and returns its output, which must have `text`, a regular expression; its
        exit code must be `status`, or for None any but 0."""
        # Versions before 5 have other spellings.
        spelled = [
            word.replace("-", "_") if self.is_old and not word.startswith("-") and "/" not in word else word
            for word in words
        ]
        name = f"{program}.py" if self.is_old else program
        command = [str(self.programs / name), "--port", port, *spelled]
        result = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_SECONDS
        )
        has_status = result.returncode != 0 if status is None else result.returncode == status
        assert has_status, f"{' '.join(command)}: exit {result.returncode}\n{result.stdout}"
        assert re.search(text, result.stdout), f"{' '.join(command)}: no '{text}' in\n{result.stdout}"
        return result.stdout


class Board(Emulator):
    """An emulator with a flash file of its own."""

    def __init__(self, chip, *options, transport="pty", content=b""):
        self.place = tempfile.TemporaryDirectory(prefix="flash-")
        self.chip, self.file = chip, pathlib.Path(self.place.name) / "flash.bin"
        self.file.write_bytes(content)
        network = ["--rfc2217", "127.0.0.1:0"] if transport == "rfc2217" else []
        super().__init__(NOTIBOT, *network, "--chip", chip, "--flash-file", str(self.file), *options)

    def stop(self):
        super().stop()
        self.place.cleanup()

    def write(self, name, data):
        path = pathlib.Path(self.place.name) / name
        path.write_bytes(data)
        return str(path)

    def flash(self, start, count):
        return self.file.read_bytes()[start : start + count]

    def loader(self):
        return self.control.stats()["loader"]

    def faults(self, spec):
        self.control.must(command="flash-faults", flashFaults=spec)

    def boot_and_read(self):
        """What a host reads while the device restarts."""
        port = os.open(self.port, os.O_RDWR | os.O_NOCTTY)
        try:
            tty.setraw(port)
            boots = self.control.stats()["bootCount"]
            self.control.must(command="reboot")
            self.control.wait(f"boots>={boots + 1}")
            return os.read(port, 4096)
        finally:
            os.close(port)

    def parts(self, **app):
        """The words for write-flash and verify-flash: boot loader, partition table, application."""
        files = ((offset, self.write(f"{offset:#x}.bin", data)) for offset, data in parts(self.chip, **app))
        return [word for offset, path in files for word in (hex(offset), path)]


def parts(chip, **app):
    """Boot loader, partition table and application by their offsets."""
    return [
        (images.BOOT_OFFSETS[chip], images.boot_loader(chip)),
        (images.TABLE_OFFSET, images.partition_table()),
        (images.APP_OFFSET, images.app(chip, **app)),
    ]


def whole(chip, **app):
    """A flash that boots."""
    flash = bytearray(b"\xff" * FLASH_BYTES)
    for offset, data in parts(chip, **app):
        flash[offset : offset + len(data)] = data
    return bytes(flash)


# Commands.


@check(is_short=True)
def write_and_boot(tool, chip):
    with Board(chip, "--profile", "quiet") as board:
        board.control.wait("chip=restarting")
        assert board.loader().get("application") is None
        words = board.parts(version="7.8.9")
        tool.run(board.port, "-b", "921600", "write-flash", *words, text="Hash of data verified")
        assert board.flash(images.APP_OFFSET, 384) == images.app(chip, version="7.8.9")[:384]
        board.control.wait("chip=running")
        assert board.loader()["application"] == "notibot 7.8.9 at 0x10000", board.loader()
        # The console is silent: the version of the image comes in HELLO.
        assert b"7.8.9" in board.boot_and_read(), "no HELLO with the version"


@check(is_short=True)
def identify(tool, chip):
    with Board(chip, "--flash-size", "8MB") as board:
        kind = {"esp32": "ESP32-D0WD", "esp32s3": "ESP32-S3", "esp32c3": "ESP32-C3"}[chip]
        out = tool.run(board.port, "flash-id", text=r"Detected flash size: +8MB")
        assert kind in out, out
        tool.run(board.port, "read-mac", text="24:6f:28:aa:bb:cc")
        tool.run(board.port, "--no-stub", "flash-id", text=r"Detected flash size: +8MB")


@check()
def verify(tool, chip):
    with Board(chip, content=whole(chip)) as board:
        words = board.parts()
        tool.run(board.port, "verify-flash", *words, text="(?i)verification successful|verify OK")
        words[-1] = board.write("other.bin", images.app(chip, version="9.9.9"))
        status = 2
        tool.run(board.port, "verify-flash", *words, status=status, text="(?i)fail")


@check()
def read(tool, chip):
    with Board(chip, content=whole(chip, extra_bytes=65536)) as board:
        path = board.write("read.bin", b"")
        tool.run(board.port, "read-flash", "0", "0x40000", path)
        assert pathlib.Path(path).read_bytes() == board.flash(0, 0x40000)
        tool.run(board.port, "--no-stub", "read-flash", "0x10000", "0x1000", path)
        assert pathlib.Path(path).read_bytes() == board.flash(0x10000, 0x1000)


@check()
def erase(tool, chip):
    with Board(chip, content=whole(chip)) as board:
        tool.run(board.port, "erase-region", "0x10000", "0x1000")
        assert board.flash(0x10000, 0x1000) == b"\xff" * 0x1000
        assert board.flash(0x8000, 2) == b"\xaa\x50"
        board.control.wait("chip=restarting")
        tool.run(board.port, "erase-flash")
        assert set(board.flash(0, FLASH_BYTES)) == {0xFF}


@check()
def write_with_the_rom(tool, chip):
    with Board(chip) as board:
        words = board.parts(extra_bytes=20000)
        for options in [["--no-stub"], ["--no-stub", "-b", "460800"]]:
            tool.run(board.port, *options, "write-flash", *words, text="Hash of data verified")
            tool.run(board.port, *options, "write-flash", "--compress", *words, text="Hash of data verified")
        board.control.wait("chip=running")


@check()
def write_raw(tool, chip):
    with Board(chip) as board:
        tool.run(
            board.port, "write-flash", "--no-compress", *board.parts(extra_bytes=70000), text="Hash of data verified"
        )
        board.control.wait("chip=running")


@check()
def fuses(tool, chip):
    with Board(chip) as board:
        tool.run(board.port, "--chip", chip, "summary", program="espefuse", text="24:6f:28:aa:bb:cc")
        if chip != "esp32":
            tool.run(board.port, "get-security-info", text="(?i)secure boot")


@check()
def only_changes(tool, chip):
    if tool.version.startswith(("4.", "5.0")):
        return
    with Board(chip, content=whole(chip, extra_bytes=100000)) as board:
        old = board.write("old.bin", images.app(chip, extra_bytes=100000))
        tool.run(board.port, "write-flash", "--skip-flashed", "0x10000", old, text="(?i)skip")
        blocks = board.loader()["blocks"]
        assert blocks == 0, blocks
        new = board.write("new.bin", images.app(chip, version="3.0.0", extra_bytes=100000))
        tool.run(board.port, "write-flash", "0x10000", new, "--diff-with", old)
        assert board.loader()["erasedSectors"] <= 3, board.loader()
        board.control.wait("chip=running")
        assert board.loader()["application"].startswith("notibot 3.0.0")


@check(is_short=True)
def reset_over_rfc2217(tool, chip):
    with Board(chip, transport="rfc2217", content=whole(chip)) as board:
        before = board.control.stats()["bootCount"]
        tool.run(board.port, "--no-stub", "read-mac", text="24:6f:28:aa:bb:cc")
        board.control.wait("chip=running")
        stats = board.control.stats()
        assert stats["lineResets"] == 2 and stats["bootCount"] > before, stats


@check()
def write_over_rfc2217(tool, chip):
    with Board(chip, transport="rfc2217") as board:
        tool.run(board.port, "-b", "921600", "write-flash", *board.parts(), text="Hash of data verified")
        board.control.wait("chip=running")
        tool.run(board.port, "--after", "no-reset-stub", "flash-id")
        tool.run(board.port, "--before", "no-reset", "flash-id", text="(?i)already running")


# Faults.


@check(is_short=True)
def wrong_md5(tool, chip):
    with Board(chip, "--flash-faults", "md5") as board:
        tool.run(board.port, "write-flash", *board.parts(), status=2, text="(?i)md5 of file does not match")


@check(is_short=True)
def unplug_at_any_block(tool, chip):
    content = images.app(chip, extra_bytes=200000)
    for number in (1, 4, 8):
        with Board(chip, content=whole(chip)) as board:
            # esptool connects again; the plug is then pulled at each block.
            board.faults(f"unplug@{number}+")
            app = board.write("app.bin", content)
            tool.run(board.port, "write-flash", "0x10000", app, status=None)
            # The first block of the image holds its header: nothing is left of the old application.
            if number == 1:
                board.control.wait("chip=running")
            else:
                board.control.wait("chip=restarting")
                assert board.loader().get("application") is None


@check()
def unplug_once(tool, chip):
    """It connects again and repeats the whole write."""
    with Board(chip) as board:
        words = board.parts(extra_bytes=100000)
        board.faults("unplug@4")
        tool.run(board.port, "write-flash", *words)
        board.control.wait("chip=running")


@check()
def checksum_error(tool, chip):
    with Board(chip, "--flash-faults", "checksum@2") as board:
        tool.run(board.port, "write-flash", *board.parts(), text="Hash of data verified")
        board.faults("checksum@1+")
        tool.run(board.port, "write-flash", *board.parts(), status=2)


@check()
def unanswered_block(tool, chip):
    with Board(chip, "--flash-faults", "silent@1+") as board:
        tool.run(board.port, "write-flash", *board.parts(), status=2, text="(?i)timed? ?out|no serial data|Failed")


@check()
def no_sync(tool, chip):
    for transport in ("pty", "rfc2217"):
        with Board(chip, "--flash-faults", "no-sync", transport=transport) as board:
            tool.run(
                board.port, "--connect-attempts", "2", "flash-id", status=2, text="Failed to connect|no sync reply"
            )


@check()
def wrong_boot_mode(tool, chip):
    with Board(chip, "--flash-faults", "boot-mode", transport="rfc2217", content=whole(chip)) as board:
        tool.run(board.port, "--connect-attempts", "2", "flash-id", status=2, text="Wrong boot mode detected")


@check()
def write_protection(tool, chip):
    with Board(chip, "--flash-faults", "write-protect", content=whole(chip, version="1.1.1")) as board:
        tool.run(
            board.port,
            "write-flash",
            *board.parts(version="2.2.2"),
            status=2,
            text="(?i)md5 of file does not match|protect",
        )
        board.control.wait("chip=running")
        assert board.loader()["application"].startswith("notibot 1.1.1")


@check()
def flash_too_small(tool, chip):
    with Board(chip, "--flash-size", "1MB") as board:
        app = board.write("app.bin", images.app(chip, extra_bytes=1 << 20))
        tool.run(board.port, "write-flash", "0x10000", app, status=2, text="(?i)will not fit|doesn't fit|does not fit")


@check()
def wrong_chip(tool, chip):
    other = CHIPS[CHIPS.index(chip) - 1]
    with Board(chip) as board:
        tool.run(board.port, "--chip", other, "flash-id", status=2, text="(?i)this chip is|wrong.*chip")


@check()
def power_loss(tool, chip):
    with Board(chip, content=whole(chip, extra_bytes=20000)) as board:
        board.faults("power-loss@2")
        app = board.write("app.bin", images.app(chip, version="5.0.0", extra_bytes=20000))
        tool.run(board.port, "write-flash", "0x10000", app, status=2)
        board.control.wait("chip=restarting")
        assert board.loader().get("application") is None
        tool.run(board.port, "write-flash", "0x10000", app)
        board.control.wait("chip=running")


@check()
def port_held_by_a_monitor(tool, chip):
    with Board(chip, content=whole(chip)) as board:
        monitor = subprocess.Popen(
            [NOTIBOT, "monitor", "--port", board.port], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            monitor.stdout.readline()
            tool.run(board.port, "flash-id", status=2, text="(?i)busy|lock")
        finally:
            monitor.send_signal(signal.SIGTERM)
            monitor.communicate()
        tool.run(board.port, "flash-id")


def main():
    global NOTIBOT
    parser = checks.parser(__doc__)
    parser.add_argument("--environments", required=True, help="folder with one environment for each version")
    parser.add_argument("--short", action="store_true", help="the first version only, and a few checks")
    arguments = parser.parse_args()
    NOTIBOT = os.path.abspath(arguments.notibot)
    pins = (pathlib.Path(__file__).parent / "requirements.txt").read_text()
    versions = re.findall(r"^esptool==(\S+)", pins, re.MULTILINE)
    results = []
    for version in versions[:1] if arguments.short else versions:
        tool = Tool(version, os.path.join(arguments.environments, version))
        for function in CHECKS:
            if arguments.short and not function.is_short:
                continue
            for chip in CHIPS if not arguments.short or function is write_and_boot else CHIPS[-1:]:
                name = f"{function.__name__}/{chip}/{version}"
                if arguments.filter in name:
                    results.append(checks.perform(function, tool, chip, name=name))
    return checks.finish(results)


if __name__ == "__main__":
    sys.exit(main())
