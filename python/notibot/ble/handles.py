"""Attributes of the relay itself, and where the PDUs of a link go on.

A *client* sends requests, a *server* answers. PDUs pass as they are.
"""

from __future__ import annotations

import uuid
from typing import NamedTuple

# Attributes of a Notibot's service, which are in a row.
COUNT = 7
DEFAULT_MTU = 23

ERROR, MTU_REQUEST, MTU_RESPONSE = 0x01, 0x02, 0x03
FIND_INFORMATION, FIND_BY_VALUE, READ_BY_TYPE, READ_BY_GROUP = 0x04, 0x06, 0x08, 0x10
READ, READ_BLOB, WRITE, PREPARE, WRITE_COMMAND, SIGNED_WRITE = 0x0A, 0x0C, 0x12, 0x16, 0x52, 0xD2
INDICATION, CONFIRMATION = 0x1D, 0x1E
RANGES = (FIND_INFORMATION, FIND_BY_VALUE, READ_BY_TYPE, READ_BY_GROUP)
NOT_FOUND = 0x0A

SERVICE, CHARACTERISTIC, CCCD = b"\x00\x28", b"\x03\x28", b"\x02\x29"
NOTIBOT_SERVICE = uuid.UUID("4fafc201-1fb5-459e-8fcc-c5c9c331914b").bytes[::-1]
NOTIBOT_COUNT = uuid.UUID("beb5483e-36e1-4688-b7f5-ea07361b26a8").bytes[::-1]
NOTIBOT_DATA = uuid.UUID("1c95d5e3-d8f7-413a-bf3d-7a2e5d7be87e").bytes[::-1]
# Bluetooth's base UUID up to the 16 bits of a short one.
_BASE = bytes.fromhex("fb349b5f8000008000100000")


def le(value: int) -> bytes:
    return value.to_bytes(2, "little")


def word(pdu: bytes, at: int) -> int:
    return int.from_bytes(pdu[at : at + 2], "little")


def error(pdu: bytes, handle: int, code: int) -> bytes:
    """The refusal of a request."""
    return bytes([ERROR, pdu[0]]) + le(handle) + bytes([code])


def short(type_: bytes) -> bytes:
    """A UUID of 16 bytes as one of 2, if it has such a form."""
    return type_[12:14] if len(type_) == 16 and type_.startswith(_BASE) and type_.endswith(b"\0\0") else type_


class Attribute(NamedTuple):
    """An attribute of the relay; `value` is None if it cannot be read."""

    type: bytes
    value: bytes | None
    # The last index of the group, for a service.
    end: int = 0


class OwnAttributes:
    """The services GAP and GATT. Without Service Changed a phone can keep handles forever."""

    # A generic display.
    APPEARANCE = 0x0140

    def __init__(self, first: int, name: str):
        """They begin at the handle `first`."""
        self.first = first
        self._attributes = [
            Attribute(SERVICE, b"\x00\x18", 4),
            Attribute(CHARACTERISTIC, b"\x02" + le(first + 2) + b"\x00\x2a"),
            Attribute(b"\x00\x2a", name.encode()),
            Attribute(CHARACTERISTIC, b"\x02" + le(first + 4) + b"\x01\x2a"),
            Attribute(b"\x01\x2a", le(self.APPEARANCE)),
            Attribute(SERVICE, b"\x01\x18", 8),
            Attribute(CHARACTERISTIC, b"\x20" + le(first + 7) + b"\x05\x2a"),
            Attribute(b"\x05\x2a", None),
            Attribute(CCCD, le(0)),
        ]

    def covers(self, handle: int) -> bool:
        return 0 <= handle - self.first < len(self._attributes)

    def is_behind(self, start: int, end: int) -> bool:
        """Whether a range has a handle of the service, which is in front of these attributes."""
        return start <= end and start < self.first and end >= self.first - COUNT

    def answer(self, pdu: bytes, mtu: int) -> bytes | None:
        """The answer to a request, empty for a command; None if it is for no attribute here."""
        op = pdu[0]
        if op in RANGES and len(pdu) >= 5:
            return self._found(pdu, mtu)
        singles = (READ, READ_BLOB, WRITE, PREPARE, WRITE_COMMAND, SIGNED_WRITE)
        if op not in singles or len(pdu) < 3 or not self.covers(word(pdu, 1)):
            return None
        handle = word(pdu, 1)
        attribute = self._attributes[handle - self.first]
        if op in (WRITE_COMMAND, SIGNED_WRITE):
            return b""
        if op in (READ, READ_BLOB):
            return self._read(pdu, handle, attribute, mtu)
        if op == PREPARE or attribute.type != CCCD:
            return error(pdu, handle, 0x03)
        if len(pdu) != 5:
            return error(pdu, handle, 0x0D)
        self._attributes[handle - self.first] = attribute._replace(value=pdu[3:])
        return bytes([op + 1])

    def _read(self, pdu: bytes, handle: int, attribute: Attribute, mtu: int) -> bytes:
        if len(pdu) != (3 if pdu[0] == READ else 5):
            return error(pdu, 0, 0x04)
        offset = word(pdu, 3) if pdu[0] == READ_BLOB else 0
        if attribute.value is None:
            return error(pdu, handle, 0x02)
        if offset > len(attribute.value):
            return error(pdu, handle, 0x07)
        return bytes([pdu[0] + 1]) + attribute.value[offset:][: mtu - 1]

    def _found(self, pdu: bytes, mtu: int) -> bytes | None:
        """The answer about a range; None if nothing is there, or the request is wrong."""
        op, start, end = pdu[0], word(pdu, 1), word(pdu, 3)
        found = [
            (self.first + index, attribute)
            for index, attribute in enumerate(self._attributes)
            if 0 < start <= self.first + index <= end
        ]
        if op == FIND_INFORMATION and len(pdu) == 5:
            entries = [le(handle) + attribute.type for handle, attribute in found]
            return self._listed(bytes([op + 1, 1]), entries, mtu)
        if op == FIND_BY_VALUE:
            wanted = pdu[5:7], pdu[7:]
            found = [(at, attribute) for at, attribute in found if (attribute.type, attribute.value) == wanted]
            ends = [le(handle) + le(self._end(handle, attribute)) for handle, attribute in found]
            return self._listed(bytes([op + 1]), ends, mtu)
        type_ = short(pdu[5:])
        found = [(handle, attribute) for handle, attribute in found if attribute.type == type_]
        if not found or (op == READ_BY_GROUP and type_ != SERVICE):
            return None
        if found[0][1].value is None:
            return error(pdu, found[0][0], 0x02)
        entries = [
            le(handle)
            + (le(self._end(handle, attribute)) if op == READ_BY_GROUP else b"")
            + (attribute.value or b"")[: min(mtu - 4, 253)]
            for handle, attribute in found
        ]
        size = len(entries[0])
        same = [entry for index, entry in enumerate(entries) if all(len(e) == size for e in entries[: index + 1])]
        return self._listed(bytes([op + 1, size]), same, mtu)

    def _end(self, handle: int, attribute: Attribute) -> int:
        return self.first + attribute.end if attribute.type == SERVICE else handle

    @staticmethod
    def _listed(head: bytes, entries: list[bytes], mtu: int) -> bytes | None:
        if not entries:
            return None
        return head + b"".join(entries[: max(1, (mtu - len(head)) // len(entries[0]))])


class Routes(NamedTuple):
    """Where a PDU goes on: to the server, to the client; None: nothing goes there."""

    to_server: bytes | None = None
    to_client: bytes | None = None


class PeripheralBearer:
    """One link of a peripheral: its central is the client, the emulator the server, which has GAP
    and GATT itself if `own` is None."""

    def __init__(self, own: OwnAttributes | None = None):
        self._own = own
        self._mtu: int | None = None
        self._asked_mtu = DEFAULT_MTU
        # The request about a range that the server has not answered yet.
        self._asked_range: bytes | None = None

    @property
    def mtu(self) -> int:
        return self._mtu or DEFAULT_MTU

    def from_client(self, pdu: bytes) -> Routes:
        if pdu[0] == MTU_REQUEST and len(pdu) == 3:
            self._asked_mtu = word(pdu, 1)
        is_range = pdu[0] in RANGES and len(pdu) >= 5
        # The service is before the own attributes, so that its answer comes first.
        if self._own and not (is_range and self._own.is_behind(word(pdu, 1), word(pdu, 3))):
            answer = self._own.answer(pdu, self.mtu)
            if answer is not None:
                return Routes(to_client=answer or None)
        self._asked_range = pdu if is_range else None
        return Routes(to_server=pdu)

    def from_server(self, pdu: bytes) -> Routes:
        if pdu[0] == MTU_RESPONSE and len(pdu) == 3 and self._mtu is None:
            self._mtu = max(DEFAULT_MTU, min(self._asked_mtu, word(pdu, 1)))
        asked = self._asked_range
        if self._own and asked and pdu[:2] == bytes([ERROR, asked[0]]) and pdu[4:] == bytes([NOT_FOUND]):
            pdu = self._own.answer(asked, self.mtu) or pdu
        return Routes(to_client=pdu)


class CentralBearer:
    """One link of a central: the client is at the socket, the server is the device."""

    def from_client(self, pdu: bytes) -> Routes:
        return Routes(to_server=pdu)

    def from_server(self, pdu: bytes) -> Routes:
        # Service Changed, for example: nothing of a Notibot's service is indicated.
        return Routes(to_server=bytes([CONFIRMATION])) if pdu[0] == INDICATION else Routes(to_client=pdu)
