"""Stories of the program at real drivers; tools/usb/device.py plays a device without answers."""

import os
import pathlib
import random
import signal
import subprocess
import tempfile

from tools.checks import Failure, equal, expect, wait_for
from tools.emulator import Emulator
from tools.usb.device import PERSONALITIES, Device
from tools.usb.world import LIMIT_S, lines_of, terminal, wait_forever_at_close, wait_until_open

BOARDS = {"jtag": "303a:1001", "cp2102": "10c4:ea60", "ftdi": "0403:6001"}
RULES = pathlib.Path("/etc/udev/rules.d/59-notibot.rules")
# The requests of each driver for modem lines.
LINES = {"jtag": (0x21, 0x22), "cp2102": (0x41, 0x07), "ftdi": (0x40, 0x01)}


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


def one_serial_number(program):
    """Two boards with one serial number: both are listed, and a name that means both is refused"""
    with Device("cp2102", serial="0001") as first, Device("cp2102", serial="0001", port=1) as second:
        entries = [program.port(device.path()) for device in (first, second)]
        equal([entry["serial"] for entry in entries], ["0001"] * 2, "serial numbers")
        places = [os.path.realpath(entry["byPath"]) for entry in entries]
        equal(places, [first.path(), second.path()], "by-path")
        equal(sum("byID" in entry for entry in entries), 1, "entries with the one by-id link")
        for name in ("usb:10c4:ea60:0001", "auto"):
            text = program.run("count", "-p", name, status=10)
            expect(first.path() in text and second.path() in text, f"{name}: {text}")
        device = second if "byID" in entries[0] else first
        remaining = first if device is second else second
        link = next(entry["byID"] for entry in entries if "byID" in entry)
        remaining.unplug()
        wait_for(lambda: os.path.realpath(link) == device.path(), "by-id leads to the board that is left")


@each_driver
def two_processes(program, kind):
    """The second process at a port is refused with the first one's id, and changes nothing there"""
    with Device(kind) as device:
        path = device.path()
        with program.started("monitor", "-p", path) as first:
            wait_until_open(path, first)
            wait_for(lambda: os.path.exists(f"/var/lock/LCK..{os.path.basename(path)}"), "the lock file")
            device.forget()
            text = program.run("count", "-p", path, status=11)
            expect(str(first.pid) in text and "monitor" in text, text)
            expect(str(first.pid) in program.run("devices"), "devices does not name the process")
            lines = [found for found in device.requests if (found.kind, found.number) == LINES[kind]]
            equal(lines, [], "requests for lines")
            first.send_signal(signal.SIGTERM)
            first.wait(60)
        program.run("count", "-p", path, status=13)


@each_driver
def attach_without_reset(program, kind):
    """Opening and closing a port never asserts only one of DTR and RTS, which resets a board"""
    with Device(kind) as device:
        device.forget()
        for _ in range(2):
            program.run("count", "-p", device.path(), status=13)
        values = [found.value & 3 for found in device.requests if (found.kind, found.number) == LINES[kind]]
        equal(set(values) - {0, 3}, set(), "lines of one request")
        # HUPCL is off: the close changes no line.
        equal(device.lines, 3, "lines after the close")
        with terminal(device.path()) as descriptor:
            equal(lines_of(descriptor), {"DTR", "RTS"}, "lines at the next open")


@each_driver
def closing_a_stuck_board(program, kind):
    """A board that takes no bytes does not delay the end of a command by the kernel's 30 s"""
    with Device(kind) as device:
        wait_forever_at_close(device.path())
        device.take(False)
        program.run("count", "-p", device.path(), status=13)
        # Nor after a signal, when its bytes wait.
        with program.started("count", "-p", device.path(), "--timeout", "100") as command:
            wait_for(lambda: device.pending[device.personality.bulk_out], "bytes for the device")
            command.send_signal(signal.SIGTERM)
            try:
                command.wait(60)
            except subprocess.TimeoutExpired:
                raise Failure("count did not end within 60 s of SIGTERM") from None


@each_driver
def usb_reset(program, kind):
    """reset --usb finds the device of a port, resets it, and waits for the port"""
    with Device(kind) as device:
        by_id = program.port(device.path())["byID"]
        device.forget()
        report = program.json("reset", "--usb", "-p", by_id)
        equal((report["way"], report["portAfter"]), ("usb", by_id), "report")
        device.wait_for_request(0x00, 0x09, 1)
        wait_for(lambda: os.path.exists(by_id), "by-id")


@each_driver
def unplugged_while_open(program, kind):
    """A command whose board is unplugged ends with 14"""
    device = Device(kind)
    with device:
        with program.started("watch", "-p", device.path(), "--timeout", "100") as command:
            wait_until_open(device.path(), command)
            wait_for(lambda: device.received, "bytes of the command")
            device.unplug()
            command.wait(60)
            equal(command.returncode, 14, f"watch ended: {command.stdout.read().decode()}")


def doctor(program):
    """The doctor warns of an FTDI chip's latency timer and of missing rules, until installed"""
    RULES.unlink(missing_ok=True)
    with Device("ftdi"):
        found = {entry["check"]: entry for entry in program.json("doctor", status=(0, 18))["findings"]}
        equal(found["latency"]["severity"], "warning", "latency")
        equal(found["udev"]["severity"], "warning", "rules")
        equal(found["selection"]["severity"], "good", "auto")
    install_rules(program)
    with Device("ftdi"):
        found = {entry["check"]: entry for entry in program.json("doctor", status=(0, 18))["findings"]}
        expect(found.get("latency", {"severity": "good"})["severity"] == "good", str(found["latency"]))
        equal(found["udev"]["severity"], "good", "rules")


def install_rules(program):
    RULES.write_text(program.run("udev-rules"))
    subprocess.run(["udevadm", "control", "--reload"], check=True)


@each_driver
def udev_rules(program, kind):
    """The printed rules make udev set the location's link, the tag, the mark and the latency"""
    install_rules(program)
    with Device(kind) as device:
        path = device.path()
        known = subprocess.run(["udevadm", "info", path], capture_output=True, text=True, check=True).stdout
        for words in ("ID_MM_DEVICE_IGNORE=1", "NOTIBOT_BOARD=1", ":uaccess:", "/dev/notibot/platform-vhci_hcd_0"):
            expect(words in known, f"udev does not know {words}: {known}")
        links = [link for link in pathlib.Path("/dev/notibot").iterdir() if os.path.realpath(link) == path]
        equal(len(links), 1, "links of the location")
        if kind == "ftdi":
            timer = pathlib.Path(f"/sys/bus/usb-serial/devices/{os.path.basename(path)}/latency_timer")
            equal(timer.read_text().strip(), "1", "latency timer")
            device.wait_for_request(0x40, 0x09, 1)


def flashing(program):
    """esptool enters the loader by the modem lines, writes, verifies, and resets, at 921600 baud"""
    # Without an image the USB inside a chip leaves with each of its restarts, as on the real one.
    for kind in ("cp2102", "ftdi"):
        flash_through(program, kind)


def flash_through(program, kind):
    found = sorted(pathlib.Path(".build/esptool").glob("*/bin/esptool"))
    expect(found, "esptool is missing: run scripts/dev esptool-matrix --install-only")
    with tempfile.TemporaryDirectory() as folder:
        content, flash = pathlib.Path(folder, "content"), pathlib.Path(folder, "flash")
        content.write_bytes(random.Random(kind).randbytes(100_000))
        with Emulator(
            program.path, "--usbip-attach", "--usb", kind, "--chip", "esp32c3", "--flash-file", str(flash)
        ) as emulator:
            port = wait_for(lambda: next(iter(usb_ports(program)), None), "the port")
            for words in (("-b", "921600", "write-flash", "0x10000"), ("verify-flash", "0x10000")):
                done = subprocess.run(
                    [found[-1], "-p", port, *words, str(content)], capture_output=True, text=True, timeout=LIMIT_S
                )
                expect(done.returncode == 0, f"esptool {words} ended with {done.returncode}: {done.stdout[-1500:]}")
                expect("Hard resetting" in done.stdout, done.stdout[-500:])
            # Into the loader and out of it, twice.
            equal(emulator.control.stats()["lineResets"], 4, "resets by the modem lines")
        equal(flash.read_bytes()[0x10000 : 0x10000 + 100_000] == content.read_bytes(), True, "the flash has the bytes")
        wait_for(lambda: not usb_ports(program), "the port is gone")


def usb_ports(program):
    """The paths of the USB ports, with their links."""
    return [port["port"] for port in program.json("devices")["ports"] if "byID" in port]


def stock_usbip(program):
    """usbip, the kernel's own tool, lists, attaches and detaches what `emulate --usbip` exports"""

    def usbip(*words):
        done = subprocess.run(["/usr/sbin/usbip", *words], capture_output=True, text=True, timeout=LIMIT_S)
        expect(done.returncode == 0, f"usbip {words} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    with program.started("emulate", "--usbip", "127.0.0.1:3240", "--usb", ",".join(BOARDS), "--json") as emulator:
        for _ in BOARDS:
            emulator.stdout.readline()
        listed = usbip("list", "-r", "127.0.0.1")
        for number, name in enumerate(BOARDS.values(), 1):
            expect(f"1-{number}: " in listed and f"({name})" in listed, listed)
            usbip("attach", "-r", "127.0.0.1", "-b", f"1-{number}")
        ports = wait_for(lambda: len(usb_ports(program)) == len(BOARDS) and usb_ports(program), "the ports")
        for port in ports:
            equal(program.run("count", "-p", port).strip(), "0", port)
        for number in range(len(BOARDS)):
            usbip("detach", "-p", str(number))
        wait_for(lambda: not usb_ports(program), "the ports are gone")


def power_that_stays_on(program):
    """A hub that only claims to have switched the power is reported, and the board still works"""
    with Emulator(program.path, "--usbip-attach", "--usb", "cp2102"):
        port = wait_for(lambda: next(iter(usb_ports(program)), None), "the port")
        # The virtual hub says that it can, and changes a bit of its status only.
        text = program.run("reset", "--power", "-p", port, status=18)
        expect("uhubctl reported success, and the board never lost its supply" in text, text)
        equal(program.run("count", "-p", port).strip(), "0", "count")
    wait_for(lambda: not usb_ports(program), "the port is gone")


STORIES = (
    enumeration,
    renumbering,
    one_serial_number,
    two_processes,
    attach_without_reset,
    closing_a_stuck_board,
    usb_reset,
    unplugged_while_open,
    doctor,
    udev_rules,
    flashing,
    stock_usbip,
    power_that_stays_on,
)
