"""The checks of ports behind a proxy of labgrid, for tools/peers/labgrid.py: a server of OpenSSH on
loopback, with a host that takes a key, one that wants a password, and one that nobody knows."""

import contextlib
import getpass
import json
import os
import pathlib
import subprocess

from tools.checks import Checks, free_port, wait_for
from tools.emulator import Emulator

SERVER = "/usr/sbin/sshd"
WAIT_SECONDS = 30
CASES = ("--filter", "^FRM-11/")
check = Checks()


class Proxy:
    """The server, and an `ssh` before the user's that reads no configuration but this one's."""

    def __init__(self, farm):
        self.farm, self.lab = farm, farm.lab
        self.folder = pathlib.Path(self.lab.folder.name, "ssh")
        self.folder.mkdir(mode=0o700)
        if os.geteuid() == 0:
            # Where the server of root sits until a user is known; its service makes it otherwise.
            pathlib.Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        for name in ("host", "key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name], check=True)
        port = free_port()
        host, key = ((self.folder / f"{name}.pub").read_text() for name in ("host", "key"))
        self.write("authorized", key)
        self.write("known", f"[127.0.0.1]:{port} {host}")
        self.write("unknown", "")
        server = self.write(
            "server",
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host\nPidFile none\nStrictModes no\n"
            f"AuthorizedKeysFile {self.folder}/authorized\nUsePAM no\nPermitRootLogin yes\n",
        )
        client = self.write(
            "client",
            "Host locked\n  PubkeyAuthentication no\n  PreferredAuthentications password\n"
            f"Host stranger\n  UserKnownHostsFile {self.folder}/unknown\n"
            f"Host *\n  HostName 127.0.0.1\n  Port {port}\n  User {getpass.getuser()}\n  IdentitiesOnly yes\n"
            f"  IdentityFile {self.folder}/key\n  UserKnownHostsFile {self.folder}/known\n"
            f"  GlobalKnownHostsFile {self.folder}/unknown\n",
        )
        programs = self.folder / "bin"
        programs.mkdir()
        wrapper = programs / "ssh"
        wrapper.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {client} "$@"\n')
        wrapper.chmod(0o755)
        # labgrid's folders of connections, one each.
        self.connections = self.folder / "tmp"
        self.connections.mkdir()
        path = f"{programs}:{self.lab.environment['PATH']}"
        self.environment = {**self.lab.environment, "PATH": path, "TMPDIR": str(self.connections)}
        self.lab.start([SERVER, "-D", "-e", "-f", server])
        wait_for(lambda: self.ssh("true").returncode == 0, "the server of ssh", WAIT_SECONDS, 0.1)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    def ssh(self, *words):
        return subprocess.run(
            ["ssh", "proxy", *words], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
        )

    def via(self, host):
        return {**self.environment, "LG_PROXY": host}

    def clients(self):
        """The clients of ssh that use its configuration, by their process ids."""
        found, word = [], str(self.folder / "client").encode()
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if word in entry.read_bytes().split(b"\0"):
                    found.append(entry.parent.name)
        return found

    def must_leave_nothing(self):
        """No place acquired, no ssh that goes on, and no folder of a connection."""
        self.farm.must_be_free()
        wait_for(lambda: not self.clients(), "the clients of ssh gone", WAIT_SECONDS, 0.1)
        wait_for(lambda: not list(self.connections.iterdir()), "the folders gone", WAIT_SECONDS, 0.1)


@check
def a_place_is_reached_through_the_proxy(proxy):
    assert (
        json.loads(proxy.lab.run("count", "--json", "-p", "labgrid:noti", environment=proxy.via("proxy")))["count"] == 0
    )
    proxy.must_leave_nothing()
    said = proxy.lab.run("test", "-p", "labgrid:noti", *CASES, environment=proxy.via("proxy"))
    proxy.must_leave_nothing()
    return said.strip().splitlines()[-1]


@check
def all_places_are_reached_through_the_proxy(proxy):
    every = "labgrid:@board=farm"
    report = json.loads(
        proxy.lab.run("test", "--all", "-p", every, *CASES, "--json", "-", environment=proxy.via("proxy"))
    )
    assert len(report["boards"]) > 1 and report["totals"]["failed"] == 0, report["totals"]
    proxy.must_leave_nothing()


@check
def a_proxy_that_wants_a_password_is_reported(proxy):
    said = proxy.lab.run("count", "-p", "labgrid:noti", expecting=12, environment=proxy.via("locked"))
    assert "use a key" in said and "\n" not in said, said
    proxy.must_leave_nothing()
    return said


@check
def a_proxy_with_an_unknown_key_is_reported(proxy):
    said = proxy.lab.run("count", "-p", "labgrid:noti", expecting=12, environment=proxy.via("stranger"))
    assert "check its key" in said, said
    proxy.must_leave_nothing()
    return said


@check
def an_interrupted_command_leaves_no_tunnel(proxy):
    process = subprocess.Popen(
        [proxy.lab.notibot, "watch", "--json", "-p", "labgrid:noti"], stdout=subprocess.PIPE, env=proxy.via("proxy")
    )
    try:
        assert process.stdout.readline() and proxy.clients()
        process.kill()
    finally:
        process.wait()
        process.stdout.close()
    proxy.must_leave_nothing()


@check
def an_exporter_that_requires_a_proxy_has_one(proxy):
    with Emulator(proxy.lab.notibot, "--rfc2217", "127.0.0.1:0") as emulator:
        port = {"NetworkSerialPort": {"host": "127.0.0.1", "port": int(emulator.port.split(":")[2])}}
        proxy.farm.export("apart", {"board": port}, "--isolated")
        proxy.farm.place("apart", "apart/board/*", "board=apart")
        assert (
            json.loads(proxy.lab.run("count", "--json", "-p", "labgrid:apart", environment=proxy.environment))["count"]
            == 0
        )
        proxy.must_leave_nothing()
        proxy.lab.client("-p", "apart", "delete")
