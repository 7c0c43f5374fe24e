"""An emulator process, and its control socket, for the scripts of this folder."""
import json
import os
import signal
import socket
import subprocess
import tempfile


class Emulator:
    """An emulator process for the time of a `with`."""

    def __init__(self, notibot, *options, is_remote=False):
        self.command = [notibot, "emulate", *options]
        self.is_remote = is_remote

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.link = os.path.join(self.folder.name, "notibot")
        place = ["--rfc2217", "127.0.0.1:0"] if self.is_remote else ["--link", self.link]
        self.process = subprocess.Popen(
            self.command + place + ["--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = json.loads(self.process.stdout.readline())["port"]
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Control:
    """The control socket of an emulator."""

    def __init__(self, path):
        self.path = path

    def ask(self, **request):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(20)
            connection.connect(self.path)
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile() as answers:
                return json.loads(answers.readline())

    def all_items(self):
        """All that is on the display, oldest first, page by page."""
        items = []
        while True:
            first = items[-1]["item"] + 1 if items else 0
            page = self.ask(command="list", item=first)["items"]
            assert not page or page[0]["item"] >= first, "this emulator does not list page by page"
            if not page:
                return items
            items += page
