"""Discovery, MTU, reading, writing, errors."""

from tools.ble.bench import Bench
from tools.ble.checks import COUNT, DATA, Failed, check, connected, discover, expect, expect_error, le, notification


async def declarations(found) -> bytes:
    """The first answer to Read By Type of characteristics."""
    return await found.client.raw(b"\x08" + le(found.start) + le(found.end) + b"\x03\x28")


def declared(found) -> bytes:
    return (
        le(found.count - 1) + b"\x12" + le(found.count) + COUNT.to_bytes(),
        le(found.data - 1) + b"\x18" + le(found.data) + DATA.to_bytes(),
    )


@check("ATT-2, ATT-9")
async def discovery_at_23(bench: Bench):
    """Discovery at MTU 23 takes a round for each characteristic."""
    found = await connected(bench, mtu=None)
    first, _ = declared(found)
    expect("the first answer", await declarations(found), b"\x09\x15" + first)
    descriptor = await found.client.raw(b"\x04" + le(found.count_cccd) + le(found.count_cccd))
    expect("Find Information of a CCCD", descriptor, b"\x05\x01" + le(found.count_cccd) + b"\x02\x29")
    beyond = await found.client.raw(b"\x10" + le(found.end + 1) + b"\xff\xff\x00\x28")
    expect("behind the service", beyond[0] in (0x01, 0x11), True)


@check("ATT-8, ATT-9")
async def mtu_is_used(bench: Bench):
    """The smaller MTU of both is in force, and answers use it."""
    for asked in (23, 43, 44, 185, 247, 517):
        client = await bench.connect()
        mtu = await client.gatt.request_mtu(asked)
        request, response = client.audit.responses[0]
        expect("Exchange MTU", request, b"\x02" + le(asked))
        server = int.from_bytes(response[1:3], "little")
        expect(f"the MTU of {asked} and {server}", mtu, min(asked, server))
        found = await discover(client)
        first, second = declared(found)
        both = b"\x09\x15" + first + (second if mtu >= 44 else b"")
        expect(f"the characteristics at MTU {mtu}", await declarations(found), both)
        again = await client.raw(b"\x02" + le(23))
        expect("a second Exchange MTU", again, response)
        expect("the characteristics after it", await declarations(found), both)
        await client.disconnect()


@check("NTF-10, NTF-1")
async def count_follows(bench: Bench):
    """Count is a little-endian number that a write increases by one."""
    found = await connected(bench)
    before = await found.read_count()
    for index in range(1, 4):
        await found.write(notification(f"number {index}"))
        expect(f"Count after {index}", await found.read_count(), before + index)
    raw = await found.client.raw(b"\x0a" + le(found.count))
    expect("Read of Count", raw, b"\x0b" + le(before + 3))
    blob = await found.client.raw(b"\x0c" + le(found.count) + b"\x01\x00")
    expect("Read Blob of Count", blob, b"\x0d" + le(before + 3)[1:])


@check("ATT-11, ATT-10, ATT-5")
async def permissions(bench: Bench):
    """Wrong handles, permissions and offsets are the right errors."""
    found = await connected(bench)
    before = await found.read_count()
    gatt, nowhere = found.client.gatt, 0x7777
    await expect_error("reading Data", 0x02, gatt.read_value(found.data, no_long_read=True))
    await expect_error("writing Count", 0x03, gatt.write_value(found.count, b"\0\0", with_response=True))
    await expect_error("reading no handle", 0x01, gatt.read_value(nowhere, no_long_read=True))
    await expect_error("writing no handle", 0x01, gatt.write_value(nowhere, b"\0", with_response=True))
    for request, code in [
        (b"\x0a" + le(found.data), 2),
        (b"\x12" + le(found.count) + b"\0\0", 3),
        (b"\x0a" + le(nowhere), 1),
        (b"\x12" + le(nowhere) + b"\0", 1),
        (b"\x0c" + le(found.count) + le(3), 7),
        (b"\x16" + le(found.count) + b"\0\0\0", 3),
        (b"\x12" + le(found.start) + b"\0", 3),
    ]:
        expect(f"the answer to {request.hex()}", await found.client.raw(request), b"\x01" + request[:3] + bytes([code]))
    expect("Count", await found.read_count(), before)


@check("ATT-12")
async def cccd_values(bench: Bench):
    """A CCCD takes two bytes, 0 or 1, and reads back as written."""
    found = await connected(bench)
    for cccd in (found.count_cccd, found.data_cccd):
        for value, answer in [("00", "0d"), ("01", "0d"), ("", "0d"), ("010000", "0d"), ("0200", "fd"), ("0001", "fd")]:
            reply = await found.client.raw(b"\x12" + le(cccd) + bytes.fromhex(value))
            expect(f"the answer to CCCD [{value}]", reply, b"\x01\x12" + le(cccd) + bytes.fromhex(answer))
        for value in (1, 0):
            await found.subscribe(cccd, value)
            expect("the CCCD", await found.client.gatt.read_value(cccd), le(value))


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


@check("ATT-15")
async def commands_ignored(bench: Bench):
    """A Write Command is ignored without an answer, an unknown request is 0x06."""
    found = await connected(bench)
    before = await found.read_count()
    for pdu in (b"\x52" + le(found.data) + notification("command"), b"\x52", b"\xd2\x06\x00\x01", b"\x1e"):
        found.client.send(pdu)
        expect("Count", await found.read_count(), before)
    for opcode in (0x0E, 0x20, 0x3F):
        reply = await found.client.raw(bytes([opcode, 3, 0, 3, 0]))
        expect(f"the answer to opcode {opcode:02x}", reply, bytes([1, opcode, 0, 0, 6]))
    for pdu in ("0a03", "12", "1802", "10010000"):
        reply = await found.client.raw(pdu)
        expect(f"the answer to {pdu}", reply, bytes([1, int(pdu[:2], 16), 0, 0, 4]))


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


@check("ATT-14")
async def gap_and_cancel(bench: Bench):
    """Parts with a gap are error 0x07, cancelled ones are not written."""
    found = await connected(bench)
    before = await found.read_count()

    def part(offset, value):
        return b"\x16" + le(found.data) + le(offset) + value

    json = notification("gap")
    for offset, value in ((0, json[:30]), (50, json[30:])):
        expect("the echo", await found.client.raw(part(offset, value)), b"\x17" + part(offset, value)[1:])
    expect("Execute", await found.client.raw("1801"), b"\x01\x18" + le(found.data) + b"\x07")
    expect("Execute of the empty queue", await found.client.raw("1801"), b"\x19")
    await found.client.raw(part(0, json))
    expect("Execute 0", await found.client.raw("1800"), b"\x19")
    expect("Execute 1 after it", await found.client.raw("1801"), b"\x19")
    expect("Count", await found.read_count(), before)
    refused = 0
    for index in range(600):
        reply = await found.client.raw(part(index * 2, b"  "))
        if reply[0] == 0x17:
            continue
        refused = index
        expect("the answer of a full queue", reply, b"\x01\x16" + le(found.data) + b"\x09")
        break
    if refused < 8:
        raise Failed(f"the queue takes {refused} parts, expected 8 at least, and an end")
    await found.client.raw("1800")
