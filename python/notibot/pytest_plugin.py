"""The pytest plugin: fixtures for a board and an emulator, and the suite's cases as test items.

    pytest --notibot-port /dev/ttyACM0 --notibot-suite

`--notibot-port` can be repeated: pytest-xdist's workers then share the boards among themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from notibot import _program
from notibot.board import Board
from notibot.emulator import Emulator
from notibot.suite import SuiteReport


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
    config.addinivalue_line("markers", 'notibot(rule="LNK-*"): the rule of the protocol that a test is about')


def _port(config: pytest.Config) -> str | None:
    """This process's port. Of several, a worker of pytest-xdist takes the one of its number."""
    ports: list[str] = config.getoption("--notibot-port")
    if not ports:
        return None
    worker = getattr(config, "workerinput", {}).get("workerid", "gw0")
    number = int(worker.removeprefix("gw"))
    if number >= len(ports):
        raise pytest.UsageError(f"{number + 1} workers, but only {len(ports)} --notibot-port: use -n {len(ports)}")
    return ports[number]


@pytest.fixture
def notibot_emulator() -> Iterator[Emulator]:
    """A fresh emulated device."""
    with Emulator() as emulator:
        yield emulator


@pytest.fixture
def notibot_board(request: pytest.FixtureRequest) -> Iterator[Board]:
    """The board at --notibot-port, or a fresh emulated device."""
    port = _port(request.config)
    if port is not None:
        yield Board(port)
        return
    with Emulator() as emulator:
        yield emulator


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """The rule of a marked test is a property in JUnit reports."""
    marker = item.get_closest_marker("notibot")
    if marker is not None and not any(name == "rule" for name, _ in item.user_properties):
        item.user_properties.append(("rule", marker.kwargs.get("rule", "")))
    yield


class SuiteFailure(Exception):
    """A case of the suite did not pass."""


class CaseItem(pytest.Item):
    """A case of the conformance suite."""

    def __init__(self, *, rules: list[str], **arguments: Any) -> None:
        super().__init__(**arguments)
        self.user_properties.append(("rule", " ".join(rules)))

    def runtest(self) -> None:
        assert isinstance(self.parent, SuiteCollector)
        case = next(case for case in self.parent.report().cases if case.id == self.name)
        if case.outcome == "skipped":
            pytest.skip("; ".join(case.details) or "skipped by the suite")
        if case.is_bad:
            raise SuiteFailure("\n".join([case.title, *case.details, *case.transcript]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:  # type: ignore[override]
        return str(excinfo.value)

    def reportinfo(self) -> tuple[str, None, str]:
        return "notibot", None, f"notibot: {self.name}"


class SuiteCollector(pytest.Collector):
    """The suite. It runs once, when the first of its items does."""

    _report: SuiteReport | None = None

    def collect(self) -> Iterator[pytest.Item]:
        chosen: str | None = self.config.getoption("--notibot-filter")
        options = [] if chosen is None else ["--filter", chosen]
        listed = json.loads(_program.run("test", "--list", "--json", "-", *options))
        for case in listed["cases"]:
            yield CaseItem.from_parent(self, name=case["id"], rules=case["rules"])

    def report(self) -> SuiteReport:
        if self._report is None:
            chosen: str | None = self.config.getoption("--notibot-filter")
            port = _port(self.config)
            if port is not None:
                self._report = Board(port).run_suite(filter=chosen)
            else:
                with Emulator("quiet") as emulator:
                    self._report = emulator.run_suite(filter=chosen)
        return self._report


def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """The suite's cases come after the session's own items."""
    if session.config.getoption("--notibot-suite"):
        items.extend(SuiteCollector.from_parent(session, name="notibot").collect())
