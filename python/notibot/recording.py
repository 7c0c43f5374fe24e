"""Boards of tests: what they print on their console is kept for the report of a failure."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any

from notibot import _program
from notibot.board import Board, Console
from notibot.emulator import Emulator
from notibot.shared import Connection
from notibot.suite import SuiteReport

# How long a board may take to open a session when the recording begins; it may restart then.
SESSION_SECONDS = 5.0


class Recorded(Board):
    """A board whose port `notibot share` holds, so that its console is read all the time.

    The recording ends when `port` is read, because another program can then open the port. It
    pauses for `reset` and `run_suite`. A board that opens no session is not recorded.
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
        with contextlib.ExitStack() as stack:
            path = os.path.join(stack.enter_context(tempfile.TemporaryDirectory(prefix="notibot-")), "share")
            server = stack.enter_context(_program.Stream("share", *self._place, "--socket", path, "--json"))
            next(server)
            try:
                with contextlib.closing(Connection(path, SESSION_SECONDS)) as connection:
                    connection.ask("count")
            except _program.NotibotError:
                self._lines.append("(not recorded: the board opened no session)")
                return
            place = ["--port", f"share:{path}"]
            console = Console("monitor", *place, "--json", "--no-fail-on-crash", "--no-reconnect", timeout=None)
            stack.callback(self._finish, server, console, self._place)
            self._place = place
            self._stack = stack.pop_all()

    def _finish(self, server: _program.Stream, console: Console, place: list[str]) -> None:
        self._place = place
        # The server's end ends the console as well, after all lines before it.
        server.close()
        with console, contextlib.suppress(_program.NotibotError):
            self._lines.extend(line.text for line in console)

    def release(self) -> None:
        """Ends the recording and closes the port. A second call does nothing."""
        stack, self._stack = self._stack, None
        if stack is not None:
            stack.close()

    @contextlib.contextmanager
    def _released(self) -> Any:
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

    def reset(self) -> None:
        with self._released():
            super().reset()

    def run_suite(self, **options: Any) -> SuiteReport:
        with self._released():
            return super().run_suite(**options, timeout=None)


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
