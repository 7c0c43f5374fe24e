"""A board that stays open, by the socket of `notibot share`: docs/INTERFACE.md."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

from notibot import _program
from notibot.board import Board, Sent, notification

PROTOCOL = ("notibot-share", 1)
RETRY_SECONDS = 0.1
ANSWER_SECONDS = 20.0


def serve(stack: contextlib.ExitStack, place: list[str]) -> tuple[str, _program.Stream]:
    """Starts `notibot share` at a port until `stack` ends; also returns the path of its socket."""
    path = os.path.join(stack.enter_context(tempfile.TemporaryDirectory(prefix="notibot-")), "share")
    server = _program.Stream("share", *place, "--socket", path, "--json")
    stack.callback(server.close)
    server.first()
    return path, server


class Connection:
    """Requests and answers as lines of JSON. A call that gets no answer in `seconds` raises
    NotibotError with code 13; later calls can get theirs. Threads can share it."""

    def __init__(self, path: str, seconds: float | None):
        self._seconds = _program.limit(seconds)
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX)
        self._lines = _program.Lines(self._socket)
        self._lock = threading.Lock()
        self._last = 0
        try:
            self._socket.settimeout(self._seconds)
            self._socket.connect(path)
            greeting = self.line()
            if (greeting.get("protocol"), greeting.get("version")) != PROTOCOL:
                raise _program.NotibotError(f"{path} is not a socket of notibot share, version 1", 2)
        except OSError as error:
            self.close()
            raise _program.NotibotError(f"cannot connect to {path}: {error.strerror or error}", 10) from error
        except BaseException:
            self.close()
            raise

    def line(self, *wait: float | None) -> dict[str, Any]:
        """The next line, within so many seconds instead of those of the connection."""
        try:
            line = self._lines.next(*wait or (self._seconds,))
        except TimeoutError as error:
            raise _program.NotibotError("the board did not answer in time", 13) from error
        except (OSError, ValueError):
            line = b""
        if not line:
            raise _program.NotibotError("the connection to the shared board is closed", 14)
        return _program.parsed(line, self._path)

    def request(self, op: str, **members: Any) -> int:
        """Sends a request; returns the id of its answer."""
        self._last += 1
        try:
            line = json.dumps({"id": self._last, "op": op, **members}, ensure_ascii=False)
            self._socket.sendall(line.encode() + b"\n")
        except OSError as error:
            # What was sent of the line cannot be taken back.
            self.close()
            raise _program.NotibotError("the connection to the shared board is closed", 14) from error
        return self._last

    def ask(self, op: str, **members: Any) -> dict[str, Any]:
        """The answer to a request. Raises NotibotError if it is refused."""
        with self._lock:
            number = self.request(op, **members)
            deadline = None if self._seconds is None else time.monotonic() + self._seconds
            while True:
                # An answer to an earlier request, which came too late, is of no use to anybody.
                answer = self.line(None if deadline is None else max(0, deadline - time.monotonic()))
                if answer.get("id") == number or ("id" not in answer and answer.get("ok") is False):
                    break
        if not answer["ok"]:
            raise _program.NotibotError(answer["error"]["reason"], answer["error"]["exit"])
        return answer

    def close(self) -> None:
        self._socket.close()


class Events(_program.Closing):
    """The events of a shared board as documents, for the time of a `with`; first its count."""

    def __init__(self, path: str, timeout: float | None):
        self._timeout = _program.limit(timeout)
        self._connection = Connection(path, ANSWER_SECONDS)
        try:
            self._connection.ask("events")
            # The request for the count, until it is answered; what happened before waits.
            self._count: int | None = self._connection.request("count")
        except BaseException:
            self.close()
            raise
        self._waiting: collections.deque[dict[str, Any]] = collections.deque()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        while self._count is not None:
            line = self._connection.line(None if deadline is None else max(0, deadline - time.monotonic()))
            if line.get("event") not in (None, "count", "reconnected"):
                self._waiting.append(line)
            elif line.get("id") == self._count:
                if line["ok"]:
                    self._count = None
                    return {"event": "count", "count": line["count"]}
                # The board has gone away before it answered.
                if deadline is not None and time.monotonic() > deadline:
                    raise _program.NotibotError("the board did not answer in time", 13)
                time.sleep(RETRY_SECONDS)
                self._count = self._connection.request("count")
        return self._waiting.popleft() if self._waiting else self._connection.line(self._timeout)

    def close(self) -> None:
        """Closes the connection. A second call does nothing."""
        self._connection.close()


class SharedBoard(Board, _program.Closing):
    """A board whose port stays open for the time of a `with`: calls take milliseconds, and other
    programs can use it meanwhile as `self.port`. At a port `share:SOCKET`, it uses that server.

    A call that gets no answer in `seconds` raises NotibotError with code 13; the notification of a
    `send` may be on the display then. Threads can share it: their calls wait for each other.
    """

    def __init__(self, port: str = "auto", *, baud: int | None = None, seconds: float | None = ANSWER_SECONDS):
        super().__init__(port, baud=baud)
        with contextlib.ExitStack() as stack:
            path = port.removeprefix("share:")
            if path == port:
                path, _ = serve(stack, self._place)
            self._connection = stack.enter_context(contextlib.closing(Connection(path, seconds)))
            self._opened = stack.pop_all()
        self._path = path
        self.port = f"share:{path}"
        self._place = ["--port", self.port]

    def count(self) -> int:
        return int(self._connection.ask("count")["count"])

    def send(self, app: str, title: str, text: str = "", *, timestamp: int | None = None, strict: bool = False) -> Sent:
        if strict:
            # The socket's protocol has no such request.
            return super().send(app, title, text, timestamp=timestamp, strict=True)
        members, replaced = notification(app, title, text, timestamp)
        answer = self._connection.ask("send", notification=members)
        return Sent(cut=tuple(answer.get("cutMembers", ())), replaced=replaced)

    def events(self, *, timeout: float | None = _program.WAIT_SECONDS) -> Events:  # type: ignore[override]
        return Events(self._path, timeout)

    def close(self) -> None:
        """Closes the port. A second call does nothing."""
        self._opened.close()
