"""An emulated device."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import subprocess
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
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="notibot-"))
            link, control = (os.path.join(folder, name) for name in ("port", "control"))
            arguments = ["--link", link, "--control", control, "--json", "--until-eof", *options]
            stream = _program.Stream("emulate", f"--profile={profile}", *arguments, stdin=subprocess.PIPE)
            stack.callback(stream.close)
            super().__init__(stream.first()["port"], control=control)
            self._opened = stack.pop_all()

    def close(self) -> None:
        """Ends the emulator. A second call does nothing."""
        self._opened.close()

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """A command of `notibot control`. Raises NotibotError with code 15 if it is refused."""
        assert self.control is not None
        path, _, number = self.control.partition("#")
        device = {"device": int(number)} if number else {}
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(ANSWER_SECONDS)
                connection.connect(path)
                line = json.dumps({"command": command, **device, **arguments}, ensure_ascii=False)
                with contextlib.suppress(BrokenPipeError):
                    # It does not read on if the line is too long, but says so.
                    connection.sendall(line.encode(errors="replace") + b"\n")
                answered = _program.Lines(connection).next(ANSWER_SECONDS)
        except TimeoutError as error:
            raise _program.NotibotError("the emulator did not answer in time", 13) from error
        except OSError as error:
            raise _program.NotibotError(f"the emulator has ended: {error}", 14) from error
        if not answered:
            raise _program.NotibotError("the emulator has ended", 14)
        answer = _program.parsed(answered, path)
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
