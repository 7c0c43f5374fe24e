"""The pytest plugin: fixtures for boards and an emulator, and the suite's cases as test items.

    pytest --notibot-port /dev/ttyACM0 --notibot-suite

`--notibot-port` can be repeated: pytest-xdist's workers then share the boards among themselves.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import re
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeVar
from xml.etree import ElementTree

import pytest
from _pytest import junitxml

from notibot import embedded
from notibot._program import NotibotError, run
from notibot.board import Board
from notibot.emulator import Emulator
from notibot.recording import RecordedBoard, RecordedEmulator, printable
from notibot.suite import SuiteReport

SECTION = "Notibot console, until the teardown: "
# The test that showed the error of a board, by the board's port.
FAILED = pytest.StashKey[dict[str, str]]()
# The lines of each board of a test, and whether the test needs them.
CONSOLES = pytest.StashKey[list[tuple[str, str]]]()
HAS_FAILED = pytest.StashKey[bool]()


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
    try:
        return action()
    except NotibotError as error:
        reason = str(error)
    first = item.config.stash.setdefault(FAILED, {}).setdefault(name, item.nodeid)
    if first == item.nodeid:
        pytest.fail(reason, pytrace=False)
    pytest.skip(f"{reason}; this is the error of {first}")


@contextlib.contextmanager
def _recorded(item: pytest.Item, port: str | None) -> Iterator[RecordedBoard | RecordedEmulator]:
    """The board at a port, or an emulator."""
    name = port or "emulator"
    with _once(item, name, lambda: RecordedEmulator() if port is None else RecordedBoard(port)) as board:
        yield board
        text = "".join(f"{printable(line)}\n" for line in board.lines())
        item.stash.setdefault(CONSOLES, []).append((name, text.rstrip()))


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
    item.stash[HAS_FAILED] = report.failed or (call.when != "setup" and item.stash.get(HAS_FAILED, False))
    if call.when == "teardown":
        consoles = item.stash.get(CONSOLES, [])
        item.stash[CONSOLES] = []
        if item.stash[HAS_FAILED]:
            report.sections.extend((SECTION + name, text) for name, text in consoles if text)


class JUnitConsoles:
    """Writes the consoles of a failed test to its JUnit report, whatever junit_logging is."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        junit = self._config.stash.get(junitxml.xml_key, None)
        if junit is None or report.when != "teardown":
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
            raise SuiteFailure("\n".join([case.title, *case.details, *case.transcript]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        return str(excinfo.value) if isinstance(excinfo.value, SuiteFailure) else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[str, int, str]:
        return "notibot", 0, f"notibot: {self.name}"


class SuiteCollector(pytest.Module):
    """The suite on one board. It runs once, before the first of its items."""

    port: str | None
    _result: SuiteReport | NotibotError | None = None

    def _getobj(self) -> ModuleType:
        return sys.modules[__name__]

    def collect(self) -> Iterator[pytest.Item]:
        try:
            listed = json.loads(run("test", "--list", "--json", "-", *self._filter("--filter")))
        except NotibotError as error:
            raise pytest.UsageError(str(error)) from error
        for case in listed["cases"]:
            item = CaseItem.from_parent(self, name=case["id"], callobj=conformance_case)
            item.user_properties.append(("rule", " ".join(case["rules"])))
            yield item

    def _filter(self, *before: str) -> list[str]:
        chosen: str | None = self.config.getoption("--notibot-filter")
        return [] if chosen is None else [*before, chosen]

    def report(self) -> SuiteReport:
        """Raises NotibotError if the suite did not run."""
        if self._result is None:
            try:
                with contextlib.nullcontext(Board(self.port)) if self.port else Emulator("quiet") as board:
                    self._result = board.run_suite(filter=next(iter(self._filter()), None))
            except NotibotError as error:
                self._result = error
        if isinstance(self._result, NotibotError):
            raise self._result
        return self._result


def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """The suite's cases come after the session's own items, for each board."""
    if not session.config.getoption("--notibot-suite"):
        return
    ports = _ports(session.config)
    # All workers of pytest-xdist must have the same items, and each has a board.
    several = len(ports) > 1 and not hasattr(session.config, "workerinput")
    chosen: list[str | None] = [*ports] if several else [next(iter(ports), None)]
    for port in chosen:
        # Of an id, the brackets are parameters.
        name = "notibot " + re.sub(r"[^\w/.-]+", "-", port) if several and port else "notibot"
        suite = SuiteCollector.from_parent(session, path=pathlib.Path(__file__), name=name, nodeid=f"::{name}")
        suite.port = port
        items.extend(suite.collect())
