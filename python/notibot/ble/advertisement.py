"""What a Notibot advertises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from notibot.ble.handles import NOTIBOT_SERVICE

if TYPE_CHECKING:
    from bumble.device import Advertisement

# Of advertising data, and of a scan response.
LIMIT_BYTES = 31
NAME_LIMIT_BYTES = LIMIT_BYTES - 2
# General discoverable, without BR/EDR.
FLAGS = b"\x02\x01\x06"
# Types of data: the complete form, and one that lacks something.
SERVICES, NAMES = (0x07, 0x06), (0x09, 0x08)


def made(name: str) -> tuple[bytes, bytes]:
    """The data to advertise, and the scan response: it has a name that is too long for the data."""
    encoded = name.encode()
    named = bytes([len(encoded) + 1, NAMES[0]]) + encoded
    data = FLAGS + bytes([len(NOTIBOT_SERVICE) + 1, SERVICES[0]]) + NOTIBOT_SERVICE
    return (data + named, b"") if len(data + named) <= LIMIT_BYTES else (data, named)


def has_service(advertisement: Advertisement) -> bool:
    lists = [data for type_ in SERVICES for data in advertisement.data.get_all(type_, raw=True)]
    return any(data[at : at + 16] == NOTIBOT_SERVICE for data in lists for at in range(0, len(data), 16))


def name_of(advertisement: Advertisement) -> str | None:
    for type_ in NAMES:
        for data in advertisement.data.get_all(type_, raw=True):
            return data.decode(errors="replace")
    return None
