"""Publishes with a library for ntfy, in that library's own environment: `ntfy_clients.py NAME URL`.
Prints one line of JSON: what each call returned, or the error that it raised."""

import asyncio
import datetime
import importlib
import json
import sys
import urllib.parse

LABEL = "Open the door of the garage"


def attempt(results, name, call):
    try:
        results[name] = call()
    except Exception as error:
        results[name] = f"{type(error).__name__}: {error}"


def use_apprise(apprise, url, results):
    service = url.replace("http://", "ntfy://")
    actions = f"http, {LABEL}, https://x.example; view, Portal, https://x"
    parameters = f"priority=max&tags=warning,garage&actions={urllib.parse.quote(actions)}"
    for name, address in (("full", f"{service}/door?{parameters}"), ("plain", f"{service}/plain")):
        client = apprise.Apprise()
        client.add(address)
        attempt(results, name, lambda client=client: client.notify(body="Grüße\nzwei", title="Tür offen"))


def use_python_ntfy(python_ntfy, url, results):
    client = python_ntfy.NtfyClient(topic="door", server=url)
    actions = [
        python_ntfy.HttpAction("Close", "https://x.example", headers={"A": "b"}),
        python_ntfy.ViewAction("Portal", "https://x.example"),
    ]
    later = datetime.datetime.now() + datetime.timedelta(hours=1)
    attempt(
        results,
        "full",
        lambda: client.send(
            "Open", "Garage", python_ntfy.MessagePriority.HIGH, tags=["warning", "garage"], actions=actions
        ),
    )
    attempt(results, "later", lambda: client.send("Later", "Garage", schedule=later))
    attempt(results, "file", lambda: client.send_file(__file__))
    attempt(results, "cached", lambda: [row["message"] for row in client.get_cached_messages()])
    attempt(results, "scheduled", lambda: [row["message"] for row in client.get_cached_messages(scheduled=True)])


def use_ntfpy(ntfpy, url, results):
    client = ntfpy.NTFYClient(ntfpy.NTFYServer(url), "door")
    answers = {
        "full": lambda: client.send("Open", title="Garage", priority=4, tags=["warning", "garage"], click="https://x"),
        "refused": lambda: client.send("Open", email="a@b.example"),
    }
    for name, call in answers.items():
        attempt(results, name, lambda call=call: call().json())


def use_aiontfy(aiontfy, url, results):
    http = aiontfy.HttpAction(label=LABEL, url="https://x.example", headers={"A": "b"}, body="{'a': 1}")
    copy, view = aiontfy.CopyAction(label="Copy", value="1"), aiontfy.ViewAction(label="Portal", url="https://x")
    full = {"message": "Open", "title": "Garage", "tags": ["warning", "garage"], "priority": 4, "icon": "https://x/i"}

    async def call(name, coroutine):
        try:
            found = await coroutine
            results[name] = json.loads(found.to_json()) if hasattr(found, "to_json") else found
        except Exception as error:
            results[name] = f"{type(error).__name__}: {error}"

    async def run():
        async with aiontfy.ntfy.ClientSession() as session:
            client = aiontfy.Ntfy(url, session)
            await call("account", client.account())
            await call("stats", client.stats())
            await call("auth", client.can_subscribe(["door"]))
            for name, keys in (
                ("full", {**full, "actions": [http, copy, view], "sequence_id": "job"}),
                ("plain", {"message": "Plain"}),
                ("delayed", {"message": "Later", "delay": "600.0s", "sequence_id": "job-2"}),
                ("short", {"message": "Soon", "delay": "1.0s"}),
                ("email", {"message": "Mail", "email": "a@b.example"}),
            ):
                await call(name, client.publish(aiontfy.Message(topic="door", **keys)))
            headers = aiontfy.Message(topic="door", **full, actions=[http, view], filename="a.txt")
            await call("file", client.publish(headers, b"text"))
            headers = aiontfy.Message(topic="door", **full, actions=[http, view], sequence_id="headers")
            await call("headers", client.publish(headers, b"Headers"))
            await call("cleared", client.clear("door", "job"))
            await call("deleted", client.delete("door", "job-2"))
            await call("unknown", client.delete("door", "never"))

    asyncio.run(run())


if __name__ == "__main__":
    name, found = sys.argv[1].replace("-", "_"), {}
    globals()[f"use_{name}"](importlib.import_module(name), sys.argv[2], found)
    print(json.dumps(found, default=str))
