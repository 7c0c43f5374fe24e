"""Tests of NotibotDriver in labgrid's plugin of pytest, started by tools/peers/labgrid.py."""

import pytest
from labgrid.binding import BindingState, StateError
from notibot import _program


def boot(board):
    return _program.document("count", "--port", board.board().port, "--json")["bootID"]


def test_the_port_is_used_by_one_driver(target):
    serial = target.get_driver("SerialDriver")
    board = target.get_driver("NotibotDriver")
    before = board.count()
    assert serial.state is BindingState.bound
    assert board.send("CI", "Done").cut == ()
    with board.events() as events:
        assert next(events) == {"event": "count", "count": before + 1}


def test_suite(target):
    assert target.get_driver("NotibotDriver").run_suite(filter="^FRM-11/").passed


def test_the_power_driver_restarts_it(target):
    board = target.get_driver("NotibotDriver")
    before = boot(board)
    board.reset()
    assert boot(board) != before
    assert target.get_driver("ResetProtocol") is target.get_driver("PowerProtocol")


def test_flash(env):
    target = env.get_target("local")
    board = target.get_driver("NotibotDriver", activate=False)
    with pytest.raises(StateError):
        board.flash()
    target.activate(board)
    assert board.flash()["outcome"] == "flashed"
    assert board.count() == 0


def test_the_lines_of_the_port_restart_it(env):
    board = env.get_target("lines").get_driver("NotibotDriver")
    before = boot(board)
    board.reset()
    assert boot(board) != before
    with board.console(seconds=1, reset=True) as lines:
        assert any("rst:" in line.text for line in lines)
