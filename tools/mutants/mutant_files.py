"""Mutants of the C firmware: reading them, applying them to a copy, compiling that as a library.

A mutant is one file, NAME.mutant:

    what: the fault of the device, in plain English
    rule: LNK-40, LNK-50            the rules of PROTOCOL.md that it breaks, the main one first
    case: LNK-40/credit-when-handled   the case that must fail, or - if any case may detect it

    file: core/src/nb_link.c        below firmware-fixtures
    --- old
    lines that occur exactly once, or a part of one
    --- new
    their replacement; can be empty
    --- end

`file:` and the following lines can be repeated: together they are one fault.
"""

import dataclasses
import pathlib
import shutil
import subprocess

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "firmware-fixtures"
SOURCES = ("core/src", "ports/control", "ports/host")
INCLUDES = ("core/include", "core/src", "ports/control", "ports/host/include")
ANY_CASE = "-"
FLAGS = ("-std=c11", "-O1", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused", "-Werror")


class BadMutant(Exception):
    """An invalid mutant file; the text names it."""


@dataclasses.dataclass(frozen=True)
class Edit:
    path: str
    old: str
    new: str


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    what: str
    rules: tuple
    case: str
    edits: tuple

    @property
    def target(self):
        return "firmware"


def parse(path):
    """Reads one mutant file."""
    fields, edits = {}, []
    target, part, lines = None, None, {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if part is not None and line == "--- end":
            if part != "new":
                raise BadMutant(f"{path.name}:{number}: '--- end' without '--- new'")
            edits.append(Edit(target, "\n".join(lines["old"]), "\n".join(lines["new"])))
            part, lines = None, {}
        elif line in ("--- old", "--- new"):
            part = line.removeprefix("--- ")
            if target is None or part in lines or (part == "new" and "old" not in lines):
                raise BadMutant(f"{path.name}:{number}: '{line}' is out of place")
            lines[part] = []
        elif part is not None:
            lines[part].append(line)
        elif line.strip():
            key, colon, value = line.partition(":")
            if not colon or key not in ("what", "rule", "case", "file") or not value.strip():
                raise BadMutant(f"{path.name}:{number}: cannot be read: {line}")
            if key == "file":
                target = value.strip()
            else:
                fields[key] = value.strip()
    missing = [key for key in ("what", "rule", "case") if key not in fields]
    if missing or not edits or part is not None:
        raise BadMutant(f"{path.name}: {', '.join(missing) or 'a complete edit'} is missing")
    rules = tuple(rule.strip() for rule in fields["rule"].split(","))
    return Mutant(path.stem, fields["what"], rules, fields["case"], tuple(edits))


def read_all(folder):
    """Every mutant of a folder, by name."""
    return [parse(path) for path in sorted(folder.glob("*.mutant"))]


def mutated(mutant, root):
    """The changed files of a mutant, by path below `root`; each edit must apply exactly once."""
    texts = {}
    for edit in mutant.edits:
        path = root / edit.path
        if edit.path not in texts:
            if not path.is_file():
                raise BadMutant(f"{mutant.name}: there is no {edit.path}")
            texts[edit.path] = path.read_text(encoding="utf-8")
        found = texts[edit.path].count(edit.old)
        if not edit.old or found != 1:
            first = edit.old.strip().splitlines()[0] if edit.old.strip() else ""
            raise BadMutant(f"{mutant.name}: found {found} times in {edit.path}, expected once: {first.strip()}")
        texts[edit.path] = texts[edit.path].replace(edit.old, edit.new)
    return texts


class Compiler:
    """Compiles copies of the firmware; unchanged files are compiled once."""

    def __init__(self, command, folder, root=FIXTURES):
        self.command = command
        self.folder = folder
        self.root = root
        self.objects = {}

    def prepare(self):
        """Compiles the firmware without a fault."""
        for path in self._sources(self.root):
            self.objects[path] = self._object(self.root, path, self.folder / "sound")

    def library(self, mutant):
        """The path of a mutant's library."""
        texts = mutated(mutant, self.root)
        copy = self.folder / mutant.name
        for part in ("core", "ports"):
            shutil.copytree(self.root / part, copy / part, dirs_exist_ok=True)
        for path, text in texts.items():
            (copy / path).write_text(text, encoding="utf-8")
        # A header affects every file that can include it.
        is_header = any(path.endswith(".h") for path in texts)
        changed = [path for path in self.objects if is_header or path in texts]
        objects = dict(self.objects)
        for path in changed:
            objects[path] = self._object(copy, path, copy / "objects")
        library = self.folder / f"{mutant.name}.so"
        self._run(["-shared", "-Wl,-Bsymbolic", "-o", str(library), *map(str, objects.values())], mutant.name)
        shutil.rmtree(copy)
        return library

    def _sources(self, root):
        return [str(path.relative_to(root)) for folder in SOURCES for path in sorted((root / folder).glob("*.c"))]

    def _object(self, root, path, folder):
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / (path.replace("/", "_") + ".o")
        includes = [f"-I{root / include}" for include in INCLUDES]
        self._run([*FLAGS, *includes, "-c", "-o", str(target), str(root / path)], path)
        return target

    def _run(self, arguments, what):
        done = subprocess.run([*self.command, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise BadMutant(f"{what}: does not compile:\n{done.stderr.strip()[-2000:]}")


def findings(folder=FIXTURES / "mutants", root=FIXTURES):
    """What is wrong with the mutants of a folder, without compiling them."""
    for path in sorted(folder.glob("*.mutant")):
        try:
            mutated(parse(path), root)
        except BadMutant as bad:
            yield str(bad)


if __name__ == "__main__":
    print(*findings(), *findings(FIXTURES / "sound"), sep="\n", end="")
