"""Rules for every PDU on a bearer, in every check. A client library is lenient: it does not verify
the request in an Error Response, nor whether an answer uses the MTU. Rules: docs/PROTOCOL.md,
chapter ATT."""

REQUESTS = {0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x10, 0x12, 0x16, 0x18}
RESPONSES = {opcode + 1 for opcode in REQUESTS}
ERROR, NOTIFICATION = 0x01, 0x1B
# The offset of the handle in a request, or of the first one of a range.
WITH_HANDLE = REQUESTS - {0x02, 0x18}


def word(pdu: bytes, at: int) -> int:
    return int.from_bytes(pdu[at : at + 2], "little")


class Audit:
    """Follows one bearer from its beginning. `findings` has the defects, `transcript` all PDUs."""

    def __init__(self):
        self.findings: list[str] = []
        self.transcript: list[str] = []
        self.notifications: list[bytes] = []
        self.responses: list[tuple[bytes, bytes]] = []
        self.mtu = 23
        self.pending: bytes | None = None
        self.subscribed: set[int] = set()
        self.pairs = 0
        self._exchanged = False
        self._prepared: list[bytes] = []

    def find(self, text: str):
        self.findings.append(text)
        self.transcript.append("! " + text)

    def sent(self, pdu: bytes):
        """The client has sent it."""
        self.transcript.append("> " + pdu.hex())
        if not pdu or pdu[0] & 0x40 or pdu[0] in RESPONSES | {ERROR, NOTIFICATION, 0x1D, 0x1E}:
            return  # A command, or nothing that is answered.
        if self.pending is not None:
            self.find(f"two requests at once: {self.pending.hex()} and {pdu.hex()}")
        self.pending = pdu

    def received(self, pdu: bytes):
        """The device has sent it."""
        self.transcript.append("< " + pdu.hex())
        if len(pdu) > self.mtu:
            self.find(f"{len(pdu)} bytes at MTU {self.mtu}: {pdu[:8].hex()}")
        if not pdu:
            self.find("an empty PDU")
        elif pdu[0] == NOTIFICATION:
            self._notified(pdu)
        elif self.pending is None:
            self.find(f"an answer that nobody asked for: {pdu.hex()}")
        else:
            request, self.pending = self.pending, None
            self.pairs += 1
            self.responses.append((request, pdu))
            self._answered(request, pdu)

    def _notified(self, pdu: bytes):
        self.notifications.append(pdu)
        if self.pending is not None and self.pending[0] in (0x12, 0x18):
            self.find(f"a notification before the answer to the write: {pdu.hex()}")
        # A CCCD directly follows its value in this service (checked by discovery).
        if word(pdu, 1) + 1 not in self.subscribed:
            self.find(f"a notification that nobody subscribed to: {pdu.hex()}")

    def _answered(self, request: bytes, response: bytes):
        opcode = request[0]
        if response[0] == ERROR:
            self._refused(request, response)
            if opcode == 0x18:
                self._prepared = []
            return
        if opcode not in REQUESTS or response[0] != opcode + 1:
            self.find(f"{request.hex()} is answered by {response.hex()}")
            return
        if opcode == 0x02 and not self._exchanged:
            self._exchanged = True
            self.mtu = max(23, min(word(request, 1), word(response, 1)))
        elif opcode == 0x16:
            if response[1:] != request[1:]:
                self.find(f"the echo of {request.hex()} is {response.hex()}")
            self._prepared.append(request)
        elif opcode == 0x12 and len(request) == 5:
            self._subscribe(word(request, 1), request[3:])
        elif opcode == 0x18:
            for part in self._prepared if request[1:] == b"\x01" else []:
                if len(part) == 7:
                    self._subscribe(word(part, 1), part[5:])
            self._prepared = []

    def _refused(self, request: bytes, response: bytes):
        if len(response) != 5 or response[1] != request[0]:
            self.find(f"{request.hex()} is refused by {response.hex()}, which names another request")
        elif request[0] in WITH_HANDLE and len(request) >= 3 and response[4] not in (0x04, 0x06):
            if request[0] in (0x04, 0x06, 0x08, 0x10) and response[4] == 0x02:
                return  # Of a range the handle found is named, not the first.
            if word(response, 2) != word(request, 1):
                self.find(f"{request.hex()} is refused by {response.hex()}, which names another handle")

    def _subscribe(self, handle: int, value: bytes):
        (self.subscribed.add if value == b"\x01\x00" else self.subscribed.discard)(handle)
