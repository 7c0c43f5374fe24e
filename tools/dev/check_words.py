"""Prints where a comment, a string or a page uses a word that CONTRIBUTING.md's glossary
replaces."""

import pathlib
import re
import subprocess
import sys

# Not the glossary itself and the changes of former versions.
EXCLUDED = {"CHANGELOG.md", "CONTRIBUTING.md", "tools/dev/check_words.py"}
CODE = (".c", ".cpp", ".h", ".ino", ".mutants", ".swift", ".tsv")
PLAIN = (".md", ".py", ".sh")

# Words that belong to a format: the column `told` of the outbox file.
ALLOWED = {
    ("Sources/NotibotHost/Journal/JournalRows.swift", "told"),
    ("Sources/NotibotHost/Journal/JournalSchema.swift", "told"),
    ("Tests/NotibotHostTests/JournalRotTests.swift", "told"),
    ("docs/JOURNAL.md", "told"),
}

# The word to write instead, and the words that are refused.
GLOSSARY = [
    ("fix, repair", r"mend(s|ed|ing)?"),
    ("anyone who, the user, a client that", r"who(m)?ever"),
    ("forever, indefinitely", r"for ever"),
    ("in production", r"in life"),
    ("notification, event, change", r"news"),
    ("report, print, send, notify", r"tells?|told|telling"),
    ("while, in parallel, in addition to", r"besides"),
    ("next to, in addition to", r"(?<!-)beside(?!-)"),
    ("on its own, automatically", r"by itself|by themselves"),
    ("because of, without", r"for want of"),
    ("make sure, verify", r"see to it"),
]
WORDS = [(instead, re.compile(rf"\b(?:{words})\b", re.I)) for instead, words in GLOSSARY]
NEWS_IN_IDENTIFIER = re.compile(r"\bnews(?=[A-Z]|\b)|(?<=[a-z])News(?=[A-Z]|\b)")

# In this order: what begins first ends by its own rule. The last one is a test's name.
SWIFT_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|#"""(?:.*?)"""#|"""(?:\\.|.)*?"""|#"[^\n]*?"#|"(?:\\.|[^"\\\n])*"|`[^`\n]* [^`\n]*`', re.S
)
C_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


def texts(path, source):
    """The parts of a file that a person reads, with their offsets."""
    if path.suffix in CODE and path.suffix not in (".mutants", ".tsv"):
        pattern = SWIFT_TEXT if path.suffix == ".swift" else C_TEXT
        return [(match.start(), match.group()) for match in pattern.finditer(source)]
    return [(0, source)]


def main():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    findings = []
    for path in (pathlib.Path(name) for name in listed if name not in EXCLUDED):
        # Scripts have no suffix.
        if not path.is_file() or path.suffix not in (*CODE, *PLAIN, ""):
            continue
        source = path.read_text()
        seen = [
            (start + match.start(), match.group(), instead)
            for start, text in texts(path, source)
            for instead, words in WORDS
            for match in words.finditer(text)
        ]
        if path.suffix == ".swift":
            seen += [(match.start(), match.group(), GLOSSARY[4][0]) for match in NEWS_IN_IDENTIFIER.finditer(source)]
        for offset, word, instead in sorted(set(seen)):
            if (str(path), word) in ALLOWED:
                continue
            line = source.count("\n", 0, offset) + 1
            findings.append(f"{path}:{line}: '{word}': write {instead}")
    print("\n".join(dict.fromkeys(findings)), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
