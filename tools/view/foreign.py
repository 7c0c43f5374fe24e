"""The control socket of a foreign emulator: that of ours, with hostile items and lines in its
snapshots."""

import contextlib
import json
import pathlib
import socket
import socketserver
import threading

# Notifications with values of other types, as a device without their features keeps them.
HOSTILE = (
    '{"app":"a","title":"b","text":"c","timestamp":1,"act":[{"toString":1},"Yes",7]}',
    '{"app":{"toString":1},"title":[],"text":7,"timestamp":1e300}',
    '{"app":"a","title":"b","text":"c","timestamp":1,"fl":{"valueOf":1,"toString":1},"grp":{}}',
    '{"app":"a","title":"b","text":"c","timestamp":-9e15,"act":{"length":4}}',
    "[1]",
    "null",
    "no JSON",
)
FIRST_ITEM = 1_000_000


class ForeignControl(socketserver.ThreadingUnixStreamServer):
    """Listens at `path` until it is closed."""

    daemon_threads = True

    def __init__(self, control: str, folder: str):
        self.control, self.path = control, str(pathlib.Path(folder) / "foreign")
        super().__init__(self.path, Relay)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class Relay(socketserver.StreamRequestHandler):
    """A client of ours, and its connection to the emulator."""

    def handle(self) -> None:
        with socket.socket(socket.AF_UNIX) as server, contextlib.suppress(OSError):
            server.connect(self.server.control)
            threading.Thread(target=self.pass_requests, args=(server,), daemon=True).start()
            for line in server.makefile():
                answer = json.loads(line)
                if "items" in answer:
                    self.wfile.write(b'no JSON\n[]\nnull\n{"ok":true}\n')
                    answer["items"] = [
                        {"item": FIRST_ITEM + number, "lvl": {"toString": 1}, "json": text}
                        for number, text in enumerate(HOSTILE)
                    ] + answer["items"]
                self.wfile.write(json.dumps(answer).encode() + b"\n")

    def pass_requests(self, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            for line in self.rfile:
                server.sendall(line)
            server.shutdown(socket.SHUT_WR)
