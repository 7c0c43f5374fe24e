"""The program `notibot`: where it is, and one run of it."""

from __future__ import annotations

import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import time
import weakref
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Protocol, TypeVar

# The exit codes of docs/CLI.md. 1 is a failed test, which is no error of a call.
CODES = {
    2: "usage",
    10: "no board",
    11: "port busy",
    12: "no permission",
    13: "no answer",
    14: "link lost",
    15: "refused",
    16: "flashing failed",
    17: "crashed",
    18: "unfit environment",
}
# How long a program that was asked to end may take: it writes its reports first.
END_SECONDS = 10
# How long a call waits for an answer, an event or a line, unless it is given another time.
WAIT_SECONDS = 60.0
# More than this counts as no limit: the system's waits cannot be longer.
MOST_SECONDS = 1e6


class NotibotError(Exception):
    """A call failed. `code` is the program's exit code, `kind` its meaning in words."""

    def __init__(self, message: str, code: int):
        super().__init__(message)
        self.code = code
        self.kind = CODES.get(code, f"exit code {code}")

    def __reduce__(self) -> tuple[type[NotibotError], tuple[str, int]]:
        return type(self), (str(self), self.code)


def program() -> str:
    """The path of the program: $NOTIBOT, else the wheel's, else the one on PATH.

    Raises NotibotError with code 18 if there is none, or $NOTIBOT is not one.
    """
    given = os.environ.get("NOTIBOT")
    wheel = os.path.join(sysconfig.get_path("scripts"), "notibot")
    for path in [given] if given else (wheel, shutil.which("notibot")):
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    if given:
        raise NotibotError(f"$NOTIBOT is {given}, which is no program; set it to the path of notibot, or unset it", 18)
    raise NotibotError("cannot find the program notibot; install the wheel, or set NOTIBOT to its path", 18)


def limit(seconds: float | None) -> float | None:
    """A time-out that a caller gave; None: no limit. Raises NotibotError with code 2."""
    if seconds is None:
        return None
    if not seconds >= 0:
        raise NotibotError(f"a time-out is 0 or more seconds, or None, not {seconds}", 2)
    return None if seconds > MOST_SECONDS else float(seconds)


def _started(command: list[str], **streams: Any) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, **streams)
    except OSError as error:
        raise NotibotError(f"cannot run {command[0]}: {error.strerror}", 18) from error
    except ValueError as error:
        raise NotibotError("an argument has U+0000 or a lone surrogate", 2) from error


def _error(command: list[str], code: int, errors: bytes) -> NotibotError:
    """What the program says last of itself, or its parser of an option."""
    if code < 0:
        return NotibotError(f"notibot {command[1]} was ended by signal {-code}, {signal.strsignal(-code)}", 18)
    lines = [line for line in errors.decode(errors="replace").splitlines() if line.strip()]
    said = [line.removeprefix("notibot: ") for line in lines if line.startswith("notibot: ")]
    usage = itertools.takewhile(lambda line: not line.startswith(("Help: ", "Usage: ")), lines)
    parsed = " ".join(line.strip() for line in usage).removeprefix("Error: ")
    text = said[-1] if said else parsed if code == 2 else "".join(lines[-1:])
    return NotibotError(text or f"notibot {command[1]} ended with {code}", code)


def parsed(text: str | bytes, source: str) -> dict[str, Any]:
    """A document that a program printed. Raises NotibotError with code 18 if it is none."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise NotibotError(f"{source} printed no JSON document: is it another version of notibot?", 18)
    return found


def run(*arguments: str, input: str = "", allowed: tuple[int, ...] = (0,), timeout: float | None = WAIT_SECONDS) -> str:
    """What the program prints. Raises NotibotError if it ends with a code that is not allowed, or,
    with code 13, if it does not end within so many seconds."""
    seconds = limit(timeout)
    command = [program(), *arguments]
    process = _started(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        output, errors = process.communicate(input.encode(errors="replace"), seconds)
    except subprocess.TimeoutExpired as error:
        raise NotibotError(f"{' '.join(command[1:3])} did not end within {timeout} s", 13) from error
    finally:
        end(process)
    if process.returncode not in allowed:
        raise _error(command, process.returncode, errors)
    return output.decode(errors="replace")


def document(*arguments: str, allowed: tuple[int, ...] = (0,), timeout: float | None = WAIT_SECONDS) -> dict[str, Any]:
    """The JSON document that the program prints."""
    return parsed(run(*arguments, allowed=allowed, timeout=timeout), program())


def end(process: subprocess.Popen[Any]) -> None:
    """Asks a process to end, then makes it end, and closes its pipes."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _end_own(process: subprocess.Popen[Any], owner: int) -> None:
    # A copy of this process, by fork, must not end the program.
    if os.getpid() == owner:
        end(process)


class HasDescriptor(Protocol):
    def fileno(self) -> int: ...


class Lines:
    """The lines of a pipe or a socket. What came before a time-out stays for the next call."""

    def __init__(self, source: HasDescriptor):
        self._source = source
        self._bytes = b""

    def next(self, seconds: float | None) -> bytes:
        """The next line without its end; empty if there is none any more. Raises TimeoutError."""
        deadline = None if seconds is None else time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        while b"\n" not in self._bytes:
            left = None if deadline is None else 1000 * max(0, deadline - time.monotonic())
            if not poll.poll(left):
                raise TimeoutError
            read = os.read(self._source.fileno(), 65536)
            if not read:
                break
            self._bytes += read
        line, _, self._bytes = self._bytes.partition(b"\n")
        return line


Self = TypeVar("Self", bound="Closing")


class Closing:
    """What a `with` closes at its end."""

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        raise NotImplementedError


class Stream(Closing):
    """A running program that prints a JSON document per line, for the time of a `with`.

    `next` raises NotibotError with code 13 if none comes within `timeout` seconds; None: no limit.
    The program ends with the stream, and with this process.
    """

    def __init__(self, *arguments: str, timeout: float | None = WAIT_SECONDS, stdin: int = subprocess.DEVNULL):
        self._timeout = limit(timeout)
        self._command = [program(), *arguments]
        # In a file: nobody reads it until the program ends.
        self._errors = tempfile.TemporaryFile()
        self._process = _started(self._command, stdin=stdin, stderr=self._errors, bufsize=0)
        self._end = weakref.finalize(self, _end_own, self._process, os.getpid())
        assert self._process.stdout is not None
        self._lines = Lines(self._process.stdout)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        if not self._end.alive:
            raise NotibotError(f"notibot {self._command[1]} was closed", 2)
        try:
            line = self._lines.next(self._timeout)
        except TimeoutError:
            raise NotibotError(f"{self._command[1]}: nothing within {self._timeout} s", 13) from None
        if line:
            return parsed(line, self._command[0])
        code = self._process.wait()
        if code != 0:
            self._errors.seek(0)
            raise _error(self._command, code, self._errors.read())
        raise StopIteration

    def first(self) -> dict[str, Any]:
        """The first document. The program is ended if there is none."""
        try:
            return next(self)
        except StopIteration:
            raise NotibotError(f"notibot {self._command[1]} ended without a line", 18) from None
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        """Ends the program. A second call does nothing."""
        self._end()
        self._errors.close()
