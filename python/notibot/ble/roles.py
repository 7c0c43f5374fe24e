"""Runs one role until standard input closes."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import threading

from notibot.ble import adapter as adapters
from notibot.ble.central import Central, scan
from notibot.ble.device import opened
from notibot.ble.events import Failure
from notibot.ble.peripheral import Peripheral

# How long the end may take: advertising stops, and links are disconnected.
END_SECONDS = 4.0


async def perform(arguments: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)

    def wait_for_input() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        # The interpreter can have ended.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(over.set)

    threading.Thread(target=wait_for_input, daemon=True).start()
    async with opened(arguments.adapter, getattr(arguments, "address", None)) as (device, gone):
        role: Peripheral | Central | None = None
        if arguments.role == "peripheral":
            role = Peripheral(
                device, arguments.adapter, arguments.name, arguments.att, arguments.centrals, arguments.own_from
            )
        elif arguments.role == "central":
            role = Central(device, arguments.adapter, arguments.peer, arguments.socket)
        work = asyncio.ensure_future(role.run() if role else scan(device, arguments.adapter))
        waits = [work, asyncio.ensure_future(over.wait()), gone]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        # An end that hangs must not leave the process.
        last = threading.Timer(END_SECONDS, os._exit, [1])
        last.daemon = True
        last.start()
        work.cancel()
        outcome = (await asyncio.gather(work, return_exceptions=True))[0]
        if gone.done():
            raise adapters.lost(arguments.adapter)
        if role:
            await role.close()
        if isinstance(outcome, Exception):
            raise outcome if isinstance(outcome, Failure) else adapters.explained(arguments.adapter, outcome)
