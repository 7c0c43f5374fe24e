"""Stories of messages from scripts, as ntfy's clients send them: buttons, and JSON."""

import json

from tools.checks import equal, wait_for
from tools.gateway.backend import Backend, once
from tools.gateway.decisions import one, press, texts
from tools.gateway.world import World

# The examples of ntfy's documentation, with other addresses.
SHORT = "view, Open portal, {url}, clear=true; http, Turn down, {url}, body='{{\"temperature\": 65}}'"
LONG = [{"action": "http", "label": "Close door", "url": "{url}", "method": "PUT", "headers": {"Authorization": "B x"}}]


def t61_actions(programs):
    """T61: actions of a message are buttons; a press reaches the callback of its topic or the long
    poll, never an address of the message."""
    answers = once()
    with Backend(answers) as backend, Backend(once()) as other:
        configuration = {"callbacks": {"home": {"url": backend.url + "/a"}}, "messageCallbacks": {"door": "home"}}
        with World(programs, configuration) as world:
            world.start()
            short = world.http(
                "/heating", "POST", content="70 degrees", headers={"Actions": SHORT.format(url=other.url)}
            )
            equal(short.status_code, 200, "the short form")
            item = world.shown(1)[0]
            equal(item["act"], ["Turn down"], "its buttons")
            press(world, 0, item)
            texts(world, "Turn down: queued")
            found = json.loads(world.run("actions"))
            row = found["actions"][0]
            fields = {"message": short.json()["id"]}
            equal((row["topic"], row["action"], row["fields"]), ("heating", "Turn down", fields), "the decision")
            world.run("actions", "--after", str(found["next"]))
            texts(world, "Turn down: done")
            world.ask("dismiss", item=one(world)["item"])
            actions = json.loads(json.dumps(LONG).replace("{url}", other.url))
            body = {"topic": "door", "message": "Open", "title": "Garage", "priority": 4, "actions": actions}
            equal(world.http("/", "POST", json=body).status_code, 200, "the form in JSON")
            item = texts(world, "Open")
            equal((item["act"], item["title"], item["lvl"]), (["Close door"], "Garage", 2), "the item")
            press(world, 0, item)
            backend.wait(1)
            texts(world, "Close door: done")
            wait_for(lambda: not world.status()["decisions"], "the end of the decision")
            equal([content["action"] for content in answers.accepted.values()], ["Close door"], "callbacks")
            equal(other.requests, [], "requests to addresses of messages")
            for header in ("jump, A, b", "http", "http, 'A"):
                answer = world.http("/t", "POST", content="x", headers={"Actions": header})
                equal(answer.status_code, 400, f"the actions {header!r}")


STORIES = [t61_actions]
