#!/usr/bin/env python3
"""Writes firmware-fixtures/vectors, one vector per line. The expected bytes come from cobs 1.2.2,
zlib.crc32, struct and json, not from the Swift code. --check writes nothing, names each file that
would change, and then exits 1."""

import argparse
import json
import pathlib
import sys

from tools.vectors import notification_vectors, stream_vectors, table_vectors

ROOT = pathlib.Path(__file__).resolve().parents[2]
VECTORS = ROOT / "firmware-fixtures/vectors"
AREAS = {
    "cobs": table_vectors.cobs_vectors,
    "crc32": table_vectors.crc_vectors,
    "frames": table_vectors.frame_vectors,
    "tlvs": table_vectors.tlv_vectors,
    "att": table_vectors.att_vectors,
    "notifications": notification_vectors.vectors,
    "streams": stream_vectors.vectors,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    texts = {
        VECTORS / f"{area}.jsonl": "".join(json.dumps(vector, separators=(",", ":")) + "\n" for vector in make())
        for area, make in AREAS.items()
    }
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if options.check:
            print(f"{path.name} is out of date: run scripts/dev vectors and check the difference", file=sys.stderr)
        else:
            path.write_text(texts[path])
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
