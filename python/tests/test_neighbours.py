"""The plugin together with other plugins, each in an environment of its own."""

import os
import pathlib
import site
import subprocess
import sys
import xml.etree.ElementTree

import notibot
import pytest

NEIGHBOURS = ["pytest-embedded==2.9.3", "labgrid==26.0.1"]
TESTS = """
import pytest

@pytest.mark.notibot(rule="NTF-10")
def test_count(notibot_board):
    before = notibot_board.count()
    notibot_board.send("CI", "Done")
    assert notibot_board.count() == before + 1

def test_failure(notibot_board):
    assert notibot_board.count() == 1, "a failure"
"""


@pytest.fixture(params=NEIGHBOURS)
def python(request, tmp_path):
    """The Python of an environment with another plugin, and with the packages of this one."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "neighbour"], check=True)
    python = tmp_path / "neighbour" / "bin" / "python"
    (packages,) = (tmp_path / "neighbour").glob("lib/python*/site-packages")
    own = [*site.getsitepackages(), str(pathlib.Path(notibot.__file__).parent.parent)]
    (packages / "own.pth").write_text("\n".join(own))
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile"]
    done = subprocess.run([*install, request.param], capture_output=True, text=True)
    if done.returncode != 0:
        reason = f"pip could not install {request.param}: {done.stderr.strip().splitlines()[-1]}"
        if "python-neighbours" in os.environ.get("NOTIBOT_RIG_REQUIRE", "").split(","):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return python


def test_the_plugin_runs_with(python, tmp_path):
    (tmp_path / "test_own.py").write_text(TESTS)
    environment = {**os.environ, "NOTIBOT": notibot.program()}
    suite = [
        "--notibot-suite",
        "--notibot-filter",
        "^(FRM-11/echo|FRM-6/one-zero-between|LNK-16/silent-after-synack-at-wrap)$",
    ]
    for workers in "0", "2":
        done = subprocess.run(
            [python, "-m", "pytest", "-p", "no:cacheprovider", "--junit-xml", "report.xml", "-n", workers, *suite],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        cases = list(xml.etree.ElementTree.parse(tmp_path / "report.xml").iter("testcase"))
        bad = [case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None]
        skipped = [case.get("name") for case in cases if case.find("skipped") is not None]
        assert bad == ["test_failure"], done.stdout + done.stderr
        # It needs virtual time.
        assert skipped == ["LNK-16/silent-after-synack-at-wrap"]
        assert {"FRM-11/echo", "FRM-6/one-zero-between", "test_count"} < {case.get("name") for case in cases}
        assert 'value="FRM-11"' in (tmp_path / "report.xml").read_text()
