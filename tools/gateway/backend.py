"""Backends of senders, rebuilt small: they receive callbacks and registrations over HTTP or TLS."""

import json
import os
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tools.checks import wait_for


class Backend:
    """Used as a context. `answers` decides each request: called with it, returns (status, body) or
    None for no answer at all."""

    def __init__(self, answers, tls_folder=None):
        self.answers, self.tls_folder = answers, tls_folder
        self.requests = []
        self.lock = threading.Lock()

    def __enter__(self):
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self):
                size = int(self.headers.get("content-length", "0"))
                request = {
                    "method": self.command,
                    "path": self.path,
                    "headers": {name.lower(): value for name, value in self.headers.items()},
                    "body": self.rfile.read(size),
                }
                with backend.lock:
                    backend.requests.append(request)
                    answer = backend.answers(request)
                self.close_connection = True
                if answer is None:
                    return
                status, body, *fields = answer
                text = json.dumps(body).encode()
                self.send_response(status)
                for name, value in fields[0].items() if fields else ():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_POST = do_DELETE = do_GET = handle_one

            def log_message(self, *_):
                """Nothing on standard error."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        scheme = "http"
        if self.tls_folder:
            scheme = "https"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate(self.tls_folder))
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"{scheme}://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def wait(self, count):
        """The requests, when there are so many."""
        return wait_for(lambda: self.requests if len(self.requests) >= count else None, f"{count} requests")


def certificate(folder):
    """A certificate for 127.0.0.1 that is its own authority, and its key."""
    paths = os.path.join(folder, "backend.pem"), os.path.join(folder, "backend.key")
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=backend", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", *words, *names, "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    return paths


def once(status=200, body=None):
    """Accepts everything, and keeps what it accepted by its idempotency key."""
    accepted = {}

    def answer(request):
        accepted.setdefault(request["headers"].get("idempotency-key"), json.loads(request["body"]))
        return status, body or {}

    answer.accepted = accepted
    return answer
