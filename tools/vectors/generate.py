#!/usr/bin/env python3
"""Writes the vectors next to it. The expected bytes come from cobs 1.2.2, zlib.crc32, struct and
json, not from the Swift code.

generate.py             writes *.json and the appendix of docs/PROTOCOL.md generate.py --check
exits 1 and names each file that would change generate.py --protocol  prints the appendix
"""

import argparse
import contextlib
import io
import json
import pathlib
import sys

from tools.vectors import notification_vectors, protocol_page, stream_vectors, table_vectors

ROOT = pathlib.Path(__file__).resolve().parents[2]
VECTORS = ROOT / "firmware-fixtures/vectors"
FILES = {
    "cobs.json": table_vectors.cobs_vectors,
    "crc32.json": table_vectors.crc_vectors,
    "frames.json": table_vectors.frame_vectors,
    "tlvs.json": table_vectors.tlv_vectors,
    "att.json": table_vectors.att_vectors,
    "notifications.json": notification_vectors.vectors,
    "streams.json": stream_vectors.vectors,
}


PROTOCOL = ROOT / "docs/PROTOCOL.md"
APPENDIX = "## Appendix: byte by byte\n\n"


def protocol_with_appendix():
    """docs/PROTOCOL.md with its appendix regenerated."""
    page = io.StringIO()
    with contextlib.redirect_stdout(page):
        protocol_page.print_page()
    rules, _, _ = PROTOCOL.read_text().partition(APPENDIX)
    return rules + APPENDIX + page.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--protocol", action="store_true")
    options = parser.parse_args()
    if options.protocol:
        protocol_page.print_page()
        return 0
    stale = []
    texts = {VECTORS / name: json.dumps(make(), indent=1, ensure_ascii=True) + "\n" for name, make in FILES.items()}
    texts[PROTOCOL] = protocol_with_appendix()
    for path, text in texts.items():
        if options.check and (not path.exists() or path.read_text() != text):
            stale.append(path.name)
        elif not options.check:
            path.write_text(text)
    for name in stale:
        print(
            f"{name} differs from the output of generate.py: run generate.py and check the difference", file=sys.stderr
        )
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
