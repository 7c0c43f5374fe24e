"""Stories of registration: the gateway as the device of a backend."""

import json
import os
import re
import signal

from tools.checks import equal, expect, wait_for
from tools.gateway.backend import Backend
from tools.gateway.world import DAYLY, DAYLY_PUSH, LUCIFER, World, reason


def state(world, name):
    return world.status()["registrations"].get(name)


def t51_lucifer(programs):
    """T51: Lucifer's backend: 500, 500, then accepted; the same token again at each start."""
    failures = iter([500, 500])

    def answer(request):
        status = next(failures, 200)
        device = {"id": "dt_123456", "platform": "ios", "registered": "2024-01-15T10:00:00Z"}
        return status, {"success": True, "device": device} if status == 200 else {}

    with Backend(answer) as backend, World(programs) as world:
        world.run("register", "--as", "lucifer", "--url", backend.url, "--topic", LUCIFER)
        world.start()
        requests = backend.wait(3)
        wait_for(lambda: state(world, "lucifer") == "registered", "the registration")
        bodies = [json.loads(request["body"]) for request in requests]
        equal(
            {(request["method"], request["path"]) for request in requests}, {("POST", "/api/device/register")}, "path"
        )
        equal({body["platform"] for body in bodies}, {"ios"}, "the platform")
        equal(len({body["token"] for body in bodies}), 1, "tokens")
        expect(re.fullmatch("[0-9a-f]{64}", bodies[0]["token"]), "the token is not 64 digits")
        with world.client() as client:
            push = {"aps": {"alert": "Time for the gym?"}}
            equal(world.push(client, push, LUCIFER, token=bodies[0]["token"]).status_code, 200, "a push to it")
        equal(world.shown(1)[0]["text"], "Time for the gym?", "the display")
        world.kill(signal.SIGTERM)
        with open(os.path.join(world.folder, "tokens.json")) as file:
            expect(bodies[0]["token"] not in file.read(), "the table of tokens holds a token")
        equal(os.stat(os.path.join(world.folder, "registrations.json")).st_mode & 0o777, 0o600, "the mode")
        world.start()
        equal(json.loads(backend.wait(4)[3]["body"]), bodies[0], "at the next start")


def t50_dayly(programs):
    """T50: Dayly's backend: registered with a bearer, first photo of the day, revoked,
    unregistered, and 410 with a time."""
    tokens = set()

    def answer(request):
        if request["headers"].get("authorization") != "Bearer right":
            return 401, {"detail": "unauthorized"}
        if request["method"] == "DELETE":
            tokens.discard(request["path"].partition("device_token=")[2])
        else:
            tokens.add(json.loads(request["body"])["device_token"])
        return 200, {"success": True}

    with Backend(answer) as backend, World(programs) as world:
        bearer = os.path.join(world.path, "bearer")

        def write(text):
            with open(bearer, "w") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(text + "\n")

        write("wrong")
        words = ["register", "--as", "dayly", "--url", backend.url, "--topic", DAYLY, "--bearer", bearer]
        world.start()
        world.run(*words)
        backend.wait(1)
        wait_for(lambda: world.reports("refuses"), "the warning")
        equal(state(world, "dayly"), "registering", "with a wrong bearer")
        equal(len(backend.requests), 1, "it is not asked again at once")
        world.kill(signal.SIGTERM)
        write("right")
        world.start()
        wait_for(lambda: state(world, "dayly") == "registered", "the registration")
        equal(len(tokens), 1, "tokens")
        token = next(iter(tokens))
        answers = world.send_with_aioapns([(token, DAYLY_PUSH)])
        equal([answer.status for answer in answers], ["200"], "the first photo")
        equal(world.shown(1)[0]["text"], "Family has new photos", "the display")
        world.run("token", "revoke", "dayly")
        wait_for(lambda: state(world, "dayly") == "unregistered", "the end of the registration")
        equal(tokens, set(), "tokens")
        count = len(backend.requests)
        answers = world.send_with_aioapns([(token, DAYLY_PUSH)])
        equal([(answer.status, answer.description) for answer in answers], [("410", "Unregistered")], "revoked")
        with world.client() as client:
            refused = world.push(client, DAYLY_PUSH, token=token)
            expect(reason(refused) == "Unregistered" and refused.json()["timestamp"] > 10**12, "no time")
        world.kill()
        world.start()
        equal(state(world, "dayly"), "unregistered", "after a restart")
        equal(len(backend.requests), count, "requests")


def bearer(programs):
    """A bearer that others can read is refused."""
    with World(programs) as world:
        path = os.path.join(world.path, "bearer")
        with open(path, "w") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write("x")
        words = ["register", "--as", "dayly", "--url", "https://b.example", "--topic", DAYLY, "--bearer", path]
        world.run(*words, status=12)
        world.run("register", "--as", "other", "--url", "https://b.example", "--topic", DAYLY, status=2)


STORIES = [t51_lucifer, t50_dayly, bearer]
