"""A virtual peripheral whose ATT channel is relayed to a device's unix socket, and virtual
centrals.

A record on the socket is a u16 length, little-endian, and one PDU; one connection is one bearer."""

import asyncio

from bumble.controller import Controller
from bumble.device import Connection, Device
from bumble.hci import Address
from bumble.host import Host
from bumble.link import LocalLink
from bumble.transport.common import AsyncPipeSink

from tools.ble.audit import Audit
from tools.emulator import Control

ATT_CHANNEL = 4
# A device answers at once; a longer wait is a failure.
PATIENCE = 5.0


def intact(pdu: bytes) -> list[bytes]:
    """No defect: the central receives what the device sends."""
    return [pdu]


class Bearer:
    """One BLE connection on the peripheral's side and its socket connection."""

    def __init__(self, bench: "Bench", connection: Connection):
        self.bench, self.connection = bench, connection
        self.audit = Audit()
        self.arrived = asyncio.Event()
        self.ended = asyncio.get_running_loop().create_future()
        self._outbox: asyncio.Queue[bytes | None] = asyncio.Queue()
        connection.on(Connection.EVENT_DISCONNECTION, lambda *_: self._outbox.put_nowait(None))
        self.task = asyncio.get_running_loop().create_task(self._relay())

    def from_central(self, pdu: bytes):
        self.audit.sent(pdu)
        self._outbox.put_nowait(pdu)

    def _from_device(self, pdu: bytes):
        for changed in self.bench.defect(pdu):
            self.audit.received(changed)
            self.bench.peripheral.send_l2cap_pdu(self.connection.handle, ATT_CHANNEL, changed)
        self.arrived.set()

    async def _relay(self):
        reader, writer = await asyncio.open_unix_connection(self.bench.socket)
        reading = asyncio.get_running_loop().create_task(self._read(reader))
        try:
            while (pdu := await self._outbox.get()) is not None:
                writer.write(len(pdu).to_bytes(2, "little") + pdu)
                await writer.drain()
        except ConnectionError:
            pass  # The reading side sees the end as well, and reports it.
        finally:
            reading.cancel()
            writer.close()
            if not self.ended.done():
                self.ended.set_result(None)

    async def _read(self, reader: asyncio.StreamReader):
        try:
            while True:
                length = int.from_bytes(await reader.readexactly(2), "little")
                self._from_device(await reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            # The device has ended the bearer: so does the peripheral.
            await self.connection.disconnect()


class Bench:
    """Two centrals and the peripheral on one link. `defect` returns what the central receives in
    place of a PDU of the device."""

    def __init__(self, socket: str, control: str | None, defect=intact):
        self.socket, self.control, self.defect = socket, control, defect
        self.link = LocalLink()
        self.peripheral, *self.centrals = (self._device(index) for index in range(3))
        self.bearers: dict[int, Bearer] = {}
        self.all_bearers: list[Bearer] = []
        self._new: asyncio.Queue[Bearer] = asyncio.Queue()

    def _device(self, index: int) -> Device:
        address = f"F{index}:00:00:00:00:0{index}"
        controller = Controller(f"C{index}", link=self.link, public_address=address)
        return Device(address=Address(address), host=Host(controller, AsyncPipeSink(controller)))

    async def start(self):
        for device in (self.peripheral, *self.centrals):
            await device.power_on()
        self.peripheral.on(Device.EVENT_CONNECTION, self._connected)
        self.peripheral.l2cap_channel_manager.register_fixed_channel(ATT_CHANNEL, self._pdu)

    def _connected(self, connection: Connection):
        bearer = Bearer(self, connection)
        self.bearers[connection.handle] = bearer
        self.all_bearers.append(bearer)
        self._new.put_nowait(bearer)

    def _pdu(self, handle: int, pdu: bytes):
        self.bearers[handle].from_central(bytes(pdu))

    async def connect(self, central: int = 0) -> "Client":
        await self.peripheral.start_advertising(advertising_interval_min=1.0)
        connection = await asyncio.wait_for(self.centrals[central].connect(self.peripheral.random_address), PATIENCE)
        return Client(connection, await asyncio.wait_for(self._new.get(), PATIENCE))

    async def command(self, **request) -> dict:
        """Asks the emulator's control socket."""
        return await asyncio.to_thread(lambda: Control(self.control).must(**request))

    async def stop(self):
        for bearer in self.all_bearers:
            bearer._outbox.put_nowait(None)
        await asyncio.gather(*(bearer.task for bearer in self.all_bearers), return_exceptions=True)


class Client:
    """A central's end of a connection: the library's client, and raw PDUs."""

    def __init__(self, connection: Connection, bearer: Bearer):
        self.connection, self.bearer = connection, bearer
        self.gatt, self.audit = connection.gatt_client, bearer.audit
        self._awaited: asyncio.Future[bytes] | None = None
        connection.device.l2cap_channel_manager.register_fixed_channel(ATT_CHANNEL, self._pdu)

    def _pdu(self, handle: int, pdu: bytes):
        if self._awaited and not self._awaited.done() and pdu[:1] != b"\x1b":
            self._awaited.set_result(bytes(pdu))
        else:
            self.connection.device.on_gatt_pdu(handle, pdu)

    async def raw(self, pdu: str | bytes) -> bytes:
        """Sends a raw request and returns the answer, which the library does not see."""
        self._awaited = asyncio.get_running_loop().create_future()
        self.send(bytes.fromhex(pdu) if isinstance(pdu, str) else pdu)
        return await asyncio.wait_for(self._awaited, PATIENCE)

    def send(self, pdu: bytes):
        """Sends a PDU without an answer."""
        self.connection.send_l2cap_pdu(ATT_CHANNEL, pdu)

    async def notified(self, count: int):
        """Waits until this many notifications were received since the beginning."""
        async with asyncio.timeout(PATIENCE):
            while len(self.audit.notifications) < count:
                self.bearer.arrived.clear()
                await self.bearer.arrived.wait()

    async def disconnect(self):
        await asyncio.wait_for(self.connection.disconnect(), PATIENCE)
        await asyncio.wait_for(asyncio.shield(self.bearer.ended), PATIENCE)
