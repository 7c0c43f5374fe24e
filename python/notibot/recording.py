"""Boards of tests: what they print on their console is kept for the report of a failure."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator

from notibot import _program
from notibot.board import Board, Console
from notibot.emulator import Emulator
from notibot.shared import Connection, serve

# How long a board may take to open a session when the recording begins; it may restart then.
SESSION_SECONDS = 5.0
# Ports that another program holds, or that have no console.
UNSHARED = ("share:", "att:", "ble:")


def printable(text: str) -> str:
    """A line in which nothing controls a terminal."""
    return "".join(
        mark if mark.isprintable() or mark == "\t" else mark.encode("unicode_escape").decode() for mark in text
    )


def shown(line: str) -> str:
    """A printable line, which is no command of a GitHub workflow."""
    line = printable(line)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        line = re.sub(r"^([\s\u034f\u115f\u1160\u3164\uffa0\ufe00-\ufe0f]*:):", r"\1\\x3A", line).replace(
            "##[", r"##\x5B"
        )
    return line


class Recorded(Board):
    """A board whose port `notibot share` holds, so that its console is read all the time.

    The recording ends when `port` is read, because another program can then open the port. It
    pauses for `reset`, `flash` and `run_suite`. A board that opens no session is not recorded.
    """

    _stack: contextlib.ExitStack | None = None

    def __repr__(self) -> str:
        return f"Board({self._port!r})"

    @property
    def port(self) -> str:
        self.release()
        return self._port

    @port.setter
    def port(self, port: str) -> None:
        self._port = port
        self._lines: list[str] = []

    def record(self) -> None:
        """Raises NotibotError if the port cannot be opened."""
        if self._port.startswith(UNSHARED):
            self._received("(not recorded: notibot share cannot hold this port)")
            return
        with contextlib.ExitStack() as stack:
            path, server = serve(stack, self._place)
            try:
                with contextlib.closing(Connection(path, SESSION_SECONDS)) as connection:
                    connection.ask("count")
            except _program.NotibotError:
                self._received("(not recorded: the board opened no session)")
                return
            place = ["--port", f"share:{path}"]
            console = Console("monitor", *place, "--json", "--no-fail-on-crash", "--no-reconnect", timeout=None)
            reader = threading.Thread(target=self._read, args=(console,), daemon=True)
            reader.start()
            stack.callback(self._finish, server, console, reader, self._place)
            self._place = place
            self._stack = stack.pop_all()

    def _read(self, console: Console) -> None:
        with contextlib.suppress(_program.NotibotError):
            for line in console:
                self._received(line.text)

    def _received(self, line: str) -> None:
        self._lines.append(line)

    def _finish(self, server: _program.Stream, console: Console, reader: threading.Thread, place: list[str]) -> None:
        self._place = place
        # The server's end ends the console as well, after all lines before it.
        server.close()
        reader.join()
        console.close()

    def release(self) -> None:
        """Ends the recording and closes the port. A second call does nothing."""
        stack, self._stack = self._stack, None
        if stack is not None:
            stack.close()

    @contextlib.contextmanager
    def _released(self) -> Iterator[None]:
        self.release()
        try:
            yield
        finally:
            # If the port cannot be opened, the test's next call says why.
            with contextlib.suppress(_program.NotibotError):
                self.record()

    def lines(self) -> list[str]:
        """The lines of the console. Ends the recording."""
        self.release()
        return self._lines

    @contextlib.contextmanager
    def _use(self, *, alone: bool = False) -> Iterator[None]:
        with self._released() if alone else contextlib.nullcontext():
            yield


class RecordedBoard(Recorded, _program.Closing):
    """A board at a port."""

    def __init__(self, port: str):
        super().__init__(port)
        self.record()

    def close(self) -> None:
        self.release()


class RecordedEmulator(Recorded, Emulator):
    """An emulator. The recording pauses while it is unplugged, too."""

    def __init__(self) -> None:
        super().__init__()
        try:
            self.record()
        except BaseException:
            self.close()
            raise

    def reboot(self, reason: str = "software") -> None:
        super().reboot(reason)
        # A call that comes too early would end with the old session.
        with contextlib.suppress(_program.NotibotError):
            self.count()

    def unplug(self) -> None:
        self.release()
        super().unplug()

    def plug(self) -> None:
        with self._released():
            super().plug()

    def close(self) -> None:
        self.release()
        super().close()
