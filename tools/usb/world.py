"""What the stories of the USB stack share: verdicts, raw terminals, the program."""

import contextlib
import fcntl
import glob
import json
import os
import pathlib
import struct
import subprocess
import termios
import tty

from tools.checks import Failure, equal, expect, wait_for
from tools.emulator import Emulator

# Ends a hang; no verdict depends on it.
LIMIT_S = 120
VHCI = pathlib.Path("/sys/devices/platform/vhci_hcd.0")
TIOCM = {"DTR": 0x002, "RTS": 0x004}


@contextlib.contextmanager
def terminal(path):
    """A descriptor of a port in raw mode."""
    descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY)
    try:
        tty.setraw(descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def lines_of(descriptor):
    """The names of the asserted modem lines."""
    bits = struct.unpack("I", fcntl.ioctl(descriptor, termios.TIOCMGET, bytes(4)))[0]
    return {name for name, bit in TIOCM.items() if bits & bit}


def wait_forever_at_close(path):
    """Lets the kernel wait without limit for bytes that the device does not take; until unplugged.

    So a close that waits is a hang, not only slow.
    """
    with terminal(path) as descriptor:
        settings = bytearray(fcntl.ioctl(descriptor, termios.TIOCGSERIAL, bytes(72)))
        # closing_wait; 0 is without limit.
        struct.pack_into("H", settings, 40, 0)
        fcntl.ioctl(descriptor, termios.TIOCSSERIAL, bytes(settings))


class Program:
    """The program under test."""

    def __init__(self, path):
        self.path = path

    def environment(self):
        return {name: value for name, value in os.environ.items() if not name.startswith(("NOTIBOT_", "ESP"))}

    def run(self, *words, status=0, limit=LIMIT_S):
        """What it prints; `status` is the exit code that it has to end with, or several."""
        try:
            done = subprocess.run(
                [self.path, *words], capture_output=True, text=True, timeout=limit, env=self.environment()
            )
        except subprocess.TimeoutExpired:
            raise Failure(f"notibot {' '.join(words)} did not end in {limit} s") from None
        statuses = status if isinstance(status, tuple) else (status,)
        expect(
            done.returncode in statuses,
            f"notibot {' '.join(words)} ended with {done.returncode}, expected {status}: "
            f"{done.stdout[-1500:]}{done.stderr[-1500:]}",
        )
        return done.stdout + done.stderr if statuses != (0,) else done.stdout

    def json(self, *words, status=0):
        return json.loads(self.run(*words, "--json", status=status))

    def port(self, path):
        """The entry of a port in `devices`."""
        found = [port for port in self.json("devices")["ports"] if port["port"] == path]
        expect(len(found) == 1, f"devices lists {path} {len(found)} times")
        return found[0]

    @contextlib.contextmanager
    def started(self, *words, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT):
        process = subprocess.Popen(
            [self.path, *words], stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, env=self.environment()
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()


class Board(Emulator):
    """An emulated board, plugged into this kernel."""

    def __init__(self, program, kind, serial="7C:DF:A1:00:00:01", *options):
        self.serial = serial
        self.others = self.paths()
        super().__init__(program.path, "--usbip-attach", "--usb", kind, "--serial", serial, *options)

    def stop(self):
        super().stop()
        wait_for(lambda: self.paths() <= self.others, "the port is gone")

    @staticmethod
    def paths():
        """Of all plugged boards, once udev has made their links."""
        found = set()
        for link in glob.glob("/dev/serial/by-path/*vhci*"):
            # Links and nodes of a board that leaves vanish meanwhile.
            with contextlib.suppress(OSError):
                number = os.stat(link).st_rdev
                if os.path.exists(f"/run/udev/data/c{os.major(number)}:{os.minor(number)}"):
                    found.add(os.path.realpath(link))
        return found

    def path(self):
        """/dev/tty… of this one."""
        return next(iter(wait_for(lambda: self.paths() - self.others, "the port")))

    def unplug(self):
        self.control.must(command="unplug")
        wait_for(lambda: self.paths() <= self.others, "the port is gone")

    def plug(self):
        self.control.must(command="plug")
        return self.path()

    def must_run_on(self):
        """Nothing has reset it by the modem lines."""
        stats = self.control.stats()
        equal((stats["lineResets"], stats["bootCount"]), (0, 1), "resets by lines, and boots")


def queued(path):
    """How many bytes of a port wait in the kernel."""
    descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        return struct.unpack("i", fcntl.ioctl(descriptor, termios.TIOCOUTQ, bytes(4)))[0]
    finally:
        os.close(descriptor)


def is_open(path, process):
    """Whether a process has a port open."""
    number = os.stat(path).st_rdev
    folder = f"/proc/{process.pid}/fd"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                if os.stat(f"{folder}/{name}").st_rdev == number:
                    return True
    return False


def wait_until_open(path, process):
    wait_for(lambda: is_open(path, process) or process.poll() is not None, f"{path} is opened")
    expect(process.poll() is None, f"the program ended with {process.poll()}")
