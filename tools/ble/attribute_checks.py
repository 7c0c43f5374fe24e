"""Discovery, MTU, reading, writing, errors."""

from tools.ble.bench import Bench
from tools.ble.checks import COUNT, check, connected, expect, expect_error, le, notification


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
