"""The program `notibot`: where it is, and one run of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sysconfig
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


def run(*arguments: str, input: str = "", allowed: tuple[int, ...] = (0,)) -> str:
    """What the program prints. Raises NotibotError if it ends with a code that is not allowed."""
    command = [program(), *arguments]
    done = subprocess.run(command, input=input, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode not in allowed:
        raise _error(command, done.returncode, done.stderr)
    return done.stdout


def document(*arguments: str, allowed: tuple[int, ...] = (0,)) -> dict[str, Any]:
    """The JSON document that the program prints."""
    found: dict[str, Any] = json.loads(run(*arguments, allowed=allowed))
    return found


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
    """A running program that prints a JSON document per line, for the time of a `with`."""

    def __init__(self, *arguments: str):
        self._command = [program(), *arguments]
        # Errors go to a pipe of their own: they are a few lines, far less than its capacity.
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        assert self._process.stdout is not None and self._process.stderr is not None
        line = self._process.stdout.readline()
        if line:
            found: dict[str, Any] = json.loads(line)
            return found
        errors = self._process.stderr.read()
        code = self._process.wait()
        if code > 0 and code not in (128 + signal.SIGINT, 128 + signal.SIGTERM):
            raise _error(self._command, code, errors)
        raise StopIteration

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        """Ends the program. A second call does nothing."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
