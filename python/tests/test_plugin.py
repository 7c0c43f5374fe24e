"""The plugin's fixtures: several boards, missing ones, and the console of a failure."""

import os
import xml.etree.ElementTree

import notibot
import pytest
from notibot.recording import printable

pytest_plugins = ["pytester"]

MISSING = ("--notibot-port", "/dev/no-such-port")


@pytest.fixture
def ports():
    with notibot.Emulator() as first, notibot.Emulator() as second:
        yield [first.port, second.port]


def options(ports):
    return [f"--notibot-port={port}" for port in ports]


def test_a_missing_board_is_one_error(pytester):
    pytester.makepyfile("""
        def test_one(notibot_board):
            notibot_board.count()

        def test_two(notibot_board):
            notibot_board.count()

        def test_other():
            pass
    """)
    result = pytester.runpytest(*MISSING, "--notibot-suite", "--notibot-filter", "^FRM-11/", "-rsE")
    suite = result.parseoutcomes()["skipped"] - 1
    assert suite >= 1
    result.assert_outcomes(errors=1, passed=1, skipped=1 + suite)
    result.stdout.fnmatch_lines(["SKIPPED*cannot open /dev/no-such-port*the error of*::test_one", "ERROR*::test_one*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*During handling*")


def test_a_missing_board_is_one_error_of_the_suite(pytester):
    result = pytester.runpytest(*MISSING, "--notibot-suite", "--notibot-filter", "^FRM-1/")
    result.assert_outcomes(errors=1, skipped=result.parseoutcomes()["skipped"])
    assert result.parseoutcomes()["skipped"] >= 1


def test_an_error_stays_one_when_its_test_is_repeated(pytester):
    pytester.makepyfile("""
        import pytest

        @pytest.fixture(params=["first"])
        def again(request):
            with pytest.raises(pytest.fail.Exception):
                request.getfixturevalue("notibot_board")
            with pytest.raises(pytest.fail.Exception):
                request.getfixturevalue("notibot_boards")

        @pytest.mark.notibot(boards=1)
        def test_one(again):
            pass
    """)
    pytester.runpytest(*MISSING).assert_outcomes(passed=1)


def test_an_expression_that_cannot_be_used_is_a_usage_error(pytester):
    result = pytester.runpytest("--notibot-suite", "--notibot-filter", "(")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: '(' is not a regular expression*"])


BOARDS = """
    import pytest

    def test_two(notibot_boards):
        first, second = notibot_boards
        before = second.count()
        first.send("CI", "Done")
        assert second.count() == before
        assert first.port != second.port

    def test_both(notibot_board, notibot_boards):
        assert notibot_board is notibot_boards[0]

    @pytest.mark.notibot(boards=3)
    def test_three(notibot_boards):
        assert len({board.port for board in notibot_boards}) == 3
"""


def test_a_test_has_several_boards(pytester, ports):
    pytester.makepyfile(BOARDS)
    pytester.runpytest("--strict-markers").assert_outcomes(passed=3)
    result = pytester.runpytest(*options(ports), "-rs")
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines([f"*needs 3 boards, and has 2: {ports[0]}, {ports[1]}"])


def test_the_suite_uses_each_board(pytester, ports):
    arguments = ["--notibot-suite", "--notibot-filter", "^FRM-11/echo", "--junit-xml", "report.xml"]
    pytester.runpytest(*options(ports), *arguments).assert_outcomes(passed=2)
    cases = xml.etree.ElementTree.parse(pytester.path / "report.xml").iter("testcase")
    assert len({case.get("classname") for case in cases}) == 2
    pytester.runpytest(*options(ports), *arguments, "-n", "2").assert_outcomes(passed=2)


def test_each_board_is_judged_whatever_worker_tests_it(pytester, ports, monkeypatch):
    script = pytester.path / "program"
    script.write_text(f"""#!/bin/sh
case "$*" in
"test --list "*) ;;
test*--port={ports[1]}\\ *) exec {notibot.program()} test --port /dev/no-such-port --quiet --json - ;;
esac
exec {notibot.program()} "$@"
""")
    script.chmod(0o755)
    monkeypatch.setenv("NOTIBOT", str(script))
    result = pytester.runpytest_subprocess(
        *options(ports), "--notibot-suite", "--notibot-filter", "^FRM-1[01]/", "-n", "2"
    )
    found = result.parseoutcomes()
    assert found["errors"] >= 1 and found["passed"] == found["errors"] + found.get("skipped", 0)


def test_the_numbers_of_a_selection_are_right(pytester):
    pytester.makepyfile("def test_other(): pass")
    arguments = ["--notibot-suite", "--notibot-filter", "^FRM-1[01]/", "-k", "echo"]
    result = pytester.runpytest(*arguments)
    found = result.parseoutcomes()
    total = found["passed"] + found["deselected"]
    result.stdout.fnmatch_lines([f"collected {total} items / {total - 1} deselected / 1 selected"])


@pytest.mark.parametrize("marker", ["rule='NTF-10', board=2", "'NTF-10'", "boards='2'", "boards=0", "rule=1"])
def test_a_marker_that_means_nothing_is_a_usage_error(pytester, marker):
    pytester.makepyfile(f"""
        import pytest

        @pytest.mark.notibot({marker})
        def test_one():
            pass
    """)
    result = pytester.runpytest("--strict-markers")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *marker notibot*"])


def test_a_failed_setup_has_the_console_and_no_workflow_command(pytester, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    pytester.makepyfile(r"""
        import pytest

        @pytest.fixture
        def ready(notibot_board):
            notibot_board.log("x\n::error title=a::b")
            notibot_board.count()
            raise RuntimeError("not ready")

        def test_one(ready):
            pass
    """)
    result = pytester.runpytest("--junit-xml", "report.xml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*Notibot console*", ":\\x3Aerror title=a::b"])
    result.stdout.no_re_match_line(r"\s*::")
    assert "x3Aerror" in (pytester.path / "report.xml").read_text()


def test_a_cancelled_run_ends_its_emulator(pytester):
    pytester.makepyfile("""
        import os
        import signal

        def test_one(notibot_board):
            print("port", notibot_board.port, flush=True)
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
    """)
    result = pytester.runpytest_subprocess("-s")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    port = next(line for line in result.outlines if "port " in line).split()[-1]
    assert not os.path.lexists(os.path.dirname(port))


def test_a_board_at_a_socket_is_used_and_not_recorded(pytester, ports):
    pytester.makepyfile("""
        def test_one(notibot_board):
            assert notibot_board.count() < 0
    """)
    with notibot.SharedBoard(ports[0]) as board:
        result = pytester.runpytest(*options([board.port]))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E * assert 0 < 0", "(not recorded: *)"])


def test_more_workers_than_boards_are_a_usage_error(pytester, ports):
    pytester.makepyfile(BOARDS)
    result = pytester.runpytest_subprocess(*options(ports), "-n", "3")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: 3 workers, but only 2 --notibot-port: use -n 2"])


@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize("has_port", [False, True])
def test_a_failure_has_the_console(pytester, monkeypatch, workers, has_port):
    pytester.makepyfile(r"""
        import os
        import subprocess

        import notibot

        def log(board, text):
            control = os.environ.get("CONTROL", board.control)
            subprocess.run([notibot.program(), "control", "--socket", control, "log", text], check=True)

        def test_bad(notibot_board):
            log(notibot_board, "before the call")
            notibot_board.send("CI", "Done")
            log(notibot_board, "after \x1b[31m the call")
            assert notibot_board.count() < 0

        def test_good(notibot_board):
            log(notibot_board, "of another test")
    """)
    with notibot.Emulator() as emulator:
        board = options([emulator.port]) if has_port else []
        if has_port:
            monkeypatch.setenv("CONTROL", emulator.control)
        result = pytester.runpytest(*board, "-n", workers, "--junit-xml", "report.xml")
    result.assert_outcomes(failed=1, passed=1)
    name = emulator.port if has_port else "emulator"
    result.stdout.fnmatch_lines(
        [f"*Notibot console, until the teardown: {name}*", "*before the call", "*after * the call"]
    )
    (text,) = xml.etree.ElementTree.parse(pytester.path / "report.xml").iter("system-out")
    assert "before the call" in text.text and "the call" in text.text
    for output in (text.text, result.stdout.str()):
        assert "of another test" not in output and "\x1b" not in output


def test_a_crash_is_in_the_failure(pytester):
    pytester.makepyfile("""
        def test_bad(notibot_board):
            notibot_board.reboot("panic")
            assert notibot_board.count() < 0
    """)
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Guru Meditation Error*", "*boot 2*"])


def test_a_board_is_recorded_and_free_when_its_port_is_read(pytester, ports):
    pytester.makepyfile("""
        import notibot
        import pytest

        def test_port(notibot_board, request):
            other = request.config.getoption("--notibot-port")[0]
            with pytest.raises(notibot.NotibotError) as raised:
                notibot.Board(other).count()
            assert raised.value.code == 11
            assert notibot.Board(notibot_board.port).count() == notibot_board.count()

        def test_calls(notibot_board):
            with notibot_board.events() as events:
                assert next(events)["event"] == "count"
                notibot_board.send("CI", "Done")
                assert next(events)["event"] == "count"
            assert notibot_board.run_suite(filter="^FRM-11/").passed
            assert "port" in repr(notibot_board)
    """)
    pytester.runpytest(*options(ports)).assert_outcomes(passed=2)


def test_a_board_that_does_not_answer_is_not_recorded(pytester, monkeypatch):
    monkeypatch.setattr("notibot.recording.SESSION_SECONDS", 0.1)
    pytester.makepyfile("""
        import notibot
        import pytest

        def test_silent(notibot_board):
            with pytest.raises(notibot.NotibotError) as raised:
                notibot_board.count()
            assert raised.value.code != 13
    """)
    ends = os.openpty()
    result = pytester.runpytest(*options([os.ttyname(ends[1])]))
    for end in ends:
        os.close(end)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E * assert 13 != 13", "(not recorded: the board opened no session)"])


def test_a_line_of_a_console_controls_no_terminal():
    assert printable("a\tb\x1b[2J\x9b\u202e") == "a\tb\\x1b[2J\\x9b\\u202e"
