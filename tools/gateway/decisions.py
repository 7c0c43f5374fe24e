"""Stories of presses: what the sender gets, once, and what the display shows meanwhile."""

import hashlib
import hmac
import json
import os
import signal
import subprocess
import threading

import httpx

from tools.gateway.backend import Backend, once
from tools.gateway.world import BRIDGE, DAYLY, DAYLY_PUSH, World, equal, expect, wait_for


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
    """T41: a press of Approve: the callback, once, signed; the display shows "Continuing…"."""
    answers = once()
    with Backend(answers) as backend, World(programs, configured(backend, secret="secret")) as world:
        with open(os.path.join(world.folder, "secret"), "w") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write("s3cret\n")
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
        equal(len(backend.requests), 1, "callbacks")


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
        equal(
            world.push(
                client,
                {"aps": {"content-available": 1}, "clearApprovalId": "approval-3"},
                BRIDGE,
                apns_push_type="background",
                apns_priority="5",
            ).status_code,
            200,
            "the clear",
        )
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
                callbacks = {"codingbridge": {"url": backend.url + "/a", "authority": path}}
                with open(os.path.join(world.folder, "gateway.json"), "w") as file:
                    json.dump({**world.configuration, "callbacks": callbacks}, file)
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
    kill_at_steps(programs, lambda world, item: press(world, 0, item))


def kill_at_steps(programs, act, prepare=lambda world: None):
    """Kills the gateway at each step around the commits of what `act` does with an approval."""
    answers = once()
    with Backend(answers) as backend, World(programs, configured(backend)) as world:
        prepare(world)
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
            act(world, item)
            wait_for(lambda n=step: world.process.poll() is not None or decided(answers, n), f"step {step}")
            world.kill()
            world.start()
            wait_for(lambda n=step: decided(answers, n), f"the decision of step {step}")
            wait_for(lambda: not world.status()["decisions"], "its end")
            world.kill()
        equal(len(answers.accepted), 14, "decisions")
        equal(
            sorted(content["fields"]["requestId"] for content in answers.accepted.values()),
            sorted(f"approval-{step}" for step in range(1, 15)),
            "their requests",
        )
        expect(len(backend.requests) >= 14, "callbacks")


def decided(answers, number):
    return any(content["fields"]["requestId"] == f"approval-{number}" for content in list(answers.accepted.values()))


def t47_two(programs):
    """T47, T52: one approval on two displays: the first press wins, the other display clears."""
    worlds = []

    def answer(request):
        content = json.loads(request["body"])
        if content["type"] == "clear":
            # The backend clears what its other devices show.
            threading.Thread(target=clear, args=(content["fields"]["requestId"],)).start()
            return 200, {}
        return once()(request)

    def clear(request_id):
        for world in worlds:
            with world.client() as client:
                world.push(
                    client,
                    {"aps": {"content-available": 1}, "clearApprovalId": request_id},
                    BRIDGE,
                    apns_push_type="background",
                    apns_priority="5",
                )

    with Backend(answer) as backend:
        configuration = configured(backend, clear=backend.url + "/clear")
        with World(programs, configuration) as left, World(programs, configuration) as right:
            worlds += [left, right]
            for world in worlds:
                with world.start().client() as client:
                    equal(world.push(client, approval(7), BRIDGE).status_code, 200, "the push")
            for world in worlds:
                world.shown(1)
            press(right, 1)
            wait_for(lambda: not left.items(), "the other display clears")
            paths = [request["path"] for request in backend.wait(2)]
            equal(paths, ["/answers", "/clear"], "the requests")


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


def t49_addresses(programs):
    """T49: addresses that lead elsewhere are refused in the configuration, and a published message
    causes no request."""
    addresses = [
        "http://169.254.169.254/latest",
        "file:///etc/passwd",
        "http://backend.example/",
        "https://user@host/",
        "gopher://127.0.0.1/",
        "http://127.0.0.1.example.com/",
    ]
    with Backend(once()) as backend, World(programs) as world:
        path = os.path.join(world.folder, "gateway.json")
        for address in addresses:
            with open(path, "w") as file:
                json.dump({**world.configuration, "callbacks": {"c": {"url": address}}}, file)
            world.run("run", "--port", world.link, status=2)
            world.run("register", "--as", "lucifer", "--url", address, "--topic", "t", status=2)
        with open(path, "w") as file:
            json.dump(world.configuration, file)
        world.start()
        fields = {"Actions": f"http, Open, {backend.url}/x", "Click": backend.url, "Attach": backend.url + "/y"}
        answer = httpx.post(f"http://127.0.0.1:{world.http_port}/t", content="x", headers=fields)
        equal(answer.status_code, 200, "the message")
        equal(world.shown(1)[0].get("act"), ["Open"], "its actions")
        press(world, 0)
        texts(world, "Open: queued")
        equal(backend.requests, [], "requests")


def cut(programs):
    """A request that the display cannot show whole cannot be approved, only denied."""
    with Backend(once()) as backend, World(programs, configured(backend)) as world:
        with world.start().client() as client:
            body = approval(1, "Execute: " + "a" * 400 + "; rm -rf /")
            equal(world.push(client, body, BRIDGE).status_code, 200, "the push")
        equal(world.shown(1)[0]["act"], ["Deny"], "the actions")
        press(world, 0)
        equal(json.loads(backend.wait(1)[0]["body"])["action"], "DENY_ACTION", "the decision")


def tables(programs):
    """A damaged table is reported, refuses pushes if it can hide a revocation, and is read again
    when it is repaired."""
    with World(programs) as world, world.start().client() as client:
        equal(world.push(client, DAYLY_PUSH).status_code, 200, "the push")
        for name, status in (("tokens.json", 503), ("trust.json", 503), ("mutes.json", 200)):
            path = os.path.join(world.folder, name)
            content = open(path).read() if os.path.exists(path) else "[]"
            replace(path, content[:-5] + "x")
            equal(world.push(client, DAYLY_PUSH).status_code, status, f"with a damaged {name}")
            expect(name in world.status()["problems"][0], "it is not reported")
            equal(httpx.get(f"http://127.0.0.1:{world.http_port}/healthz").status_code, 503, "the health")
            replace(path, content)
            equal(world.push(client, DAYLY_PUSH).status_code, 200, f"with {name} repaired")
            equal(world.status()["problems"], [], "problems")
        os.unlink(os.path.join(world.folder, "tokens.json"))
        equal(world.push(client, DAYLY_PUSH).status_code, 503, "without tokens.json")
        wait_for(lambda: world.reports("stays in use") == 4, "the reports")


def replace(path, content):
    with open(path + ".new", "w") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(content)
    os.rename(path + ".new", path)


def ask(programs):
    """notibot ask: 0 for the first action, 1 for another and for a dismissal, 13 at the end of the
    time, 130 on Ctrl-C; the question leaves the display."""
    with World(programs) as world:
        question = ["--port", world.link, "--title", "Deploy?", "--text", "To production"]

        def run(act, timeout="1h", expected=None, words=("--json",), number=None):
            process = subprocess.Popen(
                [world.notibot, "ask", *question, "--timeout", timeout, *words],
                stdout=subprocess.PIPE,
                stderr=world.log,
                text=True,
            )
            if act is not None or number:
                item = wait_for(world.items, "the question")[0]
                equal((item["title"], item["act"]), ("Deploy?", ["Approve", "Deny"]), "the question")
                if number:
                    process.send_signal(number)
                elif act == "dismiss":
                    world.ask("dismiss", item=item["item"])
                else:
                    press(world, act, item)
            output = process.communicate(timeout=60)[0]
            equal((process.returncode, output), expected, f"ask with {act}")
            equal(world.items(), [], "the display")

        run(0, expected=(0, '{"action":0,"choice":"Approve"}\n'))
        run(1, expected=(1, "Deny\n"), words=())
        run("dismiss", expected=(1, '{"reason":"dismissed"}\n'))
        run(None, timeout="1s", expected=(13, '{"reason":"timeout"}\n'))
        run(None, number=signal.SIGINT, expected=(130, ""))
        run(None, expected=(2, ""), words=("--text", "x" * 500))
        run(None, expected=(2, ""), words=("--actions", "A,A"))


STORIES = [t41_approve, t42_presses, t43_down, t43_tls, t44_kills, t47_two, t48_poll, t49_addresses, cut, tables, ask]
