"""Vectors of notifications: accepted and refused JSON, and encoded fields with their cuts."""

import json

SAMPLE = {"app": "Messages", "title": "Jane Doe", "text": "See you tomorrow!", "timestamp": 1234567890}
FAMILY, FLAG = "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea"
ACCENT = "e\u0301"


def compact(fields):
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def with_(**changes):
    return compact({**SAMPLE, **changes})


def raw(key, text):
    """The sample with the value of `key` written as `text`."""
    return compact({**SAMPLE, key: "@"}).replace('"@"', text)


def member(text):
    """The sample with `text` as one more member."""
    return compact(SAMPLE)[:-1] + "," + text + "}"


def padded(size):
    text = with_(text="")
    return with_(text="x" * (size - len(text.encode())))


def taken():
    nested = '"a":' + "[" * 7 + "]" * 7
    cases = [
        ("the sample", compact(SAMPLE)),
        (
            "white space",
            ' \t\r\n{ "app" : "Messages" ,\n"title":"Jane Doe","text":"See you tomorrow!","timestamp":1234567890 } \n',
        ),
        ("another order", compact(dict(reversed(list(SAMPLE.items()))))),
        (
            "unknown keys of every type",
            member('"a":null,"b":true,"c":false,"d":-1.5e+3,"e":"x","f":[1,{"g":[]}],"h":{}'),
        ),
        ("keys twice inside of another key", member('"a":{"b":1,"b":2}')),
        ("nested 8 deep, the top counted", member(nested)),
        ("objects nested 8 deep", member('"a":' + '{"b":' * 6 + "{}" + "}" * 6)),
        ("every short escape", raw("text", r'"\"\\\/\b\f\n\r\t"')),
        ("escapes by number", raw("text", r'"\u0041\u00e9\u4e2d\uFFFF\u007f"')),
        ("a surrogate pair", raw("text", r'"\ud83d\uDE00"')),
        ("a key with an escape", compact(SAMPLE).replace('"app"', r'"\u0061pp"')),
        ("first timestamp", with_(timestamp=0)),
        ("last timestamp", with_(timestamp=4294967295)),
        ("empty strings", with_(app="", title="", text="")),
        ("app of 64 bytes", with_(app="a" * 62 + "é")),
        ("title of 128 bytes", with_(title="é" * 64)),
        ("app of 64 bytes, escaped to 384", raw("app", '"' + r"\u0001" * 64 + '"')),
        ("512 bytes", padded(512)),
        ("DEL and line separators unescaped", with_(text="\x7f\u0085\u2028\u202e")),
        ("reserved keys are unknown keys", member('"id":1,"rev":2,"ev":"a","lvl":3')),
        ("an empty key", member('"":0')),
    ]
    for name, text in cases:
        fields = {key: value for key, value in json.loads(text).items() if key in SAMPLE}
        yield {"name": name, "source": "python json.loads", "json": text.encode().hex(), "fields": fields}


def refused():
    yield from refused_whole()
    yield from refused_strings()
    yield from refused_numbers()
    for key in SAMPLE:
        others = {name: value for name, value in SAMPLE.items() if name != key}
        yield f"{key} is missing", compact(others), "missingKey"
        yield f"{key} twice", member(f'"{key}":' + json.dumps(SAMPLE[key])), "repeatedKey"
        for other in ("null", "true", "[]", "{}", "1" if key != "timestamp" else '"1"'):
            yield f"{key} is {other}", raw(key, other), "wrongType"
    yield "app twice, once with an escape", member(r'"\u0061pp":"x"'), "repeatedKey"
    yield "an unknown key twice", member('"a":1,"b":2,"a":1'), "repeatedKey"
    yield "app of 65 bytes", with_(app="a" * 65), "valueTooLong"
    yield "title of 129 bytes", with_(title="a" * 129), "valueTooLong"


def refused_whole():
    yield "nothing", "", "notAnObject"
    yield "white space only", "  ", "notAnObject"
    yield "an array", "[" + compact(SAMPLE) + "]", "notAnObject"
    yield "a string", '"x"', "notAnObject"
    yield "a number", "1", "notAnObject"
    yield "null", "null", "notAnObject"
    yield "an empty object", "{}", "missingKey"
    yield "only a brace", "{", "unexpectedEnd"
    yield "cut in the middle", compact(SAMPLE)[:40], "unexpectedEnd"
    yield "cut before the brace", compact(SAMPLE)[:-1], "unexpectedEnd"
    yield "a second object", compact(SAMPLE) * 2, "trailingBytes"
    yield "a zero behind", compact(SAMPLE) + "\0", "trailingBytes"
    yield "a letter behind", compact(SAMPLE) + " x", "trailingBytes"
    yield "a byte order mark", "\ufeff" + compact(SAMPLE), "byteOrderMark"
    yield "513 bytes", padded(513), "tooLong"
    yield "513 bytes of white space behind", compact(SAMPLE).ljust(513), "tooLong"
    yield "10000 arrays deep", member('"a":' + "[" * 10000), "tooLong"
    yield "nested 9 deep", member('"a":' + "[" * 8 + "]" * 8), "tooDeep"
    yield "objects nested 9 deep", member('"a":' + '{"b":' * 7 + "{}" + "}" * 7), "tooDeep"
    yield "400 arrays deep", member('"a":' + "[" * 400), "tooDeep"
    yield "a comma at the end", compact(SAMPLE)[:-1] + ",}", "unexpectedByte"
    yield "a comma at the start", "{," + compact(SAMPLE)[1:], "unexpectedByte"
    yield "no comma", compact(SAMPLE).replace('","title', '" "title'), "unexpectedByte"
    yield "no colon", compact(SAMPLE).replace('"app":', '"app" '), "unexpectedByte"
    yield "single quotes", compact(SAMPLE).replace('"', "'"), "unexpectedByte"
    yield "a key without quotes", compact(SAMPLE).replace('"app"', "app"), "unexpectedByte"
    yield "a comment", "{/**/" + compact(SAMPLE)[1:], "unexpectedByte"
    yield "an unknown word", member('"a":nil'), "unexpectedByte"
    yield "NaN", member('"a":NaN'), "unexpectedByte"
    yield "a comma at the end of an array", member('"a":[1,]'), "unexpectedByte"
    yield "a comma at the end of an inner object", member('"a":{"b":1,}'), "unexpectedByte"
    yield "brackets that do not match", member('"a":[1}'), "unexpectedByte"


def refused_strings():
    for name, text, reason in [
        ("high surrogate alone", r"\ud83d", "loneSurrogate"),
        ("low surrogate alone", r"\ude00", "loneSurrogate"),
        ("high surrogate twice", r"\ud83d\ud83d", "loneSurrogate"),
        ("high surrogate and a letter", r"\ud83dx", "loneSurrogate"),
        ("high surrogate and another escape", r"\ud83d\n", "loneSurrogate"),
        ("U+0000", r"\u0000", "nullCharacter"),
        ("an unknown escape", r"\x41", "badEscape"),
        ("three digits", r"\u041", "badEscape"),
        ("a letter that is no digit", r"\u00g0", "badEscape"),
        ("a newline", "\n", "controlCharacter"),
        ("a tab", "\t", "controlCharacter"),
        ("a zero", "\0", "controlCharacter"),
        ("U+001F", "\x1f", "controlCharacter"),
    ]:
        yield f"{name} in text", raw("text", f'"a{text}"'), reason
        yield f"{name} in an unknown key", member(f'"a{text}":1'), reason
        yield f"{name} in an unknown value", member(f'"a":["{text}"]'), reason
    text = compact(SAMPLE).encode()
    for name, bad in [
        ("a lone continuation byte", b"\x80"),
        ("an overlong slash", b"\xc0\xaf"),
        ("an overlong zero", b"\xc0\x80"),
        ("half a character", b"\xe2\x82"),
        ("a surrogate in UTF-8", b"\xed\xa0\x80"),
        ("beyond U+10FFFF", b"\xf4\x90\x80\x80"),
        ("FF", b"\xff"),
    ]:
        yield f"{name} in text", text.replace(b"tomorrow", bad), "invalidUTF8"
        yield f"{name} behind the object", text + bad, "invalidUTF8"


def refused_numbers():
    for text, reason in [
        ("-1", "notAWholeNumber"),
        ("-0", "notAWholeNumber"),
        ("1.0", "notAWholeNumber"),
        ("1e3", "notAWholeNumber"),
        ("1E0", "notAWholeNumber"),
        ("4294967296", "numberOutOfRange"),
        ("99999999999999999999999999", "numberOutOfRange"),
        ("01", "unexpectedByte"),
        ("1.", "unexpectedByte"),
        (".5", "wrongType"),
        ("+1", "wrongType"),
        ("1e", "unexpectedByte"),
        ("0x10", "unexpectedByte"),
        ("1_000", "unexpectedByte"),
        ("--1", "unexpectedByte"),
    ]:
        yield f"timestamp {text}", raw("timestamp", text), reason
    for text in ("01", "1.", "-", "1e+", ".5", "+1"):
        yield f"an unknown key of {text}", member(f'"a":{text}'), "unexpectedByte"


def cut(clusters, limit, cost):
    """The longest prefix of whole characters that costs at most `limit` with an ellipsis, or
    everything if it fits."""
    if not clusters or cost("".join(clusters)) <= limit:
        return clusters
    kept = []
    while len(kept) < len(clusters) and cost("".join(kept) + clusters[len(kept)] + "…") <= limit:
        kept.append(clusters[len(kept)])
    return [*kept, "…"]


def escaped(text):
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2


def plain(text):
    return len(text.encode())


def written(name, app, title, text, timestamp=1234567890):
    """NTF-7 on lists of characters, so that no other program's idea of a character is needed."""
    before = [app, title, text]
    app, title = cut(app, 64, plain), cut(title, 128, plain)

    def joined(*fields):
        return dict(zip(SAMPLE, [*map("".join, fields), timestamp], strict=True))

    def size(*fields):
        return len(compact(joined(*fields)).encode())

    text = cut(text, 512 - size(app, title, []), escaped)
    title = cut(title, 512 - size(app, [], text), escaped)
    assert size(app, title, text) <= 512, name
    return {
        "name": name,
        "source": "python json.dumps; characters given as lists",
        "write": joined(*before),
        "json": compact(joined(app, title, text)).encode().hex(),
        "isCut": [app, title, text] != before,
    }


def all_written():
    app, title = list("Messages"), list("Jane Doe")
    room = 512 - len(with_(text=""))
    yield written("the sample", app, title, list("See you tomorrow!"))
    yield written("empty", [], [], [], 0)
    controls = [chr(code) for code in range(1, 32)] + ["\x7f", '"', "\\", "/", "\u2028"]
    yield written("every control character", app, title, controls, 4294967295)
    yield written("text that just fits", app, title, ["x"] * room)
    yield written("text one byte too long", app, title, ["x"] * (room + 1))
    yield written("text of quotes that just fit", app, title, ['"'] * (room // 2))
    yield written("text of quotes, one too many", app, title, ['"'] * (room // 2 + 1))
    yield written("app of 64 bytes", ["é"] * 32, title, [])
    yield written("app of 65 bytes", ["é"] * 32 + ["x"], title, [])
    yield written("title of 129 bytes", app, ["a"] * 129, [])
    for name, clusters in [
        ("families", [FAMILY]),
        ("flags", [FLAG]),
        ("accents", [ACCENT]),
        ("Persian with half-spaces", ["م", "ی\u200c", "خ"]),
        ("skin tones", ["\U0001f44d\U0001f3fd"]),
        ("Hangul by parts", ["\u1112\u1161\u11ab"]),
    ]:
        yield written(f"{name} in every field", clusters * 60, clusters * 60, clusters * 200)
    yield written("line ends of two bytes", app, title, ["\r\n"] * 300)
    yield written("one character longer than the room", app, title, ["a" + "\u0301" * 400])
    yield written("text shrinks to the ellipsis, then title", ["\x01"] * 64, ["\x02"] * 128, ["x"] * 10)
    yield written("text is empty and title gives way", ["\x01"] * 64, ["\x02"] * 128, [])
    yield written("a long text", app, title, list("0123456789") * 200)


def vectors():
    source = "RFC 8259; PROTOCOL.md NTF-1 to NTF-4"
    yield from taken()
    for name, text, reason in refused():
        json_hex = (text if isinstance(text, bytes) else text.encode()).hex()
        yield {"name": name, "source": source, "json": json_hex, "refused": reason}
    yield from all_written()
