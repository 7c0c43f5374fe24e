"""The far end of a mocked port: a terminal pair, and a board with an ESP32 chip's reset circuit and
ROM."""

import json
import os
import select
import socket
import termios
import threading
import tty

DTR, RTS = 2, 4


class Line:
    """A terminal pair, until the port is removed. The near end is held open, because a pair that
    was never opened cannot be polled."""

    def __init__(self, master, slave, hear):
        self.master, self.slave = master, slave
        self.ended, self.end = os.pipe()
        tty.setraw(slave)
        os.set_blocking(master, False)
        self.thread = threading.Thread(target=self.read, args=[hear], daemon=True)
        self.thread.start()

    def read(self, hear):
        while True:
            ready, _, _ = select.select([self.master, self.ended], [], [])
            if self.ended in ready:
                return
            hear(os.read(self.master, 65536))

    def write(self, data):
        while data:
            data = data[os.write(self.master, data) :]

    def close(self):
        os.write(self.end, b"!")
        self.thread.join()
        for descriptor in (self.master, self.slave, self.ended, self.end):
            os.close(descriptor)


class Board:
    """Reset and IO0 derived from the lines by two transistors; the ROM's text; the emulator behind
    it."""

    def __init__(self, options, record, has_taken_port):
        """`has_taken_port` is called at each boot, and returns whether the port disappears with
        it."""
        self.options, self.record, self.has_taken_port = options, record, has_taken_port
        self.lines = DTR | RTS
        self.is_in_reset = False
        # From the end of its reset until the emulator has restarted, which takes a moment: no old
        # session must answer.
        self.is_starting = False
        # From its restart until its port is back, if the port leaves with it.
        self.is_away = False
        self.is_in_loader = options.stuck
        self.line = None
        self.sets = 0
        # Frames of the board since its reset: the first is its HELLO, the second opens a session.
        self.is_asked, self.answers = False, 0
        self.passing = threading.Lock()
        self.emulator = None
        if options.emulator:
            self.emulator = os.open(options.emulator[0], os.O_RDWR | os.O_NOCTTY)
            tty.setraw(self.emulator)
            settings = termios.tcgetattr(self.emulator)
            settings[4] = settings[5] = termios.B921600
            termios.tcsetattr(self.emulator, termios.TCSANOW, settings)
            threading.Thread(target=self.forward, daemon=True).start()

    @property
    def is_deaf(self):
        """Whether it neither receives nor sends anything as a Notibot."""
        return self.is_in_loader or self.is_in_reset or self.is_starting or self.is_away

    def forward(self):
        """Handles output of the emulator."""
        while True:
            data = os.read(self.emulator, 65536)
            if self.is_deaf:
                continue
            # The host's reaction to the answer arrives after the restart.
            with self.passing:
                self.say(data)
                if self.is_asked:
                    self.is_asked = False
                    self.answers += 1
                    if self.options.restart_again and self.answers == 2:
                        self.record("restart")
                        self.restart_emulator()

    def say(self, data):
        line = self.line
        try:
            if line is not None:
                line.write(data)
        except OSError:
            # The port is gone, or has no reader: as on a wire, the bytes are lost.
            pass

    def hear(self, data):
        """Handles output of the program."""
        if self.is_in_loader:
            if b"\xc0\x00\x08" in data:
                self.say(b"\xc0\x01\x08\x04\x00\x07\x07\x12\x20\x00\x00\x00\x00\xc0" * 8)
        elif self.emulator is not None and not self.is_deaf:
            with self.passing:
                os.write(self.emulator, data)
                self.is_asked = True

    def set_lines(self, lines):
        self.lines = lines
        if self.options.deaf:
            return
        if lines & RTS and not lines & DTR:
            self.is_in_reset = True
        elif self.is_in_reset and not lines & RTS:
            self.is_in_reset = False
            self.boot(bool(lines & DTR))

    def boot(self, io0_is_low):
        self.is_in_loader = io0_is_low or self.options.io0_low
        self.record("boot", loader=self.is_in_loader)
        self.is_away = self.has_taken_port()
        if not self.is_away and not self.options.silent:
            self.print_rom()
        self.is_asked, self.answers = False, 0
        if self.emulator is not None and not self.is_in_loader:
            self.is_starting = True
            threading.Thread(target=self.start, daemon=True).start()

    def start(self):
        self.restart_emulator()
        self.is_starting = False

    def restart_emulator(self):
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(self.options.emulator[1])
            control.sendall(json.dumps({"command": "resume"}).encode() + b"\n")
            control.recv(65536)
            reason = "panic" if "PANIC" in self.options.cause else "pin"
            control.sendall(json.dumps({"command": "reboot", "reason": reason}).encode() + b"\n")
            control.recv(65536)

    def print_rom(self):
        mode = "0x3 (DOWNLOAD_BOOT(UART0/UART1/SDIO_REI_REO_V2))" if self.is_in_loader else "0x13 (SPI_FAST_FLASH_BOOT)"
        number = 0x7 if "WDT" in self.options.cause else 0x1
        text = f"ets Jul 29 2019 12:21:46\r\n\r\nrst:{number:#x} ({self.options.cause}),boot:{mode}\r\n"
        self.say((text + ("waiting for download\r\n" if self.is_in_loader else "entry 0x400805e4\r\n")).encode())
