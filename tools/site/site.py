#!/usr/bin/env python3
"""Makes the docs site: the pages of docs/, one per command, from the program's own help, and those
that are generated, with search, and nothing from another host. See scripts/dev docs-site."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

from tools.vectors import protocol_page

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Chapter, and its pages: file and title. A page of docs/ that is missing here is an error.
# EXAMPLES is generated; those of MEASURED are there if a script has written them.
CHAPTERS = {
    "Use": {
        "TOUR": "Tour",
        "CLI": "Command line",
        "FIRMWARE": "Firmware",
        "CI": "CI",
        "PYTHON": "Python and pytest",
        "USB": "USB test bench",
        "GATEWAY": "Push gateway",
    },
    "Interfaces": {"PROTOCOL": "Protocol", "EXAMPLES": "Byte by byte", "INTERFACE": "NDJSON", "JOURNAL": "Outbox file"},
    "Evidence": {
        "RULES": "Rules and cases",
        "MUTANTS": "Mutants",
        "SIMULATION": "Simulation",
        "PERFORMANCE": "Performance",
    },
    "Development": {
        "CONTRIBUTING": "Contributing",
        "ARCHITECTURE": "Architecture",
        "DECISIONS": "Decisions",
        "CHANGELOG": "Changelog",
    },
}
# The theme keeps a cell on one line.
TABLES = """.wy-table-responsive table td, .wy-table-responsive table th { white-space: normal; }
.wy-table-responsive table td:first-child code { white-space: nowrap; }
.wy-nav-content { max-width: 60rem; }
"""
# Written by scripts/dev rule-table and scripts/dev mutants --table.
MEASURED = {"RULES": ROOT / "rig-results/rules.md", "MUTANTS": ROOT / "rig-results/mutants.md"}
AT_ROOT = {"CONTRIBUTING", "CHANGELOG"}
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)(#[^)]*)?\)")


def without_foreign_files(text, page):
    """The text with links to pages of the site; a link to another file of the repository becomes
    its name, after a check that the file exists."""

    def replaced(found):
        target, anchor = found.group(1), found.group(2) or ""
        path = (page.parent / target).resolve()
        if not path.exists():
            sys.exit(f"docs-site: {page.relative_to(ROOT)}: {target} does not exist")
        if path.suffix == ".md" and (path.parent == ROOT / "docs" or path.stem in AT_ROOT):
            return f"]({path.name}{anchor})"
        if path.is_relative_to(ROOT / "docs" / "images"):
            return f"](images/{path.name})"
        return f"]({{file}}{path.relative_to(ROOT)})"

    text = LINK.sub(replaced, text)
    return re.sub(r"\[([^]]+)\]\(\{file\}([^)]+)\)", r"\1 (`\2`)", text)


def escaped(text):
    """Help text as Markdown for a table cell."""
    return re.sub(r"([\\|*_`<\[])", r"\\\1", " ".join(text.split()))


def names(argument):
    """How the argument is typed, as code."""
    forms = {"long": "--{}", "short": "-{}", "longWithSingleDash": "-{}"}
    if argument["kind"] == "positional":
        return f"`<{argument['valueName']}>`"
    value = f" <{argument['valueName']}>" if argument["kind"] == "option" else ""
    typed = sorted((forms[name["kind"]].format(name["name"]) for name in argument["names"]), key=len)
    return ", ".join(f"`{form}{value}`" for form in typed)


def row(argument):
    parts = [escaped(argument.get("abstract", "")), escaped(argument.get("discussion", ""))]
    if argument.get("allValues"):
        parts.append("Values: " + ", ".join(f"`{value}`" for value in argument["allValues"]) + ".")
    if argument.get("defaultValue"):
        parts.append(f"Default: `{argument['defaultValue']}`.")
    if argument["isRepeating"]:
        parts.append("Can be repeated.")
    return f"| {names(argument)} | {' '.join(part for part in parts if part)} |"


def discussion(text):
    """Paragraphs as text; lists and tables of the help, which lean on columns, as they are."""
    blocks = []
    for block in (text or "").split("\n\n"):
        columns = any(line.startswith(" ") for line in block.splitlines())
        blocks.append(f"```text\n{block}\n```" if columns else escaped(block))
    return "\n\n".join(blocks)


def command_page(program, command):
    """The page of a command."""
    words = [*command.get("superCommands", []), command["commandName"]]
    asked = [*words[1:-1], words[-1]] if len(words) > 1 else []
    shown = subprocess.run([program, "help", *asked], stdout=subprocess.PIPE, text=True, check=True).stdout
    usage = re.search(r"^USAGE:((?:.|\n)*?)\n\n", shown, re.MULTILINE)
    if usage is None:
        sys.exit(f"docs-site: no usage in the help of {' '.join(words)}")
    lines = [
        f"# {' '.join(words)}",
        escaped(command["abstract"]),
        "```text\n" + re.sub(r"\s+", " ", usage.group(1)).strip() + "\n```",
        discussion(command.get("discussion")),
    ]
    rows = [row(argument) for argument in command["arguments"] if argument["shouldDisplay"]]
    if rows:
        lines.append("\n".join(["| argument | meaning |", "|---|---|", *rows]))
    if command.get("subcommands"):
        rows = [f"| `{sub['commandName']}` | {escaped(sub['abstract'])} |" for sub in command["subcommands"]]
        lines.append("\n".join(["| subcommand | what it does |", "|---|---|", *rows]))
    return "\n\n".join(line for line in lines if line) + "\n"


def groups(program):
    """The groups of subcommands, in the order of the help."""
    shown = subprocess.run([program, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {}
    for heading, body in re.findall(r"^([A-Z ]+) SUBCOMMANDS:\n((?:(?:  .*)?\n)+)", shown, re.MULTILINE):
        found[heading.capitalize()] = re.findall(r"^  (\S+)  ", body, re.MULTILINE)
    return found


def write_commands(program, pages):
    """The pages of all commands, and their part of the navigation."""
    dumped = subprocess.run([program, "--experimental-dump-help"], stdout=subprocess.PIPE, check=True).stdout
    top = json.loads(dumped)["command"]
    commands = {sub["commandName"]: sub for sub in top["subcommands"] if sub["commandName"] != "help"}
    (pages / "commands").mkdir()
    grouped = groups(program)
    forgotten = {name for name, sub in commands.items() if sub["shouldDisplay"]} - {
        name for group in grouped.values() for name in group
    }
    if forgotten:
        sys.exit(f"docs-site: without a group in the help: {', '.join(sorted(forgotten))}")
    navigation = []
    for heading, members in grouped.items():
        entries = []
        for name in members:
            text = "\n".join(
                command_page(program, command) for command in [commands[name], *commands[name].get("subcommands", [])]
            )
            # One title for a page: the subcommands are sections.
            first, rest = text.split("\n", 1)
            (pages / "commands" / f"{name}.md").write_text(first + "\n" + re.sub(r"(?m)^# ", "## ", rest))
            entries.append({name: f"commands/{name}.md"})
        navigation.append({heading: entries})
    return navigation


def write_pages(pages):
    """The pages of the repository, and their part of the navigation."""
    listed = {name for chapter in CHAPTERS.values() for name in chapter}
    files = {"index": ROOT / "README.md", **{name: ROOT / f"{name}.md" for name in AT_ROOT}}
    files |= {path.stem: path for path in (ROOT / "docs").glob("*.md")}
    files |= {name: path for name, path in MEASURED.items() if path.exists()}
    texts = {name: without_foreign_files(path.read_text(), path) for name, path in files.items()}
    texts["EXAMPLES"] = protocol_page.page()
    if differing := (listed ^ texts.keys()) - {"index", *MEASURED}:
        sys.exit(f"docs-site: CHAPTERS and docs/ differ: {', '.join(sorted(differing))}")
    for name, text in texts.items():
        (pages / f"{name}.md").write_text(text)
    images = ROOT / "docs" / "images"
    for image in images.glob("*") if images.is_dir() else ():
        (pages / "images").mkdir(exist_ok=True)
        (pages / "images" / image.name).write_bytes(image.read_bytes())
    return [
        {chapter: [{title: f"{name}.md"} for name, title in members.items() if name in texts]}
        for chapter, members in CHAPTERS.items()
    ]


def main():
    parser = argparse.ArgumentParser(prog="scripts/dev docs-site", description=__doc__)
    parser.add_argument("--notibot", required=True)
    parser.add_argument("folder", nargs="?", default=ROOT / ".build/site", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        pages = pathlib.Path(work) / "pages"
        pages.mkdir()
        (pages / "tables.css").write_text(TABLES)
        chapters = write_pages(pages)
        navigation = [{"Home": "index.md"}, {"Commands": write_commands(options.notibot, pages)}, *chapters]
        settings = {
            "site_name": "Notibot's rig",
            "docs_dir": str(pages),
            "site_dir": str(options.folder.resolve()),
            # Files that can be opened without a web server, apart from the search.
            "use_directory_urls": False,
            "theme": {"name": "readthedocs", "highlightjs": False, "analytics": {"gtag": ""}},
            "plugins": ["search"],
            "extra_css": ["tables.css"],
            "markdown_extensions": ["tables", "fenced_code", {"toc": {"permalink": True}}],
            "validation": {
                "links": {"anchors": "warn", "unrecognized_links": "warn"},
                "nav": {"omitted_files": "warn"},
            },
            "nav": navigation,
        }
        file = pathlib.Path(work) / "mkdocs.yml"
        file.write_text(yaml.safe_dump(settings, sort_keys=False))
        # Not --quiet: then a warning is no error.
        build = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", file]
        result = subprocess.run(build, stderr=subprocess.PIPE, text=True)
    if result.returncode:
        sys.exit(result.stderr)
    made = list(options.folder.rglob("*.html"))
    foreign = {
        address
        for page in made
        for address in re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=\"(https?:[^\"]*|//[^\"]*)", page.read_text())
    }
    if foreign:
        sys.exit(f"docs-site: loaded from elsewhere: {', '.join(sorted(foreign))}")
    print(f"docs-site: {len(made)} pages in {options.folder}")


if __name__ == "__main__":
    main()
