"""A client of single HTTP/2 frames, for what no ordinary client sends."""

import json
import socket

import h2.config
import h2.connection
import h2.errors
import h2.events


class Reply:
    """What came on one stream."""

    def __init__(self):
        self.status, self.headers, self.body = None, {}, b""
        self.is_reset = self.is_ended = False

    @property
    def reason(self):
        return json.loads(self.body)["reason"] if self.body else None


class RawClient:
    """One connection. Nothing of what it sends is checked or corrected."""

    def __init__(self, world):
        self.world = world
        self.replies = {}
        self.goaway = None
        self.is_closed = False
        self.unread = b""

    def __enter__(self):
        plain = socket.create_connection(("127.0.0.1", self.world.apns_port), timeout=60)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = self.world.tls().wrap_socket(plain, server_hostname="127.0.0.1")
        self.connection = h2.connection.H2Connection(
            config=h2.config.H2Configuration(
                client_side=True, validate_outbound_headers=False, normalize_outbound_headers=False
            )
        )
        self.connection.initiate_connection()
        self.flush()
        return self

    def __exit__(self, *_):
        self.socket.close()

    def flush(self):
        data = self.connection.data_to_send()
        if data:
            try:
                self.socket.sendall(data)
            except OSError:
                self.is_closed = True

    def open(self, headers, token=None):
        stream = self.connection.get_next_available_stream_id()
        token = token or next(iter(self.world.tokens.values()))
        path = b"/3/device/" + (token if isinstance(token, bytes) else token.encode())
        self.replies[stream] = Reply()
        self.connection.send_headers(stream, [(":method", "POST"), (":scheme", "https"), (":path", path), *headers])
        return stream

    def start(self, body, is_end=True):
        """Sends a request that is accepted, without waiting; returns its stream."""
        stream = self.open(list(self.world.headers().items()))
        self.connection.send_data(stream, body, end_stream=is_end)
        return stream

    def request(self, headers, parts, token=None):
        """Sends a request with a body in parts, a frame each, and returns its reply."""
        stream = self.open(headers, token)
        for number, part in enumerate(parts):
            if number == len(parts) - 1 and self.replies[stream].is_reset:
                break
            self.connection.send_data(stream, part, end_stream=number == len(parts) - 1)
            self.flush()
        return self.reply(stream)

    def reply(self, stream):
        """Waits for the end of a stream or of the connection."""
        self.flush()
        reply = self.replies[stream]
        while not (reply.is_ended or reply.is_reset or self.is_closed):
            self.receive()
        return reply

    def receive(self):
        """Takes what comes next."""
        try:
            data = self.socket.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.is_closed = True
            return
        self.unread += data
        while len(self.unread) >= 9 and len(self.unread) >= 9 + int.from_bytes(self.unread[:3], "big"):
            size = 9 + int.from_bytes(self.unread[:3], "big")
            frame, self.unread = self.unread[:size], self.unread[size:]
            for event in self.connection.receive_data(frame):
                self.note(event)
        self.flush()

    def note(self, event):
        reply = self.replies.get(getattr(event, "stream_id", None))
        if isinstance(event, h2.events.ResponseReceived):
            reply.headers = {
                str(name, "ascii") if isinstance(name, bytes) else name: str(value, "ascii")
                if isinstance(value, bytes)
                else value
                for name, value in event.headers
            }
            reply.status = reply.headers[":status"]
        elif isinstance(event, h2.events.DataReceived):
            reply.body += event.data
            self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            reply.is_ended = True
        elif isinstance(event, h2.events.StreamReset):
            reply.is_reset = True
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.goaway = event
            # The library takes a GOAWAY for the end; answers that are due come after it.
            self.connection.state_machine.state = h2.connection.ConnectionState.CLIENT_OPEN
