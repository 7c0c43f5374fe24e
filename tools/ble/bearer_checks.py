"""The checks: discovery, writing, notifications, and the state that ends with a connection."""

import asyncio

from tools.ble.bench import Bench
from tools.ble.checks import COUNT, check, connected, discover, expect, expect_error, le, notification


@check("ATT-2, ATT-9")
async def discovery_at_23(bench: Bench):
    """Discovery at MTU 23 takes a round for each characteristic."""
    found = await connected(bench, mtu=None)
    declarations = await found.client.raw(b"\x08" + le(found.start) + le(found.end) + b"\x03\x28")
    first = le(found.count - 1) + b"\x12" + le(found.count) + COUNT.to_bytes()
    expect("the first answer", declarations, b"\x09\x15" + first)
    descriptor = await found.client.raw(b"\x04" + le(found.count_cccd) + le(found.count_cccd))
    expect("Find Information of a CCCD", descriptor, b"\x05\x01" + le(found.count_cccd) + b"\x02\x29")
    beyond = await found.client.raw(b"\x10" + le(found.end + 1) + b"\xff\xff\x00\x28")
    expect("behind the service", beyond[0] in (0x01, 0x11), True)


@check("NTF-4, NTF-1")
async def invalid_json(bench: Bench):
    """An invalid notification is refused with 0x80 and not counted."""
    found = await connected(bench)
    before = await found.read_count()
    for value in (b"", b"{", b'{"app":', b"[]", notification("x")[:-1], b"\xff", notification("\x00")):
        await expect_error(
            f"writing {value[:12]}", 0x80, found.client.gatt.write_value(found.data, value, with_response=True)
        )
    expect("Count", await found.read_count(), before)


@check("ATT-13, ATT-14")
async def too_long(bench: Bench):
    """513 bytes are error 0x0D, at once or at Execute; 512 are accepted."""
    found = await connected(bench, mtu=517)
    before = await found.read_count()
    if found.client.connection.att_mtu >= 516:
        reply = await found.client.raw(b"\x12" + le(found.data) + notification("", 513))
        expect("the answer to 513 bytes", reply, b"\x01\x12" + le(found.data) + b"\x0d")
    await found.write(notification("", 512))
    await found.client.disconnect()
    narrow = await connected(bench, mtu=185)
    prepared = len(narrow.client.audit.responses)
    await expect_error("600 bytes", 0x0D, narrow.write(notification("", 600)))
    answers = [response for _, response in narrow.client.audit.responses[prepared:]]
    expect("the answers to 600 bytes", [answer[0] for answer in answers], [0x17] * 4 + [0x01])
    expect("the last of them", answers[-1], b"\x01\x18" + le(narrow.data) + b"\x0d")
    expect("Count", await narrow.read_count(), before + 1)


@check("ATT-17")
async def not_subscribed(bench: Bench):
    """Only subscribed clients are notified."""
    found = await connected(bench)
    await found.write(notification("before"))
    expect("notified before", await found.counts(), [])
    await found.subscribe(found.count_cccd)
    expect("made up for", await found.counts(), [])
    await found.subscribe(found.count_cccd, 0)
    await found.write(notification("after"))
    expect("notified after", await found.counts(), [])


@check("ATT-17, ATT-18")
async def notified_once(bench: Bench):
    """A write is notified once, with the new count, after its answer."""
    found = await connected(bench)
    await found.subscribe(found.count_cccd)
    before = await found.read_count()
    for index in range(1, 4):
        await found.write(notification(f"number {index}"))
        await found.client.notified(index)
    expect("the counts notified", await found.counts(), [before + 1, before + 2, before + 3])


@check("ATT-14, ATT-18, NTF-1")
async def long_write(bench: Bench):
    """A long write is stored and notified once, at MTU 23 and 185."""
    for mtu, length in ((23, 140), (185, 445), (185, 512)):
        found = await connected(bench, mtu=mtu)
        await found.subscribe(found.count_cccd)
        before = await found.read_count()
        start = len(found.client.audit.responses)
        await found.write(notification("", length))
        requests = [request for request, _ in found.client.audit.responses[start:]]
        parts = -(-length // (mtu - 5))
        expect("the requests", [request[0] for request in requests], [0x16] * parts + [0x18])
        await found.client.notified(1)
        expect("the counts notified", await found.counts(), [before + 1])
        await found.client.disconnect()


@check("ATT-3, NTF-12")
async def reconnect_while_subscribed(bench: Bench):
    """A new connection begins with MTU 23 and nothing subscribed, and finds the count."""
    found = await connected(bench)
    await found.subscribe(found.count_cccd)
    await found.subscribe(found.data_cccd)
    await found.write(notification("stays"))
    before = await found.read_count()
    await found.client.disconnect()
    client = await bench.connect()
    reply = await client.raw(b"\x08" + le(found.start) + le(found.end) + b"\x03\x28")
    expect("the length of an answer at MTU 23", len(reply), 23)
    again = await discover(client)
    for cccd in (again.count_cccd, again.data_cccd):
        expect("the CCCD", await client.gatt.read_value(cccd), b"\0\0")
    expect("Count", await again.read_count(), before)
    await client.gatt.request_mtu(185)
    await again.write(notification("unheard"))
    expect("notified", await again.counts(), [])
    expect("Count after a write", await again.read_count(), before + 1)


@check("ATT-3, ATT-17")
async def two_centrals(bench: Bench):
    """Two centrals share the store and nothing else."""
    writer, reader = await connected(bench), await connected(bench, mtu=None, central=1)
    await reader.subscribe(reader.count_cccd)
    expect("the writer's CCCD", await writer.client.gatt.read_value(writer.count_cccd), b"\0\0")
    before = await reader.read_count()
    await writer.write(notification("for both"))
    await reader.client.notified(1)
    expect("notified to the reader", await reader.counts(), [before + 1])
    expect("notified to the writer", await writer.counts(), [])
    reply = await reader.client.raw(b"\x08" + le(reader.start) + le(reader.end) + b"\x03\x28")
    expect("the length of an answer to the reader", len(reply), 23)
    await reader.client.disconnect()
    expect("Count after the reader has gone", await writer.read_count(), before + 1)


@check("NTF-11, ATT-17", control=True)
async def data_events(bench: Bench):
    """A dismissal is notified on Data if it fits, and not at all at MTU 23."""
    found, narrow = await connected(bench), await connected(bench, mtu=None, central=1)
    for client in (found, narrow):
        await client.subscribe(client.data_cccd)
    await found.write(notification("dismissed"))
    item = (await bench.command(command="list"))["items"][-1]["item"]
    await bench.command(command="dismiss", item=item)
    await found.client.notified(1)
    event = found.client.audit.notifications[0]
    expect("the event", event, b"\x1b" + le(found.data) + f'{{"ev":"dismissed","item":{item}}}'.encode())
    await narrow.read_count()
    expect("notified at MTU 23", narrow.client.audit.notifications, [])


@check("ATT-3, NTF-12", control=True)
async def restart(bench: Bench):
    """A device that restarts drops the connection; the next one is answered after the boot."""
    found = await connected(bench)
    boot = (await bench.command(command="stats"))["statistics"]["bootCount"]
    await bench.command(command="reboot")
    await asyncio.wait_for(asyncio.shield(found.client.bearer.ended), 5)
    again = await connected(bench)
    expect("Count", await again.read_count(), 0)
    expect("boots", (await bench.command(command="stats"))["statistics"]["bootCount"], boot + 1)
