"""The service `notibot` of pytest-embedded: `--embedded-services notibot` gives each `dut` a board
as `dut.notibot`, whose console and results are in the log of the DUT.

pytest-embedded finds services in a dictionary of its own and chooses the class of `dut` by their
names, without an entry point for others. So this adds the name to the dictionary, and the board to
the DUT after its fixture.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from notibot._program import NotibotError
from notibot.board import Board
from notibot.recording import Recorded, RecordedBoard, RecordedEmulator, printable
from notibot.suite import SuiteReport

SERVICE = "notibot"
# How long the console is read after a restart, before the board is used again.
BOOT_SECONDS = 2.0
RESULTS = {"passed": "PASS", "skipped": "IGNORE"}


class Logged(Board):
    """A board that writes to the log of a DUT and into its folder."""

    _queue: Any
    _dut: Any

    def _log(self, line: str) -> None:
        self._queue.write(f"{line}\n")

    def run_suite(self, *, junit: bool = False, **options: Any) -> SuiteReport:
        """`Board.run_suite`; the report is next to the log, as `dut-suite.json`. With `junit`, the
        cases are in the JUnit report as Unity's are, and bad ones fail the test at its end."""
        report = super().run_suite(**options)
        for case in report.cases:
            self._log("\n  ".join([f"{case.id}: {case.outcome}", *(case.details if case.is_bad else [])]))
        stem, number = f"{os.path.splitext(self._dut.logfile)[0]}-suite", 1
        while os.path.exists(path := f"{stem}{'' if number == 1 else f'-{number}'}.json"):
            number += 1
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report.document, file, ensure_ascii=False, indent=1)
        if junit:
            self._add(report)
        return report

    def _add(self, report: SuiteReport) -> None:
        from pytest_embedded.unity import TestCase  # type: ignore[import-untyped]  # noqa: PLC0415

        suite = self._dut.testsuite
        for case in report.cases:
            result = RESULTS.get(case.outcome, "FAIL")
            message = "\n".join(case.details)
            suite.testcases.append(TestCase(case.id, result, classname=SERVICE, time=case.seconds, message=message))
        suite.attrs["tests"] += len(report.cases)
        suite.attrs["failures"] += len(report.bad)
        suite.attrs["skipped"] += report.count("skipped")


class LoggedConsole(Logged, Recorded):
    """A board whose port is held, so that its console is in the log from the start."""

    def _received(self, line: str) -> None:
        self._log(printable(line))

    def reset(self) -> None:
        with self._use(alone=True), self.console(seconds=BOOT_SECONDS, reset=True) as lines:
            for line in lines:
                self._log(printable(line.text))


class LoggedBoard(LoggedConsole, RecordedBoard):
    """A board at a port."""

    def __init__(self, port: str, dut: Any, queue: Any):
        self._dut, self._queue = dut, queue
        super().__init__(port)


class LoggedEmulator(LoggedConsole, RecordedEmulator):
    """An emulator. Its lines cannot reset it: use `reboot`."""

    def __init__(self, dut: Any, queue: Any):
        self._dut, self._queue = dut, queue
        super().__init__()


class LentBoard(Logged):
    """A board that another service of the DUT reads: its port is closed there during each call."""

    def __init__(self, port: str, dut: Any, queue: Any):
        self._dut, self._queue = dut, queue
        super().__init__(port)

    @contextlib.contextmanager
    def _use(self, *, alone: bool = False) -> Iterator[None]:
        serial = self._dut.serial
        serial.stop_redirect_thread()
        serial.proc.close()
        try:
            yield
        finally:
            serial.proc.open()
            serial.start_redirect_thread()

    def events(self, **options: Any) -> Any:
        raise NotibotError("another service of the DUT reads its port; use the service notibot alone", 11)

    console = events

    def close(self) -> None:
        """Nothing is open."""


def board(dut: Any, port: str | None, queue: Any) -> LoggedBoard | LoggedEmulator | LentBoard:
    """The board of a DUT, at a port or emulated. `queue` is the DUT's message queue."""
    serial = getattr(dut, "serial", None)
    if serial is not None:
        return LentBoard(serial.port, dut, queue)
    return LoggedEmulator(dut, queue) if port is None else LoggedBoard(port, dut, queue)


class Service:
    """The plugin. It is registered if pytest-embedded is."""

    def __init__(self, config: pytest.Config):
        from pytest_embedded import utils  # type: ignore[import-untyped]  # noqa: PLC0415

        # Without it, pytest-embedded refuses the name.
        getattr(utils, "SERVICE_LIB_NAMES", {}).setdefault(SERVICE, __name__)
        if config.pluginmanager.hasplugin("labgrid"):
            text = (
                "labgrid's fixture `target` hides that of pytest-embedded, whose tests are skipped: use -p no:labgrid"
            )
            config.issue_config_time_warning(pytest.PytestConfigWarning(text), 2)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
        found = yield
        if fixturedef.argname == "dut":
            self._attach(found if isinstance(found, (list, tuple)) else [found], request)
        return found

    def _attach(self, duts: Any, request: Any) -> None:
        rows = []
        for name in ("embedded_services", "port", "msg_queue"):
            values = request.getfixturevalue(name)
            rows.append(values if isinstance(values, (list, tuple)) else [values] * len(duts))
        try:
            for dut, services, port, queue in zip(duts, *rows, strict=True):
                if SERVICE in [name.strip() for name in (services or "").split(",")]:
                    dut.notibot = board(dut, port, queue)
                    request.addfinalizer(dut.notibot.close)
        except NotibotError as error:
            pytest.fail(str(error), pytrace=False)
