"""The package on real emulators. Run by scripts/dev package-test, with the wheel installed."""

import concurrent.futures
import math
import os
import pathlib
import pickle
import re
import signal
import socket
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
        with board.events(timeout=3) as events:
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


def test_a_shared_board_answers_after_a_time_out(notibot_emulator):
    with notibot.SharedBoard(notibot_emulator.port, seconds=1) as board, board.events(timeout=0.2) as events:
        assert next(events)["event"] == "count"
        notibot_emulator.ask("stall")
        for call in (board.count, lambda: next(events)):
            with pytest.raises(notibot.NotibotError) as raised:
                call()
            assert raised.value.code == 13
        notibot_emulator.ask("resume")
        notibot_emulator.dismiss(board.send("Build", "late") and 1)
        assert board.count() == 0
        assert next(events)["event"] == "count"


def test_threads_share_a_board(notibot_emulator):
    with notibot.SharedBoard(notibot_emulator.port) as board, concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: board.count(), range(40))) == [0] * 40


def test_a_board_that_is_shared_already_is_used_by_its_socket(notibot_emulator):
    with notibot.SharedBoard(notibot_emulator.port) as first, notibot.SharedBoard(first.port) as second:
        second.send("Build", "Done")
        assert first.count() == second.count() == 1 and first.port == second.port


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


def test_an_error_can_be_pickled():
    error = pickle.loads(pickle.dumps(notibot.NotibotError("no such port", 10)))
    assert (str(error), error.code, error.kind) == ("no such port", 10, "no board")


@pytest.mark.parametrize("name", ["events", "console"])
def test_a_program_that_is_killed_is_an_error(notibot_emulator, name):
    with getattr(notibot_emulator, name)() as lines:
        os.kill(lines._stream.pid, signal.SIGKILL)
        with pytest.raises(notibot.NotibotError, match="was ended by signal 9") as raised:
            list(lines)
    assert raised.value.code == 18
    with pytest.raises(notibot.NotibotError, match="was closed"):
        next(lines)


@pytest.mark.parametrize("text", [None, "", "kill -SEGV $$", "echo hello"])
def test_a_program_that_is_none_is_an_error(tmp_path, monkeypatch, text):
    script = tmp_path / "program"
    if text is not None:
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)
    monkeypatch.setenv("NOTIBOT", str(script))
    board = notibot.Board("auto")
    for call in (board.count, board.events, board.console, notibot.Emulator, notibot.SharedBoard):
        with pytest.raises(notibot.NotibotError) as raised:
            call()
        assert raised.value.code == 18


def test_a_file_that_is_no_program_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "program").write_bytes(b"\0\1")
    (tmp_path / "program").chmod(0o755)
    monkeypatch.setenv("NOTIBOT", str(tmp_path / "program"))
    with pytest.raises(notibot.NotibotError, match="cannot run"):
        notibot.Board().count()
    done = subprocess.run([sys.executable, "-m", "notibot"], capture_output=True, text=True)
    assert (done.returncode, len(done.stderr.splitlines())) == (18, 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda board: board.events(timeout=-1),
        lambda board: board.console(timeout=math.nan),
        lambda board: board.run_suite(timeout=math.nan),
        lambda board: notibot.SharedBoard(board.port, seconds=-1),
        lambda board: notibot.Board("a\0b").count(),
        lambda board: notibot.Board("a\ud800").count(),
        lambda board: board.console(seconds=0),
        lambda board: board.run_suite(filter="-x"),
        lambda board: board.run_suite(repeat=0),
        lambda board: board.flash(),
    ],
)
def test_a_wrong_argument_is_an_error_with_its_cause(notibot_emulator, call):
    with pytest.raises(notibot.NotibotError) as raised:
        call(notibot_emulator)
    assert raised.value.code == 2
    assert re.search("time-out|U\\+0000|--timeout must|no case|--repeat|Missing", str(raised.value))
    # The port is free.
    assert notibot_emulator.count() == 0


def test_a_time_out_can_be_infinite(notibot_emulator):
    with notibot_emulator.events(timeout=math.inf) as events:
        assert next(events)["event"] == "count"
    assert notibot_emulator.run_suite(filter="^FRM-11/", timeout=1e300).passed


def test_a_console_line_that_is_too_long_is_refused(notibot_emulator):
    with pytest.raises(notibot.NotibotError, match="longer than") as raised:
        notibot_emulator.log("x" * 100_000)
    assert raised.value.code == 15


def test_an_emulator_ends_with_its_process():
    text = "import notibot, signal; e = notibot.Emulator(); print(e.control, flush=True); signal.pause()"
    with (
        subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as process,
        socket.socket(socket.AF_UNIX) as control,
    ):
        control.settimeout(60)
        control.connect(process.stdout.readline().strip())
        process.kill()
        assert control.recv(1) == b""


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
