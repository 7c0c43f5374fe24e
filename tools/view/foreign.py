"""The control socket of a foreign emulator: that of ours, with hostile items and lines in its
snapshots."""

import json
import pathlib
import socket
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


class ForeignControl:
    """Listens at `path` until it is closed."""

    def __init__(self, control: str, folder: str):
        self.control = control
        self.path = str(pathlib.Path(folder) / "foreign")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(8)
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.control)
            threading.Thread(target=self.requests, args=(client, server), daemon=True).start()
            threading.Thread(target=self.answers, args=(server, client), daemon=True).start()

    def requests(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while data := client.recv(65_536):
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def answers(self, server: socket.socket, client: socket.socket) -> None:
        try:
            for line in server.makefile():
                answer = json.loads(line)
                if "items" in answer:
                    client.sendall(b'no JSON\n[]\nnull\n{"ok":true}\n')
                    answer["items"] = [
                        {"item": FIRST_ITEM + number, "lvl": {"toString": 1}, "json": text}
                        for number, text in enumerate(HOSTILE)
                    ] + answer["items"]
                client.sendall(json.dumps(answer).encode() + b"\n")
            client.close()
        except OSError:
            pass
