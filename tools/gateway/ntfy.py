"""Stories of messages in all of ntfy's forms: curl, ntfy's libraries, Apprise, Alertmanager."""

import datetime
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import httpx

from tools.checks import Failure, NotRun, equal, expect, free_port, wait_for
from tools.gateway.clients import program
from tools.gateway.decisions import texts
from tools.gateway.world import LIMIT_S, ROOT, World

CLIENTS = os.path.join(os.path.dirname(__file__), "ntfy_clients.py")
# Options of curl, its address, and title and text on the display.
FORMS = [
    (["-X", "POST"], "/t?message=from+query&title=T", "T", "from query"),
    (["-d", "x"], "/t?title=Tür✅&unused", "Tür✅", "x"),
    (["-H", "Title: =?UTF-8?B?VMO8ciA=?= =?iso-8859-1?Q?=FCber?=", "-d", "x"], "/t", "Tür über", "x"),
    (["-H", "m: a\\nb", "-H", "ta: tada,main"], "/t/publish", "#main", "🎉 a\nb"),
    ([], "/t/trigger", "", "triggered"),
    ([], "/t/send?m=%E2%9C%85+done&prio=High", "", "✅ done"),
    (["-X", "PUT", "-d", '{"topic":"t","Message":"json","title":null}', "-H", "title: header"], "/", "header", "json"),
    (["-H", "Click: https://x", "-H", "Markdown: yes", "-d", "  trimmed \n"], "/t", "", "trimmed"),
    (["-H", "Attach: https://x/flower.jpg", "-X", "POST"], "/t", "", "You received a file: flower.jpg"),
]
REFUSED = [
    (["-d", "x", "-H", "Priority: 9"], "/t", 400, 40007),
    (["-d", "x", "-H", "Email: a@b.example"], "/t", 400, 40001),
    (["-d", "x", "-H", "Filename: a.txt"], "/t", 400, 40014),
    (["-d", "x", "-H", "Actions: jump, A, b"], "/t", 400, 40018),
    (["-d", "{}"], "/t?tpl=yes&m={{.a}}", 400, 40043),
    (["-d", "x"], "/docs", 400, 40010),
    (["-d", '{"title":"T","message":"gotify"}'], "/message?token=x", 404, 40401),
    (["-d", "x", "-H", "Origin: http://x"], "/t", 403, 40301),
    (["-d", "x", "-H", "Host: 127.0.0.1:80.evil.example"], "/t", 403, 40301),
    (["-d", "x", "-H", "Sec-Fetch-Site: cross-site"], "/t", 403, 40301),
    ([], "/t/json", 404, 40401),
    (["-X", "DELETE"], "/t", 404, 40401),
    (["-X", "PATCH"], "/t", 404, 40401),
]


def curl(world, path, *options):
    """The status and the body of an answer."""
    done = subprocess.run(
        ["curl", "-sg", "-w", "\n%{http_code}", *options, f"http://127.0.0.1:{world.http_port}{path}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT_S,
    )
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


def publish(world, path, *options):
    status, body = curl(world, path, *options)
    equal(status, 200, f"{path} {options} ({body.strip()})")
    return json.loads(body)


def ntfy_forms(programs):
    """ntfy: curl with headers, parameters of the address, JSON, encoded words and templates."""
    with World(programs) as world:
        world.start()
        for number, (options, path, title, text) in enumerate(FORMS):
            answer = publish(world, path, *options)
            item = world.shown(number + 1)[-1]
            equal((item["title"], item["text"]), (title, text), f"{path} {options}")
            equal((answer["event"], answer["topic"]), ("message", "t"), "the answer")
        first = f"http://127.0.0.1:{world.http_port}/t/again?title=Tür"
        equal(curl(world, "/t/again?title=zwei✅", "-d", "x", first)[0], 200, "two requests of a connection")
        equal(world.shown(len(FORMS) + 1)[-1]["title"], "zwei✅", "the second one")
        publish(world, "/t/again", "-X", "DELETE")
        long = publish(world, "/t/long", "-d", "é" * 3000)
        equal(len(long["message"].encode()), 4096, "the text of the answer")
        equal(long["notes"], ["cut: message, to 4096 bytes", "cut on the display: text"], "its notes")
        count = len(world.shown(len(FORMS) + 1))
        for options, path, status, code in REFUSED:
            found, body = curl(world, path, *options)
            error = json.loads(body)
            equal((found, error["http"], error["code"]), (status, status, code), f"{path} {options}")
            expect(set(error) <= {"code", "http", "error", "link"}, f"other keys in {error}")
        listed = [row["verdict"] for row in world.pushes(len(REFUSED))]
        equal(listed, [f"refused {code}" for _, _, _, code in REFUSED], "the list of pushes")
        equal(len(world.shown(count)), count, "items")
        burst = [world.http("/many", "POST", content=f"{number}") for number in range(45)]
        equal({answer.status_code for answer in burst}, {200}, "45 at once")


def ntfy_setup(programs):
    """ntfy: what clients ask for at set-up, and polls of what is on the display."""
    with World(programs, {"pushesPerMinute": 1, "burst": 2}) as world:
        world.start()
        account = json.loads(curl(world, "/v1/account")[1])
        equal((account["username"], len(account["stats"])), ("*", 10), "the account")
        equal(json.loads(curl(world, "/v1/health")[1]), {"healthy": True}, "the health")
        equal(json.loads(curl(world, "/t/auth")[1]), {"success": True}, "the access")
        equal(json.loads(curl(world, "/v1/config")[1])["enable_login"], False, "the configuration")
        expect(curl(world, "/config.js")[1].startswith("var config = {"), "the script")
        equal(curl(world, "/", "-I")[0], 200, "HEAD /")
        equal(curl(world, "/t/json?poll=1"), (200, ""), "an empty poll")
        first = publish(world, "/t?title=T&p=2", "-d", "one")
        publish(world, "/t/s", "-d", "two")
        world.shown(2)
        body = curl(world, "/t,u/json?poll=1")[1]
        rows = [json.loads(line) for line in body.splitlines()]
        shown = [(row["message"], row.get("title"), row.get("priority"), row.get("sequence_id")) for row in rows]
        equal(shown, [("one", "T", 2, None), ("two", None, None, "s")], "the poll")
        equal(rows[0]["id"], first["id"], "the id")
        equal(len(curl(world, f"/t/json?poll=1&since={first['id']}")[1].splitlines()), 1, "those after the first")
        refused = world.http("/t", "POST", content="three")
        equal((refused.status_code, refused.json()["code"]), (429, 42901), "beyond the rate")
        expect("retry-after" in refused.headers, "there is no retry-after")
        world.kill()
        world.start()
        equal(curl(world, "/t/json?poll=1")[1], body, "the poll after a restart")
        publish(world, f"/u/{first['id']}/clear", "-X", "PUT")
        publish(world, f"/t/{first['id']}/clear", "-X", "POST")
        texts(world, "two")
        publish(world, "/t/s", "-X", "DELETE")
        wait_for(lambda: not world.items(), "the deletion")


def interpreter(name, *packages):
    """A Python with packages, in an environment of its own; the newest one that can have them."""
    folder = os.path.join(ROOT, ".build", f"ntfy-{name}")
    path = os.path.join(folder, "bin", "python3")
    found = [shutil.which(f"python3.{minor}") for minor in (14, 13, 12)]
    found += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.1[2-9]*/bin/python3")), reverse=True)
    for python in [word for word in found if word] + [sys.executable]:
        shutil.rmtree(folder, ignore_errors=not os.path.exists(path))
        commands = [python, "-m", "venv", folder], [path, "-m", "pip", "install", "--quiet", *packages]
        if all(subprocess.run(command, capture_output=True).returncode == 0 for command in commands):
            return path
    raise NotRun("ntfy-clients", f"{' '.join(packages)} could not be installed")


def library(world, python, name):
    """What a library's calls return."""
    done = subprocess.run(
        [python, CLIENTS, name, f"http://127.0.0.1:{world.http_port}"], capture_output=True, text=True, timeout=LIMIT_S
    )
    equal(done.returncode, 0, f"{name} ({done.stderr.strip()[-500:]})")
    return json.loads(done.stdout.splitlines()[-1])


def fault(text):
    return text.partition(":")[0]


def ntfy_aiontfy(programs):
    """ntfy: aiontfy, which Home Assistant uses: set-up, publishing, clearing, faults."""
    python = interpreter("aiontfy", "aiontfy==0.8.6")
    with World(programs) as world:
        found = library(world.start(), python, "aiontfy")
        equal((found["account"]["username"], found["auth"], found["stats"]["messages"]), ("*", True, 0), "the set-up")
        full = found["full"]
        equal(
            (full["title"], full["tags"], full["sequence_id"]), ("Garage", ["warning", "garage"], "job"), "the answer"
        )
        delay = datetime.datetime.fromisoformat(found["delayed"]["time"]).timestamp() - time.time()
        expect(500 < delay < 601, f"delayed by {delay} s")
        equal(fault(found["short"]), "NtfyBadRequestDelayTooSmallError", "a delay of a second")
        equal(fault(found["email"]), "NtfyBadRequestEmailDisabledError", "an e-mail")
        equal(fault(found["file"]), "NtfyBadRequestAttachmentsDisallowedError", "a file")
        equal([found[name]["event"] for name in ("cleared", "deleted", "unknown")],
              ["message_clear", "message_delete", "message_delete"], "removals")  # fmt: skip
        plain, headers = world.shown(2)
        equal(plain["text"], "Plain", "the plain message")
        equal((headers["title"], headers["lvl"], headers["act"]),
              ("⚠️ Garage #garage", 2, ["Open the door of the …"]), "the message with headers")  # fmt: skip
        equal(curl(world, "/door/json?poll=1&scheduled=1&message=Later"), (200, ""), "the deleted delayed message")


def ntfy_libraries(programs):
    """ntfy: Apprise of PyPI and of Debian, python-ntfy, ntfpy."""
    python = interpreter("libraries", "apprise==2.3.0", "python-ntfy==0.11.4", "ntfpy==0.0.12")
    with World(programs) as world:
        expect("FAILURE" not in str(library(world.start(), python, "apprise")), "Apprise reports a failure")
        door, plain = world.shown(2)
        equal((door["title"], door["text"], door["lvl"], door["fl"], door["act"]),
              ("⚠️ Tür offen #garage", "Grüße\nzwei", 2, 2, ["Open the door of the …"]), "Apprise's")  # fmt: skip
        equal((plain["title"], plain["text"]), ("Tür offen", "Grüße\nzwei"), "Apprise's plain one")
        count = 2
        if os.path.exists("/usr/bin/apprise"):
            equal(library(world, "/usr/bin/python3", "apprise"), {"full": True, "plain": True}, "Debian's Apprise")
            count += 2
        found = library(world, python, "python-ntfy")
        equal(found["full"]["notes"], ["no button: view"], "the notes")
        equal(world.shown(count + 1)[-1]["act"], ["Close"], "python-ntfy's buttons")
        equal(fault(found["file"]), "MessageSendError", "a file")
        equal([row in found["cached"] for row in ("Open", "Later")], [True, False], "messages on the display")
        expect("Later" in found["scheduled"], "the delayed message is missing")
        found = library(world, python, "ntfpy")
        equal((found["full"]["notes"], found["refused"]["code"]), (["ignored: click"], 40001), "ntfpy's answers")
        equal(world.shown(count + 2)[-1]["title"], "⚠️ Garage #garage", "ntfpy's message")


def ntfy_alertmanager(programs):
    """ntfy: Alertmanager's webhook with template=alertmanager."""
    alertmanager = program("prometheus-alertmanager", "prometheus-alertmanager")
    with World(programs) as world, tempfile.TemporaryDirectory() as folder:
        url = f"http://127.0.0.1:{world.start().http_port}/alerts?template=alertmanager&priority=high"
        path = os.path.join(folder, "alertmanager.json")
        route = {"receiver": "display", "group_wait": "0s", "group_interval": "1s"}
        with open(path, "w") as file:
            json.dump({"route": route, "receivers": [{"name": "display", "webhook_configs": [{"url": url}]}]}, file)
        address = f"127.0.0.1:{free_port()}"
        options = [f"--config.file={path}", f"--storage.path={folder}", "--cluster.listen-address="]
        process = subprocess.Popen([alertmanager, *options, f"--web.listen-address={address}"], stderr=world.log)
        alert = {
            "labels": {"alertname": "DiskFull", "instance": "host-1", "severity": "page"},
            "annotations": {"summary": "No space is left"},
        }

        def post(**keys):
            try:
                return httpx.post(f"http://{address}/api/v2/alerts", json=[{**alert, **keys}]).status_code == 200
            except httpx.TransportError:
                return False

        try:
            wait_for(post, "Alertmanager")
            item = world.shown(1)[0]
            equal((item["title"], item["lvl"]), ("🚨 Alert: DiskFull", 2), "the alert")
            expect("Severity: page" in item["text"] and "Summary: No space is left" in item["text"], item["text"])
            post(endsAt="2021-01-01T00:00:00Z", startsAt="2020-01-01T00:00:00Z")
            equal(world.shown(2)[1]["title"], "✅ Resolved: DiskFull", "its end")
        finally:
            process.terminate()
            process.wait(timeout=LIMIT_S)


def ntfy_delays(programs):
    """ntfy: delayed messages outlive kills at each step, are shown once, and stay away when
    cleared."""
    with World(programs, {"burst": 100}) as world:
        world.start()
        due = int(time.time()) + 12
        for number in range(9):
            answer = publish(world, f"/later/s-{number}?at={due + number // 3}", "-d", f"{number}")
            equal(answer["time"], due + number // 3, "the time of the answer")
        publish(world, "/later/s-0/clear", "-X", "PUT")
        publish(world, "/later/s-1", "-X", "DELETE")
        publish(world, f"/later/s-2?at={due}", "-d", "two")
        publish(world, "/later/s-3", "-d", "three")
        status, refused = curl(world, "/later?in=9s", "-d", "x")
        equal((status, json.loads(refused)["code"]), (400, 40005), "9 s")
        world.kill()
        ends = 0
        for step in range(1, 9):
            world.start({"NOTIBOT_KILL_AT_STEP": str(step)})
            try:
                world.process.wait(timeout=LIMIT_S)
                ends += 1
            except subprocess.TimeoutExpired:
                break
            finally:
                world.kill()
        expect(ends > 3, f"killed at {ends} steps only")
        world.start()
        wait_for(lambda: len(world.items()) >= 7, "the delayed messages")
        found = sorted(item["text"] for item in world.shown(7))
        equal(found, ["4", "5", "6", "7", "8", "three", "two"], "the display")
        if len(curl(world, "/later/json?poll=1&scheduled=1")[1].splitlines()) != 7:
            raise Failure("a delayed message waits still")


STORIES = [ntfy_forms, ntfy_setup, ntfy_aiontfy, ntfy_libraries, ntfy_alertmanager, ntfy_delays]
