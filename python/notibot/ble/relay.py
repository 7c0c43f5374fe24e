"""One link and its connection on a unix socket: PDUs in both directions until one of them ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import TypeVar

from bumble.core import BaseBumbleError
from bumble.device import Connection

from notibot.ble.events import Failure, report
from notibot.ble.handles import CentralBearer, PeripheralBearer, Routes, le

ATT_CHANNEL = 4
# ACL packets that an adapter has not confirmed, and bytes that the socket has not taken: a peer
# that does not read stops the other one.
LINK_QUEUE_LIMIT = 16
SOCKET_QUEUE_LIMIT_BYTES = 65_536
PDU_LIMIT_BYTES = 528
END_SECONDS = 3.0

# Reasons of the end of a link: Bluetooth Core specification, volume 1, part F.
REASONS = {
    0x08: "out of range",
    0x13: "the peer disconnected",
    0x14: "the peer is out of resources",
    0x15: "the peer switched off",
    0x16: "disconnected here",
    0x22: "no answer from the peer's controller",
    0x3D: "corrupt packets",
    0x3E: "the connection failed to be established",
}

Result = TypeVar("Result")


class Link:
    """A connection over the air."""

    def __init__(self, connection: Connection):
        self._connection = connection
        self.handle, self.peer = connection.handle, str(connection.peer_address)
        self._is_reported = False
        self._ended = asyncio.Event()
        connection.on("disconnection", self._handle_end)

    def _handle_end(self, reason: int) -> None:
        self._end(REASONS.get(reason, f"reason 0x{reason:02X}"))

    def _end(self, reason: str) -> None:
        if self._is_reported and not self.has_ended:
            report("disconnected", peer=self.peer, reason=reason)
        self._ended.set()

    def report(self) -> None:
        """Reports that it can be used, and later its end."""
        self._is_reported = True
        report("connected", peer=self.peer, interval_ms=self._connection.parameters.connection_interval)
        if self.has_ended:
            report("disconnected", peer=self.peer, reason=REASONS[0x13])

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def send(self, pdu: bytes) -> None:
        if not self.has_ended:
            self._connection.send_l2cap_pdu(ATT_CHANNEL, pdu)

    async def drain(self) -> None:
        """Waits while the adapter has too much to send."""
        queue = self._connection.device.host.get_data_packet_queue(self.handle)
        if queue is not None and queue.pending > LINK_QUEUE_LIMIT:
            with contextlib.suppress(ValueError, Failure):
                await self.unless_ended(queue.drain(self.handle))

    async def unless_ended(self, work: Awaitable[Result]) -> Result:
        """The result of `work`, which is cancelled when the link ends: Failure."""
        task, end = asyncio.ensure_future(work), asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait([task, end], return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise Failure(14, f"{self.peer} has disconnected", "try again")
            return task.result()
        finally:
            task.cancel()
            end.cancel()

    async def disconnect(self) -> None:
        """Returns when the link has ended, or the adapter does not answer."""
        if not self.has_ended:
            # The peer can disconnect at the same time: then no event follows the command. It is not
            # cancelled before its answer, which Bumble would take for that of the next command.
            work = asyncio.ensure_future(self._connection.disconnect())
            work.add_done_callback(lambda done: done.cancelled() or done.exception())
            asyncio.get_running_loop().call_later(2 * END_SECONDS, work.cancel)
            with contextlib.suppress(BaseBumbleError, Failure, TimeoutError):
                await asyncio.wait_for(self.unless_ended(asyncio.shield(work)), END_SECONDS)
            self._end("the adapter does not answer")


class Relay:
    """`bearer` routes the PDUs; at the socket is a server, for a peripheral, or a client."""

    def __init__(
        self,
        link: Link,
        bearer: PeripheralBearer | CentralBearer,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ):
        self.link, self._bearer = link, bearer
        self._reader, self._writer = reader, writer
        self._is_server = isinstance(bearer, PeripheralBearer)

    def receive(self, pdu: bytes) -> None:
        """Passes on a PDU of the link."""
        if not pdu or len(pdu) > PDU_LIMIT_BYTES:
            return
        self._pass_on(self._bearer.from_client(pdu) if self._is_server else self._bearer.from_server(pdu))
        if self._writer.transport.get_write_buffer_size() > SOCKET_QUEUE_LIMIT_BYTES:
            # The next read fails, which ends the link.
            self._writer.transport.abort()

    def _pass_on(self, routes: Routes) -> None:
        to_socket, to_link = routes if self._is_server else routes[::-1]
        if to_socket is not None and not self._writer.is_closing():
            self._writer.write(le(len(to_socket)) + to_socket)
        if to_link is not None:
            self.link.send(to_link)

    async def run(self) -> None:
        """Returns when link and socket are closed, the link first."""
        try:
            with contextlib.suppress(Failure, asyncio.IncompleteReadError, OSError):
                await self.link.unless_ended(self._read())
        finally:
            await self.link.disconnect()
            self._writer.close()

    async def _read(self) -> None:
        """Passes on the records of the socket."""
        while True:
            length = int.from_bytes(await self._reader.readexactly(2), "little")
            if not 0 < length <= PDU_LIMIT_BYTES:
                return
            pdu = await self._reader.readexactly(length)
            self._pass_on(self._bearer.from_server(pdu) if self._is_server else self._bearer.from_client(pdu))
            await self.link.drain()
