"""Stories of the kernel's drivers and of a port, without the protocol: tools/usb/device.py plays
the device."""

import errno
import fcntl
import os
import select
import struct
import termios
import threading

from tools.usb.device import PERSONALITIES, Device, wait_for
from tools.usb.world import equal, error_of, expect, lines_of, set_lines, terminal

TIOCSBRK, TIOCCBRK = 0x5427, 0x5428
BOTHER = 0o010000
TCGETS2, TCSETS2 = 0x802C542A, 0x402C542B
# How a driver writes a rate, and 8N1 after 7E2, in control requests.
RATES = {
    "jtag": (0x21, 0x20, None, struct.pack("<IBBB", 921600, 2, 2, 7)),
    "cp2102": (0x41, 0x1E, None, struct.pack("<I", 921600)),
    "ftdi": (0x40, 0x03, 0x8003, None),
}
LINES = {"jtag": (0x21, 0x22), "cp2102": (0x41, 0x07), "ftdi": (0x40, 0x01)}


def set_rate(descriptor, rate, flags):
    """Sets any rate, as struct termios2."""
    settings = bytearray(fcntl.ioctl(descriptor, TCGETS2, bytes(44)))
    flags |= BOTHER | BOTHER << 16 | termios.CREAD | termios.CLOCAL
    struct.pack_into("I", settings, 8, flags)
    struct.pack_into("II", settings, 36, rate, rate)
    fcntl.ioctl(descriptor, TCSETS2, bytes(settings))


def each_driver(story):
    """Runs a story for each personality."""

    def run(program):
        for kind in PERSONALITIES:
            try:
                story(program, kind)
            except Exception as error:
                error.args = (f"{kind}: {error}",)
                raise

    run.__name__, run.__doc__ = story.__name__, story.__doc__
    return run


@each_driver
def enumeration(program, kind):
    """A board is bound to its driver, and has its node, its names and its entry in devices"""
    with Device(kind) as device:
        path, description = device.path(), device.personality
        entry = program.port(path)
        name = f"usb-{'_'.join(description.names)}_{device.serial}-if00".replace(" ", "_").replace("/", "_")
        name += "" if kind == "jtag" else "-port0"
        equal(entry["byID"], f"/dev/serial/by-id/{name}", "by-id")
        equal(os.path.realpath(entry["byID"]), path, "by-id leads to")
        equal(os.path.realpath(entry["byPath"]), path, "by-path leads to")
        equal(entry["driver"], description.driver, "driver")
        equal(entry["usbID"], f"{description.vendor:04x}:{description.product:04x}", "USB id")
        equal((entry["manufacturer"], entry["product"]), description.names, "texts")
        equal(entry["serial"], device.serial, "serial number")
        expect(entry["isKnownBoard"], "it is not a known board")
        equal(path, f"/dev/{description.tty}0", "path")


@each_driver
def bytes_both_ways(_, kind):
    """64 KiB are received as they were sent, in both directions"""
    data = bytes(range(256)) * 256
    with Device(kind) as device, terminal(device.path()) as descriptor:
        writer = threading.Thread(target=write_all, args=(descriptor, data))
        writer.start()
        echo = b""
        while len(echo) < len(data):
            echo += os.read(descriptor, 65536)
        writer.join()
        equal(bytes(device.received), data, "received by the device")
        equal(echo, data, "echo")


def write_all(descriptor, data):
    while data:
        data = data[os.write(descriptor, data) :]


@each_driver
def modem_lines(_, kind):
    """DTR and RTS reach the device in one request, and its own lines reach the host"""
    with Device(kind) as device, terminal(device.path()) as descriptor:
        request = LINES[kind]
        # Both bits have a mask on a bridge.
        mask = 0 if kind == "jtag" else 0x300
        device.wait_for_request(*request, 3 | mask)
        for names, value in ((("DTR",), 1), ((), 0), (("RTS",), 2), (("DTR", "RTS"), 3)):
            before = device.lines
            device.forget()
            set_lines(descriptor, *names)
            changed = (before ^ value) << 8 & mask
            sent = [found.value for found in device.requests if (found.kind, found.number) == request]
            equal(len(sent), 1, f"requests for {names}")
            expect(sent[0] & 3 == value or sent[0] >> 8 & 3 == changed >> 8, f"{names}: {sent[0]:04x}")
            equal(device.lines, value, f"lines for {names}")
            equal(lines_of(descriptor) & {"DTR", "RTS"}, set(names), "lines read back")
        if kind == "jtag":
            device.report_state(3)
            wait_for(lambda: {"CAR", "DSR"} <= lines_of(descriptor), "CAR and DSR are set")
        else:
            device.modem = 0xA0
            wait_for(lambda: lines_of(descriptor) >= {"CAR", "DSR"}, "CAR and DSR are set")
            expect("CTS" not in lines_of(descriptor), "CTS is set")


@each_driver
def line_coding(_, kind):
    """Rate, parity, data and stop bits reach the device, each at once"""
    with Device(kind) as device, terminal(device.path()) as descriptor:
        device.forget()
        set_rate(descriptor, 921600, termios.CS7 | termios.PARENB | termios.CSTOPB)
        device.wait_for_request(*RATES[kind])
        if kind == "cp2102":
            device.wait_for_request(0x41, 0x03, 0x0722)
        if kind == "ftdi":
            device.wait_for_request(0x40, 0x04, 0x1207)
        device.forget()
        # A rate that no table has.
        set_rate(descriptor, 74880, termios.CS8)
        if kind == "jtag":
            device.wait_for_request(0x21, 0x20, data=struct.pack("<IBBB", 74880, 0, 0, 8))
        if kind == "cp2102":
            # The driver takes the nearest rate of Silicon Labs' application note 205.
            device.wait_for_request(0x41, 0x1E, data=struct.pack("<I", 76800))
            device.wait_for_request(0x41, 0x03, 0x0800)
        if kind == "ftdi":
            device.wait_for_request(0x40, 0x04, 0x0008)


@each_driver
def breaks(_, kind):
    """A break reaches a bridge; cdc_acm refuses it for a device that does not announce it"""
    with Device(kind) as device, terminal(device.path()) as descriptor:
        device.forget()
        if kind == "jtag":
            equal(error_of(fcntl.ioctl, descriptor, TIOCSBRK), errno.EOPNOTSUPP, "TIOCSBRK")
            termios.tcsendbreak(descriptor, 0)
            equal([found for found in device.requests if found.number == 0x23], [], "SEND_BREAK")
            return
        fcntl.ioctl(descriptor, TIOCSBRK)
        request, on, off = ((0x41, 0x05), 1, 0) if kind == "cp2102" else ((0x40, 0x04), 0x4008, 0x0008)
        device.wait_for_request(*request, on)
        device.forget()
        fcntl.ioctl(descriptor, TIOCCBRK)
        device.wait_for_request(*request, off)


@each_driver
def dead_port(_, kind):
    """On a port that was unplugged a read ends, and everything else fails with EIO"""
    device = Device(kind)
    device.echoes = False
    with device, terminal(device.path()) as descriptor:
        ended = []
        reader = threading.Thread(target=lambda: ended.append(os.read(descriptor, 100)))
        reader.start()
        device.unplug()
        reader.join(60)
        equal(ended, [b""], "the waiting read")
        poll = select.poll()
        poll.register(descriptor, select.POLLIN | select.POLLOUT)
        events = poll.poll(0)[0][1]
        expect(events & select.POLLHUP and events & select.POLLERR, f"poll: {events:#x}")
        equal(os.read(descriptor, 100), b"", "a read")
        for name, call in {
            "write": lambda: os.write(descriptor, b"x"),
            "tcgetattr": lambda: termios.tcgetattr(descriptor),
            "TIOCMGET": lambda: lines_of(descriptor),
            "TIOCMSET": lambda: set_lines(descriptor, "DTR"),
            "tcdrain": lambda: termios.tcdrain(descriptor),
        }.items():
            equal(error_of(call), errno.EIO, name)


@each_driver
def renumbering(program, kind):
    """A board that returns while its old descriptor is open has another number; by-id follows"""
    device = Device(kind)
    with device:
        first = device.path()
        by_id = program.port(first)["byID"]
        with terminal(first):
            device.unplug()
            second = device.plug()
            expect(second != first, f"it returned as {second}")
            equal(os.path.realpath(by_id), second, "by-id leads to")
            equal(program.port(second)["byID"], by_id, "by-id of the new entry")
        device.unplug()
        equal(device.plug(), first, "after the old descriptor was closed")


STORIES = (enumeration, bytes_both_ways, modem_lines, line_coding, breaks, dead_port, renumbering)
