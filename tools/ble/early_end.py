"""Ends a display and a scan at each turn of their loops while they begin, and prints after which
ones the adapter still advertises or scans, as a line of JSON."""

import asyncio
import json
import logging
from unittest import mock

from bumble.controller import Controller
from bumble.device import Device
from bumble.hci import Address
from bumble.host import Host
from bumble.link import LocalLink
from bumble.transport.common import AsyncPipeSink
from notibot.ble.central import scan
from notibot.ble.peripheral import Peripheral

ADDRESS = "F0:01:02:03:04:05"
# Both have begun after about half of them.
TURNS = 60
PATIENCE_SECONDS = 10.0


async def left_after(turns: int, is_display: bool) -> bool:
    """Whether the adapter of a role that was ended after as many turns still sends or scans."""
    controller = Controller("C0", link=LocalLink(), public_address=ADDRESS)
    device = Device(address=Address(ADDRESS), host=Host(controller, AsyncPipeSink(controller)))
    await device.power_on()
    display = Peripheral(device, "adapter", "Notibot", "/none", 1, None)
    work = asyncio.ensure_future(display.run() if is_display else scan(device, "adapter"))
    for _ in range(turns):
        await asyncio.sleep(0)
    work.cancel()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.wait([work])
        await display.close()
    return bool(controller.le_scan_enable) or any(one.enabled for one in controller.advertising_sets.values())


def main() -> None:
    ends = [(turns, is_display) for turns in range(TURNS) for is_display in (True, False)]
    print(json.dumps([end for end in ends if asyncio.run(left_after(*end))]), flush=True)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    with mock.patch("notibot.ble.peripheral.report"), mock.patch("notibot.ble.central.report"):
        main()
