"""Stories of presses: what the sender gets, once, and what the display shows meanwhile."""

import hashlib
import hmac
import json
import os
import signal
import threading

from tools.checks import equal, expect, wait_for
from tools.gateway.backend import Backend, once
from tools.gateway.world import BRIDGE, DAYLY, DAYLY_PUSH, World


def approval(number, body="Execute: npm test"):
    return {
        "aps": {
            "alert": {"title": "Approval Needed", "subtitle": "Bash", "body": body},
            "category": "APPROVAL_REQUEST",
        },
        "requestId": f"approval-{number}",
        "toolName": "Bash",
        "type": "approval",
    }


def clear(world, client, number):
    """The push that takes an approval back."""
    body = {"aps": {"content-available": 1}, "clearApprovalId": f"approval-{number}"}
    answer = world.push(client, body, BRIDGE, apns_push_type="background", apns_priority="5")
    equal(answer.status_code, 200, "the clear")


def configured(backend, **keys):
    return {"callbacks": {"codingbridge": {"url": backend.url + "/answers", **keys}}}


def one(world):
    """The only item of the display."""
    items = world.items()
    equal(len(items), 1, "items")
    return items[0]


def press(world, act, item=None):
    world.ask("action", item=(item or one(world))["item"], act=act)


def texts(world, text):
    """Waits until the only item has this text."""
    return wait_for(lambda: [item for item in world.items() if item["text"] == text], f"the text {text!r}")[0]


def t41_approve(programs):
    """T41, T47: a press of Approve: the callback, once, signed; the display shows "Continuing…" and
    the backend is asked to clear its other devices."""
    with Backend(once()) as backend, World(programs) as world:
        world.configure(configured(backend, secret="secret", clear=backend.url + "/clear"))
        world.write("secret", "s3cret\n")
        with world.start().client() as client:
            # A push never chooses where its answer goes.
            body = {**approval(1), "callback": "http://127.0.0.1:1/", "url": "http://127.0.0.1:1/"}
            own = world.push(client, body, BRIDGE).headers["apns-id"]
        item = world.shown(1)[0]
        equal(item["act"], ["Approve", "Deny"], "the actions")
        press(world, 0)
        request = backend.wait(1)[0]
        equal((request["method"], request["path"]), ("POST", "/answers"), "the request")
        content = json.loads(request["body"])
        equal(
            {key: content[key] for key in ("action", "approved", "label", "push", "topic", "type", "fields")},
            {
                "action": "APPROVE_ACTION",
                "approved": True,
                "label": "Approve",
                "push": own,
                "topic": BRIDGE,
                "type": "answer",
                "fields": {"requestId": "approval-1", "toolName": "Bash"},
            },
            "the callback",
        )
        equal(request["headers"]["idempotency-key"], content["id"], "the key")
        stamp, code = (part.partition("=")[2] for part in request["headers"]["notibot-signature"].split(","))
        message = stamp.encode() + b"." + request["body"]
        equal(code, hmac.new(b"s3cret", message, hashlib.sha256).hexdigest(), "the signature")
        shown = texts(world, "Continuing…")
        equal((shown["title"], shown.get("act")), ("Approval Needed: Bash", None), "the item")
        expect(0 < shown["exp"] - shown["timestamp"] <= 31, "it does not leave after 30 s")
        wait_for(lambda: not world.status()["decisions"], "the end of the decision")
        equal([request["path"] for request in backend.wait(2)], ["/answers", "/clear"], "the requests")
        cleared = json.loads(backend.requests[1]["body"])
        equal((cleared["type"], cleared["fields"]["requestId"]), ("clear", "approval-1"), "the clear")


def t42_presses(programs):
    """T42, T46: a double press, approve then deny, a press of an older text and one after a clear:
    one callback for each decision."""
    answers = once()
    with Backend(answers) as backend, World(programs, configured(backend)) as world, world.start().client() as client:
        for number in (1, 2, 3):
            equal(world.push(client, approval(number), BRIDGE).status_code, 200, "the push")
        items = {item["text"] + str(index): item for index, item in enumerate(world.shown(3))}
        first, second, third = items.values()
        for act in (0, 0, 1):
            press(world, act, first)
        backend.wait(1)
        # The newer text is on its way when the older one is pressed.
        world.ask("unplug")
        equal(world.push(client, approval(2, "Execute: rm -rf /"), BRIDGE).status_code, 200, "the newer text")
        press(world, 0, second)
        clear(world, client, 3)
        press(world, 1, third)
        world.ask("plug")
        newer = texts(world, "Execute: rm -rf /")
        wait_for(lambda: not world.status()["unfinished"], "agreement")
        press(world, 1, newer)
        backend.wait(2)
        wait_for(lambda: not world.status()["decisions"], "the end of the decisions")
        found = [(content["fields"]["requestId"], content["action"]) for content in answers.accepted.values()]
        equal(found, [("approval-1", "APPROVE_ACTION"), ("approval-2", "DENY_ACTION")], "the decisions")
        equal(len(backend.requests), 2, "callbacks")


def t43_down(programs):
    """T43: a backend that hangs up, fails or redirects: "Approval queued", and later the callback,
    once."""
    target = once()
    states = iter([None, (500, {}), (302, {}, {"location": "http://127.0.0.1:1/"})])

    def answer(request):
        state = next(states, "up")
        return target(request) if state == "up" else state

    with Backend(answer) as backend, World(programs, configured(backend)) as world, world.start().client() as client:
        equal(world.push(client, approval(1), BRIDGE).status_code, 200, "the push")
        world.shown(1)
        press(world, 0)
        equal(texts(world, "Approval queued")["act"], ["Approve"], "its action")
        backend.wait(4)
        equal(texts(world, "Continuing…").get("act"), None, "its actions")
        equal({request["headers"]["idempotency-key"] for request in backend.requests}, set(target.accepted), "keys")
        equal(len(backend.requests), 4, "attempts")


def t43_tls(programs):
    """T43: over TLS: the configured authority is accepted, another one is not, and nothing is sent
    to it."""
    answers = once()
    with World(programs) as world:
        with Backend(answers, tls_folder=world.path) as backend:
            authority = os.path.join(world.path, "backend.pem")
            other = os.path.join(world.folder, "ca.pem")
            for path, count in ((other, 0), (authority, 1)):
                world.configure({"callbacks": {"codingbridge": {"url": backend.url + "/a", "authority": path}}})
                with world.start().client() as client:
                    if not count:
                        equal(world.push(client, approval(1), BRIDGE).status_code, 200, "the push")
                        world.shown(1)
                        press(world, 1)
                        texts(world, "Denial queued")
                        equal(len(backend.requests), 0, "requests")
                    else:
                        backend.wait(1)
                        texts(world, "Denied")
                world.kill(signal.SIGTERM)
            equal(len(answers.accepted), 1, "decisions")


def t44_kills(programs):
    """T44: killed at each step around the commits of a press: one decision for each, none lost."""
    answers = once()
    with Backend(answers) as backend, World(programs, configured(backend)) as world:
        for step in range(1, 15):
            world.start()
            with world.client() as client:
                equal(world.push(client, approval(step), BRIDGE).status_code, 200, "the push")
            item = wait_for(
                lambda: [item for item in world.items() if item["text"] == "Execute: npm test"], "the question"
            )[-1]
            wait_for(lambda: not world.status()["unfinished"], "agreement")
            world.kill()
            world.start({"NOTIBOT_KILL_AT_STEP": str(step)})
            press(world, 0, item)
            wait_for(lambda n=step: world.process.poll() is not None or decided(answers, n), f"step {step}")
            world.kill()
            world.start()
            wait_for(lambda n=step: decided(answers, n), f"the decision of step {step}")
            wait_for(lambda: not world.status()["decisions"], "its end")
            world.kill()
        found = sorted(content["fields"]["requestId"] for content in answers.accepted.values())
        equal(found, sorted(f"approval-{step}" for step in range(1, 15)), "the decisions")


def decided(answers, number):
    return any(content["fields"]["requestId"] == f"approval-{number}" for content in list(answers.accepted.values()))


def t48_poll(programs):
    """T48: the long poll, of a sender and of the command: none lost, none twice, also over a kill;
    a sender gets its own topics only."""
    with World(programs) as world:
        with world.start().client() as client:
            headers = {"authorization": f"bearer {world.sender.token()}"}
            equal(client.get("/v1/actions").status_code, 403, "without a token")
            equal(client.get("/v1/actions?after=x", headers=headers).status_code, 404, "a wrong query")
            found, after = [], 0
            for number in range(1, 4):
                equal(world.push(client, approval(number), BRIDGE).status_code, 200, "the push")
                wait_for(lambda: [i for i in world.items() if i["text"] == "Execute: npm test"], "the question")
                wait_for(lambda: not world.status()["unfinished"], "agreement")
                item = next(item for item in world.items() if item["text"] == "Execute: npm test")
                thread = threading.Timer(0.1, press, (world, 0, item))
                thread.start()
                answer = client.get(f"/v1/actions?after={after}&wait=20", headers=headers, timeout=60).json()
                thread.join()
                found += answer["actions"]
                after = answer["next"]
            equal([row["fields"]["requestId"] for row in found], [f"approval-{n}" for n in range(1, 4)], "found")
            equal(client.get(f"/v1/actions?after={after}", headers=headers).json()["actions"], [], "after them")
        equal(world.status()["decisions"], 0, "undelivered")
        world.kill()
        world.start()
        again = json.loads(world.run("actions", "--after", "1"))
        equal([row["sequence"] for row in again["actions"]], [2, 3], "after a kill")
        world.run("trust", "--team", "OTHER", "--key-id", "KEY", "--topic", DAYLY, world.key_path)
        with world.client() as client:
            world.sender.team, world.sender.key_id = "OTHER", "KEY"
            headers = {"authorization": f"bearer {world.sender.token()}"}
            equal(client.get("/v1/actions", headers=headers).json()["actions"], [], "of another sender")


def tables(programs):
    """A damaged table is reported, refuses pushes if it can hide a revocation, and is read again
    when it is repaired."""
    with World(programs) as world, world.start().client() as client:
        equal(world.push(client, DAYLY_PUSH).status_code, 200, "the push")
        for name, status in (("tokens.json", 503), ("trust.json", 503), ("mutes.json", 200)):
            path = os.path.join(world.folder, name)
            content = open(path).read() if os.path.exists(path) else "[]"
            world.write(name, content[:-5] + "x")
            equal(world.push(client, DAYLY_PUSH).status_code, status, f"with a damaged {name}")
            expect(name in world.status()["problems"][0], "it is not reported")
            equal(world.health()[0], 503, "the health")
            world.write(name, content)
            equal(world.push(client, DAYLY_PUSH).status_code, 200, f"with {name} repaired")
            equal(world.status()["problems"], [], "problems")
        os.unlink(os.path.join(world.folder, "tokens.json"))
        equal(world.push(client, DAYLY_PUSH).status_code, 503, "without tokens.json")
        wait_for(lambda: world.reports("stays in use") == 4, "the reports")


STORIES = [t41_approve, t42_presses, t43_down, t43_tls, t44_kills, t48_poll, tables]
