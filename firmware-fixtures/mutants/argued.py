"""The tables of mutants that are argued to be equivalent: one line each, five fields with tabs between them.

    file    function    the line as it is    the line as it becomes    why nobody can see the difference

A table is verified: an entry that no mutant has, and one that a case kills, are errors.
"""


class BadTable(Exception):
    """A table that cannot be used; the text names file and line."""


def read(path):
    """The reasons by the name of a mutant."""
    reasons = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 5 or not all(field.strip() for field in fields):
            raise BadTable(f"{path.name}:{number}: not five fields with tabs between them")
        if tuple(fields[:4]) in reasons:
            raise BadTable(f"{path.name}:{number}: listed twice")
        reasons[tuple(fields[:4])] = fields[4]
    return reasons


def stale(reasons, mutants):
    """The entries that no mutant has."""
    return sorted(set(reasons) - {mutant.name for mutant in mutants})
