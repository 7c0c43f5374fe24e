"""What the stories of the USB stack share: verdicts, raw terminals, the program."""

import contextlib
import fcntl
import json
import os
import struct
import subprocess
import termios
import tty

from tools.checks import Failure, expect, wait_for

# Ends a hang; no verdict depends on it.
LIMIT_S = 120
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
