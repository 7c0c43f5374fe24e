"""A client that sends many pushes over one connection, with many streams at once.

It builds frames from parts made in advance and reads no more of an answer than its status, so that
it costs little next to the gateway that it measures."""

import socket
import time
import uuid
from collections.abc import Sequence

from tools.checks import Failure
from tools.gateway.world import DAYLY, LIMIT_S, World

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# The window of a connection before the first WINDOW_UPDATE, in bytes.
WINDOW_BYTES = 65_535
# The field ":status: 200" of HPACK's static table.
STATUS_200 = 0x88


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def text(value: bytes) -> bytes:
    """A string of HPACK, without Huffman's code."""
    if len(value) < 127:
        return bytes([len(value)]) + value
    rest, octets = len(value) - 127, [127]
    while rest >= 128:
        octets.append(rest % 128 + 128)
        rest //= 128
    return bytes([*octets, rest]) + value


class Burst:
    """One connection, used as a context. `streams`: how many pushes are sent before the first of
    them has its answer."""

    def __init__(self, world: World, topic: str = DAYLY, streams: int = 100):
        self.world, self.streams = world, streams
        path = f"/3/device/{world.tokens[topic]}".encode()
        token = f"bearer {world.sender.token()}".encode()
        # The first request fills the table of HPACK, later ones name its entries, newest first.
        start = b"\x83\x87"
        self.first = start + b"\x41" + text(b"127.0.0.1") + b"\x44" + text(path)
        self.first += b"\x40" + text(b"apns-topic") + text(topic.encode()) + b"\x57" + text(token)
        self.later = start + b"\xc1\xc0\xbf\xbe"
        self.name = b"\x00" + text(b"apns-id") + bytes([36])
        self.next_stream = 1
        self.window = WINDOW_BYTES
        self.unread = b""
        self.began: dict[int, float] = {}

    def __enter__(self) -> "Burst":
        context = self.world.tls()
        context.set_alpn_protocols(["h2"])
        plain = socket.create_connection(("127.0.0.1", self.world.apns_port), timeout=LIMIT_S)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = context.wrap_socket(plain, server_hostname="127.0.0.1")
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, b""))
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, bodies: Sequence[bytes], names: Sequence[str] = ()) -> list[float]:
        """Sends pushes and waits for their answers, which have to be 200; returns how many seconds
        each took, in the order of the answers. `names`: their `apns-id`."""
        names = names or [str(uuid.uuid4()) for _ in bodies]
        waiting = list(zip(bodies, names, strict=True))
        waiting.reverse()
        seconds: list[float] = []
        while waiting or self.began:
            output = b""
            while waiting and len(self.began) < self.streams and self.window >= len(waiting[-1][0]):
                output += self.request(*waiting.pop())
            if output:
                self.socket.sendall(output)
            seconds += self.receive()
        return seconds

    def request(self, body: bytes, name: str) -> bytes:
        stream = self.next_stream
        block = (self.later if stream > 1 else self.first) + self.name + name.encode()
        self.next_stream += 2
        self.window -= len(body)
        self.began[stream] = time.perf_counter()
        return frame(HEADERS, END_HEADERS, stream, block) + frame(DATA, END_STREAM, stream, body)

    def receive(self) -> list[float]:
        """Takes what comes next; returns the seconds of the answers in it."""
        data = self.socket.recv(65_536)
        if not data:
            raise Failure(f"the connection ended with {len(self.began)} pushes in flight")
        data = self.unread + data
        now = time.perf_counter()
        seconds, output, at = [], b"", 0
        while len(data) - at >= 9:
            end = at + 9 + int.from_bytes(data[at : at + 3], "big")
            if len(data) < end:
                break
            kind, flags = data[at + 3], data[at + 4]
            stream, payload = int.from_bytes(data[at + 5 : at + 9], "big"), data[at + 9 : end]
            at = end
            if kind == HEADERS and payload[0] == STATUS_200 and flags & END_STREAM:
                seconds.append(now - self.began.pop(stream))
            elif kind in (SETTINGS, PING) and not flags & ACK:
                output += frame(kind, ACK, 0, payload if kind == PING else b"")
            elif kind == WINDOW_UPDATE:
                self.window += 0 if stream else int.from_bytes(payload, "big")
            elif kind in (DATA, RST_STREAM, GOAWAY):
                raise Failure(f"a push was not answered with 200: frame of kind {kind}, {payload!r}")
        self.unread = data[at:]
        if output:
            self.socket.sendall(output)
        return seconds
