"""The program `notibot`: where it is, and one run of it."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any, TypeVar

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


class NotibotError(Exception):
    """A call failed. `code` is the program's exit code, `kind` its meaning in words."""

    def __init__(self, message: str, code: int):
        super().__init__(message)
        self.code = code
        self.kind = CODES.get(code, f"exit code {code}")


def program() -> str:
    """The path of the program: $NOTIBOT, else the wheel's, else the one on PATH.

    Raises NotibotError with code 18 if there is none.
    """
    wheel = os.path.join(sysconfig.get_path("scripts"), "notibot")
    for path in (os.environ.get("NOTIBOT"), wheel, shutil.which("notibot")):
        if path and os.access(path, os.X_OK):
            return path
    raise NotibotError("cannot find the program notibot; install the wheel, or set NOTIBOT to its path", 18)


def _error(command: list[str], code: int, errors: str) -> NotibotError:
    lines = [line.removeprefix("notibot: ") for line in errors.splitlines() if line.strip()]
    return NotibotError(lines[-1] if lines else f"{' '.join(command[1:3])} ended with {code}", code)


def run(*arguments: str, input: str = "", allowed: tuple[int, ...] = (0,), timeout: float | None = WAIT_SECONDS) -> str:
    """What the program prints. Raises NotibotError if it ends with a code that is not allowed, or,
    with code 13, if it does not end within so many seconds."""
    command = [program(), *arguments]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )
    try:
        output, errors = process.communicate(input, timeout)
    except subprocess.TimeoutExpired as error:
        raise NotibotError(f"{' '.join(command[1:3])} did not end within {timeout} s", 13) from error
    finally:
        end(process)
    if process.returncode not in allowed:
        raise _error(command, process.returncode, errors)
    return output


def document(*arguments: str, allowed: tuple[int, ...] = (0,), timeout: float | None = WAIT_SECONDS) -> dict[str, Any]:
    """The JSON document that the program prints."""
    found: dict[str, Any] = json.loads(run(*arguments, allowed=allowed, timeout=timeout))
    return found


def end(process: subprocess.Popen[Any]) -> None:
    """Asks a process to end, then makes it end, and closes its pipes."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


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
    """

    def __init__(self, *arguments: str, timeout: float | None = WAIT_SECONDS):
        self._command = [program(), *arguments]
        self._timeout = timeout
        self._bytes = b""
        # In a file: nobody reads it until the program ends.
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._errors, bufsize=0
        )

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        line = self._line()
        if line:
            found: dict[str, Any] = json.loads(line)
            return found
        code = self._process.wait()
        self._errors.seek(0)
        errors = self._errors.read().decode(errors="replace")
        if code > 0 and code not in (128 + signal.SIGINT, 128 + signal.SIGTERM):
            raise _error(self._command, code, errors)
        raise StopIteration

    def _line(self) -> bytes:
        """The next line; empty if the program has ended."""
        assert self._process.stdout is not None
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        while b"\n" not in self._bytes:
            left = None if deadline is None else max(0, deadline - time.monotonic())
            if not select.select([self._process.stdout], [], [], left)[0]:
                raise NotibotError(f"{self._command[1]}: nothing within {self._timeout} s", 13)
            read = os.read(self._process.stdout.fileno(), 65536)
            if not read:
                break
            self._bytes += read
        line, _, self._bytes = self._bytes.partition(b"\n")
        return line

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        """Ends the program. A second call does nothing."""
        end(self._process)
        self._errors.close()
