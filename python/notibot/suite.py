"""The result of the conformance suite."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class CaseResult:
    id: str
    title: str
    # passed, failed (the device is wrong), error (the rig is wrong) or skipped
    outcome: str
    # The rules of docs/PROTOCOL.md that it checks.
    rules: list[str]
    seconds: float
    # Why it did not pass, a line each.
    details: list[str]
    # The frames around the failure, a line each.
    transcript: list[str]

    @property
    def is_bad(self) -> bool:
        return self.outcome not in ("passed", "skipped")


class SuiteReport:
    """A whole run. `document` is the JSON report of `notibot test`."""

    def __init__(self, document: dict[str, Any]):
        self.document = document
        names = [field.name for field in dataclasses.fields(CaseResult)]
        self.cases = [CaseResult(**{name: case[name] for name in names}) for case in document["cases"]]

    @property
    def passed(self) -> bool:
        """Whether cases ran, and none of them failed."""
        return self.count("passed") > 0 and not self.bad

    @property
    def bad(self) -> list[CaseResult]:
        return [case for case in self.cases if case.is_bad]

    def count(self, outcome: str) -> int:
        return sum(case.outcome == outcome for case in self.cases)
