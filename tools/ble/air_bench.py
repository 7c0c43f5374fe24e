"""A virtual air, an emulator on it, and clients: what the stories of `scripts/dev ble-air` use."""

import contextlib
import json
import os
import pathlib
import select
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator

from tools.checks import Checks, Failure
from tools.emulator import Emulator

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 120
# Of a PDU, with a scan and a connection before it.
ANSWER_SECONDS = 30
story = Checks()


def expect(what: str, actual, expected) -> None:
    if actual != expected:
        raise Failure(f"{what} is {actual!r}, expected {expected!r}")


def expect_failure(what: str, actual: int, errors: str, code: int | tuple[int, ...], text: str) -> None:
    """The exit code, and one line with a reason and a remedy."""
    lines = [line for line in errors.splitlines() if line.startswith("notibot: ")]
    codes = code if isinstance(code, tuple) else (code,)
    if actual not in codes or len(lines) != 1 or text not in lines[0] or ";" not in lines[0]:
        raise Failure(f"{what} ended with {actual}, not {code} and '{text}': {errors}")


class Child:
    """A Python program of this repository that prints JSON, and ends with its standard input."""

    def __init__(self, *words: str):
        self.process = subprocess.Popen(
            [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=environment()
        )
        self._bytes = b""

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def line(self):
        name = shlex.join(self.process.args[2:])
        while b"\n" not in self._bytes:
            if not select.select([self.process.stdout], [], [], LIMIT_SECONDS)[0]:
                raise Failure(f"{name} printed nothing for {LIMIT_SECONDS} s")
            read = self.process.stdout.read(65536)
            if not read:
                raise Failure(f"{name} ended with {self.process.wait(LIMIT_SECONDS)}")
            self._bytes += read
        line, _, self._bytes = self._bytes.partition(b"\n")
        return json.loads(line)

    def event(self, name: str) -> dict:
        """The next event, which must be this one."""
        event = self.line()
        expect("the event", event, {**event, "event": name})
        return event

    def stop(self) -> None:
        """Ends it; a second call does nothing."""
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(LIMIT_SECONDS)


class Command(Child):
    """A command of the program that goes on, and prints JSON."""

    def __init__(self, *words: str):
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self._bytes = b""

    def fails(self, code: int, text: str) -> None:
        """Waits for its end, which must be this one."""
        errors = self.process.communicate(timeout=LIMIT_SECONDS)[1].decode()
        expect_failure(shlex.join(self.process.args[1:]), self.process.returncode, errors, code, text)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(LIMIT_SECONDS)
        self.process.stdout.close()
        self.process.stderr.close()


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}"}


class Bench:
    """An emulator on the first of these adapters; by default those of an air of its own."""

    def __init__(self, notibot: str, *options: str, adapters: list[str] | None = None):
        self.notibot = notibot
        self.stack = contextlib.ExitStack()
        self.folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="notibot-"))
        self.air = None if adapters else self.child("-m", "tools.ble.air")
        self.adapters = adapters or self.air.line()
        self.emulator = self.emulate(0, *options)

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def emulate(self, adapter: int, *options: str) -> Emulator:
        """An emulator on an adapter."""
        emulator = Emulator(self.notibot, "--seed", "1", "--ble", self.adapters[adapter], *options, has_att=True)
        self.stack.callback(emulator.stop)
        return emulator

    def child(self, *words: str) -> Child:
        child = Child(*words)
        self.stack.callback(child.stop)
        return child

    def central(self, index: int, peer: str = "Notibot") -> tuple[Child, str]:
        """The central role on an adapter, and its socket."""
        path = f"{self.folder}/central{index}"
        child = self.child("-m", "notibot.ble", "central", "--socket", path, "--peer", peer, self.adapters[index])
        child.event("ready")
        return child, path

    def advertised(self) -> list[dict]:
        """What the program finds on the second adapter."""
        ended = self.run("devices", "--ble", self.adapters[1], "--timeout", "0.5", "--json")
        return json.loads(ended.stdout)["bluetooth"]

    def run(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.notibot, *words], capture_output=True, text=True, timeout=LIMIT_SECONDS)

    def succeeds(self, *words: str) -> str:
        """What a command prints that must succeed without a word on stderr."""
        ended = self.run(*words)
        expect(f"the end of {shlex.join(words)}", (ended.returncode, ended.stderr), (0, ""))
        return ended.stdout

    def fails(self, code: int, text: str, *words: str) -> None:
        """Runs a command that must end with this code, and one line with this text."""
        ended = self.run(*words)
        expect_failure(shlex.join(words), ended.returncode, ended.stderr, code, text)

    def start(self, *words: str) -> Command:
        return self.stack.enter_context(Command(self.notibot, *words))


class Client:
    """A connection to a central's socket: requests and answers as hexadecimal digits."""

    def __init__(self, path: str):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(ANSWER_SECONDS)
        self.socket.connect(path)
        self.records = self.socket.makefile("rb")
        self.notified: list[str] = []

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.records.close()
        self.socket.close()

    def receive(self) -> str:
        """The next PDU; empty at the end."""
        length = int.from_bytes(self.records.read(2), "little")
        return self.records.read(length).hex()

    def ask(self, pdu: str) -> str:
        data = bytes.fromhex(pdu)
        self.socket.sendall(len(data).to_bytes(2, "little") + data)
        while (answer := self.receive()).startswith("1b"):
            self.notified.append(answer)
        return answer

    def write(self, text: str) -> str:
        return self.ask("120600" + json.dumps({"app": "B", "title": text, "text": "", "timestamp": 1}).encode().hex())


@contextlib.contextmanager
def silent_adapter() -> Iterator[str]:
    """A controller that accepts a connection, and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"tcp-client:127.0.0.1:{server.getsockname()[1]}"


class AlteredDevice:
    """The emulator of a bench once more, as another device on the air whose PDUs are altered."""

    def __init__(self, bench: Bench, adapter: int, name: str, alter: Callable[[bytes], list[bytes]]):
        self._device, self._alter = bench.emulator.att, alter
        path = f"{bench.folder}/{name}"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        self._peripheral = Child(
            "-m", "notibot.ble", "peripheral", "--att", path, "--name", name, bench.adapters[adapter]
        )
        self._peripheral.event("ready")

    def __enter__(self) -> "AlteredDevice":
        return self

    def __exit__(self, *_: object) -> None:
        self._peripheral.stop()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as device, contextlib.suppress(OSError):
            device.connect(self._device)
            threading.Thread(target=self._copy, args=(client, device), daemon=True).start()
            records = device.makefile("rb")
            while len(head := records.read(2)) == 2:
                for pdu in self._alter(records.read(int.from_bytes(head, "little"))):
                    client.sendall(len(pdu).to_bytes(2, "little") + pdu)

    @staticmethod
    def _copy(client: socket.socket, device: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while read := client.recv(4096):
                device.sendall(read)
            device.shutdown(socket.SHUT_RDWR)
