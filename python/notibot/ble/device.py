"""Bumble's device on an adapter."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from bumble import hci
from bumble.device import Device, DeviceConfiguration
from bumble.transport import open_transport

from notibot.ble import adapter as adapters

OPEN_SECONDS = 5.0
# Some adapters get their firmware first.
POWER_ON_SECONDS = 10.0
# bluetoothd switches an adapter on again a moment after it was released.
BUSY_TRIES, BUSY_SECONDS = 5, 0.2
CLOSE_SECONDS = 1.0


@contextlib.asynccontextmanager
async def opened(adapter: str, address: str | None) -> AsyncIterator[tuple[Device, asyncio.Future[Any]]]:
    """A device on an adapter, and the future that is done when the adapter is gone."""
    name = adapters.transport(adapter)
    adapters.check(adapter)
    source, close = await _transport(adapter, name)
    gone = asyncio.get_running_loop().create_future()
    source.source.terminated.add_done_callback(lambda _: gone.done() or gone.set_result(None))

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        # The callbacks of a transport have no other way to report that the adapter is gone.
        if "handle" in context and isinstance(context.get("exception"), OSError):
            gone.done() or gone.set_result(None)
        else:
            loop.default_exception_handler(context)

    asyncio.get_running_loop().set_exception_handler(handle)
    static = hci.Address(address) if address else hci.Address.generate_static_address()
    # The relay serves GAP and GATT: nothing is answered by Bumble's server but a peer that is one.
    config = DeviceConfiguration(name="notibot", address=static, gap_service_enabled=False, gatt_service_enabled=False)
    device = Device.from_config_with_hci(config, source.source, source.sink)
    try:
        try:
            await asyncio.wait_for(device.power_on(), POWER_ON_SECONDS)
        except Exception as error:
            raise (adapters.lost(adapter) if gone.done() else adapters.explained(adapter, error)) from error
        yield device, gone
    finally:
        with contextlib.suppress(Exception):
            if not gone.done():
                # Also what this process does not know of: no advertising, no link is left.
                await asyncio.wait_for(device.host.send_sync_command(hci.HCI_Reset_Command()), CLOSE_SECONDS)
        await close()


async def completed(start: Coroutine[Any, Any, None]) -> None:
    """Awaits a start also when this task is cancelled meanwhile: Bumble cannot stop what it was
    cancelled in starting, and takes a late answer for that of its next command."""
    task = asyncio.ensure_future(start)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


async def _transport(adapter: str, name: str) -> tuple[Any, Any]:
    """The open transport, and what closes it."""
    for attempt in range(BUSY_TRIES):
        try:
            source = await asyncio.wait_for(open_transport(name), OPEN_SECONDS)
            return source, source.close
        except Exception as error:
            failure = adapters.explained(adapter, error)
            if failure.exit != 11 or attempt == BUSY_TRIES - 1:
                raise failure from error
            await asyncio.sleep(BUSY_SECONDS)
    raise AssertionError("the last attempt returns or raises")
