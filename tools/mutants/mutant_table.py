"""The table of docs/MUTANTS.md."""

import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "MUTANTS.md"
MARK = "<!-- written by scripts/mutants -->"


def line(row):
    """The printed form of a row."""
    detected = ", ".join(row["byRule"][:1]) or row["first"] or "-"
    return f"{row['verdict']:20} {row['name']:28} {row['target']:14} {row['rules'][0]:7} {row['failed']:4} {detected}"


def table(rows):
    head = ["| fault | of | what is wrong | rule | detected by | cases |", "|---|---|---|---|---|---|"]
    return (
        "\n".join(
            head
            + [
                f"| `{row['name']}` | {row['target']} | {row['what']} | {row['rules'][0]} | `{row['case']}` | {row['failed']} |"
                for row in rows
            ]
        )
        + "\n"
    )


def without_counts(text):
    """Without the number of failing cases, which changes with every new case and need not be up to
    date."""
    return re.sub(r" \| \d+ \|$", " |", text, flags=re.M)


def document(rows, is_check):
    """Writes the page's table, or compares it. Returns whether it is up to date."""
    text = PAGE.read_text(encoding="utf-8")
    before, mark, present = text.partition(MARK + "\n\n")
    if not mark:
        print(f"{PAGE}: the line {MARK} is missing", file=sys.stderr)
        return False
    if is_check:
        is_same = without_counts(present) == without_counts(table(rows))
        if not is_same:
            print(f"{PAGE} is not up to date: run scripts/mutants", file=sys.stderr)
        return is_same
    PAGE.write_text(before + mark + table(rows), encoding="utf-8")
    return True
