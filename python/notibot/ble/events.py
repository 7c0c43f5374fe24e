"""What the module reports: a line of JSON per event on stdout."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any


class Failure(Exception):
    """Ends the module, or a link: what happened, what helps, an exit code of docs/CLI.md."""

    def __init__(self, exit: int, what: str, fix: str):
        super().__init__(what)
        self.exit, self.what, self.fix = exit, what, fix

    def report(self, *, is_final: bool = False) -> None:
        """Reports it; `is_final`: the module ends with it."""
        report("failed", what=self.what, fix=self.fix, exit=self.exit, is_final=is_final)


def report(event: str, **members: Any) -> None:
    # Nobody reads it if what has started this module is gone; the end must go on then.
    with contextlib.suppress(OSError):
        sys.stdout.write(json.dumps({"event": event, **members}) + "\n")
        sys.stdout.flush()
