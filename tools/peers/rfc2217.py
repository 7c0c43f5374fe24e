#!/usr/bin/env python3
"""Tests client and server of RFC 2217 against other implementations: pyserial's client, its server,
ser2net, esptool. Prints the result of each check. `scripts/dev rfc2217-peers` starts it."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import serial
import serial.rfc2217

from tools import checks
from tools.emulator import Emulator
from tools.vectors import wire

WAIT_SECONDS = 20
# Against hangs: nothing here depends on how fast this computer is.
LIMIT_S = 600
check = checks.Checks()


class BoardlessSerial(serial.Serial):
    """A PTY has no modem lines; this one accepts them, and records their order."""

    cts = dsr = property(lambda self: True)
    ri = cd = property(lambda self: False)

    def __init__(self, *arguments, **options):
        self.events = []
        super().__init__(*arguments, **options)

    def _update_dtr_state(self):
        self.events.append(("dtr", self._dtr_state))

    def _update_rts_state(self):
        self.events.append(("rts", self._rts_state))

    def _update_break_state(self):
        self.events.append(("break", self._break_state))


class PyserialServer:
    """pyserial's own server of RFC 2217 in front of a port, for one client."""

    def __init__(self, path):
        self.port = BoardlessSerial(path, timeout=0.02)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.name = f"rfc2217://127.0.0.1:{self.listener.getsockname()[1]}"
        self.rates = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection, contextlib.suppress(OSError):
                self.pass_bytes(connection)

    def pass_bytes(self, connection):
        lock, ended = threading.Lock(), threading.Event()

        class Writer:
            def write(self, data):
                with lock:
                    connection.sendall(data)

        manager = serial.rfc2217.PortManager(self.port, Writer())

        def read_port():
            # TypeError: the port was closed meanwhile.
            with contextlib.suppress(OSError, TypeError):
                while not ended.is_set():
                    data = self.port.read(self.port.in_waiting or 1)
                    if data:
                        with lock:
                            connection.sendall(b"".join(manager.escape(data)))

        reader = threading.Thread(target=read_port, daemon=True)
        reader.start()
        try:
            while data := connection.recv(4096):
                self.port.write(b"".join(manager.filter(data)))
                if self.port.baudrate not in self.rates:
                    self.rates.append(self.port.baudrate)
        finally:
            ended.set()
            reader.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.port.close()


class Ser2net:
    """ser2net in front of a port; ended by its process id."""

    def __init__(self, path):
        number = checks.free_port()
        self.name = f"rfc2217://127.0.0.1:{number}"
        lines = (
            f"connection: &port#  accepter: telnet(rfc2217),tcp,127.0.0.1,{number}",
            f"  connector: serialdev(nouucplock=true),{path},115200n81,local",
            "  options:#    max-connections: 1",
        )
        words = [PROGRAMS["ser2net"], "-d", "-n", *(word for line in lines for word in ("-Y", line))]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

        def listens():
            assert self.process.poll() is None, self.process.stderr.read1().decode()
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", number), 1).close()
                return True

        checks.wait_for(listens, "ser2net", WAIT_SECONDS)
        # The port is free again after a moment.
        time.sleep(0.3)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stderr.close()


def run(*arguments, expecting=0):
    done = subprocess.run([PROGRAMS["notibot"], *arguments], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == expecting, f"notibot {arguments}: exit {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout if expecting == 0 else done.stderr


def bench(port):
    return json.loads(run("bench", "-p", port, "--count", "200", "--trips", "50", "--commands", "20", "--json"))


SYN = wire.Frame(wire.SYN, wire.HOST, wire.MAGIC + wire.tlv(0x82, b"\xff" * 8) + wire.VERSIONS, credit=64)


@check
def pyserials_client_opens_and_drives_our_server():
    with Emulator(PROGRAMS["notibot"], "--rfc2217", "127.0.0.1:0", "--baud-pacing") as emulator:
        start = time.monotonic()
        with serial.serial_for_url(emulator.port, baudrate=115200, timeout=1) as port:
            opened = time.monotonic() - start
            for rate in (460800, 921600, 115200):
                port.baudrate = rate
            assert port.cts and port.dsr and port.cd and not port.ri
            # In an order that does not pull EN low.
            port.rts = port.dtr = False
            port.dtr = port.rts = True
            port.break_condition = True
            port.break_condition = False
            port.reset_input_buffer()
            port.reset_output_buffer()
        emulator.control.wait("chip=running")
    return f"open {opened:.2f} s, all of it the client's polls"


@check
def bytes_pass_between_pyserials_client_and_our_server():
    everything = bytes(range(1, 256)) * 4 + b"\xff" * 64
    with Emulator(PROGRAMS["notibot"], "--rfc2217", "127.0.0.1:0", "--profile", "quiet") as emulator:
        with serial.serial_for_url(emulator.port, timeout=0.2) as port:
            before = emulator.control.stats()["bytesReceived"]
            port.write(everything)
            emulator.control.wait(f"bytes={before + len(everything)}")
            answers = b""
            for _ in range(40):
                port.write(b"\0" + SYN.stuffed + b"\0")
                answers += port.read(4096)
                if b"\xff" * 4 in answers:
                    break
            assert b"\xff" * 4 in answers, answers.hex()
            assert emulator.control.stats()["crcErrors"] == 0
    return f"{len(everything)} bytes there, 0xFF back"


@check
def our_client_works_with_pyserials_server():
    with Emulator(PROGRAMS["notibot"]) as emulator, PyserialServer(emulator.port) as server:
        run("send", "-p", server.name, "--app", "a", "--title", "ÿ", "--text", "ÿ" * 40)
        assert json.loads(run("count", "--json", "-p", server.name))["count"] == 1
        assert 921600 in server.rates, server.rates
        report = bench(server.name)
        assert report["refused"] == 0 and report["commandMicroseconds"]["lines"], report
        assert ("dtr", True) in server.port.events and ("rts", True) in server.port.events, server.port.events
        return f"lines p50 {report['commandMicroseconds']['lines']['p50'] / 1000:.2f} ms"


@check
def our_client_works_with_ser2net_on_a_port_without_modem_lines():
    with Emulator(PROGRAMS["notibot"]) as emulator, Ser2net(emulator.port) as server:
        run("send", "-p", server.name, "--app", "a", "--title", "ÿ", "--text", "ÿ" * 40)
        assert json.loads(run("count", "--json", "-p", server.name))["count"] == 1
        report = bench(f"{server.name}?timeout=0.5")
        assert report["refused"] == 0 and report["commandMicroseconds"]["rate"], report
        assert "lines" not in report["commandMicroseconds"], report
        return f"round trip p50 {report['roundTripMicroseconds']['p50'] / 1000:.2f} ms, rate p50 {report['commandMicroseconds']['rate']['p50'] / 1000:.2f} ms"


@check
def a_busy_port_of_ser2net_is_reported():
    with Emulator(PROGRAMS["notibot"]) as emulator, Ser2net(emulator.port) as server:
        host, number = server.name.removeprefix("rfc2217://").split(":")
        with socket.create_connection((host, int(number))) as first:
            first.recv(1)
            said = run("count", "-p", server.name, expecting=11)
        assert "closed the connection at once" in said, said
        return said.strip()


@check
def a_part_of_the_suite_passes_through_ser2net():
    with Emulator(PROGRAMS["notibot"]) as emulator, Ser2net(emulator.port) as server:
        lines = (
            run("test", "-p", server.name, "--control", emulator.control.path, "--filter", "^ATT").strip().splitlines()
        )
        return lines[-1]


PROGRAMS = {}


def main():
    options = checks.parser(__doc__).parse_args()
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    PROGRAMS.update(notibot=options.notibot, ser2net=shutil.which("ser2net", path=path))
    return checks.finish([checks.perform(one) for one in checks.chosen(check, options.filter)])


if __name__ == "__main__":
    sys.exit(main())
