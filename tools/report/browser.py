#!/usr/bin/env python3
"""Opens HTML reports in headless Chromium: nothing on the console, no request, readable without
JavaScript, light, dark and on paper. See `scripts/dev report-test`."""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

from tools.chromium import browser
from tools.mutants import mutant_files

# Nearly every case fails on it.
MUTANT = "lnk-other-nonce"
LIMIT_BYTES = 1_000_000

# What a page must not have, counted in the document that the browser made of it.
COUNT = """return {
  scripts: document.scripts.length, images: document.images.length,
  handlers: [...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => a.name.startsWith('on'))).length,
  links: [...document.querySelectorAll('a[href]')].filter(a => !a.getAttribute('href').startsWith('#')).length,
  dead: [...document.querySelectorAll('a[href]')].filter(a => !document.getElementById(a.getAttribute('href').slice(1))).length,
  loaded: performance.getEntriesByType('resource').length,
  ms: performance.timing.loadEventEnd - performance.timing.navigationStart,
  wide: document.documentElement.scrollWidth > window.innerWidth,
  text: document.body.innerText.length, ink: getComputedStyle(document.body).color,
  paper: getComputedStyle(document.body).backgroundColor };"""


def media(driver, scheme, medium=""):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": medium, "features": features})


def check(driver, path, screenshots, limit_seconds):
    """The findings of one page."""
    findings = []
    start = time.perf_counter()
    driver.get(path.resolve().as_uri())
    seconds = time.perf_counter() - start
    seen = driver.execute_script(COUNT)
    console = driver.get_log("browser")
    size = path.stat().st_size
    for name in ("scripts", "images", "handlers", "links", "dead", "loaded"):
        if seen[name]:
            findings.append(f"{seen[name]} {name}")
    if console:
        findings.append(f"console: {console[0]['message']}")
    if seconds > limit_seconds:
        findings.append(f"opens in {seconds:.2f} s")
    if size > LIMIT_BYTES:
        findings.append(f"has {size} bytes")
    if seen["text"] < 50:
        findings.append("has no text")
    if seen["wide"]:
        findings.append("is wider than the window")
    colors = {}
    for scheme in ("light", "dark"):
        media(driver, scheme)
        colors[scheme] = driver.execute_script(COUNT)["paper"]
        if screenshots:
            driver.save_screenshot(str(screenshots / f"{path.stem}-{scheme}.png"))
    if colors["light"] == colors["dark"]:
        findings.append(f"looks alike in light and dark: {colors['light']}")
    media(driver, "dark", "print")
    if driver.execute_script(COUNT)["paper"] != "rgb(255, 255, 255)":
        findings.append("is printed on dark paper")
    pages = driver.execute_cdp_cmd("Page.printToPDF", {})["data"]
    media(driver, "light")
    print(f"{path.name}: {size} bytes, {seconds:.2f} s, PDF of {len(pages) * 3 // 4} bytes")
    return findings


def make_reports(notibot, folder):
    """A report of each kind."""

    def run(words, must_pass=True):
        words = [str(folder / word) if word.endswith((".html", ".json")) else word for word in words.split()]
        subprocess.run([notibot, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=must_pass)

    run("test -p emu: -q --html suite.html --json suite.json")
    # A run in which nearly everything fails.
    mutant = next(each for each in mutant_files.read_all(mutant_files.MUTANTS) if each.name == MUTANT)
    compiler = mutant_files.Compiler(["cc"], folder)
    compiler.prepare()
    library = compiler.library(mutant)
    run(f"test --rig firmware --firmware {library} -q --html failing.html --json failing.json", must_pass=False)
    run("test -p /dev/no-such-port --html absent.html", must_pass=False)
    run("soak -p emu: --duration 4s --faults flip=1e-5 --html soak.html")
    run("bench -p emu:bench --count 3000 --trips 300 --repeat 3 --html bench.html --json")
    run("report compare suite.json failing.json --html comparison.html", must_pass=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    parser.add_argument("--notibot", help="the program: a report of each kind is made, and opened")
    parser.add_argument("--screenshots", type=pathlib.Path, help="folder for pictures of each page")
    parser.add_argument("--seconds", type=float, default=1.0, help="the longest time in which a page may open")
    options = parser.parse_args()
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.notibot:
            make_reports(options.notibot, folder)
        sys.exit(open_pages(options.pages + sorted(folder.glob("*.html")), options))


def open_pages(pages, options):
    """1 if there is a finding, otherwise 0."""
    wrong = 0
    texts = {}
    for has_javascript in (True, False):
        driver = browser(has_javascript=has_javascript)
        try:
            driver.get("about:blank")
            for path in pages:
                if has_javascript:
                    findings = check(driver, path, options.screenshots, options.seconds)
                    texts[path] = driver.execute_script(COUNT)["text"]
                else:
                    driver.get(path.resolve().as_uri())
                    shown = driver.find_element("tag name", "body").text
                    findings = [] if len(shown) > texts[path] * 0.8 else ["needs JavaScript"]
                for finding in findings:
                    print(f"{path.name}: {finding}", file=sys.stderr)
                wrong += len(findings)
        finally:
            driver.quit()
    return int(wrong > 0)


if __name__ == "__main__":
    main()
