"""The checks, one per function: the device as seen by a BLE central. Each begins with a new
connection, finds the handles by discovery, and ends with an audit of every PDU (audit.py).
Rules: docs/PROTOCOL.md, chapters ATT and NTF."""

import asyncio
from dataclasses import dataclass

from bumble.att import ATT_Error
from bumble.core import UUID
from bumble.gatt import Characteristic

from tools.ble.bench import Bench, Client
from tools.checks import Failure

SERVICE = UUID("4fafc201-1fb5-459e-8fcc-c5c9c331914b")
COUNT = UUID("beb5483e-36e1-4688-b7f5-ea07361b26a8")
DATA = UUID("1c95d5e3-d8f7-413a-bf3d-7a2e5d7be87e")
CCCD = UUID.from_16_bits(0x2902)

CHECKS = []


def check(rules: str, control: bool = False):
    """Registers a check; `control`: it needs the control socket."""

    def register(function):
        function.rules, function.control = rules, control
        function.title = function.__doc__.rstrip(".")
        CHECKS.append(function)
        return function

    return register


def expect(what: str, actual, expected):
    if actual != expected:
        actual, expected = (value.hex() if isinstance(value, bytes) else value for value in (actual, expected))
        raise Failure(f"{what} is {actual}, expected {expected}")


async def expect_error(what: str, code: int, awaitable):
    """Expects that the library gets this error."""
    try:
        await asyncio.wait_for(awaitable, 5)
    except ATT_Error as error:
        return expect(f"the error of {what}", error.error_code, code)
    raise Failure(f"{what} succeeds, expected error {code:02x}")


def notification(text: str, length: int = 0, more: str = "") -> bytes:
    """A notification as JSON; with a length its text is filled up to it."""
    frame = '{"app":"BLE","title":"Parity","text":"%s","timestamp":1234567890%s}'
    text += "x" * max(0, length - len(frame % (text, more)))
    return (frame % (text, more)).encode()


def le(value: int) -> bytes:
    return value.to_bytes(2, "little")


@dataclass
class Found:
    """The result of discovery, and its client."""

    client: Client
    start: int
    end: int
    count: int
    data: int
    count_cccd: int
    data_cccd: int

    async def read_count(self) -> int:
        value = await asyncio.wait_for(self.client.gatt.read_value(self.count), 5)
        expect("the length of Count", len(value), 2)
        return int.from_bytes(value, "little")

    async def write(self, value: bytes):
        await asyncio.wait_for(self.client.gatt.write_value(self.data, value, with_response=True), 5)

    async def subscribe(self, cccd: int, value: int = 1):
        await asyncio.wait_for(self.client.gatt.write_value(cccd, le(value), with_response=True), 5)

    async def counts(self) -> list[int]:
        """The counts notified so far; a read after them is the fence."""
        await self.read_count()
        return [
            int.from_bytes(pdu[3:], "little") for pdu in self.client.audit.notifications if pdu[1:3] == le(self.count)
        ]


async def discover(client: Client) -> Found:
    """Service, characteristics and descriptors, by the library's own procedures."""
    async with asyncio.timeout(5):
        services = await client.gatt.discover_service(SERVICE)
        expect("how many services have the UUID", len(services), 1)
        service = services[0]
        characteristics = await service.discover_characteristics()
        properties = {item.uuid: int(item.properties) for item in characteristics}
        expect(
            "the characteristics",
            properties,
            {
                COUNT: int(Characteristic.Properties.READ | Characteristic.Properties.NOTIFY),
                DATA: int(Characteristic.Properties.WRITE | Characteristic.Properties.NOTIFY),
            },
        )
        handles = {item.uuid: item.handle for item in characteristics}
        cccds = {}
        for item in characteristics:
            descriptors = {descriptor.type: descriptor.handle for descriptor in await item.discover_descriptors()}
            expect(f"the descriptors of {item.uuid}", list(descriptors), [CCCD])
            cccds[item.uuid] = descriptors[CCCD]
            # The audit relies on it.
            expect("the handle of a CCCD", cccds[item.uuid], item.handle + 1)
    return Found(
        client, service.handle, service.end_group_handle, handles[COUNT], handles[DATA], cccds[COUNT], cccds[DATA]
    )


async def connected(bench: Bench, mtu: int | None = 185, central: int = 0) -> Found:
    client = await bench.connect(central)
    if mtu:
        await asyncio.wait_for(client.gatt.request_mtu(mtu), 5)
    return await discover(client)
