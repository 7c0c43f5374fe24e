"""Stories of trust: provider tokens, topics, files."""

import base64
import hashlib
import hmac
import json
import os
import stat
import time

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tools.checks import equal, expect
from tools.gateway.world import BRIDGE, DAYLY, DAYLY_PUSH, Sender, World, reason


def t12_tokens(programs):
    """T12: only a valid ES256 token of a known key of a known team is accepted."""
    with World(programs) as world, world.start().client() as client:
        sender, other = world.sender, Sender()
        public = sender.key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        # PyJWT refuses to sign with a public key; its bytes as a secret are the old attack.
        good = sender.token()
        head, claims, signature = good.split(".")
        altered = ("A" if signature[0] != "A" else "B") + signature[1:]
        table = [
            ("valid", good, 200, None),
            ("older than an hour", sender.token(age=3605), 403, "ExpiredProviderToken"),
            ("wrong team", sender.token(claims={"iss": "OTHERTEAM1"}), 403, "InvalidProviderToken"),
            ("unknown key", sender.token(headers={"kid": "XXXXXXXXXX"}), 403, "InvalidProviderToken"),
            ("another's signature", other.token(), 403, "InvalidProviderToken"),
            ("altered signature", f"{head}.{claims}.{altered}", 403, "InvalidProviderToken"),
            ("altered claims", f"{head}.{claims[:-2]}AA.{signature}", 403, "InvalidProviderToken"),
            # What `openssl dgst -sign` makes, as in Apple's example for curl.
            ("DER", f"{head}.{claims}.{der(sender, head, claims)}", 200, None),
            ("DER, another's", f"{head}.{claims}.{der(other, head, claims)}", 403, "InvalidProviderToken"),
            (
                "DER with more behind it",
                f"{head}.{claims}.{der(sender, head, claims)}AAAA",
                403,
                "InvalidProviderToken",
            ),
            ("none", hmac_token(sender, "none", b""), 403, "InvalidProviderToken"),
            ("HS256 with the public key", hmac_token(sender, "HS256", public), 403, "InvalidProviderToken"),
        ]
        for name, token, status, expected in table:
            answer = world.push(client, DAYLY_PUSH, authorization=f"bearer {token}")
            equal((answer.status_code, reason(answer)), (status, expected), name)


def der(sender, head, claims):
    signature = sender.key.sign(f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
    return base64.urlsafe_b64encode(signature).rstrip(b"=").decode()


def hmac_token(sender, algorithm, secret):
    """A token that is signed with a secret, or with nothing."""

    def part(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    head = part(json.dumps({"alg": algorithm, "kid": sender.key_id}).encode())
    claims = part(json.dumps({"iss": sender.team, "iat": int(time.time())}).encode())
    signature = part(hmac.digest(secret, f"{head}.{claims}".encode(), hashlib.sha256)) if secret else ""
    return f"{head}.{claims}.{signature}"


def t13_topics(programs):
    """T13: a key is allowed its own topics; a connection keeps to one key."""
    with World(programs) as world:
        second = Sender(team="SECONDTEAM", key_id="SECONDKEY1")
        path = os.path.join(world.path, "second.p8")
        with open(path, "w") as file:
            # As in an environment variable.
            file.write(second.pem.replace("\n", "\\n"))
        world.run("trust", "--team", second.team, "--key-id", second.key_id, "--topic", BRIDGE, path)
        world.start()
        with world.client() as client:
            token = f"bearer {second.token()}"
            equal(world.push(client, DAYLY_PUSH, topic=BRIDGE, authorization=token).status_code, 200, "its own topic")
            answer = world.push(client, DAYLY_PUSH, authorization=token)
            equal((answer.status_code, reason(answer)), (400, "TopicDisallowed"), "another's topic")
            answer = world.push(client, DAYLY_PUSH)
            equal((answer.status_code, reason(answer)), (403, "UnrelatedKeyIdInToken"), "another key")


def t15_secrets(programs):
    """T15: files are closed to others; no token, text or key in a log, a list or the metrics."""
    with World(programs) as world, world.start().client() as client:
        secret = "Launch code 4711"
        equal(world.push(client, {"aps": {"alert": secret}}).status_code, 200, "the push")
        world.shown(1)
        for name in ["", "ca.key", "leaf.key", "tokens.json", "trust.json", "gateway.sqlite", "outbox.sqlite"]:
            mode = stat.S_IMODE(os.stat(os.path.join(world.folder, name)).st_mode)
            equal(mode & 0o077, 0, f"the mode of {name or 'the folder'}")
        visible = json.dumps(world.pushes()) + json.dumps(world.status()) + world.run("token", "list")
        with open(world.log.name) as log:
            visible += log.read()
        with open(os.path.join(world.folder, "tokens.json")) as table:
            visible += table.read()
        visible += world.http("/metrics").text
        for what in (secret, world.tokens[DAYLY], world.sender.token().split(".")[0], "PRIVATE"):
            expect(what not in visible, "a secret is visible")
        with open(os.path.join(world.folder, "gateway.sqlite"), "rb") as store:
            content = store.read()
        with open(os.path.join(world.folder, "gateway.sqlite-wal"), "rb") as store:
            content += store.read()
        expect(secret.encode() not in content and world.tokens[DAYLY].encode() not in content, "a secret is stored")
        world.kill()
        os.chmod(os.path.join(world.folder, "leaf.key"), 0o644)
        world.run("run", status=12)


STORIES = [t12_tokens, t13_topics, t15_secrets]
