"""Vectors of one input and one outcome: COBS, CRC, frames, TLVs, attribute PDUs."""

import zlib

from cobs import cobs

from tools.vectors import wire
from tools.vectors.wire import BOOT_ID_TLV, MAGIC, NONCE_TLV, VERSIONS, tlv, u8, u16, u32

COBS_SOURCE = "python cobs 1.2.2"
CRC_SOURCE = "python zlib.crc32"
FRAME_SOURCE = "python struct, zlib.crc32 and cobs 1.2.2"


def cobs_vectors():
    data = {
        "nothing": b"",
        "one zero": b"\0",
        "two zeros": b"\0\0",
        "one byte": b"\x11",
        "zero in the middle": b"\x11\x22\0\x33",
        "zero at the end": b"\x11\0",
        "zero at both ends": b"\0\x11\0",
    }
    counting = bytes(range(1, 256)) * 3
    for size in (7, 8, 9, 253, 254, 255, 256, 507, 508, 509, 510, 540):
        data[f"{size} bytes without a zero"] = counting[:size]
        data[f"{size} zeros"] = bytes(size)
        data[f"{size} bytes, then a zero"] = counting[:size] + b"\0"
        data[f"a zero, then {size} bytes"] = b"\0" + counting[:size]
        data[f"{size} bytes, a zero, {size} bytes"] = counting[:size] + b"\0" + counting[:size]
    valid = [
        {"name": name, "source": COBS_SOURCE, "decoded": raw.hex(), "encoded": cobs.encode(raw).hex()}
        for name, raw in data.items()
    ]
    full = b"\xff" + counting[:254]
    longer = {
        "name": "254 bytes, in the form with 01 at the end",
        "source": "PROTOCOL.md FRM-2, checked with python cobs 1.2.2",
        "decoded": cobs.decode(full + b"\x01").hex(),
        "encoded": (full + b"\x01").hex(),
        "decodeOnly": True,
    }
    bad = {
        "empty": b"",
        "code beyond the end": b"\x05\x11",
        "zero as code": b"\0\x11",
        "zero inside": b"\x03\x11\0",
        "code 255, short": b"\xff" + b"a" * 253,
    }
    source = "PROTOCOL.md FRM-2"
    refused = [{"name": name, "source": source, "encoded": raw.hex(), "decoded": None} for name, raw in bad.items()]
    return [*valid, longer, *refused]


def crc_vectors():
    data = (
        [b"", b"\0", b"123456789", b"aa:bb:cc:dd:ee:ff", b"\xff" * 8]
        + [bytes(range(256))[:size] for size in range(1, 34)]
        + [bytes(range(256)) * 2 + b"!" * 24]
    )
    return [
        {"name": f"{len(raw)} bytes {raw[:17].hex()}", "source": CRC_SOURCE, "bytes": raw.hex(), "crc": zlib.crc32(raw)}
        for raw in data
    ]


def frame_vectors():
    def data(direction, payload, **fields):
        return wire.in_session(wire.DATA, direction, payload, **fields)

    full = {"channel": wire.ATT, "seq": 255, "ack": 255, "credit": 64}
    stuffed = "a payload of 512 bytes, so that the length's low byte is stuffed"
    everything = {"channel": 7, "session": 0xFFFF, "seq": 255, "ack": 255, "credit": 255}
    frames = [
        *wire.EXAMPLES,
        ("longest payload", data(wire.HOST, bytes(range(256)) * 2 + b"0123456789abcdef", **full)),
        ("longest payload, no zero", data(wire.HOST, b"\x55" * 528, **full)),
        ("longest payload, all zeros", data(wire.HOST, bytes(528), **full)),
        (stuffed, data(wire.DEVICE, b"\x55" * 512, channel=wire.ATT, seq=1, ack=1, credit=1)),
        *(
            (f"channel {channel}", data(wire.DEVICE, b"x", channel=channel, seq=1, ack=2, credit=3))
            for channel in range(8)
        ),
        ("all fields full", wire.Frame(wire.DATA, wire.HOST, b"\xff", **everything)),
    ]
    return [
        {"name": name, "source": FRAME_SOURCE, "wire": frame.wire.hex(), "frame": frame.fields()}
        for name, frame in frames
    ]


def tlv_vectors():
    source = "python struct; values of the examples in tools/vectors/wire.py"
    versions = {"lowest": 1, "highest": 1}
    device = {"deviceID": "24:6F:28:AA:BB:CC", "firmwareName": "notibot", "firmwareVersion": "1.0.0"}
    boot = {"bootID": wire.BOOT_ID, "bootCount": 7, "resetReason": 1}
    unannounced = {"features": 0, "limits": [4, 1, 23, 2160]}
    whole = [
        ("hello", wire.HELLO_PAYLOAD, {"versions": versions, **boot, **device}),
        (
            "syn",
            wire.SYN_PAYLOAD,
            {
                "nonce": hex(wire.NONCE),
                "versions": versions,
                "features": wire.FEATURES,
                "limits": list(wire.HOST_LIMITS),
                "source": wire.SRC,
                "run": 1,
                "clock": list(wire.CLOCK),
            },
        ),
        (
            "synack",
            wire.SYNACK_PAYLOAD,
            {
                "nonce": hex(wire.NONCE),
                "version": 1,
                "features": wire.FEATURES,
                "limits": list(wire.DEVICE_LIMITS),
                **boot,
                "uptimeMs": 1500,
                **device,
                "buildHash": "deadbeef",
                "profileHash": wire.PROFILE_HASH,
                "capacity": 64,
            },
        ),
        ("rst", wire.rst(1), {"versions": versions, "bootID": wire.BOOT_ID, "reason": 1}),
        (
            "rst",
            wire.rst(2, nonce=wire.NONCE),
            {"versions": versions, "bootID": wire.BOOT_ID, "nonce": hex(wire.NONCE), "reason": 2},
        ),
        (
            "rst",
            wire.rst(3, nonce=wire.NONCE, refused=0x9F),
            {"versions": versions, "bootID": wire.BOOT_ID, "nonce": hex(wire.NONCE), "reason": 3, "refused": 0x9F},
        ),
        ("hello", MAGIC + VERSIONS + BOOT_ID_TLV, {"versions": versions, "bootID": wire.BOOT_ID}),
        ("rst", MAGIC + VERSIONS + tlv(0x14, u8(77)), {"versions": versions, "reason": 77}),
    ]
    result = [
        read(f"{kind} {number}", source, kind, payload, fields, is_canonical=True)
        for number, (kind, payload, fields) in enumerate(whole)
    ]
    syn = MAGIC + NONCE_TLV + VERSIONS
    base = {"nonce": hex(wire.NONCE), "versions": versions, **unannounced}
    lenient = [
        ("only what is required", syn, base),
        ("any order after MAGIC", MAGIC + VERSIONS + NONCE_TLV, base),
        ("an unknown TLV is ignored", syn + tlv(0x7F, b"whatever"), base),
        ("an unknown TLV may stand twice and be empty", syn + tlv(0x7F, b"") * 2, base),
        (
            "bytes beyond a value are ignored",
            MAGIC + NONCE_TLV + tlv(0x83, bytes([1, 3, 99])),
            {**base, "versions": {"lowest": 1, "highest": 3}},
        ),
        ("bytes beyond the magic are ignored", tlv(0x81, b"NBOT2") + NONCE_TLV + VERSIONS, base),
        ("limits too low", syn + wire.limits(0, 0, 0, 0), {**base, "limits": [2, 1, 23, 1080]}),
        (
            "limits too high",
            syn + wire.limits(255, 255, 65535, 2**32 - 1),
            {**base, "limits": [64, 32, 528, 2**32 - 1]},
        ),
        ("requests above half the frames", syn + wire.limits(8, 8, 100, 5000), {**base, "limits": [8, 4, 100, 5000]}),
        ("a SRC of 0 is none", syn + tlv(0x07, u32(0)), base),
        ("the highest SRC", syn + tlv(0x07, u32(2**32 - 1)), {**base, "source": 2**32 - 1}),
        ("a TLV of another frame type", syn + tlv(0x13, u16(5)), base),
    ]
    result += [read(name, "PROTOCOL.md LNK-5 to LNK-8", "syn", payload, fields) for name, payload, fields in lenient]
    return result + [
        {"name": name, "source": "PROTOCOL.md LNK-6, LNK-7", "kind": kind, "payload": payload.hex(), "error": error}
        for name, kind, payload, error in tlv_errors(syn)
    ]


def read(name, source, kind, payload, fields, is_canonical=False):
    """A payload that is accepted."""
    found = {"name": name, "source": source, "kind": kind, "payload": payload.hex(), "fields": fields}
    return {**found, "isCanonical": is_canonical}


def tlv_errors(syn):
    return [
        ("nothing at all", "syn", b"", "missingTLV"),
        ("nonce is missing", "syn", MAGIC + VERSIONS, "missingTLV"),
        ("versions are missing", "syn", MAGIC + NONCE_TLV, "missingTLV"),
        ("boot id is missing", "hello", MAGIC + VERSIONS, "missingTLV"),
        ("boot id is missing", "synack", MAGIC + NONCE_TLV + tlv(0x84, u8(1)), "missingTLV"),
        ("version is missing", "synack", MAGIC + NONCE_TLV + BOOT_ID_TLV, "missingTLV"),
        ("reason is missing", "rst", MAGIC + VERSIONS + BOOT_ID_TLV, "missingTLV"),
        ("magic is not first", "syn", NONCE_TLV + MAGIC + VERSIONS, "badMagic"),
        ("magic is missing", "syn", NONCE_TLV + VERSIONS, "badMagic"),
        ("another magic", "syn", tlv(0x81, b"NBOS") + NONCE_TLV + VERSIONS, "badMagic"),
        ("magic is short", "syn", tlv(0x81, b"NBO") + NONCE_TLV + VERSIONS, "shortTLV"),
        ("magic twice", "syn", MAGIC + MAGIC + NONCE_TLV + VERSIONS, "repeatedTLV"),
        ("nonce twice", "syn", syn + NONCE_TLV, "repeatedTLV"),
        ("nonce is short", "syn", MAGIC + tlv(0x82, bytes(7)) + VERSIONS, "shortTLV"),
        ("limits are short", "syn", syn + tlv(0x06, bytes(7)), "shortTLV"),
        ("clock is short", "syn", syn + tlv(0x09, bytes(9)), "shortTLV"),
        ("type without a length", "syn", syn + b"\x7f", "truncatedTLV"),
        ("length beyond the end", "syn", syn + b"\x7f\x02\x00", "truncatedTLV"),
        ("unknown critical TLV", "syn", syn + tlv(0x9F, b"x"), "unknownCriticalTLV"),
        ("a known type with bit 7 is another type", "syn", syn + tlv(0x85, u32(1)), "unknownCriticalTLV"),
        ("malformed comes before critical", "syn", syn + tlv(0x9F, b"x") + NONCE_TLV, "repeatedTLV"),
    ]


def att_vectors():
    core, table = "Bluetooth Core Vol 3 Part F 3.4, by hand", "PDU of PROTOCOL.md section 3, by hand"
    service, count, data = wire.SERVICE.hex(), wire.COUNT.hex(), wire.DATA_UUID.hex()
    valid = [
        ("error", "010a060002", table, {"errorResponse": [10, 6, 2]}),
        ("MTU request", "02b900", core, {"exchangeMTURequest": [185]}),
        ("MTU response", "030502", core, {"exchangeMTUResponse": [517]}),
        ("find information", "0401000700", table, {"findInformationRequest": [1, 7]}),
        (
            "find information answer, 16 bits",
            "05010400022907000229",
            table,
            {"findInformationResponse": [[4, "0229"], [7, "0229"]]},
        ),
        ("find information answer, 128 bits", "05020300" + count, table, {"findInformationResponse": [[3, count]]}),
        (
            "find by type value",
            "060100ffff0028" + service,
            table,
            {"findByTypeValueRequest": [1, 65535, 0x2800, service]},
        ),
        ("find by type value answer", "0701000700", table, {"findByTypeValueResponse": [[1, 7]]}),
        ("read by type", "08010007000328", table, {"readByTypeRequest": [1, 7, "0328"]}),
        ("read by type, 128 bits", "080100ffff" + data, table, {"readByTypeRequest": [1, 65535, data]}),
        (
            "read by type answer",
            "09150200120300" + count + "0500180600" + data,
            table,
            {"readByTypeResponse": [[2, "120300" + count], [5, "180600" + data]]},
        ),
        ("read", "0a0300", table, {"readRequest": [3]}),
        ("read answer", "0b0700", table, {"readResponse": ["0700"]}),
        ("empty read answer", "0b", core, {"readResponse": [""]}),
        ("read blob", "0c01000500", core, {"readBlobRequest": [1, 5]}),
        ("read blob answer", "0daabb", core, {"readBlobResponse": ["aabb"]}),
        ("read by group type", "100100ffff0028", table, {"readByGroupTypeRequest": [1, 65535, "0028"]}),
        ("read by group type answer", "111401000700" + service, table, {"readByGroupTypeResponse": [[1, 7, service]]}),
        ("write", "120600" + wire.SAMPLE.hex(), table, {"writeRequest": [6, wire.SAMPLE.hex()]}),
        ("empty write", "120600", core, {"writeRequest": [6, ""]}),
        ("write answer", "13", core, {"writeResponse": []}),
        ("prepare write", "1606000500aabb", core, {"prepareWriteRequest": [6, 5, "aabb"]}),
        ("prepare write answer", "1706000500aabb", core, {"prepareWriteResponse": [6, 5, "aabb"]}),
        ("execute: cancel", "1800", core, {"executeWriteRequest": [0]}),
        ("execute: write", "1801", core, {"executeWriteRequest": [1]}),
        ("execute answer", "19", core, {"executeWriteResponse": []}),
        ("notification of Count", "1b03000900", table, {"handleValueNotification": [3, "0900"]}),
        ("indication", "1d03000900", core, {"handleValueIndication": [3, "0900"]}),
        ("confirmation", "1e", core, {"handleValueConfirmation": []}),
        ("write command", "520600aa", core, {"writeCommand": [6, "aa"]}),
        ("unknown opcode", "ffaabb", core, {"unknown": [255, "aabb"]}),
        ("signed write is not known", "d20600aa", core, {"unknown": [0xD2, "0600aa"]}),
    ]
    bad = [
        ("empty PDU", "", "tooShort"),
        ("error, short", "01120600", "tooShort"),
        ("error, long", "010a06000200", "tooLong"),
        ("MTU, short", "0217", "tooShort"),
        ("MTU, long", "02170000", "tooLong"),
        ("find information, short", "04010007", "tooShort"),
        ("find information, long", "040100070000", "tooLong"),
        ("find information answer, format 3", "050304000229", "badField"),
        ("find information answer, empty", "0501", "tooShort"),
        ("find information answer, half an entry", "0501040002290700", "badField"),
        ("find by type value, short", "060100ffff00", "tooShort"),
        ("find by type value answer, empty", "07", "tooShort"),
        ("read by type, no UUID", "0801000700", "tooShort"),
        ("read by type, UUID of 3 bytes", "0801000700032800", "badField"),
        ("read by type answer, entries of 1 byte", "090102", "badField"),
        ("read by type answer, entries of 0 bytes", "0900", "badField"),
        ("read by type answer, over", "09030200aa05", "badField"),
        ("read, short", "0a03", "tooShort"),
        ("read, long", "0a030000", "tooLong"),
        ("read blob, short", "0c010005", "tooShort"),
        ("read by group type, short", "100100ffff", "tooShort"),
        ("read by group type answer, entries of 3 bytes", "1103010007", "badField"),
        ("write, short", "1206", "tooShort"),
        ("write answer, long", "1300", "tooLong"),
        ("prepare write, short", "16060005", "tooShort"),
        ("execute, short", "18", "tooShort"),
        ("execute, flags 2", "1802", "badField"),
        ("execute, long", "180100", "tooLong"),
        ("notification, short", "1b03", "tooShort"),
        ("confirmation, long", "1e00", "tooLong"),
        ("write command, short", "52", "tooShort"),
    ]
    source = "PROTOCOL.md ATT-16; " + core
    profile = {"name": "profile hash", "source": CRC_SOURCE + " over PROTOCOL.md ATT-4"}
    return [
        *({"name": name, "source": source, "pdu": pdu, "fields": fields} for name, pdu, source, fields in valid),
        *({"name": name, "source": source, "pdu": pdu, "error": error} for name, pdu, error in bad),
        {**profile, "profile": wire.profile_bytes().hex(), "hash": wire.PROFILE_HASH},
    ]
