"""What `send` reports, on boards whose port is opened for each call, or stays open."""

import notibot
import pytest


@pytest.fixture(params=["board", "shared"])
def sender(request, notibot_emulator):
    if request.param == "board":
        yield notibot_emulator
        return
    with notibot.SharedBoard(notibot_emulator.port) as board:
        yield board


@pytest.mark.parametrize(
    ("members", "cut"),
    [
        (("CI", "x" * 10_000, ""), ("title",)),
        (("CI", "title", "x" * 10_000), ("text",)),
        (("x" * 65, "title", ""), ("app",)),
        (("CI", "title", "\N{GRINNING FACE}" * 300_000), ("text",)),
        (("\1" * 1000, "\1" * 1000, "\1" * 1000), ("app", "title", "text")),
    ],
    ids=["title", "text", "app", "more than a line of the program", "escapes"],
)
def test_a_notification_that_is_cut_says_so(sender, notibot_emulator, members, cut):
    assert sender.send(*members) == notibot.Sent(cut=cut)
    (item,) = notibot_emulator.items()
    assert any(value.endswith("…") for value in item.content.values() if isinstance(value, str))
    assert len(item.json.encode()) <= 512


def test_a_strict_notification_is_not_cut(sender):
    with pytest.raises(notibot.NotibotError, match="this cannot be sent unchanged: longer than") as raised:
        sender.send("CI", "x" * 10_000, strict=True)
    assert raised.value.code == 2
    assert sender.send("CI", "x" * 128, strict=True) == notibot.Sent()
    assert sender.count() == 1


@pytest.mark.parametrize("text", ["--text", "-1", "", 'a\nb\t\\"', "é\N{GRINNING FACE}"])
def test_any_text_is_sent_as_it_is(sender, notibot_emulator, text):
    assert sender.send(text, text, text) == notibot.Sent()
    (item,) = notibot_emulator.items()
    assert [item.content[name] for name in ("app", "title", "text")] == [text] * 3


@pytest.mark.parametrize("mark", ["\0", "\ud800"], ids=["U+0000", "surrogate"])
def test_what_cannot_be_sent_is_replaced_or_refused(sender, notibot_emulator, mark):
    with pytest.raises(notibot.NotibotError) as raised:
        sender.send("CI", f"a{mark}", strict=True)
    assert raised.value.code == 2
    assert sender.send("CI", f"a{mark}") == notibot.Sent(replaced=True)
    assert [item.content["title"] for item in notibot_emulator.items()] == ["a\ufffd"]


def test_a_refusal_has_its_reason(tmp_path, monkeypatch):
    program = tmp_path / "program"
    program.write_text("""#!/bin/sh
echo '{"attError":17,"line":1,"reason":"the store is full","result":"refused"}'
echo 'notibot: the device refused 1 of 1 notifications; see the reasons above' >&2
exit 15
""")
    program.chmod(0o755)
    monkeypatch.setenv("NOTIBOT", str(program))
    with pytest.raises(notibot.NotibotError, match=r"^the store is full$") as raised:
        notibot.Board("auto").send("CI", "Done")
    assert raised.value.code == 15
