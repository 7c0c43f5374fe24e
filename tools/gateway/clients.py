"""Stories of further clients: Node's http2, h2load of nghttp2, and old versions of TLS."""

import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import warnings

from tools.checks import NotRun, equal, expect
from tools.gateway.backend import certificate
from tools.gateway.world import DAYLY, DAYLY_PUSH, LIMIT_S, World

STREAMS = 200


def program(name, package):
    """The path of a program that need not be installed."""
    path = shutil.which(name)
    if not path:
        raise NotRun(name, f"{name} is not installed; it is in the package {package}")
    return path


def t6_node(programs):
    """T6: Node's http2: all streams of a connection at once, and the reason of a refusal."""
    node = program("node", "nodejs")
    with World(programs) as world:
        world.start()

        def push(bodies, **fields):
            headers = {name: value.decode() for name, value in world.headers(apns_id=None, **fields).items()}
            done = subprocess.run(
                [
                    node,
                    os.path.join(os.path.dirname(__file__), "push.mjs"),
                    os.path.join(world.folder, "ca.pem"),
                    f"https://127.0.0.1:{world.apns_port}",
                    f"/3/device/{world.tokens[DAYLY]}",
                    json.dumps(headers),
                ],
                input="".join(json.dumps(body) + "\n" for body in bodies),
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
            )
            equal((done.returncode, done.stderr), (0, ""), "node")
            return [json.loads(line) for line in done.stdout.splitlines()]

        answers = push([{"aps": {"alert": f"{number}"}} for number in range(STREAMS)])
        equal([answer["status"] for answer in answers], [200] * STREAMS, "the answers")
        equal(len({answer["id"] for answer in answers}), STREAMS, "different ids")
        (refused,) = push([DAYLY_PUSH], apns_priority="7")
        equal((refused["status"], json.loads(refused["body"])), (400, {"reason": "BadPriority"}), "the refusal")
        texts = {item["text"] for item in world.shown(STREAMS)}
        equal(texts, {f"{number}" for number in range(STREAMS)}, "the display")


def t6_h2load(programs):
    """T6: h2load of nghttp2: four connections with a hundred streams each."""
    h2load = program("h2load", "nghttp2-client")
    with World(programs, {"dedupeSeconds": 0}) as world, tempfile.TemporaryDirectory() as folder:
        world.start()
        body = os.path.join(folder, "body")
        with open(body, "w") as file:
            json.dump(DAYLY_PUSH, file)
        headers = world.headers(apns_id=None).items()
        fields = [word for name, value in headers for word in ("-H", f"{name}: {value.decode()}")]
        url = f"https://127.0.0.1:{world.apns_port}/3/device/{world.tokens[DAYLY]}"
        done = subprocess.run(
            [h2load, "-n", str(STREAMS * 4), "-c", "4", "-m", "100", "-d", body, *fields, url],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        equal(done.returncode, 0, f"h2load ({done.stderr.strip()})")
        expect(f"status codes: {STREAMS * 4} 2xx, 0 3xx, 0 4xx, 0 5xx" in done.stdout, done.stdout)
        expect("Application protocol: h2" in done.stdout, "h2load did not negotiate h2")
        equal(len(world.shown(STREAMS * 4)), STREAMS * 4, "items")


def limited(context, version):
    """A context for one version of TLS alone, also one that today's libraries disable."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = version
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


def handshake(context, port):
    """The version of a handshake, or the reason why it fails."""
    try:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
        ):
            return connection.version()
    except ssl.SSLError as error:
        return error.reason
    except ConnectionResetError:
        return "reset"


def accepts(version):
    """Whether a handshake with a version succeeds on this computer when the server allows it."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        chain, key = certificate(folder)
        context = limited(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), version)
        context.load_cert_chain(chain, key)
        server.settimeout(LIMIT_S)

        def serve():
            # The client reports the reason of an error.
            with contextlib.suppress(OSError):
                context.wrap_socket(server.accept()[0], server_side=True).close()

        thread = threading.Thread(target=serve)
        thread.start()
        found = handshake(limited(ssl.create_default_context(cafile=chain), version), server.getsockname()[1])
        thread.join()
        return found == version.name.replace("_", ".")


def t19_tls(programs):
    """T19: TLS 1.0 and 1.1 are refused with an alert, 1.2 and 1.3 are not; a client that does not
    know the authority ends the handshake."""
    versions = ssl.TLSVersion
    with World(programs) as world:
        world.start()
        for version in (versions.TLSv1, versions.TLSv1_1):
            # Otherwise it could be the client that refuses.
            if not accepts(version):
                raise NotRun("old-tls", f"OpenSSL does not speak {version.name} here")
            found = handshake(limited(world.tls(), version), world.apns_port)
            equal(found, "TLSV1_ALERT_PROTOCOL_VERSION", f"the end of a handshake with {version.name}")
        for version in (versions.TLSv1_2, versions.TLSv1_3):
            found = handshake(limited(world.tls(), version), world.apns_port)
            equal(found, version.name.replace("_", "."), "the version")
        found = handshake(ssl.create_default_context(), world.apns_port)
        equal(found, "CERTIFICATE_VERIFY_FAILED", "the end of a handshake without the authority")
        with world.client() as client:
            equal(world.push(client, DAYLY_PUSH).status_code, 200, "another client")


STORIES = [t6_node, t6_h2load, t19_tls]
