"""Checks the live page of `notibot emulate --view` and `notibot view` in headless Chromium, with
real hosts: buttons, hostile text, requests of others, latency, memory. scripts/dev view-test."""

import argparse
import http.client
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

from selenium.webdriver.support.ui import WebDriverWait

from tools.chromium import browser
from tools.emulator import Emulator
from tools.processes import memory_kib
from tools.view.foreign import HOSTILE, ForeignControl

GROWTH_LIMIT_BYTES = 16_000_000
CORPUS = pathlib.Path("Tests/ReportsTests/HostileText.swift")
PAGE = """return {
  elements: [...new Set([...document.body.querySelectorAll('#screen *, #console *, #frames *')].map(e => e.tagName))].sort(),
  scripts: document.scripts.length, nodes: document.querySelectorAll('*').length,
  handlers: [...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => a.name.startsWith('on'))).length,
  wide: document.documentElement.scrollWidth > window.innerWidth };"""


def corpus():
    """The texts that the reports are tested with."""
    source = CORPUS.read_text()
    literals = re.findall(r'"((?:[^"\\]|\\.)*)"', source.split("static let corpus = [")[1].split("\n  ]\n")[0])
    escapes = {"r": "\r", "n": "\n", "t": "\t", "0": "\0", '"': '"', "\\": "\\"}

    def unescaped(match):
        return chr(int(match[1], 16)) if match[1] else escapes[match[2]]

    return [re.sub(r"\\(?:u\{([0-9A-F]+)\}|(.))", unescaped, text) for text in literals]


class Check:
    def __init__(self, notibot):
        self.notibot = notibot
        self.findings = []
        self.figures = {}
        self.driver = browser("--enable-precise-memory-info")

    def expect(self, holds, finding):
        if not holds:
            self.findings.append(finding)

    def until(self, condition, *arguments):
        """Waits until a JavaScript expression is true."""
        return WebDriverWait(self.driver, 20, poll_frequency=0.02).until(
            lambda driver: driver.execute_script(f"return {condition}", *arguments)
        )

    def text(self):
        """What the page shows."""
        return self.driver.execute_script("return document.body.innerText").replace("\n", " | ")[:1500]

    def press(self, command):
        """A click on one of the page's own buttons."""
        self.driver.execute_script(f"document.querySelector('[data-command={command}]').click()")

    def view(self, path):
        """Opens the page of a `notibot view` of this control socket."""
        words = [self.notibot, "view", "--socket", path, "--json"]
        view = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.driver.get(json.loads(view.stdout.readline())["url"])
        return view

    def run(self, command, *arguments, lines=()):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        return subprocess.run(
            [self.notibot, command, *arguments], input=text, capture_output=True, text=True, timeout=120
        )

    def forward(self, emulator, lines):
        with tempfile.TemporaryDirectory() as folder:
            ending = self.run("forward", "-p", emulator.link, "--outbox", f"{folder}/outbox", lines=lines)
        self.expect(ending.returncode == 0, f"forward: {ending.stderr}")

    def quiet_console(self, step):
        for entry in self.driver.get_log("browser"):
            self.findings.append(f"{step}: console: {entry['message']}")

    # The steps.

    def refusals(self, url):
        """Requests of others get 403 or 404, and nothing of the device."""
        parts = urllib.parse.urlsplit(url)
        own = {"Host": parts.netloc, "Origin": f"http://{parts.netloc}"}
        as_json = {"Content-Type": "application/json"}
        cases = [
            (200, "GET", parts.path, own),
            (200, "GET", parts.path, {**own, "Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c"}),
            (200, "HEAD", parts.path, own),
            (405, "HEAD", parts.path + "events", own),
            (403, "GET", parts.path, {"Host": "evil.example"}),
            (403, "GET", parts.path, {**own, "Origin": "http://evil.example"}),
            (403, "GET", parts.path + "events", {**own, "Sec-Fetch-Site": "cross-site"}),
            (404, "GET", "/", own),
            (404, "GET", "/events", own),
            (404, "GET", "/" + "0" * 32 + "/", own),
            (404, "GET", parts.path + "../x", own),
            (405, "GET", parts.path + "command", own),
            (403, "POST", parts.path + "command", {"Host": parts.netloc, **as_json}),
            (415, "POST", parts.path + "command", {**own, "Content-Type": "text/plain"}),
            (200, "POST", parts.path + "command", {**own, **as_json}),
            (200, "POST", parts.path + "command", {**own, **as_json, "Expect": "100-Continue"}),
        ]
        for status, method, path, headers in cases:
            connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=10)
            connection.request(
                method, path, body=b'{"command":"log","text":"x"}' if method == "POST" else None, headers=headers
            )
            response = connection.getresponse()
            text = response.read()
            self.expect(response.status == status, f"{method} {path} {headers}: {response.status}, not {status}")
            self.expect(method == "GET" or b'"ok":true' not in text, "the page may send any command")
            connection.close()
        # Too long, garbage, and more than 16 connections: each ends.
        for sent in (b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000, bytes(range(256)) * 100):
            with socket.create_connection(("127.0.0.1", parts.port), timeout=10) as raw:
                try:
                    raw.sendall(sent)
                    while raw.recv(4096):
                        pass
                except ConnectionError:
                    pass
        crowd = [socket.create_connection(("127.0.0.1", parts.port), timeout=5) for _ in range(24)]
        try:
            self.expect(not any(one.recv(1) for one in crowd[:8]), "the server sent something unasked")
        except (TimeoutError, ConnectionError) as error:
            self.expect(isinstance(error, ConnectionError), "17 connections are kept")
        connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=5)
        try:
            connection.request("GET", parts.path, headers=own)
            status = connection.getresponse().status
        except ConnectionError as error:
            status = error
        self.expect(status == 200, f"connections without the token keep others out: {status}")
        connection.close()
        for one in crowd:
            one.close()

    def hostile(self, emulator):
        """Text of a device stays text."""
        # A host accepts no U+0000.
        texts = [text.replace("\0", "") for text in corpus()]
        self.expect(len(texts) >= 25, f"the corpus has {len(texts)} texts")
        sizes = {"app": 40, "title": 60, "text": 90, "grp": 4}
        members = [{name: text[:size] for name, size in sizes.items()} for text in texts]
        lines = [{**found, "timestamp": 1, "act": [text[:8]]} for found, text in zip(members, texts, strict=True)]
        self.forward(emulator, lines)
        # A pseudo-terminal that nobody reads takes nothing.
        reader = subprocess.Popen(
            [self.notibot, "monitor", "-p", emulator.link], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        reader.stderr.readline()
        for text in texts:
            emulator.control.ask(command="log", text=text[:200])
        self.until("document.querySelectorAll('.card').length == arguments[0]", len(lines))
        seen = self.driver.execute_script(PAGE)
        self.expect(seen["elements"] == ["ARTICLE", "BUTTON", "H3", "P"], f"hostile text: {seen['elements']}")
        self.expect(seen["scripts"] == 1 and not seen["handlers"], f"hostile text: {seen}")
        self.expect(not seen["wide"], "hostile text makes the page wide")
        shown = self.driver.execute_script("return document.querySelector('.card[data-item=\"1\"] .text').textContent")
        self.expect(shown == texts[0], f"{texts[0]!r} is shown as {shown!r}")
        self.until("document.getElementById('console').scrollHeight > document.getElementById('console').clientHeight")
        reader.terminate()
        reader.communicate()
        for name in ("console", "frames"):
            distance = f"(e => e.scrollHeight - e.clientHeight - e.scrollTop)(document.getElementById('{name}'))"
            self.expect(
                self.driver.execute_script(f"return {distance}") <= 8, f"the newest line of {name} is not in view"
            )
        self.quiet_console("hostile text")
        self.press("clear")
        emulator.control.wait("stored=0")

    def approve(self, emulator, screenshot):
        """A click on an action reaches the program that asked."""
        jane = {"app": "Messages", "title": "Jane Doe", "grp": "jane"}
        shown = [
            {"app": "Backup", "title": "Done", "text": "412 GB in 18 min", "lvl": 0, "fl": 1},
            {**jane, "text": "See you tomorrow!"},
            {**jane, "text": "At ten?", "act": ["Yes", "Later"]},
            {"app": "Monitor", "title": "rack 4", "text": "Temperature 71 °C", "lvl": 3},
        ]
        self.forward(emulator, [{**content, "timestamp": int(time.time())} for content in shown])
        question = ["--app", "CI", "--title", "Deploy?", "--text", "To production", "--actions", "Approve,Deny"]
        words = [self.notibot, "ask", "-p", emulator.link, *question, "--timeout", "30s", "--json"]
        asking = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        button = "[...document.querySelectorAll('.card button')].find(b => b.textContent == 'Approve')"
        self.until(f"!!{button}")
        self.until("document.getElementById('frames').textContent.includes('DATA')")
        if screenshot:
            self.driver.save_screenshot(str(screenshot))
        self.driver.execute_script(f"{button}.click()")
        output, errors = asking.communicate(timeout=40)
        self.expect(asking.returncode == 0 and "Approve" in output, f"ask: {asking.returncode} {output}{errors}")
        print("the host got:", output.strip())

    def buttons(self, emulator):
        """Dismiss, unplug, plug in, restart."""
        stored = emulator.control.stats()["storedCount"]
        state = "return [...document.querySelectorAll('[data-command]')].map(b => [b.dataset.command, b.disabled])"
        disabled = dict(self.driver.execute_script(state))
        self.expect(
            disabled == {"reboot": False, "unplug": False, "plug": True, "clear": False}, f"buttons: {disabled}"
        )
        yes = "[...document.querySelectorAll('.card button')].find(b => b.textContent.includes('Yes'))"
        self.driver.execute_script(f"{yes}.click()")
        self.until(f"{yes}.textContent == '✓ Yes: pressed'")
        self.until("document.getElementById('figures').textContent.includes('Presses not taken yet1')")
        frames = self.driver.execute_script("return document.getElementById('frames').textContent")
        self.expect("Write Request, Data" in frames, "the frames are not decoded")
        # The page can still show the card of a notification that the host has just removed.
        self.until("document.querySelectorAll('.card').length == arguments[0]", stored)
        self.driver.execute_script(
            "[...document.querySelectorAll('.card button')].find(b => b.textContent == 'Dismiss').click()"
        )
        emulator.control.wait(f"stored={stored - 1}")
        self.press("unplug")
        self.until("document.getElementById('state').textContent.includes('unplugged')")
        self.press("plug")
        self.until("document.getElementById('state').textContent.includes('plugged in')")
        boots = emulator.control.stats()["bootCount"]
        self.press("reboot")
        emulator.control.wait(f"boots={boots + 1}")
        self.until("document.getElementById('count').textContent == '0'")
        self.quiet_console("buttons")

    def flood(self, emulator, count):
        """Many notifications: neither process nor page grows."""
        sizes = []
        for _ in range(2):
            with tempfile.NamedTemporaryFile("w", suffix=".ndjson") as file:
                for number in range(count // 2):
                    file.write(
                        json.dumps({"app": "a", "title": f"n {number}", "text": "x" * 200, "timestamp": 1}) + "\n"
                    )
                file.flush()
                ending = self.run("send", "-p", emulator.link, "--file", file.name)
            self.expect(ending.returncode == 0, f"send: {ending.stderr[-300:]}")
            newest = emulator.control.stats()["acceptedCount"]
            self.until("document.body.dataset.newest == arguments[0]", str(newest))
            self.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
            heap = self.driver.execute_script("return performance.memory.usedJSHeapSize")
            sizes.append((1024 * memory_kib(emulator.process.pid), heap, self.driver.execute_script(PAGE)["nodes"]))
        for name, before, after in zip(("process", "page"), sizes[0][:2], sizes[1][:2], strict=True):
            self.figures[f"{name}Bytes"] = [before, after]
            self.expect(after - before <= GROWTH_LIMIT_BYTES, f"{name} grows from {before} to {after} bytes")
        self.figures["nodes"] = [size[2] for size in sizes]
        self.expect(sizes[0][2] == sizes[1][2], f"the page has {sizes[0][2]}, then {sizes[1][2]} elements")
        self.quiet_console("flood")

    def foreign(self, emulator):
        """What an emulator of others sends neither stops the page nor hides what follows."""
        with tempfile.TemporaryDirectory() as folder:
            control = ForeignControl(emulator.control.path, folder)
            view = self.view(control.path)
            cards = "document.querySelectorAll('.card').length == arguments[0]"
            self.until(cards, len(HOSTILE) + 1)
            self.run("send", "-p", emulator.link, "--app", "a", "--title", "b", "--text", "later")
            self.until(cards, len(HOSTILE) + 2)
            self.until("document.getElementById('screen').textContent.includes('later')")
            self.expect("object" not in self.text(), "a value that is no text is shown")
            self.quiet_console("foreign")
            view.terminate()
            view.communicate()
            control.close()

    def apart(self, emulator):
        """`notibot view` shows an emulator in another process, and ends with it."""
        view = self.view(emulator.control.path)
        self.until("Number(document.body.dataset.snapshots) > 0")
        self.run("send", "-p", emulator.link, "--app", "a", "--title", "b", "--text", "apart")
        self.until("document.getElementById('screen').textContent.includes('apart')")
        self.quiet_console("view")
        self.foreign(emulator)
        self.driver.get("about:blank")
        emulator.stop()
        _, errors = view.communicate(timeout=20)
        self.expect(view.returncode == 14, f"view ended with {view.returncode}: {errors}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--screenshot", type=pathlib.Path, help="where the picture is written")
    parser.add_argument("--short", action="store_true", help="without the figures")
    options = parser.parse_args()
    if options.screenshot:
        options.screenshot.parent.mkdir(parents=True, exist_ok=True)
    check = Check(options.notibot)
    try:
        with Emulator(options.notibot, "--view") as emulator:
            check.refusals(emulator.view)
            check.driver.get(emulator.view)
            check.until("Number(document.body.dataset.snapshots) > 0")
            check.hostile(emulator)
            check.approve(emulator, options.screenshot)
            check.buttons(emulator)
            check.driver.get("about:blank")
        if not options.short:
            with Emulator(options.notibot, "--view", "--profile", "bench") as emulator:
                check.driver.get(emulator.view)
                check.flood(emulator, 10_000)
                check.driver.get("about:blank")
        check.apart(Emulator(options.notibot))
    except Exception as error:
        check.findings.append(f"{type(error).__name__}: {error}; the page: {check.text()}")
    finally:
        check.driver.quit()
    if check.figures:
        print(json.dumps(check.figures))
    for finding in check.findings:
        print(finding, file=sys.stderr)
    print(f"view-test: {len(check.findings)} findings")
    sys.exit(1 if check.findings else 0)


if __name__ == "__main__":
    main()
