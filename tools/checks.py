"""What the programs that run checks share: verdicts, waits, and a line for each check.

A check is a function that raises if something is wrong, and can return a detail for the reader."""

import argparse
import dataclasses
import os
import socket
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any

# Ends a hang; no verdict depends on it.
limit_s = 60.0
# Of a value in a message, in characters.
WORDS_LIMIT = 1000


class Failure(Exception):
    """Something did not end as it has to."""


class NotRun(Exception):
    """A check that needs what is not there; `name` is that of NOTIBOT_RIG_REQUIRE."""

    def __init__(self, name: str, reason: str):
        super().__init__(reason)
        self.name = name


def expect(claim: Any, words: str) -> None:
    if not claim:
        raise Failure(words)


def equal(found: Any, expected: Any, what: str) -> None:
    shown, wanted = (repr(value)[:WORDS_LIMIT] for value in (found, expected))
    expect(found == expected, f"{what}: {shown}, expected {wanted}")


def wait_for(condition: Callable[[], Any], what: str, seconds: float | None = None, pause: float = 0.02) -> Any:
    """The first true value of `condition`."""
    limit = seconds or limit_s
    end = time.monotonic() + limit
    while not (value := condition()):
        if time.monotonic() > end:
            raise Failure(f"waited {limit:g} s: {what}")
        time.sleep(pause)
    return value


def free_port() -> int:
    """A port of TCP on 127.0.0.1 that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@dataclasses.dataclass(frozen=True)
class Result:
    name: str
    verdict: str  # ok, skip, FAIL
    seconds: float
    detail: str


def perform(check: Callable, *arguments: Any, name: str = "", note: Callable[[], str] = str) -> Result:
    """Runs a check, and prints its result. `note`: what else a failure shows."""
    began = time.monotonic()
    try:
        verdict, detail = "ok", check(*arguments) or ""
    except NotRun as reason:
        is_required = reason.name in os.environ.get("NOTIBOT_RIG_REQUIRE", "").split(",")
        verdict, detail = "FAIL" if is_required else "skip", f"{reason.name} is not there: {reason}"
    except (Failure, AssertionError) as failure:
        verdict, detail = "FAIL", (str(failure) or traceback.format_exc()) + note()
    except (Exception, SystemExit):
        verdict, detail = "FAIL", traceback.format_exc() + note()
    shown = name or check.__doc__ or check.__name__.replace("_", " ")
    seconds = time.monotonic() - began
    line = f"{verdict:4} {seconds:6.1f} s  {' '.join(shown.split()).rstrip('.')}"
    print(f"{line}: {detail}" if detail else line, flush=True)
    return Result(name or check.__name__, verdict, seconds, detail)


class Checks(list):
    """Checks in the order of their definition; as a decorator it adds one."""

    def __call__(self, check: Callable) -> Callable:
        self.append(check)
        return check


def parser(description: str) -> argparse.ArgumentParser:
    """With the options of every program that runs checks."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--notibot", required=True, help="the program")
    made.add_argument("--filter", default="", metavar="TEXT", help="only those whose name contains it")
    return made


def chosen(checks: Iterable[Callable], text: str) -> list[Callable]:
    """Those whose name contains the text."""
    return [check for check in checks if text in check.__name__]


def finish(results: list[Result]) -> int:
    """Prints the sum; returns the exit code."""
    counts = {verdict: sum(result.verdict == verdict for result in results) for verdict in ("ok", "skip", "FAIL")}
    more = f", {counts['skip']} not run" if counts["skip"] else ""
    print(f"{counts['ok']} of {len(results)} passed{more}" if results else "no check has this name", flush=True)
    return 1 if counts["FAIL"] or not results else 0
