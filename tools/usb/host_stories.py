"""Stories of the program at real drivers of the kernel, with emulated boards."""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import tempfile

from tools.checks import Failure, equal, expect, wait_for
from tools.usb.world import LIMIT_S, Board, lines_of, queued, terminal, wait_forever_at_close, wait_until_open

# The driver of each board, its kind of port, its USB id and its texts.
BOARDS = {
    "jtag": ("cdc_acm", "ttyACM", "303a:1001", ("Espressif", "USB JTAG/serial debug unit")),
    "cp2102": ("cp210x", "ttyUSB", "10c4:ea60", ("Silicon Labs", "CP2102 USB to UART Bridge Controller")),
    "ftdi": ("ftdi_sio", "ttyUSB", "0403:6001", ("FTDI", "FT232R USB UART")),
}
RULES = pathlib.Path("/etc/udev/rules.d/59-notibot.rules")
GADGET = pathlib.Path("/sys/kernel/config/usb_gadget/stuck")


def each_driver(story):
    """Runs a story for each board."""

    def run(program):
        for kind in BOARDS:
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
    driver, tty, usb_id, texts = BOARDS[kind]
    with Board(program, kind) as board:
        path = board.path()
        entry = program.port(path)
        name = f"usb-{'_'.join(texts)}_{board.serial}-if00".replace(" ", "_").replace("/", "_")
        name += "" if kind == "jtag" else "-port0"
        equal(entry["byID"], f"/dev/serial/by-id/{name}", "by-id")
        equal(os.path.realpath(entry["byID"]), path, "by-id leads to")
        equal(os.path.realpath(entry["byPath"]), path, "by-path leads to")
        found = (entry["driver"], entry["usbID"], (entry["manufacturer"], entry["product"]), entry["serial"])
        equal(found, (driver, usb_id, texts, board.serial), "driver, USB id, texts and serial number")
        expect(entry["isKnownBoard"], "it is not a known board")
        equal(path, f"/dev/{tty}0", "path")


@each_driver
def renumbering(program, kind):
    """A board that returns while its old descriptor is open has another number; by-id follows"""
    with Board(program, kind) as board:
        first = board.path()
        by_id = program.port(first)["byID"]
        with terminal(first):
            board.unplug()
            second = board.plug()
            expect(second != first, f"it returned as {second}")
            equal(os.path.realpath(by_id), second, "by-id leads to")
            equal(program.port(second)["byID"], by_id, "by-id of the new entry")
        board.unplug()
        equal(board.plug(), first, "after the old descriptor was closed")


def one_serial_number(program):
    """Two boards with one serial number: both are listed, and a name that means both is refused"""
    with Board(program, "cp2102", "0001") as first:
        first_path = first.path()
        with Board(program, "cp2102", "0001") as second:
            second_path = second.path()
            entries = [program.port(path) for path in (first_path, second_path)]
            equal([entry["serial"] for entry in entries], ["0001"] * 2, "serial numbers")
            places = [os.path.realpath(entry["byPath"]) for entry in entries]
            equal(places, [first_path, second_path], "by-path")
            links = [entry["byID"] for entry in entries if "byID" in entry]
            equal(len(links), 1, "entries with the one by-id link")
            for name in ("usb:10c4:ea60:0001", "auto"):
                text = program.run("count", "-p", name, status=10)
                expect(first_path in text and second_path in text, f"{name}: {text}")
        wait_for(lambda: os.path.realpath(links[0]) == first_path, "by-id leads to the board that is left")


@each_driver
def two_processes(program, kind):
    """The second process at a port is refused with the first one's id, and changes nothing there"""
    with Board(program, kind) as board:
        path = board.path()
        with program.started("monitor", "-p", path) as first:
            wait_until_open(path, first)
            wait_for(lambda: os.path.exists(f"/var/lock/LCK..{os.path.basename(path)}"), "the lock file")
            text = program.run("count", "-p", path, status=11)
            expect(str(first.pid) in text and "monitor" in text, text)
            expect(str(first.pid) in program.run("devices"), "devices does not name the process")
            board.must_run_on()
            first.send_signal(signal.SIGTERM)
            first.wait(60)
        equal(program.run("count", "-p", path).strip(), "0", "count")


@each_driver
def attach_without_reset(program, kind):
    """Opening and closing a port never asserts only one of DTR and RTS, which resets a board"""
    with Board(program, kind) as board:
        for _ in range(2):
            equal(program.run("count", "-p", board.path()).strip(), "0", "count")
        board.must_run_on()
        with terminal(board.path()) as descriptor:
            equal(lines_of(descriptor), {"DTR", "RTS"}, "lines at the next open")
        board.must_run_on()


@contextlib.contextmanager
def stuck_port():
    """The port of a gadget of this kernel that takes no bytes: nobody has opened its other end."""
    for module in ("dummy_hcd", "libcomposite", "usb_f_acm"):
        subprocess.run(["modprobe", module], check=True)
    if not GADGET.parent.exists():
        subprocess.run(["mount", "-t", "configfs", "configfs", "/sys/kernel/config"], check=True)
    before = set(pathlib.Path("/dev").glob("ttyACM*"))
    for folder in ("functions/acm.0", "configs/c.1"):
        (GADGET / folder).mkdir(parents=True)
    (GADGET / "configs/c.1/acm.0").symlink_to(GADGET / "functions/acm.0")
    (GADGET / "idVendor").write_text("0x1d6b")
    (GADGET / "UDC").write_text("dummy_udc.0")
    try:
        yield str(wait_for(lambda: set(pathlib.Path("/dev").glob("ttyACM*")) - before, "the port").pop())
    finally:
        (GADGET / "UDC").write_text("\n")


def closing_a_stuck_board(program):
    """A board that takes no bytes does not delay the end of a command by the kernel's 30 s"""
    with stuck_port() as path:
        wait_forever_at_close(path)
        program.run("count", "-p", path, status=13)
        # Nor after a signal, when its bytes wait.
        with program.started("count", "-p", path, "--timeout", "100") as command:
            wait_for(lambda: queued(path), "bytes for the board")
            command.send_signal(signal.SIGTERM)
            try:
                command.wait(60)
            except subprocess.TimeoutExpired:
                raise Failure("count did not end within 60 s of SIGTERM") from None


@each_driver
def usb_reset(program, kind):
    """reset --usb finds the device of a port, resets it, and waits for the port"""
    with Board(program, kind) as board:
        by_id = program.port(board.path())["byID"]
        before = resets()
        # 18: the emulated chip runs on, which is reported.
        program.run("reset", "--usb", "-p", by_id, status=(0, 18))
        expect(resets() > before, "the kernel has reset no device")
        equal(program.run("count", "-p", by_id).strip(), "0", "count")


def resets():
    """How many devices the kernel has reset."""
    log = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    return log.count(": reset full-speed USB device number ")


@each_driver
def unplugged_while_open(program, kind):
    """A command whose board is unplugged ends with 14"""
    with Board(program, kind) as board:
        path = board.path()
        with program.started("monitor", "-p", path, "--no-reconnect") as command:
            wait_until_open(path, command)
            board.unplug()
            command.wait(60)
            equal(command.returncode, 14, f"monitor ended: {command.stdout.read().decode()}")


def doctor(program):
    """The doctor warns of an FTDI chip's latency timer and of missing rules, until installed"""
    RULES.unlink(missing_ok=True)
    for severity in ("warning", "good"):
        with Board(program, "ftdi") as board:
            board.path()
            found = {entry["check"]: entry["severity"] for entry in program.json("doctor", status=(0, 18))["findings"]}
            equal(found.get("latency", "good"), severity, "latency")
            equal((found["udev"], found["selection"]), (severity, "good"), "rules and auto")
        install_rules(program)


def install_rules(program):
    RULES.write_text(program.run("udev-rules"))
    subprocess.run(["udevadm", "control", "--reload"], check=True)


@each_driver
def udev_rules(program, kind):
    """The printed rules make udev set the location's link, the tag, the mark and the latency"""
    install_rules(program)
    with Board(program, kind) as board:
        path = board.path()
        known = subprocess.run(["udevadm", "info", path], capture_output=True, text=True, check=True).stdout
        for words in ("ID_MM_DEVICE_IGNORE=1", "NOTIBOT_BOARD=1", ":uaccess:", "/dev/notibot/platform-vhci_hcd_0"):
            expect(words in known, f"udev does not know {words}: {known}")
        links = [link for link in pathlib.Path("/dev/notibot").iterdir() if os.path.realpath(link) == path]
        equal(len(links), 1, "links of the location")
        if kind == "ftdi":
            timer = pathlib.Path(f"/sys/bus/usb-serial/devices/{os.path.basename(path)}/latency_timer")
            equal(timer.read_text().strip(), "1", "latency timer")


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
        with Board(program, kind, "0002", "--chip", "esp32c3", "--flash-file", str(flash)) as board:
            port = board.path()
            for words in (("-b", "921600", "write-flash", "0x10000"), ("verify-flash", "0x10000")):
                done = subprocess.run(
                    [found[-1], "-p", port, *words, str(content)], capture_output=True, text=True, timeout=LIMIT_S
                )
                expect(done.returncode == 0, f"esptool {words} ended with {done.returncode}: {done.stdout[-1500:]}")
                expect("Hard resetting" in done.stdout, done.stdout[-500:])
            # Into the loader and out of it, twice.
            equal(board.control.stats()["lineResets"], 4, "resets by the modem lines")
        equal(flash.read_bytes()[0x10000 : 0x10000 + 100_000] == content.read_bytes(), True, "the flash has the bytes")


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
        for number, name in enumerate((board[2] for board in BOARDS.values()), 1):
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
    with Board(program, "cp2102") as board:
        port = board.path()
        # The virtual hub says that it can, and changes a bit of its status only.
        text = program.run("reset", "--power", "-p", port, status=18)
        expect("uhubctl reported success, and the board never lost its supply" in text, text)
        equal(program.run("count", "-p", port).strip(), "0", "count")


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
