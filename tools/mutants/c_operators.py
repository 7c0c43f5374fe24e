"""Operator mutants of C: one token of a function becomes another.

A mutant is identified by its file, its function, the original line and the mutated line, never by
a line number: such a name survives edits elsewhere. Two equal lines of one function are
distinguished by `function#2`.
"""

import dataclasses
import re

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)
      |(?P<directive>^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
      |(?P<string>"(?:[^"\\\n]|\\.)*")
      |(?P<char>'(?:[^'\\\n]|\\.)*')
      |(?P<number>0[xX][0-9A-Fa-f]+[uUlL]*|[0-9]+[uUlL]*)
      |(?P<word>[A-Za-z_][A-Za-z_0-9]*)
      |(?P<sign><<=|>>=|->|\+\+|--|&&|\|\||<<|>>|<=|>=|==|!=|\+=|-=|\*=|/=|%=|&=|\|=|\^=|[^\sA-Za-z_0-9"'])""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)

SIGNS = {
    "<": ("<=", "!="),
    "<=": ("<", "=="),
    ">": (">=", "!="),
    ">=": (">", "=="),
    "==": ("!=", ">="),
    "!=": ("==", ">"),
    "&&": ("||",),
    "||": ("&&",),
    "<<": (">>",),
    ">>": ("<<",),
    "^": ("|",),
    "/": ("*",),
    "%": ("/",),
    "+=": ("-=", "="),
    "-=": ("+=", "="),
    "|=": ("&=", "="),
    "&=": ("|=", "="),
    "^=": ("|=",),
    "<<=": (">>=",),
    ">>=": ("<<=",),
    "++": ("--",),
    "--": ("++",),
}
# Also signs of one operand: only a sign after an operand counts.
BINARY = {"+": ("-",), "-": ("+",), "&": ("|",), "|": ("&",), "*": ("+",)}
WORDS = {"true": ("false",), "false": ("true",), "break": ("continue",), "continue": ("break",)}
NO_OPERAND = {"return", "case", "else", "do", "goto", "sizeof"}
TYPES = {"void", "char", "int", "unsigned", "signed", "long", "short", "bool", "const", "float", "double"}


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


@dataclasses.dataclass(frozen=True)
class OperatorMutant:
    """One change of one file."""

    path: str
    function: str
    number: int  # of the line, for readers; not part of the name
    line: str
    mutated: str
    operator: str
    start: int
    end: int
    replacement: str

    @property
    def name(self):
        return (self.path, self.function, self.line, self.mutated)

    def applied(self, text):
        return text[: self.start] + self.replacement + text[self.end :]


def tokens(text):
    """The tokens of a file without comments and directives."""
    found = (Token(match.lastgroup, match.group(), match.start(), match.end()) for match in TOKEN.finditer(text))
    return [token for token in found if token.kind not in ("comment", "directive")]


def is_type(token):
    return token.kind == "word" and (token.text.endswith("_t") or token.text in TYPES)


def is_cast(before):
    """Whether a closing parenthesis ends a cast."""
    at = len(before) - 2
    while at >= 0 and before[at].text == "*":
        at -= 1
    while at >= 0 and before[at].kind == "word":
        if not is_type(before[at]):
            return False
        at -= 1
        if at >= 0 and before[at].text == "(":
            return True
    return False


def is_behind_operand(before):
    """Whether the sign after these tokens has two operands."""
    if not before:
        return False
    last = before[-1]
    if last.text == ")":
        return not is_cast(before)
    if last.kind == "word":
        return last.text not in NO_OPERAND and not is_type(last)
    return last.kind in ("number", "char", "string") or last.text == "]"


class Functions:
    """Which function each token belongs to."""

    def __init__(self, found):
        self.owner = [None] * len(found)
        depth, current, name = 0, None, None
        for index, token in enumerate(found):
            if token.text == "{":
                if depth == 0:
                    current = name if index and found[index - 1].text == ")" else None
                depth += 1
            elif token.text == "}":
                depth -= 1
                if depth == 0:
                    current = None
            elif depth == 0 and token.text == "(" and index and found[index - 1].kind == "word":
                if found[index - 1].text != "__attribute__":
                    name = found[index - 1].text
            elif depth == 0 and token.text == ";":
                name = None
            self.owner[index] = current


def token_changes(found, index):
    """The mutations of one token: the operator's name, the start and the end of the change, and the
    replacement."""
    token, before = found[index], found[max(0, index - 12) : index]
    if token.kind == "sign" and token.text in SIGNS:
        for other in SIGNS[token.text]:
            yield f"{token.text} becomes {other}", token.start, token.end, other
    elif token.text in BINARY and is_behind_operand(before):
        for other in BINARY[token.text]:
            yield f"{token.text} becomes {other}", token.start, token.end, other
        after = found[index + 1] if index + 1 < len(found) else None
        if token.text in "+-" and after is not None and after.kind == "number":
            yield f"{token.text} number dropped", token.start, after.end, ""
    elif token.text == "!":
        yield "! dropped", token.start, token.end, ""
    elif token.kind == "word" and token.text in WORDS:
        for other in WORDS[token.text]:
            yield f"{token.text} becomes {other}", token.start, token.end, other


def mutants(path, text):
    """All operator mutants of a file, in its order."""
    found = tokens(text)
    functions = Functions(found)
    seen = {}
    for index in range(len(found)):
        function = functions.owner[index]
        if function is None:
            continue
        for operator, start, end, replacement in token_changes(found, index):
            begin = text.rfind("\n", 0, start) + 1
            finish = text.find("\n", end)
            line = " ".join(text[begin:finish].split())
            mutated = " ".join((text[begin:start] + replacement + text[end:finish]).split())
            key = (function, line, mutated)
            seen[key] = seen.get(key, 0) + 1
            name = function if seen[key] == 1 else f"{function}#{seen[key]}"
            number = text.count("\n", 0, start) + 1
            yield OperatorMutant(path, name, number, line, mutated, operator, start, end, replacement)
