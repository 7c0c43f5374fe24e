"""Mutants of the C firmware: reading them, applying them to a copy, compiling that as a library.

    NAME RULES CASE FILE: the fault of the device, in plain English
    -lines of FILE that occur exactly once, or a part of them
    +their replacement; may be missing
     a line of both, after a space
    @
    -further lines of the same file
    @ FILE
    -lines of another file

RULES are the rules of PROTOCOL.md that it breaks, the main one first, with commas; CASE must fail,
or `-`: any case of these rules. A FILE is named below firmware-fixtures. All edits of a mutant are
one fault. Mutants are in the order of their names. Empty lines are ignored.
"""

import dataclasses
import itertools
import pathlib
import re
import shutil
import subprocess

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "firmware-fixtures"
# Devices that do not conform, devices that do, and faults of the port for ESP32-C3.
MUTANTS, SOUND, ESP32C3 = FIXTURES / "mutants", FIXTURES / "sound.mutants", FIXTURES / "esp32c3.mutants"
SOURCES = ("core/src", "ports/control", "ports/host")
INCLUDES = ("core/include", "core/src", "ports/control", "ports/host/include")
ANY_CASE = "-"
FLAGS = ("-std=c11", "-O1", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused", "-Werror")
HEAD = re.compile(r"(\w[\w.-]*) (\S+) (\S+) (\S+): (\S.*)")


class BadMutant(Exception):
    """An invalid mutant; the text names its file and line."""


@dataclasses.dataclass
class Edit:
    place: str
    path: str
    old: str = ""
    new: str = ""


@dataclasses.dataclass
class Mutant:
    name: str
    rules: tuple
    case: str
    what: str
    edits: list


def parse(path):
    """Reads one file of mutants."""
    mutants = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        place, sign, text = f"{path.name}:{number}", line[:1], line[1:] + "\n"
        edits = mutants[-1].edits if mutants else []
        if not line:
            continue
        if sign in "-+ @" and not edits:
            raise BadMutant(f"{place}: no mutant begins before this line")
        if sign == "@":
            edits.append(Edit(place, text.strip() or edits[-1].path))
        elif sign in "-+ ":
            edits[-1].old += text if sign != "+" else ""
            edits[-1].new += text if sign != "-" else ""
        elif head := HEAD.fullmatch(line):
            name, rules, case, file, what = head.groups()
            if mutants and name <= mutants[-1].name:
                raise BadMutant(f"{place}: names are unique and in order: {name} after {mutants[-1].name}")
            mutants.append(Mutant(name, tuple(rules.split(",")), case, what, [Edit(place, file)]))
        else:
            raise BadMutant(f"{place}: neither 'NAME RULES CASE FILE: WHAT' nor a line of an edit: {line}")
    for edit in (edit for mutant in mutants for edit in mutant.edits):
        edit.old, edit.new = edit.old[:-1], edit.new[:-1]
        if not edit.old.strip() or edit.old == edit.new:
            raise BadMutant(f"{edit.place}: this edit changes nothing: it needs '-' lines, or a '+' line with others")
    return mutants


def read_all(path):
    """Every mutant of a file, or of the *.mutants of a folder, by name."""
    if not path.exists():
        raise BadMutant(f"{path}: does not exist")
    files = sorted(path.glob("*.mutants")) if path.is_dir() else [path]
    mutants = sorted((mutant for file in files for mutant in parse(file)), key=lambda mutant: mutant.name)
    for one, other in itertools.pairwise(mutants):
        if one.name == other.name:
            raise BadMutant(f"{other.edits[0].place}: {other.name} is also at {one.edits[0].place}")
    return mutants


def mutated(mutant, root):
    """The changed files of a mutant, by path below `root`; each edit must apply exactly once."""
    texts = {}
    for edit in mutant.edits:
        path = root / edit.path
        if edit.path not in texts:
            if not path.is_file():
                raise BadMutant(f"{edit.place}: {mutant.name}: there is no {edit.path}")
            texts[edit.path] = path.read_text(encoding="utf-8")
        found = texts[edit.path].count(edit.old)
        if found != 1:
            first = edit.old.strip().splitlines()[0]
            raise BadMutant(
                f"{edit.place}: {mutant.name}: found {found} times in {edit.path}, expected once: {first.strip()}"
            )
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


def findings(root=FIXTURES):
    """What is wrong with the mutants, without compiling them."""
    for path in (MUTANTS, SOUND, ESP32C3):
        try:
            mutants = read_all(path)
        except BadMutant as bad:
            yield str(bad)
            continue
        for mutant in mutants:
            try:
                mutated(mutant, root)
            except BadMutant as bad:
                yield str(bad)


if __name__ == "__main__":
    print(*findings(), sep="\n", end="")
