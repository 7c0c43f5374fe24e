"""Stories of answers that need a second press: nothing is decided by one, nothing is lost."""

import json

from tools.checks import Failure, equal, wait_for
from tools.gateway.backend import Backend, once
from tools.gateway.decisions import approval, configured, decided, press
from tools.gateway.world import BRIDGE, World

FORMER, PROMPT, TEXT = "Approval Needed: Bash", "Press Approve again to confirm", "Execute: npm test"
# Between the presses of somebody who waits for an effect: the gateway ignores those of the first
# second, and a device keeps 16 that nobody fetches.
PRESS_EVERY_S = 0.5


def patient(backend, **keys):
    """No time is over while a slow computer works."""
    return {**configured(backend), "confirmSeconds": 300, **keys}


def titled(world, title, text=TEXT):
    """The item with this title and text, when there is one."""
    return wait_for(
        lambda: [item for item in world.items() if (item["title"], item["text"]) == (title, text)],
        f"the title {title!r} with the text {text!r}",
    )[0]


def asked(world, client, number=1, body=TEXT):
    """The item of an approval that the display has and nobody has pressed."""
    equal(world.push(client, approval(number, body), BRIDGE).status_code, 200, "the push")
    item = titled(world, FORMER, body)
    wait_for(lambda: not world.status()["unfinished"], "agreement")
    return item


def press_until(world, is_done):
    """Presses Approve until it counts."""
    while not is_done():
        for item in world.items():
            if item["text"] == TEXT:
                press(world, 0, item)
        try:
            wait_for(is_done, "the effect", PRESS_EVERY_S)
        except Failure:
            continue


def presses(world, verdict):
    """How many presses ended so."""
    metrics = world.http("/metrics").text
    name = f'notibot_gateway_presses_total{{verdict="{verdict}"}} '
    return sum(int(line.removeprefix(name)) for line in metrics.splitlines() if line.startswith(name))


def t55_confirm(programs):
    """T55: one press of Approve changes the title only; the second one decides, once. Two presses
    of the first text are one."""
    answers = once()
    with Backend(answers) as backend, World(programs, patient(backend), confirms=True) as world:
        with world.start().client() as client:
            item = asked(world, client)
        # Both are for the text before the prompt, however slow the computer is.
        world.ask("unplug")
        press(world, 0, item)
        press(world, 0, item)
        world.ask("plug")
        prompt = titled(world, PROMPT)
        equal((prompt["act"], prompt["lvl"], prompt["fl"]), (["Approve", "Deny"], 2, 1), "the prompt")
        wait_for(lambda: presses(world, "tooSoon"), "the second press of the first text")
        status = world.status()
        equal((status["confirming"], status["decisions"]), (1, 0), "open presses and decisions")
        equal(backend.requests, [], "callbacks after the first press")
        press_until(world, lambda: backend.requests)
        titled(world, FORMER, "Continuing…")
        wait_for(lambda: not world.status()["decisions"], "the end of the decision")
        equal(world.status()["confirming"], 0, "items that wait for a press")
        equal([json.loads(request["body"])["action"] for request in backend.requests], ["APPROVE_ACTION"], "callbacks")


def t58_kills(programs):
    """T58: killed at each step around the commits of both presses: one decision for each approval,
    none by one press, and none is lost."""
    answers = once()
    numbers = range(1, 13)
    with Backend(answers) as backend, World(programs, patient(backend), confirms=True) as world:
        for number in numbers:
            with world.start().client() as client:
                item = asked(world, client, number)
            world.kill()
            start_and_die(world, number)
            press(world, 0, item)
            wait_for(lambda: has_ended(world) or has_prompt(world), f"the first press, step {number}")
            world.kill()
            world.start()
            wait_for(lambda: has_prompt(world) and not world.status()["unfinished"], f"the prompt, step {number}")
            equal(decided(answers, number), False, f"decided by one press, step {number}")
            world.kill()
            start_and_die(world, number)
            press_until(world, lambda n=number: has_ended(world) or decided(answers, n))
            world.kill()
            world.start()
            press_until(world, lambda n=number: decided(answers, n))
            wait_for(lambda: not world.status()["decisions"], "its end")
            world.kill()
        found = sorted((content["fields"]["requestId"], content["action"]) for content in answers.accepted.values())
        equal(found, sorted((f"approval-{number}", "APPROVE_ACTION") for number in numbers), "the decisions")


def start_and_die(world, step):
    """Starts a gateway that ends at a step, which can be one of its start."""
    try:
        world.start({"NOTIBOT_KILL_AT_STEP": str(step)})
    except Failure:
        wait_for(lambda: has_ended(world), "the end of a gateway that printed nothing")


def has_ended(world):
    return world.process.poll() is not None


def has_prompt(world):
    return any((item["title"], item["text"]) == (PROMPT, TEXT) for item in world.items())


STORIES = [t55_confirm, t58_kills]
