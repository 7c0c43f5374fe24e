"""Stories of hostile clients of HTTP/2: each is ended at a limit, and others are served."""

import contextlib
import os
import time

import hpack

from tools.gateway.raw import RawClient
from tools.gateway.world import DAYLY_PUSH, World, equal, expect

# Frames of one flood, at most: far beyond each limit.
FRAMES = 20_000
# The time that a client gets to be served while another one attacks.
SERVED_S = 10
MEMORY_LIMIT_KIB = 65_536


def frame(kind, flags, stream, payload=b""):
    head = len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
    return head + payload


def memory(world):
    with open(f"/proc/{world.process.pid}/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return int(lines["VmRSS"].split()[0])


def attack(programs, frames):
    """Sends frames until the server ends the connection, and verifies that another client is served
    during the attack and afterwards."""
    with World(programs) as world, world.start().client() as client:
        equal(world.push(client, DAYLY_PUSH).status_code, 200, "before")
        before = memory(world)
        with RawClient(world) as attacker:
            ended = send(attacker.socket, frames(world))
            began = time.monotonic()
            equal(world.push(client, {"aps": {"alert": "during"}}).status_code, 200, "another client")
            expect(time.monotonic() - began < SERVED_S, "another client waits")
            expect(ended or is_ended(attacker.socket), "the connection is not ended")
        equal(world.push(client, {"aps": {"alert": "after"}}).status_code, 200, "after")
        grown = memory(world) - before
        expect(grown < MEMORY_LIMIT_KIB, f"the memory grew by {grown} KiB")
        equal(len(world.shown(3)), 3, "items")


def send(connection, frames):
    """Whether the server ended the connection before all frames were sent."""
    connection.settimeout(60)
    try:
        batch = b""
        for count, data in enumerate(frames):
            batch += data
            if count % 100 == 99:
                connection.sendall(batch)
                batch = b""
        connection.sendall(batch)
    except OSError:
        return True
    return False


def is_ended(connection):
    """Reads up to the end of the connection."""
    with contextlib.suppress(ConnectionError):
        try:
            while connection.recv(65_536):
                pass
        except TimeoutError:
            return False
    return True


def ping(programs):
    """T18: a flood of PING is ended."""
    attack(programs, lambda _: (frame(6, 0, 0, os.urandom(8)) for _ in range(FRAMES)))


def settings(programs):
    """T18: a flood of SETTINGS is ended."""
    attack(programs, lambda _: (frame(4, 0, 0, b"\0\4\0\0\xff\xff") for _ in range(FRAMES)))


def request_block(world, fields=()):
    headers = [(":method", "POST"), (":scheme", "https"), (":path", f"/3/device/{next(iter(world.tokens.values()))}")]
    encoder = hpack.Encoder()
    return encoder.encode([*headers, *world.headers().items(), *fields])


def continuation(programs):
    """T18: a header block in CONTINUATION frames without an end is ended."""

    def frames(world):
        yield frame(1, 0, 1, request_block(world))
        for _ in range(FRAMES):
            yield frame(9, 0, 1, b"\0\1x\1y")

    attack(programs, frames)


def empty_continuation(programs):
    """T18: empty CONTINUATION frames without an end are ended."""

    def frames(world):
        yield frame(1, 0, 1, request_block(world))
        for _ in range(FRAMES):
            yield frame(9, 0, 1)

    attack(programs, frames)


def empty_data(programs):
    """T18: empty DATA frames without an end are ended."""

    def frames(world):
        yield frame(1, 4, 1, request_block(world))
        for _ in range(FRAMES * 5):
            yield frame(0, 0, 1)

    attack(programs, frames)


def header_bomb(programs):
    """T18: header blocks that expand a hundredfold are ended."""

    def frames(world):
        # One entry of 3.9 KB in the table, then a byte for each repetition.
        first = hpack.Encoder().encode([("x-bomb", "a" * 3900)], huffman=False)
        for number in range(200):
            yield frame(1, 4, 2 * number + 1, (first if number == 0 else b"") + b"\xbe" * 4000)

    attack(programs, frames)


def resets(programs):
    """T16: streams that are opened and reset without an end are ended."""

    def frames(world):
        for number in range(FRAMES // 2):
            yield frame(1, 4, 2 * number + 1, request_block(world))
            yield frame(3, 0, 2 * number + 1, b"\0\0\0\x08")

    attack(programs, frames)


def window(programs):
    """T18: a client that never opens its window, and asks without an end, does not fill the
    memory."""

    def frames(world):
        yield frame(4, 0, 0, b"\0\4\0\0\0\0")
        for number in range(FRAMES // 4):
            # Each is answered with 400 and a body that cannot be sent.
            yield frame(1, 5, 2 * number + 1, request_block(world))

    with World(programs) as world, world.start().client() as client:
        before = memory(world)
        with RawClient(world) as attacker:
            send(attacker.socket, frames(world))
            equal(world.push(client, DAYLY_PUSH).status_code, 200, "another client")
            grown = memory(world) - before
            expect(grown < MEMORY_LIMIT_KIB, f"the memory grew by {grown} KiB")
        equal(len(world.shown(1)), 1, "items")


STORIES = [ping, settings, continuation, empty_continuation, empty_data, header_bomb, resets, window]
