"""A console at full rate through `notibot monitor`: is every byte in its file and every line in its
NDJSON, and at what cost?

Writes numbered log lines with frames between them into a pseudo-terminal, first at the rate of a
line of 3 Mbaud, then as fast as they are taken. Prints a table on stderr and one JSON document on
stdout. Ends with 1 when a byte or a line is missing."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import termios
import time
import tty

# DATA 1 of the device, the count is 1: an example of tools/vectors/wire.py.
FRAME = bytes.fromhex("00034C05087C3A0101101B0302010515071F9200")
PIECE_SECONDS = 0.01
LINES_PER_FRAME = 20


def line(number):
    words = "heap 183412 free, 12 shown, host connected, rssi -61"
    return f"I ({number}) notibot: {words[: 20 + number % 32]}\r\n".encode()


def stream(length):
    """At least `length` bytes of whole lines, with frames among them; how many lines and frames."""
    pieces, size, lines, frames = [], 0, 0, 0
    while size < length:
        pieces.append(line(lines))
        lines += 1
        if lines % LINES_PER_FRAME == 0:
            pieces.append(FRAME)
            frames += 1
        size += len(pieces[-1])
    return b"".join(pieces), lines, frames


def write_all(master, data, rate):
    """Writes `data`, at `rate` bytes a second or, without one, as fast as it is taken. Returns the
    seconds it took."""
    start, done = time.monotonic(), 0
    piece = max(1, int(rate * PIECE_SECONDS)) if rate else 65536
    while done < len(data):
        done += os.write(master, data[done : done + piece])
        if rate:
            wait = start + done / rate - time.monotonic()
            if wait > 0:
                time.sleep(wait)
    return time.monotonic() - start


def run(notibot, name, data, lines, frames, rate, options):
    master, slave = os.openpty()
    tty.setraw(slave, termios.TCSANOW)
    with tempfile.TemporaryDirectory() as folder:
        saved, printed = os.path.join(folder, "raw"), os.path.join(folder, "out")
        with open(printed, "wb") as output:
            monitor = subprocess.Popen(
                [notibot, "monitor", "-p", os.ttyname(slave), "--save", saved, "--until", "^END$", *options],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.PIPE,
            )
            monitor.stderr.readline()  # It is open.
            start = time.monotonic()
            write_all(master, data, rate)
            os.write(master, b"END\r\n")
            _, status, usage = os.wait4(monitor.pid, 0)
            monitor.returncode = code = os.waitstatus_to_exitcode(status)
            seconds, used = time.monotonic() - start, usage.ru_utime + usage.ru_stime
        with open(saved, "rb") as file:
            is_whole = file.read() == data + b"END\r\n"
        with open(printed, "rb") as file:
            seen_lines, seen_frames = count(file, "--json" in options)
    os.close(slave)
    os.close(master)
    return {
        "run": name,
        "bytes": len(data),
        "seconds": round(seconds, 2),
        "bytesPerSecond": round(len(data) / seconds),
        "linesPerSecond": round(lines / seconds),
        "cpuShare": round(used / seconds, 3),
        "exit": code,
        "fileIsWhole": is_whole,
        "linesMissing": lines - seen_lines,
        "framesMissing": frames - seen_frames,
    }


def count(file, is_json):
    """Lines whose numbers follow each other, and frames, of what was printed."""
    lines = frames = 0
    for text in file:
        if is_json:
            record = json.loads(text)
            frames += record["event"] == "frame"
            expected = line(lines).decode().rstrip()
            lines += record["event"] == "text" and "end" not in record and record["text"].rstrip() == expected
        else:
            frames += b"--- DATA" in text
            lines += text.rstrip().endswith(line(lines).rstrip())
    return lines, frames


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--seconds", type=float, default=10, help="length of the paced runs")
    parser.add_argument(
        "--rate", type=int, default=300_000, help="bytes a second of the paced runs; 3 Mbaud carries 300000"
    )
    options = parser.parse_args()
    data, lines, frames = stream(int(options.seconds * options.rate))
    results = []
    for name, rate, arguments in [
        ("paced, NDJSON", options.rate, ["--json"]),
        ("paced, text", options.rate, ["--timestamps", "iso"]),
        ("unpaced, NDJSON", None, ["--json"]),
        ("unpaced, text", None, []),
        ("unpaced, file alone", None, ["--no-text", "--frames", "none"]),
    ]:
        result = run(options.notibot, name, data, lines, frames, rate, arguments)
        if "--no-text" in arguments:
            result["linesMissing"] = result["framesMissing"] = 0
        results.append(result)
        print(
            f"{name:22} {result['bytesPerSecond']:>10} B/s {result['linesPerSecond']:>8} lines/s  CPU {result['cpuShare']:.0%}"
            f"  file {'whole' if result['fileIsWhole'] else 'DIFFERS'}, missing: {result['linesMissing']} lines, {result['framesMissing']} frames",
            file=sys.stderr,
        )
    json.dump({"schema": "notibot.bench-monitor", "version": 1, "runs": results}, sys.stdout, indent=2)
    print()
    bad = [r for r in results if r["exit"] or not r["fileIsWhole"] or r["linesMissing"] or r["framesMissing"]]
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
