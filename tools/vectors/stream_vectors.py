"""Streams of frames and console text. Each piece is added with its outcome; no decoder is
involved."""

import zlib

from cobs import cobs

from tools.vectors import wire

SOURCE = "put together in stream_vectors.py with python cobs 1.2.2 and zlib.crc32"
LOG = b"I (312) notibot: display ready, 64 slots\r\n"
ROM = (
    b"ESP-ROM:esp32c3-api1-20210207\r\nBuild:Feb  7 2021\r\nrst:0x1 (POWERON),boot:0xc (SPI_FAST_FLASH_BOOT)\r\n"
    b"SPIWP:0xee\r\nmode:DIO, clock div:1\r\nload:0x3fcd5820,len:0x16e4\r\nentry 0x403cc710\r\n"
)


class Stream:
    def __init__(self, name, receiving=wire.DEVICE):
        self.name, self.receiving = name, receiving
        self.input, self.events = [b""], []
        self.counters = dict.fromkeys(["frames", "crcErrors", "malformed", "textBytes", "echoes", "overruns"], 0)

    def raw(self, data):
        """Bytes without an outcome: zeros, or an unfinished candidate."""
        self.input[-1] += data
        return self

    def expect_text(self, data):
        self.counters["textBytes"] += len(data)
        if data and self.events and "text" in self.events[-1]:
            self.events[-1]["text"] += data.hex()
        elif data:
            self.events.append({"text": data.hex()})
        return self

    def text(self, data):
        return self.raw(data).expect_text(data)

    def frame(self, frame, before=b"\0", stuffed=None, after=b"\0"):
        self.raw(before + (stuffed or frame.stuffed) + after)
        if frame.direction == self.receiving:
            self.counters["frames"] += 1
            self.events.append({"frame": frame.fields()})
        else:
            self.counters["echoes"] += 1
        return self

    def candidate(self, data, counted=None, before=b"\0", after=b"\0"):
        """Bytes between zeros that are text, and the counter of the reason."""
        self.raw(before + data + after).expect_text(data)
        return self.counted(counted) if counted else self

    def counted(self, counter):
        self.counters[counter] += 1
        return self

    def flush(self):
        """Silence has been confirmed here."""
        self.input += ["flush", b""]
        return self

    def vector(self):
        pieces = [piece if piece == "flush" else piece.hex() for piece in self.input if piece]
        return {
            "name": self.name,
            "source": SOURCE,
            "receiving": "fromDevice" if self.receiving else "fromHost",
            "input": pieces,
            "events": self.events,
            "counters": self.counters,
        }


def data(payload, seq=0, direction=wire.DEVICE):
    return wire.in_session(wire.DATA, direction, payload, channel=wire.ATT, seq=seq, ack=5, credit=16)


A, B, C = data(b"\x13", 0), data(b"\x1b\x03\x00\x09\x00", 1), data(bytes(range(40)), 2)


def sealed(body):
    return cobs.encode(body + zlib.crc32(body).to_bytes(4, "little"))


def header(first, length=0):
    return bytes([first]) + length.to_bytes(2, "little") + bytes([0x7C, 0x3A, 1, 2, 3])


def plain_streams():
    yield Stream("frames one after the other").frame(A).frame(B).frame(C)
    yield Stream("the zero between two frames is lost").frame(A).frame(B, before=b"")
    yield Stream("the first zero of a stream is lost").frame(A, before=b"").frame(B)
    yield Stream("text before, between and after").text(LOG).frame(A).text(LOG).frame(B).text(ROM)
    yield (Stream("text without a line end before a frame").text(b"Guru Meditation Error: Core  0 panic'ed").frame(A))
    yield Stream("boot: ROM text, log, HELLO").text(ROM + LOG).frame(wire.EXAMPLES[0][1]).text(LOG)
    yield Stream("text of all bytes but zero").candidate(b"\x01\x01" + bytes(range(1, 256)) * 3).frame(A)
    yield Stream("text with UTF-8").text("I (9) notibot: „سلام“ 👨‍👩‍👧 Grüße\n".encode()).frame(A)
    yield Stream("zeros without end").raw(bytes(2000)).frame(A).raw(bytes(3)).frame(B)
    yield Stream("nothing")
    yield Stream("an echo", wire.DEVICE).frame(data(b"\x0a\x03\x00", direction=wire.HOST)).frame(A)
    yield (Stream("an echo at the device", wire.HOST).frame(A).frame(data(b"\x0a\x03\x00", direction=wire.HOST)))
    longest = wire.in_session(wire.DATA, wire.DEVICE, b"\x55" * 528, channel=wire.ATT, seq=1, ack=1, credit=1)
    assert len(longest.stuffed) == 543
    yield Stream("the longest frame, 543 bytes encoded").frame(longest).frame(A)
    for seed in range(1, 5000):
        full = wire.Frame(
            wire.DATA,
            wire.DEVICE,
            bytes((seed * (i + 7) * 31 + i) % 255 + 1 for i in range(250)),
            channel=4,
            session=0x3A7C,
            seq=1,
            ack=1,
        )
        if 0 not in full.decoded[8:]:
            break
    assert full.stuffed[-255] == 255
    yield Stream("a final block of 254 bytes").frame(full).frame(A)
    yield (
        Stream("a final block of 254 bytes, in the form with 01 at the end")
        .frame(full, stuffed=full.stuffed + b"\x01")
        .frame(A)
    )


def broken_streams():
    wrong = bytearray(C.decoded)
    wrong[20] ^= 0x10
    yield Stream("wrong CRC").frame(A).candidate(cobs.encode(bytes(wrong)), "crcErrors").frame(B)
    yield (
        Stream("CRC most significant byte first")
        .candidate(cobs.encode(C.decoded[:-4] + C.decoded[:-5:-1]), "crcErrors")
        .frame(B)
    )
    yield Stream("length one too high").candidate(sealed(header(0x4C, 3) + b"ab"), "malformed").frame(A)
    yield Stream("length one too low").candidate(sealed(header(0x4C, 1) + b"ab"), "malformed").frame(A)
    yield Stream("eleven bytes with a right CRC").candidate(sealed(header(0x5C)[:7]), "malformed").frame(A)
    yield (Stream("a byte alone").candidate(b"\x41", "malformed").candidate(b"\x01", "malformed", before=b"").frame(A))
    yield Stream("code beyond the end").candidate(A.stuffed[:-1], "malformed").frame(A)
    for kind in (0, 12, 13, 14, 15):
        yield Stream(f"type {kind}").candidate(sealed(header(kind << 4 | 8))).frame(A)
    yield Stream("HELLO from the host", wire.HOST).candidate(sealed(header(0x10)))
    yield Stream("SYNACK from the host", wire.HOST).candidate(sealed(header(0x30)))
    yield Stream("SYN from the device").candidate(sealed(header(0x28))).frame(A)
    yield Stream("541 bytes decoded").candidate(sealed(header(0x4C, 529) + b"\x55" * 529)).frame(A)
    # Seven short blocks of 60 bytes, then one that is not cut: 544 bytes with a possible header.
    stuffed = cobs.encode(header(0x4C, 528) + (b"\x55" * 59 + b"\0") * 7 + b"\x55" * 112)
    assert len(stuffed) >= 541
    endless = (stuffed + b"\x55" * 300)[:543]
    yield Stream("543 bytes that are no frame").candidate(endless, "malformed").frame(A)
    yield Stream("544 bytes without a zero").candidate(endless + b"\x55", "overruns").frame(A)
    yield Stream("2000 bytes without a zero").candidate(endless + b"\x55" * 1457, "overruns").frame(A)
    yield (
        Stream("544 bytes and no zero yet")
        .raw(b"\0" + endless + b"\x55")
        .expect_text(endless + b"\x55")
        .counted("overruns")
    )
    half = C.stuffed[:20]
    yield Stream("half a frame, then a frame").candidate(half, "malformed", after=b"").frame(A)
    yield Stream("half a frame waits").frame(A).raw(b"\0" + half)
    yield (
        Stream("half a frame, silence, the other half")
        .raw(b"\0" + half)
        .expect_text(half)
        .flush()
        .text(C.stuffed[20:])
        .raw(b"\0")
        .frame(A)
    )
    yield Stream("silence after a frame").frame(A).flush().frame(B)
    yield Stream("silence in the first bytes of text").text(b"ok").flush().text(b" and more\n").frame(A)
    spliced = C.stuffed[:25] + LOG + C.stuffed[25:]
    yield Stream("a log line inside a frame").frame(A).candidate(spliced, "malformed").frame(B)
    yield Stream("a frame behind text and no zero").text(LOG + A.stuffed).raw(b"\0").frame(B)
    yield (
        Stream("a zero between frames turned into 01")
        .frame(A, after=b"")
        .raw(b"\0")
        .candidate(b"\x01" + B.stuffed, before=b"")
    )
    both = A.stuffed + b"\x01" + B.stuffed
    yield (
        Stream("both zeros between frames turned into 01")
        .candidate(A.stuffed + b"\x01" + b"\x01" + B.stuffed, "malformed")
        .frame(C)
    )
    yield Stream("one zero between frames, turned into 01").candidate(both, "malformed").frame(C)


def vectors():
    return [stream.vector() for make in (plain_streams, broken_streams) for stream in make()]
