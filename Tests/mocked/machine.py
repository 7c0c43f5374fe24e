#!/usr/bin/env python3
"""Runs a program on a computer with USB serial ports mocked by umockdev.

    umockdev-wrapper python3 machine.py '["cp2102-a", "ch340"]' PROGRAM [ARGUMENT...]

The boards are names of CATALOGUE, or objects with its keys. Lines on standard input change the
mocked computer while the program runs: `plug NAME`, `unplug NAME`, `uevent ACTION NAME`, `signal
NUMBER`. Each is answered by a line on standard error, "done: LINE". A board with `orphan` has no
port, the node of one with `closed` cannot be opened. Ends with the program's exit status."""

import json
import os
import shutil
import subprocess
import sys
import threading

import gi

gi.require_version("UMockdev", "1.0")
import tied  # noqa: E402
from gi.repository import UMockdev  # noqa: E402
from tree import Port  # noqa: E402

CATALOGUE = {
    "cp2102-a": {
        "tty": "ttyUSB0",
        "at": "1-1",
        "id": "10c4:ea60",
        "serial": "0001",
        "driver": "cp210x",
        "product": "CP2102 USB to UART Bridge Controller",
    },
    "cp2102-b": {
        "tty": "ttyUSB1",
        "at": "1-2",
        "id": "10c4:ea60",
        "serial": "0001",
        "driver": "cp210x",
        "product": "CP2102 USB to UART Bridge Controller",
    },
    "ch340": {"tty": "ttyUSB2", "at": "1-3", "id": "1a86:7523", "driver": "ch341-uart", "product": "USB Serial"},
    "ftdi": {
        "tty": "ttyUSB3",
        "at": "1-4",
        "id": "0403:6001",
        "serial": "A50285BI",
        "driver": "ftdi_sio",
        "product": "FT232R USB UART",
        "latency": 16,
    },
    "jtag": {
        "tty": "ttyACM0",
        "at": "1-5",
        "id": "303a:1001",
        "serial": "7C:DF:A1:00:00:01",
        "driver": "cdc_acm",
        "product": "USB JTAG/serial debug unit",
    },
    "s3": {
        "tty": "ttyACM1",
        "at": "1-6",
        "id": "303a:4001",
        "serial": "123456",
        "driver": "cdc_acm",
        "product": "TinyUSB Device",
    },
    "s3-rom": {
        "tty": "ttyACM2",
        "at": "1-7",
        "id": "303a:0009",
        "serial": "0",
        "driver": "cdc_acm",
        "product": "ESP32-S3",
    },
    "stranger": {
        "tty": "ttyACM3",
        "at": "1-8",
        "id": "dead:beef",
        "serial": "X\x1b[2J",
        "driver": "cdc_acm",
        "product": "Modem",
    },
    "cp2105-0": {
        "tty": "ttyUSB4",
        "at": "1-9",
        "id": "10c4:ea70",
        "serial": "00A1",
        "driver": "cp210x",
        "interface": 0,
        "product": "CP2105 Dual USB to UART Bridge Controller",
    },
    "cp2105-1": {
        "tty": "ttyUSB5",
        "at": "1-9",
        "id": "10c4:ea70",
        "serial": "00A1",
        "driver": "cp210x",
        "interface": 1,
        "product": "CP2105 Dual USB to UART Bridge Controller",
    },
}


class Board:
    """A port, and its defects."""

    def __init__(self, spec):
        self.is_orphan, self.is_closed = spec.get("orphan", False), spec.get("closed", False)
        self.port = Port(**{key: value for key, value in spec.items() if key not in ("orphan", "closed")})
        digits = int("".join(c for c in self.port.name if c.isdigit()))
        self.number = (166 if self.port.name.startswith("ttyACM") else 188, digits)


class Machine:
    def __init__(self):
        self.testbed = UMockdev.Testbed.new()
        self.root = self.testbed.get_root_dir()
        for folder in ("sys/class/tty", "sys/bus/usb/devices", "dev"):
            os.makedirs(f"{self.root}/{folder}", exist_ok=True)
        self.devices = {}
        self.is_running = False

    def plug(self, board):
        port = board.port
        if not self.devices.get(port.device):
            self.testbed.add_from_string(port.device_block())
        self.devices.setdefault(port.device, set()).add(port.tty)
        if board.is_orphan:
            return
        # umockdev puts a terminal there, by a link that leads out of the mocked /dev, and its
        # realpath() then corrupts memory (realpath.c). These ports are listed and never opened: a
        # file does. While the program runs it could be faster than the replacement, so there the
        # port gets no node of umockdev, and no link by its path.
        tty = port.tty_block(*board.number)
        if self.is_running:
            tty = tty.replace(f"N: {port.name}\n", "")
        self.testbed.add_from_string(port.interface_block() + port.holder_block() + tty)
        node = f"{self.root}/dev/{port.name}"
        if os.path.lexists(node):
            os.unlink(node)
        with open(node, "w"):
            os.chmod(node, 0 if board.is_closed else 0o660)

    def unplug(self, port):
        left = self.devices[port.device]
        left.discard(port.tty)
        # Like the kernel: the link of the class is removed before the event.
        os.unlink(f"{self.root}/sys/class/tty/{port.name}")
        self.testbed.uevent(f"/sys{port.tty}", "remove")
        self.testbed.remove_device(f"/sys{port.tty}")
        for path in [port.holder, port.interface] if port.holder != port.interface else [port.interface]:
            self.testbed.remove_device(f"/sys{path}")
        if not left:
            self.testbed.remove_device(f"/sys{port.device}")
        node = f"{self.root}/dev/{port.name}"
        if os.path.lexists(node):
            os.unlink(node)


def main():
    boards = {}
    for entry in json.loads(sys.argv[1]):
        name = entry if isinstance(entry, str) else entry["tty"]
        boards[name] = Board(CATALOGUE[entry] if isinstance(entry, str) else entry)
    machine = Machine()
    for board in boards.values():
        machine.plug(board)
    machine.is_running = True
    program = tied.start(sys.argv[2:], stdin=subprocess.DEVNULL)

    def read_commands():
        for line in sys.stdin:
            word, *rest = line.split()
            board = boards.get(rest[-1]) or (Board(CATALOGUE[rest[-1]]) if rest[-1] in CATALOGUE else None)
            if word == "plug":
                boards[rest[-1]] = board
                machine.plug(board)
            elif word == "unplug":
                machine.unplug(board.port)
            elif word == "uevent":
                machine.testbed.uevent(f"/sys{board.port.tty}", rest[0])
            elif word == "signal":
                program.send_signal(int(rest[0]))
            # In one write: the program shares standard error.
            os.write(2, f"done: {line.strip()}\n".encode())

    threading.Thread(target=read_commands, daemon=True).start()
    status = program.wait()
    sys.stderr.flush()
    # The command thread blocks on input, so a normal exit is not possible.
    shutil.rmtree(machine.root, ignore_errors=True)
    os._exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
