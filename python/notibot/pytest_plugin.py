"""The pytest plugin: fixtures for boards and an emulator, and the suite's cases as test items.

    pytest --notibot-port /dev/ttyACM0 --notibot-suite

`--notibot-port` can be repeated: pytest-xdist's workers then share the boards among themselves.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import pathlib
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeVar
from xml.etree import ElementTree

import pytest
from _pytest import junitxml, runner

from notibot import embedded
from notibot._program import NotibotError, document
from notibot.board import Board
from notibot.emulator import Emulator
from notibot.recording import RecordedBoard, RecordedEmulator, shown
from notibot.suite import SuiteReport

SECTION = "Notibot console, until the teardown: "
# The test that showed the error of a board, by the board's port.
FAILED = pytest.StashKey[dict[str, str]]()
# The boards of a test, by name, and whether its report has their lines.
BOARDS = pytest.StashKey[list[tuple[str, RecordedBoard | RecordedEmulator]]]()
HAS_FAILED = pytest.StashKey[bool]()
# What workers of pytest-xdist share: a file for each board, with the result of its suite. Who uses
# the board holds a lock on the file.
SHARED = pytest.StashKey[tempfile.TemporaryDirectory[str]]()
LOCKED = pytest.StashKey[set[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("notibot")
    group.addoption(
        "--notibot-port",
        action="append",
        default=[],
        metavar="PORT",
        help="port of a Notibot, as notibot --port takes it; repeat it for several boards. If omitted, "
        "notibot_board is an emulator",
    )
    group.addoption(
        "--notibot-suite", action="store_true", help="run the conformance suite too, each case as a test item"
    )
    group.addoption("--notibot-filter", metavar="REGEX", help="with --notibot-suite: only cases that match")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        'notibot(rule="LNK-*", boards=2): the rule of the protocol that a test is about, and how many boards '
        "notibot_boards has",
    )
    config.pluginmanager.register(JUnitConsoles(config))
    if config.pluginmanager.hasplugin("pytest_embedded"):
        config.pluginmanager.register(embedded.Service(config))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    ports = config.getoption("--notibot-port")
    if ports and len(specs) > len(ports):
        raise pytest.UsageError(f"{len(specs)} workers, but only {len(ports)} --notibot-port: use -n {len(ports)}")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    stash = node.config.stash
    if SHARED not in stash:
        stash[SHARED] = tempfile.TemporaryDirectory(prefix="notibot-")
    node.workerinput["notibot"] = stash[SHARED].name


def pytest_unconfigure(config: pytest.Config) -> None:
    if SHARED in config.stash:
        config.stash[SHARED].cleanup()


@contextlib.contextmanager
def _locked(config: pytest.Config, name: str) -> Iterator[Any]:
    """The shared file of a board, while no other worker uses the board; None if there are no
    workers, or this one has locked it already."""
    folder: str | None = getattr(config, "workerinput", {}).get("notibot")
    locked = config.stash.setdefault(LOCKED, set())
    if folder is None or name in locked:
        yield None
        return
    with open(pathlib.Path(folder, re.sub(r"\W", lambda found: f"_{ord(found[0]):x}", name)), "a+") as file:
        # Its holder ends its test, or its suite within the time limit of that.
        fcntl.flock(file, fcntl.LOCK_EX)
        locked.add(name)
        try:
            yield file
        finally:
            locked.remove(name)


def _ports(config: pytest.Config) -> list[str]:
    """This process's ports: a worker of pytest-xdist has its part of them."""
    ports: list[str] = config.getoption("--notibot-port")
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None:
        return ports
    return ports[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]


Opened = TypeVar("Opened")


def _once(item: pytest.Item, name: str, action: Callable[[], Opened]) -> Opened:
    """What `action` returns. If it fails, the first test has the error; later ones are skipped."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        # A cancelled job ends as by Ctrl-C: fixtures are finalized, and reports written.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return action()
    except NotibotError as error:
        reason = shown(str(error))
    first = item.config.stash.setdefault(FAILED, {}).setdefault(name, item.nodeid)
    if first == item.nodeid:
        pytest.fail(reason, pytrace=False)
    pytest.skip(f"{reason}; this is the error of {first}")


@contextlib.contextmanager
def _recorded(item: pytest.Item, port: str | None) -> Iterator[RecordedBoard | RecordedEmulator]:
    """The board at a port, or an emulator."""
    name = port or "emulator"
    with (
        _locked(item.config, name) if port else contextlib.nullcontext(),
        _once(item, name, lambda: RecordedEmulator() if port is None else RecordedBoard(port)) as board,
    ):
        item.stash.setdefault(BOARDS, []).append((name, board))
        yield board
        board.release()


@pytest.fixture
def notibot_emulator(request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """A fresh emulated device. Nothing holds its port between two calls, nor reads its console."""
    with _once(request.node, "emulator", Emulator) as emulator:
        yield emulator


@pytest.fixture
def notibot_board(request: pytest.FixtureRequest) -> Iterator[Board]:
    """The first board of notibot_boards: that at --notibot-port, or a fresh emulated device."""
    if "notibot_boards" in request.fixturenames:
        yield request.getfixturevalue("notibot_boards")[0]
        return
    with _recorded(request.node, next(iter(_ports(request.config)), None)) as board:
        yield board


@pytest.fixture
def notibot_boards(request: pytest.FixtureRequest) -> Iterator[list[Board]]:
    """Two boards, or as many as the marker notibot(boards=…) says; emulated if there is no port."""
    marker = request.node.get_closest_marker("notibot")
    number: int = marker.kwargs.get("boards", 2) if marker else 2
    ports: list[Any] = _ports(request.config) or [None] * number
    if len(ports) < number:
        pytest.skip(f"needs {number} boards, and has {len(ports)}: {', '.join(ports)}")
    with contextlib.ExitStack() as boards:
        yield [boards.enter_context(_recorded(request.node, port)) for port in ports[:number]]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A marked test has its rule as a property in JUnit reports; a failure has the consoles."""
    marker = item.get_closest_marker("notibot")
    if marker is not None and "rule" in marker.kwargs and not any(name == "rule" for name, _ in item.user_properties):
        item.user_properties.append(("rule", marker.kwargs["rule"]))
    report = (yield).get_result()  # type: ignore[attr-defined]
    has_failed = report.failed or (call.when == "teardown" and item.stash.get(HAS_FAILED, False))
    item.stash[HAS_FAILED] = has_failed and call.when != "setup"
    # pytest shows no teardown of a test that failed in its setup.
    if call.when == "teardown" or (has_failed and call.when == "setup"):
        for name, board in item.stash.get(BOARDS, []) if has_failed else []:
            text = "".join(f"{shown(line)}\n" for line in board.lines()).rstrip()
            report.sections += [(SECTION + name, text)] if text else []
        item.stash[BOARDS] = []


class JUnitConsoles:
    """Writes the consoles of a failed test to its JUnit report, whatever junit_logging is."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        junit = self._config.stash.get(junitxml.xml_key, None)
        if junit is None:
            return
        for name, text in report.sections:
            if name.startswith(SECTION):
                element = ElementTree.Element("system-out")
                element.text = f"{name}\n{text}\n"
                junit.node_reporter(report).append(element)


class SuiteFailure(Exception):
    """A case of the suite did not pass."""


def conformance_case() -> None:
    """A case of the conformance suite. It is not called: `CaseItem` runs it."""


class CaseItem(pytest.Function):
    """A case of the conformance suite: a test function, as other plugins expect it."""

    def setup(self) -> None:
        super().setup()
        assert isinstance(self.parent, SuiteCollector)
        self.report = _once(self, self.parent.port or "emulator", self.parent.report)

    def runtest(self) -> None:
        case = next(case for case in self.report.cases if case.id == self.name)
        if case.outcome == "skipped":
            pytest.skip("; ".join(case.details) or "skipped by the suite")
        if case.is_bad:
            lines = "\n".join([case.title, *case.details, *case.transcript]).splitlines()
            raise SuiteFailure("\n".join(map(shown, lines)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        return str(excinfo.value) if isinstance(excinfo.value, SuiteFailure) else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[str, int, str]:
        return "notibot", 0, f"notibot: {self.name}"


class SuiteCollector(pytest.Module):
    """The suite on one board. It runs once, before the first of its items."""

    port: str | None
    cases: list[dict[str, Any]]
    _result: SuiteReport | None = None

    def _getobj(self) -> ModuleType:
        return sys.modules[__name__]

    def collect(self) -> Iterator[pytest.Item]:
        for case in self.cases:
            item = CaseItem.from_parent(self, name=case["id"], callobj=conformance_case)
            item.user_properties.append(("rule", " ".join(case["rules"])))
            yield item

    def report(self) -> SuiteReport:
        """Raises NotibotError if the suite did not run."""
        if self._result is None:
            own: list[str] = [] if self.port in _ports(self.config) else _ports(self.config)
            for port in own:
                # First the boards of this worker, so that all workers are busy.
                _measured(self.config, port)
            measured = _measured(self.config, self.port)
            if "error" in measured:
                raise NotibotError(*measured["error"])
            self._result = SuiteReport(measured)
        return self._result


def _measured(config: pytest.Config, port: str | None) -> dict[str, Any]:
    """The report of the suite on a board, which runs in one worker only, or its error."""
    with _locked(config, port or "emulator") as file:
        if file is not None:
            file.seek(0)
        text: str = file.read() if file else ""
        if text:
            found: dict[str, Any] = json.loads(text)
            return found
        try:
            with contextlib.nullcontext(Board(port)) if port else Emulator("quiet") as board:
                found = board.run_suite(filter=config.getoption("--notibot-filter")).document
        except NotibotError as error:
            found = {"error": [str(error), error.code]}
        if file is not None:
            file.write(json.dumps(found))
            file.flush()
        return found


def _check(marker: pytest.Mark) -> None:
    if marker.args or not set(marker.kwargs) <= {"rule", "boards"}:
        raise pytest.UsageError(f"the marker notibot has rule= and boards= only: {marker}")
    boards = marker.kwargs.get("boards", 1)
    if not isinstance(boards, int) or boards < 1 or not isinstance(marker.kwargs.get("rule", ""), str):
        raise pytest.UsageError(f"of the marker notibot, boards= is 1 or more and rule= a text: {marker}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """The suite's cases come after the session's own items, for each board. All workers of
    pytest-xdist must have the same items."""
    for item in items:
        for marker in item.iter_markers("notibot"):
            _check(marker)
    config = session.config
    if not config.getoption("--notibot-suite"):
        return
    chosen: str | None = config.getoption("--notibot-filter")
    try:
        listed = document("test", "--list", "--json", "-", *([] if chosen is None else [f"--filter={chosen}"]))
    except NotibotError as error:
        raise pytest.UsageError(str(error)) from error
    ports: list[str | None] = config.getoption("--notibot-port") or [None]
    for port in ports:
        # Of an id, the brackets are parameters.
        name = "notibot " + re.sub(r"[^\w/.-]+", "-", port) if port and len(ports) > 1 else "notibot"
        suite = SuiteCollector.from_parent(session, path=pathlib.Path(__file__), name=name, nodeid=f"::{name}")
        suite.port, suite.cases = port, listed["cases"]
        report = runner.collect_one_node(suite)
        suite.ihook.pytest_collectreport(report=report)
        items.extend(report.result)
