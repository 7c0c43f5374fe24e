"""Ends the role of a display at each turn of its loop while it begins to advertise, and prints
after which ones something is still advertised, as a line of JSON."""

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
from notibot.ble.peripheral import Peripheral

ADDRESS = "F0:01:02:03:04:05"
# It advertises after about half of them.
TURNS = 60
PATIENCE_SECONDS = 10.0


async def advertised_after(turns: int) -> bool:
    """Whether anything is advertised by a role that was ended after as many turns of its loop."""
    controller = Controller("C0", link=LocalLink(), public_address=ADDRESS)
    device = Device(address=Address(ADDRESS), host=Host(controller, AsyncPipeSink(controller)))
    await device.power_on()
    role = Peripheral(device, "adapter", "Notibot", "/none", 1, None)
    work = asyncio.ensure_future(role.run())
    for _ in range(turns):
        await asyncio.sleep(0)
    work.cancel()
    await asyncio.wait([work])
    await asyncio.wait_for(role.close(), PATIENCE_SECONDS)
    return any(advertising.enabled for advertising in controller.advertising_sets.values())


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    with mock.patch("notibot.ble.peripheral.report"):
        print(json.dumps([turns for turns in range(TURNS) if asyncio.run(advertised_after(turns))]), flush=True)
