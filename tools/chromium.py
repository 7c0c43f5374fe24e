"""Headless Chromium, as Debian installs it."""

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

BROWSER = "/usr/lib/chromium/chromium-headless-shell"
DRIVER = "/usr/bin/chromedriver"


def browser(*arguments, has_javascript=True):
    """A driver whose log of the console can be read."""
    options = Options()
    options.binary_location = BROWSER
    for argument in ("--no-sandbox", "--window-size=1280,900", *arguments):
        options.add_argument(argument)
    if not has_javascript:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)
