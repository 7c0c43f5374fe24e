"""The tables of mutants that are argued to be equivalent: one per line, five fields separated by
tabs.

    file    function    the original line    the mutated line    why the difference is not
    observable

A table is verified: an entry without a mutant, and an entry that a case kills, are errors.
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
            raise BadTable(f"{path.name}:{number}: not five fields separated by tabs")
        if tuple(fields[:4]) in reasons:
            raise BadTable(f"{path.name}:{number}: listed twice")
        reasons[tuple(fields[:4])] = fields[4]
    return reasons


def stale(reasons, mutants):
    """The entries without a mutant."""
    return sorted(set(reasons) - {mutant.name for mutant in mutants})
