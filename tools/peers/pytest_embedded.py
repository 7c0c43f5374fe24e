#!/usr/bin/env python3
"""Runs tests with the real pytest-embedded and the service `notibot` of the Python package, on
emulators as the DUTs. `scripts/dev pytest-embedded-test` starts it."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import xml.etree.ElementTree

from tools import checks
from tools.emulator import Emulator

LIMIT_SECONDS = 300
check = checks.Checks()


class Run:
    """One run of pytest in a folder of its own."""

    def __init__(self, notibot, folder, test, *options, expecting=0, program=None, services="notibot"):
        self.folder = folder
        (folder / "test_dut.py").write_text(textwrap.dedent(test))
        environment = {
            **os.environ,
            "NOTIBOT": program or notibot,
            "PYTHONPATH": os.path.abspath("python"),
            "PYTEST_PLUGINS": "notibot.pytest_plugin",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--junit-xml", "report.xml"]
        done = subprocess.run(
            [*pytest, "--embedded-services", services, "--root-logdir", "logs", *options],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
        )
        self.output = done.stdout + done.stderr
        assert done.returncode == expecting, f"exit {done.returncode}, not {expecting}: {self.output}"

    def log(self, name):
        """A file in the folder of the only test."""
        (path,) = self.folder.glob(f"logs/pytest-embedded/*/*/{name}")
        return path.read_text()

    def cases(self):
        """The bad and all names of the cases in the JUnit report."""
        cases = list(xml.etree.ElementTree.parse(self.folder / "report.xml").iter("testcase"))
        return [case.get("name") for case in cases if case.find("failure") is not None], {
            case.get("name") for case in cases
        }


@check
def a_dut_has_a_board_and_its_folder_has_the_logs(notibot, folder):
    test = """
        import pytest

        def test_suite(dut):
            board = dut.notibot
            board.log("before the suite")
            dut.expect_exact("before the suite")
            board.send("CI", "Done")
            assert board.count() == 1
            with board.events() as events:
                assert next(events) == {"event": "count", "count": 1}
            assert board.run_suite(filter="^FRM-11/").passed
            dut.expect_exact("FRM-11/echo: passed")
            board.run_suite(filter="^FRM-11/echo")
            board.reboot("panic")
            dut.expect("Guru Meditation Error.*")
    """
    run = Run(notibot, folder, test)
    lines = run.log("dut.log").splitlines()
    at = [next(i for i, line in enumerate(lines) if text in line) for text in ("before the", "FRM-11/echo: p", "Guru")]
    assert at == sorted(at), lines
    assert json.loads(run.log("dut-suite.json"))["schema"] == "notibot.conformance"
    assert len(json.loads(run.log("dut-suite-2.json"))["cases"]) == 1
    assert run.cases() == ([], {"test_suite"})


@check
def two_duts_run_the_suite_at_the_same_time(notibot, folder):
    test = """
        import concurrent.futures

        def test_both(dut):
            with concurrent.futures.ThreadPoolExecutor() as pool:
                reports = list(pool.map(lambda each: each.notibot.run_suite(filter="^FRM-11/"), dut))
            assert [report.passed for report in reports] == [True, True]
            first, second = (each.notibot for each in dut)
            first.send("CI", "Only here")
            assert first.count() == second.count() + 1
    """
    with Emulator(notibot) as one, Emulator(notibot) as two:
        run = Run(notibot, folder, test, "--count", "2", "--port", f"{one.port}|{two.port}")
    for number in range(2):
        assert "FRM-11/echo: passed" in run.log(f"dut-{number}.log")
        json.loads(run.log(f"dut-{number}-suite.json"))


@check
def only_a_dut_whose_services_name_it_has_a_board(notibot, folder):
    test = """
        def test_one(dut):
            assert dut[0].notibot.count() == 0
            assert not hasattr(dut[1], "notibot")
    """
    Run(notibot, folder, test, "--count", "2", services="notibot|")


@check
def it_shares_the_port_with_the_service_serial(notibot, folder):
    test = """
        import os
        import subprocess

        import notibot
        import pytest

        def test_serial(dut):
            assert dut.notibot.count() == 0
            dut.notibot.send("CI", "Done")
            assert dut.notibot.run_suite(filter="^FRM-11/").passed
            with pytest.raises(notibot.NotibotError, match="use the service notibot alone") as raised:
                dut.notibot.events()
            assert raised.value.code == 11
            subprocess.run([notibot.program(), "control", "--socket", os.environ["CONTROL"], "reboot"], check=True)
            dut.expect_exact("boot 2")
    """
    with Emulator(notibot) as emulator:
        os.environ["CONTROL"] = emulator.control.path
        Run(notibot, folder, test, "--port", emulator.port, "--baud", "921600", services="serial,notibot")


@check
def a_reset_has_its_boot_text_in_the_log(notibot, folder):
    test = """
        def test_reset(dut):
            before = dut.notibot.count()
            dut.notibot.reset()
            dut.expect_exact("rst:")
            assert dut.notibot.count() == before
    """
    with Emulator(notibot, "--rfc2217", "127.0.0.1:0") as emulator:
        Run(notibot, folder, test, "--port", emulator.port)


@check
def cases_are_in_the_junit_report_and_bad_ones_fail_the_test(notibot, folder):
    test = """
        def test_suite(dut):
            dut.notibot.run_suite(filter="^FRM-11/", junit=True)
    """
    merging = ["--unity-test-report-mode", "merge"]
    bad, names = Run(notibot, folder, test, *merging).cases()
    assert bad == [] and {"test_suite", "FRM-11/echo"} <= names, (bad, names)
    program = folder / "program"
    program.write_text(f"""#!/bin/sh
[ "$1" = test ] || exec {notibot} "$@"
{notibot} "$@" | sed 's/"outcome" *: *"passed"/"outcome":"failed"/'
""")
    program.chmod(0o755)
    run = Run(notibot, folder, test, *merging, expecting=1, program=str(program))
    bad, names = run.cases()
    assert "FRM-11/echo" in bad and "test_suite" in names, (bad, names)


@check
def a_missing_port_is_one_line(notibot, folder):
    test = """
        def test_missing(dut):
            pass
    """
    run = Run(notibot, folder, test, "--port", "/dev/no-such-port", expecting=1)
    assert "\ncannot open /dev/no-such-port: no such port" in run.output, run.output
    assert "Traceback" not in run.output


def main():
    options = checks.parser(__doc__).parse_args()
    results = []
    for one in checks.chosen(check, options.filter):
        with tempfile.TemporaryDirectory(prefix="notibot-embedded-") as folder:
            results.append(checks.perform(one, os.path.abspath(options.notibot), pathlib.Path(folder)))
    return checks.finish(results)


if __name__ == "__main__":
    sys.exit(main())
