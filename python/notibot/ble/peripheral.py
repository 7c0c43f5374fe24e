"""The role of a display: it advertises, and each central has its own bearer of the emulator."""

from __future__ import annotations

import asyncio
import contextlib

from bumble.core import BaseBumbleError
from bumble.device import Connection, Device
from bumble.pairing import PairingConfig, PairingDelegate

from notibot.ble import advertisement
from notibot.ble.device import completed
from notibot.ble.events import Failure, report
from notibot.ble.handles import OwnAttributes, PeripheralBearer
from notibot.ble.relay import ATT_CHANNEL, Link, Relay

# The shortest that the specification allows: a display has power, and is found at once.
INTERVAL_MS = 20
# An adapter can refuse to advertise while it sets up or ends a link.
TRIES, TRY_SECONDS = 20, 0.1
# A client has one request at a time.
EARLY_LIMIT = 4


class NoPairing(PairingDelegate):
    async def accept(self) -> bool:
        return False


class Peripheral:
    def __init__(self, device: Device, adapter: str, name: str, att: str, centrals: int, own_from: int | None):
        self._device, self._adapter, self._name, self._att = device, adapter, name, att
        self._centrals, self._own_from = centrals, own_from
        # By connection handle.
        self._links: dict[int, Link] = {}
        self._relays: dict[int, Relay] = {}
        # PDUs of links that do not have their connection to the emulator yet.
        self._early: dict[int, list[bytes]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        # A connection ends it.
        self._is_advertising = False

    async def run(self) -> None:
        """Advertises while there is room for a central, until this task is cancelled."""
        self._device.smp_manager.pairing_config_factory = lambda _: PairingConfig(delegate=NoPairing())
        self._device.on("connection", self._handle_connection)
        self._device.l2cap_channel_manager.register_fixed_channel(ATT_CHANNEL, self._receive)
        is_ready = False
        # Only one task can start Bumble's advertising: events of links set `_changed`.
        while True:
            self._changed.clear()
            if len(self._links) < self._centrals and not self._is_advertising:
                await self._advertise()
            if not is_ready:
                address = self._device.random_address
                report("ready", name=self._name, address=str(address), adapter=self._adapter)
                is_ready = True
            await self._changed.wait()

    async def _advertise(self) -> None:
        data, response = advertisement.made(self._name)
        for attempt in range(TRIES):
            try:
                # A connection can follow before the call returns.
                self._is_advertising = True
                start = self._device.start_advertising(
                    advertising_data=data,
                    scan_response_data=response,
                    advertising_interval_min=INTERVAL_MS,
                    advertising_interval_max=INTERVAL_MS,
                )
                await completed(start)
                return
            except BaseBumbleError as error:
                self._is_advertising = False
                # A further link can be more than the adapter has; the end of one is a change.
                if self._links and attempt:
                    return
                if attempt == TRIES - 1:
                    reason = f"the adapter {self._adapter} does not advertise: {error}"
                    raise Failure(18, reason, "use another adapter") from error
                await asyncio.sleep(TRY_SECONDS)

    def _handle_connection(self, connection: Connection) -> None:
        link = Link(connection)
        link.report()
        self._links[link.handle] = link
        self._early[link.handle] = []
        self._is_advertising = False
        task = asyncio.ensure_future(self._serve(link))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._changed.set()

    async def _serve(self, link: Link) -> None:
        """Relays one link until it ends."""
        try:
            reader, writer = await asyncio.open_unix_connection(self._att)
            own = OwnAttributes(self._own_from, self._name) if self._own_from else None
            relay = Relay(link, PeripheralBearer(own), reader, writer)
            self._relays[link.handle] = relay
            for pdu in self._early.pop(link.handle, []):
                relay.receive(pdu)
            await relay.run()
        except OSError:
            # The emulator has ended, or accepts no further connection.
            await link.disconnect()
        finally:
            # The handle can be that of the next link by now.
            if self._links.get(link.handle) is link:
                for table in (self._links, self._relays, self._early):
                    table.pop(link.handle, None)
            self._changed.set()

    def _receive(self, handle: int, pdu: bytes) -> None:
        if relay := self._relays.get(handle):
            relay.receive(bytes(pdu))
        elif (early := self._early.get(handle)) is not None and len(early) < EARLY_LIMIT:
            early.append(bytes(pdu))

    async def close(self) -> None:
        """Stops advertising, and ends the links."""
        self._device.remove_listener("connection", self._handle_connection)
        with contextlib.suppress(Exception):
            await self._device.stop_advertising()
        await asyncio.gather(*(link.disconnect() for link in self._links.values()))
