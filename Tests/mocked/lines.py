"""Runs a program with a mocked USB serial port whose modem lines are connected to a mocked board.

    umockdev-wrapper /usr/bin/python3 lines.py [options] -- PROGRAM [ARGUMENT...]

PORT among the arguments becomes the port's path. The program's operations on the port are
written to --record, one line of JSON each; the exit code is the program's. The board's reset and
IO0 pins follow the lines as on ESP32 boards; with --emulator it is the emulator behind that port
and control socket, otherwise it only prints the ROM's text.
"""

import argparse
import errno
import json
import os
import struct
import subprocess
import threading
import time

import gi

gi.require_version("UMockdev", "1.0")
import tied  # noqa: E402
from board import DTR, RTS, Board, Line  # noqa: E402
from gi.repository import GLib, UMockdev  # noqa: E402
from tree import ROOT_HUB, Port  # noqa: E402

TIOCMGET, TIOCMSET, TIOCMBIS, TIOCMBIC = 0x5415, 0x5418, 0x5416, 0x5417
TCGETS2, TCSETS2 = 0x802C542A, 0x402C542B
TIOCGSERIAL, TIOCSSERIAL = 0x541E, 0x541F
USBDEVFS_RESET = 0x5514
HUPCL = 0o2000

parser = argparse.ArgumentParser()
parser.add_argument("--record", required=True)
parser.add_argument("--id", default="10c4:ea60")
parser.add_argument("--driver", default="cp210x")
parser.add_argument("--latency", help="the port has a latency timer of this many milliseconds")
parser.add_argument("--latency-read-only", action="store_true")
parser.add_argument(
    "--fail-set", help="NUMBER:ERRNO, the change of the lines with this number fails, and all later ones"
)
parser.add_argument("--slow-first", type=int, help="the first change of the lines takes this many milliseconds")
parser.add_argument("--no-lines", action="store_true", help="TIOCMGET and TIOCMSET: ENOTTY")
parser.add_argument("--deaf", action="store_true", help="the lines are not connected")
parser.add_argument("--io0-low", action="store_true", help="something holds IO0 low")
parser.add_argument("--stuck", action="store_true", help="the board is in its loader until it is reset")
parser.add_argument("--stick-after", type=float, help="after this many seconds it is in its loader until it is reset")
parser.add_argument(
    "--restart-again",
    action="store_true",
    help="after a reset it restarts once more, when it has just opened a session",
)
parser.add_argument("--cause", default="POWERON", help="the ROM's name for the cause of a reset")
parser.add_argument("--silent", action="store_true", help="prints nothing")
parser.add_argument("--vanish", action="store_true", help="the port disappears with a reset, and returns")
parser.add_argument("--vanish-after", type=int, default=0, help="with --vanish: how long after the reset, ms")
parser.add_argument("--vanish-error", action="store_true", help="with --vanish: the reset itself reports EIO")
parser.add_argument("--rename", action="store_true", help="with --vanish: it returns under another name")
parser.add_argument("--stay-away", action="store_true", help="the port disappears with a reset")
parser.add_argument("--usb-reset", default="0", help="what USBDEVFS_RESET returns: 0 or an errno's name")
parser.add_argument("--uhubctl", action="store_true", help="a uhubctl on PATH that removes the port and restores it")
parser.add_argument(
    "--usb-forbidden", action="store_true", help="the USB node cannot be opened, root's permissions are given up"
)
parser.add_argument("--path", help="the program's PATH")
parser.add_argument("--emulator", nargs=2, metavar=("PORT", "CONTROL"))
parser.add_argument("--power-restarts", action="store_true", help="uhubctl restarts the emulator, too")
parser.add_argument("program", nargs="+")
options = parser.parse_args()


def make_port(name):
    return Port(name, "1-1", options.id, options.driver, serial="0001", latency=options.latency)


PORT = make_port(f"ttyUSB{os.getpid()}")
# Of umockdev's terminals only those of major 4 are ones to isatty().
NUMBER = (4, 0)

start = time.monotonic()
records = open(options.record, "w")
guard = threading.Lock()


def record(call, **values):
    with guard:
        records.write(json.dumps({"seconds": round(time.monotonic() - start, 6), "call": call, **values}) + "\n")
        records.flush()


def board_started():
    """The port of a chip with USB inside disappears with a reset."""
    if not options.vanish and not options.stay_away:
        return False
    GLib.timeout_add(options.vanish_after, remove)
    if not options.stay_away:
        GLib.timeout_add(options.vanish_after + 300, add)
    return True


board = Board(options, record, board_started)
testbed = UMockdev.Testbed.new()
settings = struct.pack("=IIIIB19sII", 0, 0, HUPCL | 0o277, 0, 0, b"", 9600, 9600)
serial = bytearray(72)


def answer(client, result, error=0):
    client.complete(-1 if error else result, error)
    return True


def handle_tty(_, client):
    global settings, serial
    request, argument = client.get_request(), client.get_arg()
    if request in (TIOCMGET, TIOCMSET) and options.no_lines:
        return answer(client, 0, errno.ENOTTY)
    if request == TIOCMGET:
        argument.resolve(0, 4).update(0, struct.pack("=i", board.lines))
        return answer(client, 0)
    if request in (TIOCMSET, TIOCMBIS, TIOCMBIC):
        word = struct.unpack("=i", bytes(argument.resolve(0, 4).retrieve()))[0]
        call = {TIOCMSET: "TIOCMSET", TIOCMBIS: "TIOCMBIS", TIOCMBIC: "TIOCMBIC"}[request]
        board.sets += 1
        if options.fail_set and board.sets >= int(options.fail_set.split(":")[0]):
            number = getattr(errno, options.fail_set.split(":")[1])
            record(call, dtr=bool(word & DTR), rts=bool(word & RTS), error=errno.errorcode[number])
            return answer(client, 0, number)
        after = {TIOCMSET: word, TIOCMBIS: board.lines | word, TIOCMBIC: board.lines & ~word}[request]

        def change():
            record(call, dtr=bool(word & DTR), rts=bool(word & RTS))
            board.set_lines(after)
            answer(client, 0, errno.EIO if board.is_away and options.vanish_error else 0)

        if options.slow_first and board.sets == 1:
            GLib.timeout_add(options.slow_first, change)
        else:
            change()
        return True
    if request == TCGETS2:
        argument.resolve(0, 44).update(0, settings)
        return answer(client, 0)
    if request == TCSETS2:
        settings = bytes(argument.resolve(0, 44).retrieve())
        control = struct.unpack_from("=I", settings, 8)[0]
        rate = struct.unpack_from("=I", settings, 40)[0]
        record("TCSETS2", hupcl=bool(control & HUPCL), rate=rate)
        return answer(client, 0)
    if request == TIOCGSERIAL:
        argument.resolve(0, 72).update(0, bytes(serial))
        return answer(client, 0)
    if request == TIOCSSERIAL:
        serial = bytearray(bytes(argument.resolve(0, 72).retrieve()))
        record("TIOCSSERIAL", lowLatency=bool(struct.unpack_from("=i", serial, 16)[0] & 1 << 13))
        return answer(client, 0)
    return False


def handle_usb(_, client):
    if client.get_request() != USBDEVFS_RESET:
        return False
    record("USBDEVFS_RESET")
    if options.usb_reset != "0":
        return answer(client, 0, getattr(errno, options.usb_reset))
    if options.vanish:
        GLib.idle_add(remove)
        GLib.timeout_add(300, add)
    return answer(client, 0)


def attribute():
    return f"{testbed.get_root_dir()}/sys{PORT.holder}/latency_timer"


tty_handler, usb_handler = UMockdev.IoctlBase(), UMockdev.IoctlBase()
tty_handler.connect("handle-ioctl", handle_tty)
usb_handler.connect("handle-ioctl", handle_usb)


def serve(master, slave):
    board.is_away = False
    board.line = Line(master, slave, board.hear)
    record("add")


def node(*names):
    return os.path.join(testbed.get_root_dir(), *names)


def terminal_number(slave):
    """Where a testbed keeps the number of a terminal."""
    return node("dev/.ptymap", os.ttyname(slave).replace("/", "_"))


class_link = None


def remove():
    """Removes the port: a testbed accepts a node only once, so the node is hidden from it, and its
    far end closed."""
    global class_link
    line, board.line = board.line, None
    record("remove")
    class_link = os.readlink(node("sys/class/tty", PORT.name))
    os.unlink(node("dev", PORT.name))
    os.unlink(node("sys/class/tty", PORT.name))
    testbed.uevent(f"/sys{PORT.tty}", "remove")
    # The next terminal may get the same number.
    os.unlink(terminal_number(line.slave))
    line.close()
    return False


def add():
    """Restores the port with another terminal behind it, under its name or another."""
    global PORT
    if options.rename:
        PORT = make_port("ttyUSB1" + PORT.name.removeprefix("ttyUSB"))
        # umockdev ends a program that opens the node while its handler is being attached.
        testbed.attach_ioctl(f"/dev/{PORT.name}", tty_handler)
        assert testbed.add_from_string(PORT.holder_block() + PORT.tty_block(*NUMBER))
        testbed.uevent(f"/sys{PORT.tty}", "add")
        serve_first()
        return False
    master, slave = os.openpty()
    os.symlink("4:0", terminal_number(slave))
    os.symlink(class_link, node("sys/class/tty", PORT.name))
    os.symlink(os.ttyname(slave), node("dev", PORT.name))
    testbed.uevent(f"/sys{PORT.tty}", "add")
    serve(master, slave)
    return False


def serve_first():
    """Serves the terminal that the testbed has made."""
    slave = os.open(os.readlink(node("dev", PORT.name)), os.O_RDWR | os.O_NOCTTY)
    serve(testbed.get_dev_fd(f"/dev/{PORT.name}"), slave)


assert testbed.add_from_string(ROOT_HUB + PORT.device_block() + PORT.interface_block() + PORT.holder_block())
testbed.attach_ioctl(f"/dev/{PORT.usb_node}", usb_handler)
assert testbed.add_from_string(PORT.tty_block(*NUMBER))
testbed.attach_ioctl(f"/dev/{PORT.name}", tty_handler)
serve_first()
if options.latency_read_only:
    # A directory cannot be written to by any user; root can write to every file.
    value = open(attribute()).read()
    os.unlink(attribute())
    os.symlink("/proc/sys/kernel/ngroups_max", attribute())

# Python does not see the files of the testbed.
environment = {**os.environ, "UMOCKDEV_DIR": testbed.get_root_dir()}
shim = f"{testbed.get_root_dir()}/realpath.so"
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "realpath.c")
subprocess.run(["/usr/bin/cc", "-shared", "-fPIC", "-o", shim, source], check=True, env={"PATH": "/usr/bin:/bin"})
environment["LD_PRELOAD"] = f"{shim}:{os.environ['LD_PRELOAD']}"
if options.usb_forbidden:
    os.chmod(node("dev", PORT.usb_node), 0)
    dropping = "--bounding-set", "-dac_override,-dac_read_search"
    options.program[:0] = ["/usr/bin/setpriv", *dropping]
if options.path:
    environment["PATH"] = options.path
if options.uhubctl:
    folder = node("bin")
    os.mkdir(folder)
    # Files instead of a FIFO: umockdev holds its lock while a file is being opened.
    with open(f"{folder}/uhubctl", "w") as script:
        script.write(
            f'#!/bin/sh\necho "$*" > {folder}/draft\nmv {folder}/draft {folder}/order\n'
            f"while [ ! -e {folder}/done ]; do sleep 0.05; done\n"
        )
    os.chmod(f"{folder}/uhubctl", 0o755)
    environment["PATH"] = f"{folder}:{environment['PATH']}"

    def restore():
        add()
        if options.emulator and options.power_restarts:
            board.restart_emulator()
        open(f"{folder}/done", "w").close()
        return False

    def follow_order():
        if not os.path.exists(f"{folder}/order"):
            return True
        with open(f"{folder}/order") as order:
            record("uhubctl", arguments=order.readline().strip())
        remove()
        GLib.timeout_add(400, restore)
        return False

    GLib.timeout_add(20, follow_order)


def stick():
    board.is_in_loader = True
    record("stick")
    return False


if options.stick_after is not None:
    GLib.timeout_add(int(options.stick_after * 1000), stick)

loop = GLib.MainLoop()
status = [1]


def run():
    words = [f"/dev/{PORT.name}" if word == "PORT" else word for word in options.program]
    status[0] = tied.start(words, env=environment).wait()
    GLib.idle_add(loop.quit)


threading.Thread(target=run).start()
loop.run()
if options.latency and not options.latency_read_only:
    record("end", latency=open(attribute()).read().strip())
records.flush()
os._exit(status[0] if status[0] >= 0 else 128 - status[0])
