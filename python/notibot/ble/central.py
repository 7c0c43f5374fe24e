"""The role of a host: each connection to its socket is a link to the device; and a scan."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator

from bumble.core import BaseBumbleError
from bumble.device import Advertisement, Connection, ConnectionParametersPreferences, Device
from bumble.hci import HCI_LE_1M_PHY, Address

from notibot.ble import adapter as adapters
from notibot.ble.advertisement import has_service, name_of
from notibot.ble.device import completed
from notibot.ble.events import Failure, report
from notibot.ble.handles import CentralBearer
from notibot.ble.relay import ATT_CHANNEL, Link, Relay

SCAN_SECONDS = 10.0
CONNECT_SECONDS = 10.0
CANCEL_SECONDS = 1.0
# How long a second device of the name is looked for. An advertisement comes once a second at least.
NAMESAKE_SECONDS = 1.0
# The shortest that the specification allows, for a suite of hundreds of connections.
INTERVAL_MS = (7.5, 15.0)


@contextlib.asynccontextmanager
async def scanning(device: Device) -> AsyncIterator[asyncio.Queue[Advertisement]]:
    """Advertisements as long as the `with` lasts; without room for more they are dropped."""
    found: asyncio.Queue[Advertisement] = asyncio.Queue(256)

    def handle(advertisement: Advertisement) -> None:
        if not found.full():
            found.put_nowait(advertisement)

    device.on("advertisement", handle)
    try:
        await completed(device.start_scanning())
        yield found
    finally:
        device.remove_listener("advertisement", handle)
        if device.is_scanning:
            await device.stop_scanning()


async def scan(device: Device, adapter: str) -> None:
    """Reports each Notibot once, and again when its name becomes known."""
    known: dict[str, str | None] = {}
    async with scanning(device) as found:
        report("ready", adapter=adapter)
        while True:
            advertisement = await found.get()
            address, name = str(advertisement.address), name_of(advertisement)
            if address not in known:
                if not has_service(advertisement):
                    continue
            elif not name or name == known[address]:
                continue
            known[address] = name
            report("found", peer=address, name=name, rssi=advertisement.rssi)


class Central:
    def __init__(self, device: Device, adapter: str, peer: str, socket: str):
        self._device, self._adapter, self._peer, self._socket = device, adapter, peer, socket
        # A link to a device must have ended before the next one begins.
        self._turn = asyncio.Lock()
        self._link: Link | None = None
        self._relay: Relay | None = None
        # Where the device was.
        self._address: Address | None = None

    async def run(self) -> None:
        """Listens until this task is cancelled."""
        self._device.l2cap_channel_manager.register_fixed_channel(ATT_CHANNEL, self._receive)
        old = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(self._serve, self._socket)
        except OSError as error:
            reason = f"cannot listen at {self._socket}: {error.strerror}"
            raise Failure(2, reason, "choose a new path in an existing folder") from error
        finally:
            os.umask(old)
        try:
            report("ready", adapter=self._adapter, peer=self._peer)
            await server.serve_forever()
        finally:
            with contextlib.suppress(OSError):
                os.unlink(self._socket)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with self._turn:
            try:
                connection = await self._connect()
                self._link = link = Link(connection)
                link.report()
                self._relay = Relay(link, CentralBearer(), reader, writer)
                await self._relay.run()
            except Failure as failure:
                failure.report()
            except Exception as error:
                # Each connection is answered by an event.
                adapters.explained(self._adapter, error).report()
            finally:
                if self._link:
                    await self._link.disconnect()
                self._link = self._relay = None
                writer.close()

    def _receive(self, handle: int, pdu: bytes) -> None:
        pdu = bytes(pdu)
        # A device can be a client, too: the library's server answers it.
        if pdu[:1] and (pdu[0] % 2 == 0 or not self._relay):
            self._device.on_gatt_pdu(handle, pdu)
        elif self._relay and self._relay.link.handle == handle:
            self._relay.receive(pdu)

    async def _connect(self) -> Connection:
        wanted = ConnectionParametersPreferences(
            connection_interval_min=INTERVAL_MS[0], connection_interval_max=INTERVAL_MS[1]
        )
        for is_last in (self._address is None, True):
            address = self._address or await self._find()
            try:
                connecting = self._device.connect(
                    address, timeout=CONNECT_SECONDS, connection_parameters_preferences={HCI_LE_1M_PHY: wanted}
                )
                # Bumble waits for the adapter to confirm that it gives up; not every one does.
                connection = await asyncio.wait_for(connecting, CONNECT_SECONDS + CANCEL_SECONDS)
            except (BaseBumbleError, TimeoutError) as error:
                # It can have another address by now.
                self._address = None
                if is_last:
                    fix = f"move it closer, end its other connections, or look for it: {self._search}"
                    raise Failure(13, f"{self._peer} does not accept a connection", fix) from error
                continue
            self._address = address
            return connection
        raise AssertionError("the last attempt returns or raises")

    async def _find(self) -> Address:
        if re.fullmatch(r"(?i)([0-9a-f]{2}:){5}[0-9a-f]{2}(/P)?", self._peer):
            return Address(self._peer.upper())
        addresses: dict[str, Address] = {}
        with contextlib.suppress(TimeoutError):
            async with scanning(self._device) as found, asyncio.timeout(SCAN_SECONDS) as limit:
                while True:
                    advertisement = await found.get()
                    if name_of(advertisement) != self._peer:
                        continue
                    if not addresses:
                        limit.reschedule(asyncio.get_running_loop().time() + NAMESAKE_SECONDS)
                    addresses[str(advertisement.address)] = advertisement.address
        if len(addresses) > 1:
            names = sorted(addresses)
            raise Failure(10, f"{len(names)} devices are named {self._peer}: {', '.join(names)}", "use an address")
        if not addresses:
            fix = f"check that it is on, not connected elsewhere, and its name: {self._search}"
            raise Failure(10, f"no device named {self._peer} advertises near {self._adapter}", fix)
        return addresses.popitem()[1]

    @property
    def _search(self) -> str:
        return f"notibot devices --ble {self._adapter}"

    async def close(self) -> None:
        """Ends the link."""
        if self._link:
            await self._link.disconnect()
