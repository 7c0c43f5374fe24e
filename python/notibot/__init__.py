"""Notibot displays over USB-serial from Python: boards, emulators and the conformance suite.

Everything is done by the program `notibot`, which the wheel brings along; this package needs
nothing else. A port is open only while a call runs or a stream is read, but for a `SharedBoard`.
"""

from notibot._program import NotibotError, program
from notibot.board import Board, Line, Sent
from notibot.emulator import Emulator, Item
from notibot.shared import SharedBoard
from notibot.suite import CaseResult, SuiteReport

__all__ = [
    "Board",
    "CaseResult",
    "Emulator",
    "Item",
    "Line",
    "NotibotError",
    "Sent",
    "SharedBoard",
    "SuiteReport",
    "program",
]
