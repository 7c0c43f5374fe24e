"""Images for a chip's flash, made from bytes: no toolchain, the same bytes each time."""

import hashlib
import struct

CHIP_IDS = {"esp32": 0, "esp32s3": 9, "esp32c3": 5}
BOOT_OFFSETS = {"esp32": 0x1000, "esp32s3": 0, "esp32c3": 0}
# Where each chip maps the flash's data, and its internal RAM.
DROM = {"esp32": 0x3F400020, "esp32s3": 0x3C000020, "esp32c3": 0x3C000020}
DRAM = {"esp32": 0x3FFB0000, "esp32s3": 0x3FC88000, "esp32c3": 0x3FC80000}
IRAM = {"esp32": 0x40080400, "esp32s3": 0x40374000, "esp32c3": 0x4037C000}
TABLE_OFFSET = 0x8000
APP_OFFSET = 0x10000


def image(chip, segments, entry):
    """An image with a checksum and a hash. Segments are (address, bytes)."""
    header = struct.pack("<BBBBIB3x", 0xE9, len(segments), 2, 0x20, entry, 0xEE)
    header += struct.pack("<HBHH4xB", CHIP_IDS[chip], 0, 0, 0xFFFF, 1)
    body, checksum = b"", 0xEF
    for address, data in segments:
        data += bytes(-len(data) % 4)
        body += struct.pack("<II", address, len(data)) + data
        for byte in data:
            checksum ^= byte
    whole = header + body
    whole += bytes(15 - len(whole) % 16) + bytes([checksum])
    return whole + hashlib.sha256(whole).digest()


def descriptor(version, project):
    text = struct.pack("<II8x32s32s", 0xABCD5432, 0, version.encode(), project.encode())
    text += struct.pack("<16s16s32s", b"12:00:00", b"Jan  1 2026", b"v5.4")
    text += hashlib.sha256(version.encode()).digest()
    return text + bytes(256 - len(text))


def boot_loader(chip):
    """A boot loader, with the descriptor that a later IDF gives it."""
    about = bytes([0x50]) + bytes(3) + struct.pack("<I", 1) + b"v5.4".ljust(32, b"\0") + bytes(40)
    return image(chip, [(DRAM[chip], about), (IRAM[chip], b"\x13\x00\x00\x00" * 8)], IRAM[chip])


def app(chip, version="2.3.4", project="notibot", extra_bytes=0):
    """An application. `extra_bytes` of data that compresses to about half are added."""
    filler = b""
    if extra_bytes:
        state = 1
        words = []
        for _ in range(extra_bytes // 4):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            words.append(struct.pack("<BBH", state >> 16 & 0xFF, len(words) & 0xFF, 0x6789))
        filler = b"".join(words)
    segments = [(DROM[chip], descriptor(version, project) + filler), (DRAM[chip], bytes(16)), (IRAM[chip], bytes(16))]
    return image(chip, segments, IRAM[chip])


def partition(kind, subtype, offset, size, name):
    return struct.pack("<BBBBII16sI", 0xAA, 0x50, kind, subtype, offset, size, name.encode(), 0)


def partition_table():
    """A factory app, and two slots for updates."""
    rows = partition(1, 2, 0x9000, 0x4000, "nvs") + partition(1, 0, 0xD000, 0x2000, "otadata")
    rows += partition(0, 0, APP_OFFSET, 0x100000, "factory")
    rows += partition(0, 0x10, 0x110000, 0x100000, "ota_0") + partition(0, 0x11, 0x210000, 0x100000, "ota_1")
    table = rows + b"\xeb\xeb" + b"\xff" * 14 + hashlib.md5(rows).digest()
    return table.ljust(0xC00, b"\xff")
