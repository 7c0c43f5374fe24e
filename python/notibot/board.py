"""A device at a port."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import json
import time
from collections.abc import Iterator
from typing import Any

from notibot import _program
from notibot.suite import SuiteReport

# The whole suite on a slow line, with its repetitions.
SUITE_SECONDS = 3600.0
# A complete flash at 115200 baud, after esptool was installed.
FLASH_SECONDS = 1800.0


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of the device's console."""

    text: str
    # Seconds since 1970, when its end was received.
    time: float


@dataclasses.dataclass(frozen=True)
class Sent:
    """How a notification on the display differs from what was sent."""

    # The members that were longer than the display's limits and lost their end: app, title, text.
    cut: tuple[str, ...] = ()
    # Whether U+FFFD stands for characters that cannot be sent: U+0000 and lone surrogates.
    replaced: bool = False


# A notification has at most 512 bytes of JSON; the program cuts, and needs no more than this.
MEMBER_CHARACTERS = 600


def notification(
    app: str, title: str, text: str, timestamp: int | None, strict: bool = False
) -> tuple[dict[str, Any], bool]:
    """The members of a notification, and whether characters were replaced."""
    given = {"app": app[:MEMBER_CHARACTERS], "title": title[:MEMBER_CHARACTERS], "text": text[:MEMBER_CHARACTERS]}
    members = {
        name: "".join("\ufffd" if mark == "\0" or "\ud800" <= mark <= "\udfff" else mark for mark in value)
        for name, value in given.items()
    }
    if strict and members != given:
        raise _program.NotibotError("cannot send the notification unchanged: it has U+0000 or a lone surrogate", 2)
    return {**members, "timestamp": int(time.time()) if timestamp is None else timestamp}, members != given


class Console(_program.Closing):
    """The lines of a device's console, for the time of a `with`."""

    def __init__(self, *arguments: str, timeout: float | None):
        self._stream = _program.Stream(*arguments, timeout=timeout)
        self._waiting: collections.deque[Line] = collections.deque()
        try:
            # Raises if the port cannot be opened.
            while self._stream.first()["event"] != "opened":
                pass
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[Line]:
        return self

    def __next__(self) -> Line:
        while not self._waiting:
            record = next(self._stream)
            if record["event"] == "text":
                self._waiting.append(Line(record["text"], record["time"]))
        return self._waiting.popleft()

    def close(self) -> None:
        """Closes the port. A second call does nothing."""
        self._stream.close()


class Events(_program.Closing):
    """The events of a device as documents, for the time of a `with`; first its count."""

    def __init__(self, *arguments: str, timeout: float | None):
        self._stream = _program.Stream(*arguments, timeout=timeout)
        # The first one is printed when the device has accepted the subscription.
        self._first: dict[str, Any] | None = self._stream.first()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        first, self._first = self._first, None
        return next(self._stream) if first is None else first

    def close(self) -> None:
        """Closes the port. A second call does nothing."""
        self._stream.close()


class Board:
    """A device at a port: a path, `auto`, `usb:VID:PID`, `id:DEVICE-ID`, `rfc2217://HOST:PORT`, …

    Each call opens the port and closes it again, so that two calls never disturb each other.
    Raises NotibotError: its `code` is the program's exit code, 13 for a wait that took too long.
    """

    def __init__(self, port: str = "auto", *, baud: int | None = None, control: str | None = None):
        self.port = port
        # The control socket of an emulator at the port.
        self.control = control
        self._place = [f"--port={port}"] + ([] if baud is None else [f"--baud={baud}"])

    def __repr__(self) -> str:
        return f"Board({self.port!r})"

    @contextlib.contextmanager
    def _use(self, *, alone: bool = False) -> Iterator[None]:
        """Surrounds each call; `alone` if nothing else may have the port open meanwhile."""
        yield

    def count(self) -> int:
        """The notifications on the display, of all senders, at most 65535."""
        with self._use():
            return int(_program.document("count", *self._place, "--json")["count"])

    def send(self, app: str, title: str, text: str = "", *, timestamp: int | None = None, strict: bool = False) -> Sent:
        """Sends a notification; returns when the device has stored it.

        What is longer than the display's limits is cut, and the result says so. If `strict`, such a
        notification is not sent, and raises NotibotError with code 2.
        """
        members, replaced = notification(app, title, text, timestamp, strict)
        options = ["--strict"] if strict else []
        line = json.dumps(members, ensure_ascii=False) + "\n"
        send = ["send", *self._place, "--json", "--file", "-", *options]
        try:
            with self._use():
                output = _program.run(*send, input=line, allowed=(0, 15))
        except _program.NotibotError as error:
            raise _program.NotibotError(str(error).replace("line 1 ", "this ", 1), error.code) from None
        answer = _program.parsed(output or "{}", _program.program())
        if answer.get("result") != "accepted":
            raise _program.NotibotError(answer.get("reason", "refused"), 15)
        return Sent(cut=tuple(answer.get("cutMembers", ())), replaced=replaced)

    def reset(self) -> None:
        """Resets the board by the lines of its port."""
        with self._use(alone=True):
            _program.run("reset", *self._place)

    def flash(self, *images: str, timeout: float | None = FLASH_SECONDS) -> dict[str, Any]:
        """Writes images with esptool, each `FILE` or `FILE@OFFSET`, or the folder of a build, and
        verifies that the firmware answers. Returns the document of `notibot flash`."""
        with self._use(alone=True):
            return _program.document("flash", *self._place, "--json", "--", *images, timeout=timeout)

    def events(self, *, timeout: float | None = _program.WAIT_SECONDS) -> Events:
        """The device's events as documents, while the `with` lasts: count, dismissed, action, …

        Subscribed when this returns: what happens from then on is an event. `timeout` is the
        longest wait for the next one, in seconds; None: no limit.
        """
        return Events("watch", *self._place, "--json", timeout=timeout)

    def console(
        self, *, seconds: float | None = None, reset: bool = False, timeout: float | None = _program.WAIT_SECONDS
    ) -> Console:
        """The lines of the device's console, those of a crash too, for so many seconds if given.

        The port is open when this returns, and until the `with` ends; if `reset`, the board is
        restarted then. `timeout` is the longest wait for the next line, in seconds; None: no limit.
        """
        options = [] if seconds is None else [f"--timeout={seconds}"]
        options += ["--reset"] if reset else []
        return Console("monitor", *self._place, "--json", "--no-fail-on-crash", *options, timeout=timeout)

    def run_suite(
        self,
        *,
        filter: str | None = None,
        exclude: str | None = None,
        repeat: int = 1,
        seed: int | None = None,
        timeout: float | None = SUITE_SECONDS,
    ) -> SuiteReport:
        """Runs the conformance suite, within so many seconds. Failed cases are in the report; they
        raise nothing."""
        options = ["--quiet", f"--repeat={repeat}", "--json", "-"]
        for name, value in (("filter", filter), ("exclude", exclude), ("seed", seed), ("control", self.control)):
            if value is not None:
                options.append(f"--{name}={value}")
        with self._use(alone=True):
            return SuiteReport(_program.document("test", *self._place, *options, allowed=(0, 1), timeout=timeout))
