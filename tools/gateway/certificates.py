"""Stories of the certificate: the running gateway renews it in time, or reports why not."""

import datetime
import ipaddress
import json
import os
import socket
import ssl
import subprocess

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tools.checks import equal, expect, wait_for
from tools.gateway.raw import RawClient
from tools.gateway.world import DAYLY_PUSH, LIMIT_S, World

# Long enough for a start on a busy computer; a renewal is due after two thirds of it.
LIFE_S = 15
DAY_S = 86_400


def read(world, name):
    with open(os.path.join(world.folder, name), "rb") as file:
        return file.read()


def signed(subject, public_key, issuer, issuer_key, begin_s, end_s, names=None):
    """A certificate whose times are relative to now, in PEM; an authority if it has no `names`."""
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + datetime.timedelta(seconds=begin_s))
        .not_valid_after(now + datetime.timedelta(seconds=end_s))
        .add_extension(x509.BasicConstraints(ca=names is None, path_length=None), critical=True)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(issuer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def named(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def issue(world, begin_s, end_s):
    """Replaces the server's certificate by one of the gateway's authority."""
    authority = x509.load_pem_x509_certificate(read(world, "ca.pem"))
    key = serialization.load_pem_private_key(read(world, "ca.key"), None)
    own = serialization.load_pem_private_key(read(world, "leaf.key"), None).public_key()
    names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("display.example")]
    world.write("leaf.pem", signed(named("short"), own, authority.subject, key, begin_s, end_s, names))


def issue_foreign(world, begin_s, end_s):
    """Replaces it by one of another authority, which is not in the folder."""
    own = serialization.load_pem_private_key(read(world, "leaf.key"), None).public_key()
    key = ec.generate_private_key(ec.SECP256R1())
    world.write("leaf.pem", signed(named("x"), own, named("Other"), key, begin_s, end_s, [x509.DNSName("x")]))


def served(world):
    """The certificate of a new handshake, verified or not."""
    context = ssl._create_unverified_context()
    with (
        socket.create_connection(("127.0.0.1", world.apns_port), timeout=LIMIT_S) as plain,
        context.wrap_socket(plain) as connection,
    ):
        return x509.load_der_x509_certificate(connection.getpeercert(True))


def t84_renewal(programs):
    """T84: a certificate is renewed in time, with its names; connections stay, new ones get it."""
    with World(programs) as world:
        issue(world, 0, LIFE_S)
        world.start()
        former = served(world)
        equal(former.subject, named("short"), "the first certificate")
        body = json.dumps(DAYLY_PUSH).encode()
        with RawClient(world) as client:
            for moment in ("before", "after"):
                equal(client.request(list(world.headers().items()), [body]).status, "200", f"a push {moment}")
                wait_for(lambda: served(world).serial_number != former.serial_number, "the renewal")
        new = served(world)
        alternative = x509.SubjectAlternativeName
        names = [certificate.extensions.get_extension_for_class(alternative) for certificate in (former, new)]
        equal(names[1], names[0], "the names")
        equal((new.not_valid_after_utc - new.not_valid_before_utc).days, 90, "days of the new one")
        with world.client() as client:
            equal(world.push(client, DAYLY_PUSH).status_code, 200, "a push on a new connection")
        equal(world.health(), (200, "ok\n"), "the health")
        wait_for(lambda: world.reports("leaf.pem was renewed") == 1, "one line about it")


def t85_kept_elsewhere(programs):
    """T85: a certificate that cannot be renewed is reported once; with the key it is renewed."""
    for lacking in ("ca.key", "openssl"):
        with World(programs) as world:
            issue(world, 0, LIFE_S)
            away = os.path.join(world.path, "away")
            if lacking == "ca.key":
                os.rename(os.path.join(world.folder, lacking), away)
            world.start({"PATH": world.path} if lacking == "openssl" else ())
            equal(world.health()[0], 200, "the health before")
            wait_for(lambda: world.health()[0] == 503, "the problem")
            (problem,) = world.status()["problems"]
            expect("leaf.pem ends in" in problem and f"{lacking} is missing" in problem, f"the problem: {problem}")
            wait_for(lambda: "leaf.pem ended" in world.health()[1], "the end")
            wait_for(lambda name=lacking: world.reports(f"{name} is missing") == 1, "one line about it")
            if lacking == "ca.key":
                os.rename(away, os.path.join(world.folder, lacking))
                wait_for(lambda: world.health()[0] == 200, "the renewal")
                with world.client() as client:
                    equal(world.push(client, DAYLY_PUSH).status_code, 200, "a push")


def t86_start(programs):
    """T86: the certificate has ended, is of another authority, or is not valid yet at the start."""
    with World(programs) as world:
        kept = {name: read(world, name) for name in ("leaf.pem", "leaf.key", "ca.pem")}
        issue(world, -90 * DAY_S, -DAY_S)
        world.start()
        with world.client() as client:
            equal(world.push(client, DAYLY_PUSH).status_code, 200, "a push after the renewal at the start")
        world.kill()
        issue_foreign(world, -90 * DAY_S, -DAY_S)
        foreign = read(world, "leaf.pem")
        world.start()
        expect("ended 1 day ago: it is not of the authority" in world.health()[1], f"the health: {world.health()}")
        equal(read(world, "leaf.pem"), foreign, "the certificate of another authority")
        # Replaced by its user while the gateway runs.
        world.write("leaf.pem", b"no certificate")
        wait_for(lambda: "the former certificate stays in use" in world.health()[1], "the problem")
        world.write("leaf.pem", kept["leaf.pem"])
        wait_for(lambda: world.health()[0] == 200, "the end of the problem")
        with world.client() as client:
            equal(world.push(client, DAYLY_PUSH).status_code, 200, "a push with the replaced certificate")
        world.kill()
        key = serialization.load_pem_private_key(read(world, "ca.key"), None)
        name = x509.load_pem_x509_certificate(kept["ca.pem"]).subject
        world.write("ca.pem", signed(name, key.public_key(), name, key, 3 * DAY_S + 99, 99 * DAY_S))
        issue(world, 3 * DAY_S + 99, 9 * DAY_S)
        world.start()
        expect("ca.pem is not valid for another 3 days: check the clock" in world.health()[1], "the clock")
        wait_for(lambda: world.reports("check the clock") == 1, "one line about the clock")


def t87_files(programs):
    """T87: what is missing or damaged is named, and `init --renew` makes it again; wrong arguments
    leave no file."""
    with World(programs) as world:
        for name in ("ca.pem", "leaf.pem", "leaf.key"):
            former = read(world, "ca.key")
            for state in ("damaged", "missing"):
                if state == "damaged":
                    world.write(name, b"")
                else:
                    os.unlink(os.path.join(world.folder, name))
                if (name, state) != ("leaf.pem", "missing"):
                    problem = world.ended("init", status=2).stderr
                    expect(f"{name} is {state}; run" in problem, f"{name}: {problem}")
                world.run("init", "--renew")
                world.run("init")
            equal(read(world, "ca.key"), former, f"the authority's key after {name}")
        world.start()
        with world.client() as client:
            equal(world.push(client, DAYLY_PUSH).status_code, 200, "a push with the new files")
        world.kill()
        os.unlink(os.path.join(world.folder, "ca.pem"))
        world.start()
        wait_for(lambda: world.reports("ca.pem is missing: the certificate") == 1, "one line about the authority")
        world.kill()
        world.write("ca.pem", b"")
        world.write("ca.key", b"")
        expect("ca.key is damaged; put" in world.ended("init", "--renew", status=18).stderr, "a damaged authority")
        other = os.path.join(world.path, "other")
        for words in (["--profile", "typo"], ["--name", "a b"], ["--port", "typo"]):
            done = subprocess.run([world.gateway, "init", "--directory", other, *words], capture_output=True)
            equal((done.returncode, os.path.exists(other)), (2, False), f"init {words}")
        long = os.path.join(world.path, "x" * 107)
        for command in ("init", "run", "status"):
            done = subprocess.run([world.gateway, command, "--directory", long], capture_output=True, text=True)
            equal(done.returncode, 2, f"{command} in a long folder: {done.stderr}")
            expect("for the socket in it, at most 94" in done.stderr, done.stderr)
        closed = ["sh", "-c", '"$0" push - --topic a.b --directory "$1" <&-', world.gateway, world.folder]
        done = subprocess.run(closed, capture_output=True, text=True, timeout=LIMIT_S)
        equal((done.returncode, done.stderr.count("Domain")), (2, 0), f"push without input: {done.stderr}")


STORIES = [t84_renewal, t85_kept_elsewhere, t86_start, t87_files]
