"""A central that this project did not write: bleak on Linux's bluetoothd."""

import asyncio
import contextlib
import json
import subprocess

from bleak import BleakClient, BleakScanner
from bleak.exc import BleakError, BleakGATTProtocolError

from tools.ble.air_bench import expect
from tools.checks import Failure

SERVICE = "4fafc201-1fb5-459e-8fcc-c5c9c331914b"
COUNT = "beb5483e-36e1-4688-b7f5-ea07361b26a8"
DATA = "1c95d5e3-d8f7-413a-bf3d-7a2e5d7be87e"
# They only end a hang.
SCAN_SECONDS, NOTIFICATION_SECONDS = 60, 60
WRITES = 20
ATTEMPTS = 6


def notification(text, **keys):
    return json.dumps({"app": "B", "title": "", "text": text, "timestamp": 1, **keys}, separators=(",", ":")).encode()


def long_notification(length):
    return notification("x" * (length - len(notification(""))))


async def find(address):
    # A device that it knows is not reported again while the strength of its signal is the same.
    subprocess.run(["bluetoothctl", "remove", address], capture_output=True, timeout=SCAN_SECONDS)
    device = await BleakScanner.find_device_by_filter(
        lambda device, data: device.address == address and SERVICE in data.service_uuids, timeout=SCAN_SECONDS
    )
    if not device:
        raise Failure(f"a scan of {SCAN_SECONDS} s did not find {address}")
    expect("the name", device.name, "Notibot")
    return device


class Central:
    """Connects to a device; `again` counts further attempts.

    bluetoothd 5.66 never reports a link as connected if it notices the link's ATT socket before the
    kernel's event, which happens on a busy computer: bleak then fails. Its users repeat that.
    """

    def __init__(self, device):
        self._device, self.again = device, 0

    @contextlib.asynccontextmanager
    async def connected(self):
        for attempt in range(ATTEMPTS):
            client = BleakClient(self._device)
            try:
                await client.connect()
                break
            except (BleakError, TimeoutError) as error:
                if attempt == ATTEMPTS - 1:
                    raise Failure(f"a connection failed {ATTEMPTS} times: {error!r}") from error
                self.again += 1
        try:
            yield client
        finally:
            await client.disconnect()


async def error_of(call):
    try:
        await call
    except BleakGATTProtocolError as error:
        return int(error.code)
    return 0


class Notifications:
    """The values of a characteristic that were notified."""

    def __init__(self):
        self._queue = asyncio.Queue()

    def handle(self, _, value):
        self._queue.put_nowait(bytes(value))

    async def next(self):
        return await asyncio.wait_for(self._queue.get(), NOTIFICATION_SECONDS)

    def all(self):
        return [self._queue.get_nowait() for _ in range(self._queue.qsize())]


async def count(client):
    return int.from_bytes(await client.read_gatt_char(COUNT), "little")


async def session(address, control):
    """All that a phone's app does, then a second connection. Returns the further attempts."""
    central = Central(await find(address))
    async with central.connected() as client:
        await client._backend._acquire_mtu()
        expect("the MTU", client.mtu_size, 517)
        before = await count(client)
        writes = [notification(f"{index}") for index in range(WRITES)]
        counts, events = Notifications(), Notifications()
        await client.start_notify(COUNT, counts.handle)
        await client.start_notify(DATA, events.handle)
        # It reports values that it has read, too.
        counts.all()
        for data in [*writes, long_notification(450), long_notification(512)]:
            await client.write_gatt_char(DATA, data, response=True)
        expected = [before + index + 1 for index in range(WRITES + 2)]
        found = [int.from_bytes(await counts.next(), "little") for _ in expected]
        expect("the notified values of Count", found, expected)

        keys = {"id": before + 1, "rev": 1, "src": 7, "act": ["Yes"]}
        await client.write_gatt_char(DATA, notification("id", **keys), response=True)
        item = max(item["item"] for item in control.ask(command="list")["items"])
        control.ask(command="action", item=item, act=0)
        event = json.loads(await events.next())
        expect("the event", (event["ev"], event["act"]), ("action", 0))

        errors = [
            await error_of(client.write_gatt_char(DATA, b"x", response=True)),
            await error_of(client.write_gatt_char(DATA, notification("other", **keys), response=True)),
            await error_of(client.write_gatt_char(DATA, long_notification(513), response=True)),
            await error_of(client.read_gatt_char(DATA)),
            await error_of(client.write_gatt_char(COUNT, b"\0\0", response=True)),
        ]
        expect("the errors", errors, [0x80, 0x81, 0x0D, 0x02, 0x03])
        after = await count(client)
    async with central.connected() as client:
        expect("Count after a reconnection", await count(client), after)
    expect("Count", after, before + WRITES + 3)
    return central.again


async def connects(address, times):
    """Connects and reads again and again. Returns the further attempts."""
    central = Central(await find(address))
    for _ in range(times):
        async with central.connected() as client:
            await count(client)
    return central.again
