"""The package on real emulators. Run by scripts/dev package-test, with the wheel installed."""

import pathlib
import re
import subprocess
import sys

import notibot
import pytest

pytest_plugins = ["pytester"]


def test_a_notification_is_on_the_display_and_counted(notibot_emulator):
    notibot_emulator.send("Messages", "Jane Doe", "See you tomorrow!", timestamp=1234567890)
    assert notibot_emulator.count() == 1
    (item,) = notibot_emulator.items()
    assert item.content == {
        "app": "Messages",
        "title": "Jane Doe",
        "text": "See you tomorrow!",
        "timestamp": 1234567890,
    }
    notibot_emulator.dismiss(item.item)
    assert notibot_emulator.count() == 0


def test_events_are_streamed_until_the_with_ends(notibot_emulator):
    with notibot_emulator.events() as events:
        assert next(events)["event"] == "count"
        notibot_emulator.ask("fill", count=7)
        assert next(events) == {"event": "count", "count": 7}


def test_what_happens_after_the_subscription_is_an_event(notibot_emulator):
    notibot_emulator.send("Build", "Done")
    with notibot_emulator.events() as events:
        notibot_emulator.dismiss(1)
        assert next(event for event in events if event["event"] == "dismissed")["item"] == 1


@pytest.mark.parametrize("shares", [False, True])
def test_an_event_that_does_not_come_is_an_error(notibot_emulator, shares):
    with notibot.SharedBoard(notibot_emulator.port) if shares else notibot_emulator as board:
        with board.events(timeout=0.5) as events:
            assert next(events)["event"] == "count"
            with pytest.raises(notibot.NotibotError) as raised:
                next(events)
        assert raised.value.code == 13


def test_a_console_line_that_does_not_come_is_an_error(notibot_emulator):
    with notibot_emulator.console(timeout=0.5) as lines, pytest.raises(notibot.NotibotError) as raised:
        list(lines)
    assert raised.value.code == 13


def test_a_program_that_does_not_end_is_ended(tmp_path, monkeypatch):
    script = tmp_path / "program"
    script.write_text("#!/bin/sh\nexec sleep 600\n")
    script.chmod(0o755)
    monkeypatch.setenv("NOTIBOT", str(script))
    for call in (
        lambda: notibot.Board("auto").events(timeout=0.1),
        lambda: notibot.Board("auto").console(timeout=0.1),
        lambda: notibot.Board("auto").run_suite(timeout=0.1),
    ):
        with pytest.raises(notibot.NotibotError) as raised:
            call()
        assert raised.value.code == 13


def test_a_shared_board_answers_while_other_programs_use_it(notibot_emulator):
    with notibot.SharedBoard(notibot_emulator.port) as board, board.events() as events:
        assert next(events) == {"event": "count", "count": 0}
        for number in range(1, 101):
            board.send("Build", f"{number}")
        assert board.count() == 100
        assert notibot.Board(board.port).count() == 100
        assert next(event for event in events if event == {"event": "count", "count": 100})
        notibot_emulator.dismiss(100)
        assert next(event for event in events if event["event"] == "dismissed")["item"] == 100
    assert notibot_emulator.count() == 99


def test_a_shared_board_that_does_not_answer_is_an_error(notibot_emulator):
    with notibot.SharedBoard(notibot_emulator.port, seconds=0.3) as board:
        assert board.count() == 0
        notibot_emulator.unplug()
        with pytest.raises(notibot.NotibotError) as raised:
            board.send("Build", "lost")
        assert raised.value.code in (13, 14)
        notibot_emulator.plug()
        assert board.port.startswith("share:")


def test_the_refusal_of_a_shared_board_is_an_error(notibot_emulator):
    with notibot.SharedBoard(notibot_emulator.port) as board:
        with pytest.raises(notibot.NotibotError) as raised:
            board.send("Build", "when", timestamp=-1)
        assert raised.value.code == 2


def test_console_lines_are_read(notibot_emulator):
    with notibot_emulator.console(seconds=30) as lines:
        notibot_emulator.log("hello from the application")
        assert "hello from the application" in next(lines).text


def test_a_crash_is_on_the_console(notibot_emulator):
    with notibot_emulator.console(seconds=30) as lines:
        notibot_emulator.reboot("panic")
        assert next(line for line in lines if "Guru Meditation" in line.text)


def test_the_console_ends_at_its_time(notibot_emulator):
    assert list(notibot_emulator.console(seconds=0.1)) == []


def test_a_busy_port_is_an_error_with_its_exit_code(notibot_emulator):
    with notibot_emulator.events() as events:
        next(events)
        with pytest.raises(notibot.NotibotError) as raised:
            notibot_emulator.count()
    assert raised.value.code == 11
    assert "in use" in str(raised.value)


def test_a_missing_port_is_an_error():
    with pytest.raises(notibot.NotibotError) as raised:
        notibot.Board("/dev/no-such-port").count()
    assert raised.value.code == 10


def test_a_refused_control_command_is_an_error(notibot_emulator):
    with pytest.raises(notibot.NotibotError, match="there is no notification 99"):
        notibot_emulator.dismiss(99)


def test_an_unknown_profile_ends_at_once():
    with pytest.raises(notibot.NotibotError) as raised:
        notibot.Emulator("no-such-profile")
    assert raised.value.code == 2


def test_the_suite_reports_each_case(notibot_emulator):
    report = notibot_emulator.run_suite(filter="^FRM-(1|11)/")
    assert report.passed and report.count("passed") >= 3
    assert all(case.rules for case in report.cases)


def test_a_report_without_a_passed_case_has_not_passed():
    assert not notibot.SuiteReport({"cases": []}).passed


def test_the_module_is_the_program():
    done = subprocess.run([sys.executable, "-m", "notibot", "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"\d+\.\d+\.\d+ \(commit [0-9a-f]{10}( with changes)?, \d{4}-\d\d-\d\d\)\n", done.stdout)


def test_plugin_runs_the_suite_as_items(pytester):
    result = pytester.runpytest("--notibot-suite", "--notibot-filter", "^FRM-11/", "--junit-xml", "report.xml")
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] >= 1
    report = (pytester.path / "report.xml").read_text()
    assert 'name="rule" value="FRM-11' in report


def test_plugin_fails_a_case_that_fails(pytester, monkeypatch):
    # A program whose device never answers: the suite's first case is an error, and so is its item.
    script = pytester.path / "program"
    real = notibot.program()
    script.write_text(f"""#!/bin/sh
if [ "$1" = test ] && [ "$2" != --list ]; then exec {real} test --port /dev/no-such-port --quiet --json -; fi
exec {real} "$@"
""")
    script.chmod(0o755)
    monkeypatch.setenv("NOTIBOT", str(script))
    result = pytester.runpytest_subprocess("--notibot-suite", "--notibot-filter", "^FRM-11/")
    assert result.ret == 1


def test_marker_is_a_property_of_the_report(pytester):
    pytester.makepyfile("""
        import pytest

        @pytest.mark.notibot(rule="NTF-10")
        def test_count(notibot_board):
            assert notibot_board.count() == 0
    """)
    result = pytester.runpytest("--strict-markers", "--junit-xml", "report.xml")
    result.assert_outcomes(passed=1)
    assert 'name="rule" value="NTF-10"' in (pytester.path / "report.xml").read_text()


def test_types_are_declared():
    assert (pathlib.Path(notibot.__file__).parent / "py.typed").exists()
