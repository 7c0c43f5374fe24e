"""An emulator process, and its control socket."""

import contextlib
import json
import pathlib
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

# Of one answer; the emulator ends a wait after 60 s.
WAIT_SECONDS = 70


class Control:
    """The control socket of an emulator; of device 7 of several: SOCKET#7."""

    def __init__(self, path: str):
        self.path = path
        self.socket, _, number = path.partition("#")
        self.device = {"device": int(number)} if number else {}

    def ask(self, **request: Any) -> dict:
        with self.asking(**request) as answer:
            return answer()

    @contextlib.contextmanager
    def asking(self, **request: Any) -> Iterator[Callable[[], dict]]:
        """Sends a request; what it yields waits for the answer."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(WAIT_SECONDS)
            connection.connect(self.socket)
            connection.sendall(json.dumps(request | self.device).encode() + b"\n")
            with connection.makefile() as answers:
                yield lambda: json.loads(answers.readline())

    def must(self, **request: Any) -> dict:
        """The answer to a request that must not be refused."""
        answer = self.ask(**request)
        assert answer["ok"], f"{request}: {answer['error']}; {self.stats()}"
        return answer

    def stats(self) -> dict:
        return self.ask(command="stats")["statistics"]

    def wait(self, condition: str) -> None:
        """Returns when a condition of `notibot control wait` holds."""
        self.must(command="wait", until=condition)

    def all_items(self) -> list[dict]:
        """All that is on the display, oldest first, page by page."""
        items: list[dict] = []
        while True:
            first = items[-1]["item"] + 1 if items else 0
            page = self.ask(command="list", item=first)["items"]
            assert not page or page[0]["item"] >= first, "this emulator does not list page by page"
            if not page:
                return items
            items += page


class Emulator:
    """A `notibot emulate` with a folder of its own, ended by its process id.

    It is a terminal at `link`, unless `--rfc2217` or `--usbip-attach` is among the options; with
    `has_att` it serves ATT bearers on the socket `att`, too.
    """

    def __init__(self, notibot: str, *options: str, has_att: bool = False):
        self.folder = tempfile.TemporaryDirectory(prefix="notibot-")
        folder = pathlib.Path(self.folder.name)
        self.link, self.att = str(folder / "port"), str(folder / "att")
        self.control = Control(str(folder / "control"))
        has_link = not {"--rfc2217", "--usbip-attach"} & set(options)
        place = ["--link", self.link] if has_link else []
        if has_att:
            place += ["--att", f"unix:{self.att}"]
        self.process = subprocess.Popen(
            [notibot, "emulate", "--json", "--control", self.control.path, *place, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        line = self.process.stdout.readline()
        if not line:
            self.stop()
            raise SystemExit(f"cannot start an emulator: {notibot} emulate {' '.join(options)} ended at once")
        self.announcement: dict = json.loads(line)
        self.port: str = self.announcement["port"]
        self.view: str = self.announcement.get("view", "")

    def __enter__(self) -> "Emulator":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()
