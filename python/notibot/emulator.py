"""An emulated device."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import tempfile
from typing import Any

from notibot import _program
from notibot.board import Board

ANSWER_SECONDS = 20


@dataclasses.dataclass(frozen=True)
class Item:
    """A notification on the emulated display."""

    item: int
    # The JSON that the host wrote.
    json: str

    @property
    def content(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.json)
        return found


class Emulator(Board, _program.Closing):
    """An emulated device on a pseudo-terminal, for the time of a `with`.

    It is a `Board`, and its buttons, power and cable can be used as well.
    """

    def __init__(self, profile: str = "default", *options: str):
        self._folder = tempfile.TemporaryDirectory(prefix="notibot-")
        link, control = (os.path.join(self._folder.name, name) for name in ("port", "control"))
        arguments = ["--profile", profile, "--link", link, "--control", control, "--json", *options]
        self._stream = _program.Stream("emulate", *arguments)
        try:
            started = next(self._stream)
        except (StopIteration, _program.NotibotError):
            self.close()
            raise
        super().__init__(started["port"], control=control)

    def close(self) -> None:
        """Ends the emulator. A second call does nothing."""
        self._stream.close()
        self._folder.cleanup()

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """A command of `notibot control`. Raises NotibotError with code 15 if it is refused."""
        assert self.control is not None
        path, _, number = self.control.partition("#")
        device = {"device": int(number)} if number else {}
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(ANSWER_SECONDS)
                connection.connect(path)
                connection.sendall(json.dumps({"command": command, **device, **arguments}).encode() + b"\n")
                with connection.makefile(encoding="utf-8") as answers:
                    answer: dict[str, Any] = json.loads(answers.readline())
        except TimeoutError as error:
            raise _program.NotibotError("the emulator did not answer in time", 13) from error
        except (OSError, ValueError) as error:
            raise _program.NotibotError(f"the emulator has ended: {error}", 14) from error
        if not answer["ok"]:
            raise _program.NotibotError(answer.get("error", "refused"), 15)
        return answer

    def items(self) -> list[Item]:
        """What is on the display, oldest first; at most the newest 100."""
        return [Item(item["item"], item["json"]) for item in self.ask("list")["items"]]

    def dismiss(self, item: int) -> None:
        self.ask("dismiss", item=item)

    def press(self, item: int, action: int) -> None:
        """Chooses an action of a notification, 0 to 255."""
        self.ask("action", item=item, act=action)

    def reboot(self, reason: str = "software") -> None:
        self.ask("reboot", reason=reason)

    def unplug(self) -> None:
        self.ask("unplug")

    def plug(self) -> None:
        self.ask("plug")

    def log(self, text: str) -> None:
        """Prints a line on the device's console."""
        self.ask("log", text=text)

    def stats(self) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("stats")["statistics"]
        return found
