"""Prints what is untrue in the documents and about the package: links that lead nowhere, rules that
are named and not defined, recipes that cannot build, unused dependencies and declarations."""

import collections
import pathlib
import re
import subprocess
import sys

CODE = (".swift", ".c", ".h", ".py")
listed = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, check=True
).stdout.splitlines()
texts = {
    name: pathlib.Path(name).read_text(errors="replace")
    for name in listed
    if pathlib.Path(name).is_file() and not name.endswith((".bin", ".png"))
}
swift = {name: text for name, text in texts.items() if name.endswith(".swift")}
findings = []


def matches(pattern, name):
    return re.findall(pattern, texts[name], re.M)


def anchors_of(page):
    """The anchors of a page's headings, as GitHub forms them."""
    headings = re.findall(r"^#+ (.*)", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


defined = collections.Counter(matches(r"^\*\*((?:FRM|LNK|ATT|NTF)-\d+)\*\*", "docs/PROTOCOL.md"))
findings += [f"docs/PROTOCOL.md: {rule} is defined {count} times" for rule, count in defined.items() if count > 1]
for name, text in texts.items():
    if name.endswith((".md", ".json", ".jsonl", *CODE)):
        for rule in sorted(set(re.findall(r"\b(?:FRM|LNK|ATT|NTF)-\d+\b", text)) - set(defined)):
            findings.append(f"{name}: names {rule}, which docs/PROTOCOL.md does not define")
    if name.endswith(".md"):
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
            page = pathlib.Path(name).parent / target if target else pathlib.Path(name)
            if "://" not in target and not page.exists():
                findings.append(f"{name}: link to {target} leads nowhere")
            elif page.suffix == ".md" and anchor and anchor not in anchors_of(page):
                findings.append(f"{name}: link to {target}#{anchor}: the page has no such heading")

# scripts/ has three programs; what follows the third is in its table.
table = matches(r"^row '([\w-]+)", "tools/dev/table.sh")
for name, text in texts.items():
    for script, row in re.findall(r"\bscripts/(\w[\w-]*)(?: ([a-z][\w-]*))?", text):
        if script not in {"rig", "test", "dev"} or (script == "dev" and row and row not in table):
            findings.append(f"{name}: there is no scripts/{script} {row}".rstrip())

examples = texts["Tests/ClientTests/DocumentedExamples.swift"]
catalog = "Sources/NotibotHost/NotibotHost.docc"
for title, page in (
    ("README", "README.md"),
    ("GettingStarted.md", f"{catalog}/GettingStarted.md"),
    ("ExactlyOnce.md", f"{catalog}/ExactlyOnce.md"),
    ("ExactlyOnce.md, keys", f"{catalog}/ExactlyOnce.md"),
):
    if examples.split(f"// {title} example begins\n")[1].split(f"// {title} example ends")[0] not in texts[page]:
        findings.append(f"{page}: its example is not that of Tests/ClientTests/DocumentedExamples.swift")

# A recipe that builds installs the libraries of the build, and a build has no dependency that
# nothing imports.
libraries = [
    name
    for name in matches(r"^BUILD_PACKAGES=\((.*)\)", "tools/dev/setup.sh")[0].split()
    if (name.endswith("-dev") and name != "libc6-dev") or name == "pkg-config"
]
for name in set(matches(r'\.apt\(\["([^"]+)"\]\)', "Package.swift")) - set(libraries):
    findings.append(f"tools/dev/setup.sh: BUILD_PACKAGES lacks {name}, which Package.swift names")
for line in matches(r"apt-get install (.*)", "README.md"):
    if missing := [name for name in libraries if name not in line.split()]:
        findings.append(f"README.md: a recipe does not install {' '.join(missing)}")
imports = {
    name
    for text in swift.values()
    for name in re.findall(r"^.*\bimport (?:struct |enum |class |func )?(\w+)", text, re.M)
}
for name in sorted(set(matches(r'\.product\(name: "(\w+)", package:', "Package.swift")) - imports):
    findings.append(f"Package.swift: depends on {name}, which nothing imports")

version = matches(r'version: "([^"]+)"', "Sources/Commands/Notibot.swift")[0]
if matches(r"^## (.*)", "CHANGELOG.md")[:2] != ["Unreleased", version]:
    findings.append(f"CHANGELOG.md: its sections do not begin with Unreleased and {version}")

# One esptool is installed by `notibot flash`, the scripts and the tests: the newest of the matrix.
newest = matches(r"^esptool==(.*)$", "tools/esptool_matrix/requirements.txt")[0]
for name in ("tools/dev/table.sh", "tools/dev/recipes-test.sh", "Sources/Commands/Flash/EsptoolProgram.swift"):
    for found in matches(r'esptool==([\d.]+)|pinned = "([\d.]+)"', name):
        if newest not in found:
            findings.append(f"{name}: esptool {''.join(found)}, but tools/esptool_matrix/requirements.txt has {newest}")

# CONTRIBUTING.md: every public declaration is documented.
for name, text in swift.items():
    lines = text.split("\n") if name.startswith("Sources/") else []
    for number, line in enumerate(lines):
        if not re.match(r"\s*(@\w+(\([^)]*\))?\s+)*public (?!import)", line):
            continue
        above = number - 1
        while re.match(r"\s*@\w+", lines[above]):
            above -= 1
        if not lines[above].lstrip().startswith("///"):
            findings.append(f"{name}:{number + 1}: a public declaration without a comment")

# The checklists of CONTRIBUTING.md name every file that handles their example, except cases and
# simulated worlds.
handled = {
    "A new event": r'\.action\b(?! = )|\bcase action\b|"action"|\\"action\\"|\bnb_device_act\b|\bNB_CONTROL_ACT\b',
    "A new subcommand": r'\bWatchCommand\b|(?<!operation: )"watch"',
    "A new kind of port": r"(?<!notibot)\.labgrid\b|\bcase labgrid\b",
    "A new mutant": r"(?!)",
}
PLACES = ("Sources/", "firmware-fixtures/core/", "firmware-fixtures/ports/", "python/notibot/", "tools/loops/")
# The "action" of the last is a header of ntfy.
EXCEPT = ("Conformance/Cases/", "Conformance/Reports/Words/", "Simulation/", "GatewayRules/Publishing/")
handlers = [
    name
    for name in texts
    if name.startswith(PLACES)
    and name.endswith(CODE)
    and not name.startswith(tuple(f"Sources/{part}" for part in EXCEPT))
]
checklists = re.search(r"^## Checklists\n(.*?)(?=^## |\Z)", texts["CONTRIBUTING.md"], re.M | re.S)[1]
routes = {route.split("\n")[0]: route for route in checklists.split("\n### ")[1:]}
for title, example in handled.items():
    named = set()
    for path in re.findall(
        r"`((?:Sources|Tests|docs|firmware-fixtures|python|tools|scripts)/[^`]+)`", routes.get(title, "")
    ):
        # One with {A,B} stands for two.
        before, braces, after = re.fullmatch(r"([^{]*)(?:\{(.*)\})?(.*)", path.split(" ")[0]).groups()
        named |= {f"{before}{part}{after}" for part in (braces or "").split(",")}
    if not named:
        findings.append(f"CONTRIBUTING.md: no checklist '{title}'")
    for name in sorted(named):
        if not pathlib.Path(name).exists():
            findings.append(f"CONTRIBUTING.md: {title}: there is no {name}")
    for name in sorted(set(handlers) - named):
        if re.search(example, texts[name]):
            findings.append(f"CONTRIBUTING.md: {title}: {name} handles the example and is not listed")

# What those routes add is in the pages that list it, and the signal loop starts every command.
for form in matches(r'^    \("([^"]+)", "', "Sources/DeviceEmulator/Front/ControlMessages.swift"):
    if not re.search(rf"`{form.split()[0]}\b", texts["docs/CLI.md"]):
        findings.append(f"docs/CLI.md: does not name `control {form}`")
tour_events = matches(r"^enum Event \{(.*)\}$", "docs/TOUR.md")[0]
for name in matches(r"^    case (\w+)", "Sources/NotibotHost/Device/DeviceEvents.swift"):
    if not re.search(rf"\b{name}\b", tour_events):
        findings.append(f"docs/TOUR.md: its enum Event lacks {name}")
variants = matches(r'^    "([\w-]+)": \[', "tools/loops/signal_loop.py")
for name in matches(r"(\w+)Command\.self", "Sources/Commands/Notibot.swift"):
    command = re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()
    if command not in variants:
        findings.append(f"tools/loops/signal_loop.py: VARIANTS lacks {command}")

# Prose has at most 100 columns: comments and pages, but not their tables and code.
for name, text in texts.items():
    if not name.endswith((".md", ".swift")):
        continue
    is_page, is_code = name.endswith(".md"), False
    for number, line in enumerate(text.split("\n"), 1):
        if (is_page and line.lstrip().startswith("```")) or (not is_page and line.count('"""') % 2 == 1):
            is_code = not is_code
        elif len(line) > 100 and not is_code and " " in line.strip()[:100]:
            prose = line if is_page else (re.match(r"\s*///? ?(.*)", line) or [None, ""])[1]
            if prose and not prose.startswith(("|", "    ")):
                findings.append(f"{name}:{number}: prose of {len(line)} columns, at most 100")

# A declaration whose name stands nowhere else is dead. Capitals are constants of C.
code = {name: re.sub(r"(?<!:)//[^\n]*", "", text) for name, text in swift.items()}
words = collections.Counter(word for text in code.values() for word in re.findall(r"\w+", text))
type_declaration = re.compile(r"\s*(?:[a-z]+\s+)*(?:struct|enum|class|actor|typealias)\s+([A-Z]\w+)")
declaration = re.compile(
    r"\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:[a-z]+(?:\(set\))?\s+)*(?:func|var|let|struct|enum|class|actor|typealias|case)\s+`?([a-z]\w+)"
)
CALLED_BY_LIBRARIES = {
    "buildBlock",
    "buildExpression",
    "decodeIfPresent",
    "debugDescription",
    "allValueStrings",
    "defaultValueDescription",
}
for name, text in code.items():
    for number, line in enumerate(text.split("\n") if name.startswith("Sources/") else [], 1):
        found = declaration.match(line) or type_declaration.match(line)
        if found and words[found[1]] == 1 and found[1] not in CALLED_BY_LIBRARIES:
            findings.append(f"{name}:{number}: {found[1]} is used nowhere")

print("\n".join(findings), end="\n" if findings else "")
sys.exit(1 if findings else 0)
