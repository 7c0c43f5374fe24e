"""A USB serial device as a small USB/IP server, attached to this kernel's vhci_hcd.

It shares nothing with the emulator: it notes each request of the driver, and plays a device that
never answers, and takes data or none.
"""

import collections
import contextlib
import dataclasses
import errno
import os
import pathlib
import socket
import struct
import threading

from tools.checks import wait_for

VHCI = pathlib.Path("/sys/devices/platform/vhci_hcd.0")
FULL_SPEED = 2
CMD_SUBMIT, CMD_UNLINK, RET_SUBMIT, RET_UNLINK = 1, 2, 3, 4
# CTS and DSR as CP210x and FTDI encode them.
MODEM = 0x30


def text_descriptor(text):
    data = text.encode("utf-16-le")
    return bytes([len(data) + 2, 3]) + data


def configuration(*parts, interfaces, attributes=0x80):
    body = bytes.fromhex("".join(parts).replace(" ", ""))
    return struct.pack("<BBHBBBBB", 9, 2, 9 + len(body), interfaces, 1, 0, attributes, 250) + body


@dataclasses.dataclass(frozen=True)
class Personality:
    driver: str
    tty: str
    vendor: int
    product: int
    release: int
    device_class: str
    names: tuple
    configuration: bytes
    bulk_out: int
    bulk_in: int


BULK_PAIR = "09 04 00 00 02 {kind} 00  07 05 81 02 40 00 00  07 05 02 02 40 00 00"
PERSONALITIES = {
    "jtag": Personality(
        "cdc_acm",
        "ttyACM",
        0x303A,
        0x1001,
        0x0101,
        "ef0201",
        ("Espressif", "USB JTAG/serial debug unit"),
        configuration(
            "080b000202020000 090400000102020000 0524001001 04240202 0524060001 0524010301 07058203400001",
            "09040100020a020000 07050102400001 07058102400001",
            "0904020002ffff0100 07050202400001 07058302400001",
            interfaces=3,
            attributes=0xC0,
        ),
        1,
        1,
    ),
    "cp2102": Personality(
        "cp210x",
        "ttyUSB",
        0x10C4,
        0xEA60,
        0x0100,
        "000000",
        ("Silicon Labs", "CP2102 USB to UART Bridge Controller"),
        configuration(BULK_PAIR.format(kind="ff 00 00"), interfaces=1),
        2,
        1,
    ),
    "ftdi": Personality(
        "ftdi_sio",
        "ttyUSB",
        0x0403,
        0x6001,
        0x0600,
        "000000",
        ("FTDI", "FT232R USB UART"),
        configuration(BULK_PAIR.format(kind="ff ff ff"), interfaces=1),
        2,
        1,
    ),
}


@dataclasses.dataclass(frozen=True)
class Request:
    """A control request of the driver; `kind` and `number` are bmRequestType and bRequest."""

    kind: int
    number: int
    value: int
    index: int
    data: bytes


class Device:
    """Used as a context: plugged in until the end."""

    def __init__(self, kind, serial="7C:DF:A1:00:00:01", port=0):
        self.kind, self.serial, self.port = kind, serial, port
        self.personality = PERSONALITIES[kind]
        self.changed = threading.Condition()
        self.requests = []
        self.received = bytearray()
        self.takes = True
        self.flow = bytes(16)
        self.lines = 0
        self.pending = collections.defaultdict(collections.deque)
        self.thread = None

    def __enter__(self):
        self.plug()
        return self

    def __exit__(self, *_):
        self.unplug()

    # The cable.

    def plug(self):
        """Returns the path of the port when it and its by-id link are there."""
        wait_for(self._is_port_free, f"port {self.port} of the virtual hub is free")
        ours, kernels = socket.socketpair()
        self.pending.clear()
        self.socket = ours
        attach = f"{self.port} {kernels.fileno()} {(1 << 16) + self.port + 1} {FULL_SPEED}"
        (VHCI / "attach").write_text(attach)
        kernels.close()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()
        return self.path()

    def unplug(self):
        if self.thread:
            self.socket.shutdown(socket.SHUT_RDWR)
            self.thread.join()
            self.socket.close()
            self.thread = None
            wait_for(self._is_port_free, f"port {self.port} of the virtual hub is free")
            wait_for(lambda: not self.present_path(), "the node disappears")

    def _is_port_free(self):
        for line in (VHCI / "status").read_text().splitlines()[1:]:
            words = line.split()
            if words[0] == "hs" and int(words[1]) == self.port:
                return words[2] == "004"
        return False

    def folder(self):
        """Of the USB device in sysfs."""
        for hub in VHCI.glob("usb*"):
            found = hub / f"{hub.name[3:]}-{self.port + 1}"
            if (found / "idVendor").exists() and (hub / "speed").read_text().strip() == "480":
                return found
        return None

    def path(self):
        """/dev/tty… of this device, once udev has made its links. Awaited each time: the folders of
        another device that leaves can hide it for a moment."""
        return wait_for(self.present_path, f"a {self.personality.tty} appears")

    def present_path(self):
        """The same; None if it has none now."""
        # The folders of a device that leaves vanish while they are read.
        with contextlib.suppress(OSError):
            folder = self.folder()
            for pattern in ("*/tty/tty*", "*/ttyUSB*/tty/tty*") if folder else ():
                for tty in folder.glob(pattern):
                    if udev_knows(tty):
                        return f"/dev/{tty.name}"
        return None

    # What the device does and sees.

    def take(self, takes=True):
        """Whether it takes data from the host; the host's URBs wait meanwhile."""
        with self.changed:
            self.takes = takes
            self._answer_out()

    def forget(self):
        with self.changed:
            self.requests.clear()

    def wait_for_request(self, kind, number, value=None, data=None):
        """The first such request since `forget`."""

        def found():
            for request in self.requests:
                if (
                    (request.kind, request.number) == (kind, number)
                    and value in (None, request.value)
                    and data in (None, request.data)
                ):
                    return request
            return None

        with self.changed:
            if not self.changed.wait_for(found, 60):
                raise TimeoutError(f"no request {kind:02x} {number:02x} value {value} {data}: {self.requests}")
            return found()

    # The protocol.

    def _read(self, length):
        data = b""
        while len(data) < length:
            part = self.socket.recv(length - len(data))
            if not part:
                raise ConnectionError
            data += part
        return data

    def _serve(self):
        try:
            while True:
                self._serve_one(self._read(48))
        except OSError:
            pass

    def _serve_one(self, header):
        command, seqnum, _, direction, endpoint, _, length = struct.unpack(">7I", header[:28])
        with self.changed:
            if command == CMD_UNLINK:
                self._unlink(seqnum, struct.unpack(">I", header[20:24])[0])
                return
            data = self._read(length) if direction == 0 else b""
            if endpoint == 0:
                self._control(seqnum, header[40:48], data)
            else:
                self.pending[endpoint | (0x80 if direction else 0)].append((seqnum, length, data))
                self._answer_out()
            self.changed.notify_all()

    def _unlink(self, seqnum, victim):
        status = 0
        for queue in self.pending.values():
            for urb in queue:
                if urb[0] == victim:
                    queue.remove(urb)
                    status = -errno.ECONNRESET
                    break
        self.socket.sendall(struct.pack(">5Ii24x", RET_UNLINK, seqnum, 0, 0, 0, status))
        self.changed.notify_all()

    def _reply(self, seqnum, status, data=b"", actual=None):
        actual = len(data) if actual is None else actual
        self.socket.sendall(struct.pack(">5Iii20x", RET_SUBMIT, seqnum, 0, 0, 0, status, actual) + data)

    def _answer_out(self):
        queue = self.pending[self.personality.bulk_out]
        while queue and self.takes:
            seqnum, length, data = queue.popleft()
            self.received += data
            self._reply(seqnum, 0, actual=length)

    def _control(self, seqnum, setup, data):
        kind, number, value, index, length = struct.unpack("<BBHHH", setup)
        self.requests.append(Request(kind, number, value, index, data))
        if kind & 0x80:
            answer = self._answer_to(kind, number, value)
            if answer is None:
                return self._reply(seqnum, -errno.EPIPE)
            return self._reply(seqnum, 0, answer[:length])
        self._note_lines(kind, number, value, data)
        return self._reply(seqnum, 0, actual=length)

    def _note_lines(self, kind, number, value, data):
        if (kind, number) == (0x21, 0x22):
            self.lines = value & 3
        elif (kind, number) in ((0x41, 0x07), (0x40, 0x01)):
            mask = value >> 8 & 3
            self.lines = self.lines & ~mask | value & mask
        elif (kind, number) == (0x41, 0x13):
            self.flow = data

    def _answer_to(self, kind, number, value):
        if (kind, number) == (0x80, 6):
            return self._descriptor(value >> 8, value & 0xFF)
        if (kind, number) == (0x80, 0):
            return b"\1\0"
        if self.kind == "cp2102":
            return {
                (0xC0, 0xFF): b"\x02",
                (0xC1, 0x08): bytes([MODEM | self.lines]),
                (0xC1, 0x10): bytes(19),
                (0xC1, 0x14): self.flow,
            }.get((kind, number))
        if self.kind == "ftdi":
            status = bytes([MODEM | 1, 0x60])
            return {(0xC0, 0x0A): b"\x10", (0xC0, 0x05): status, (0xC0, 0x90): b"\0\0"}.get((kind, number))
        return None

    def _descriptor(self, kind, index):
        description = self.personality
        if kind == 1:
            numbers = struct.pack("<HHH", description.vendor, description.product, description.release)
            return bytes.fromhex("12010002" + description.device_class + "40") + numbers + bytes([1, 2, 3, 1])
        if kind == 2:
            return description.configuration
        if kind == 3:
            texts = [b"\4\3\x09\4", *map(text_descriptor, (*description.names, self.serial))]
            return texts[index] if index < len(texts) else None
        return None


def udev_knows(tty):
    """Whether udev has processed this tty: then its links are there."""
    number = (tty / "dev").read_text().strip() if (tty / "dev").exists() else ""
    return bool(number) and os.path.exists(f"/run/udev/data/c{number}") and os.path.exists(f"/dev/{tty.name}")
