"""Operator mutants of Swift, all in one build.

Each operator that can be changed is replaced by a new one, which looks up at run time which mutant
is active:

    if sent.count < limit   ->   if sent.count <┄┆ limit

`<┄┆` has the precedence of `<`, and acts as `<` unless one of its mutants is active. So no operand
has to be found and no type is needed. The number of the active mutant is the first word of the file
in NOTIBOT_MUTANT, which is mapped into memory: a running process can change from one mutant to the
next.
"""

import dataclasses
import re

# Characters that the compiler accepts in an operator, as digits of a number: box drawing, without
# those like ASCII.
DIGITS = [chr(code) for code in range(0x2504, 0x2544)]
SUPPORT = """\
import Glibc
import NotibotProtocol

/// The number of the active mutant; 0: none.
nonisolated(unsafe) private let activeNumber: UnsafePointer<Int32> = {
  let size = MemoryLayout<Int32>.size
  if let path = getenv("NOTIBOT_MUTANT") {
    let file = open(path, O_RDONLY)
    if let map = mmap(nil, size, PROT_READ, MAP_SHARED, file, 0), map != MAP_FAILED {
      return UnsafePointer(map.assumingMemoryBound(to: Int32.self))
    }
  }
  let none = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
  none.pointee = 0
  return UnsafePointer(none)
}()

@inline(__always) var activeMutant: Int32 { activeNumber.pointee }

func mutantBool(_ number: Int32, _ value: Bool) -> Bool { activeMutant == number ? !value : value }
"""
# What the operators of each kind become.
KINDS = {
    "compare": {"<": ("<=", "!="), "<=": ("<", "=="), ">": (">=", "!="), ">=": (">", "==")},
    "equal": {"==": ("!=",), "!=": ("==",)},
    "add": {"+": ("-",), "-": ("+",)},
    "wrap": {"&+": ("&-",), "&-": ("&+",)},
    "multiply": {"*": ("+",), "/": ("*",), "%": ("/",)},
    "bits": {"&": ("|",), "|": ("&",), "^": ("|",)},
    "shift": {"<<": (">>",), ">>": ("<<",)},
    "logic": {"&&": ("||",), "||": ("&&",)},
    "assign": {"+=": ("-=", "="), "-=": ("+=", "=")},
}
OPERATORS = {symbol: (kind, others) for kind, table in KINDS.items() for symbol, others in table.items()}
SIGN = re.compile(r"(?<=\s)(<=|>=|==|!=|<<|>>|&&|\|\||&\+|&-|\+=|-=|[-<>+*/%&|^])(?=\s)")
TOKEN = re.compile(
    r'(?P<string>"""(?:.|\n)*?"""|#"(?:.|\n)*?"#|"(?:[^"\\\n]|\\\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\\.)*")'
    r"|(?P<comment>//[^\n]*|/\*(?:.|\n)*?\*/)"
)
DECLARATION = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:[a-z]+(?:\([a-z]+\))?\s+)*?(?:func|var|init|subscript)\b\s*([\w]*)"
)
HEAD = re.compile(
    r"^\s*(?:package |public |private |fileprivate |final )*(?:extension|protocol|struct|enum|class|infix|prefix|func)\b"
)


@dataclasses.dataclass(frozen=True)
class SwiftMutant:
    """One change of one file; `name` as in c_operators.py."""

    path: str
    function: str
    number: int
    line: str
    mutated: str
    operator: str
    index: int  # the number that activates it

    @property
    def name(self):
        return (self.path, self.function, self.line, self.mutated)


@dataclasses.dataclass(frozen=True)
class Site:
    """A place in a file, its text in the copy, and its mutants: the operator's name, and the text
    for each."""

    start: int
    end: int
    symbol: str
    kind: str
    becomes: tuple


def blanked(text):
    """The text with strings and comments blanked, so that positions stay the same."""
    return TOKEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def sites(text):
    """The places of a file that can be changed."""
    plain = blanked(text)
    found = []
    for match in SIGN.finditer(plain):
        symbol, before, after = match.group(), plain[: match.start()].rstrip(), plain[match.end() :].lstrip()
        begin = plain.rfind("\n", 0, match.start()) + 1
        line = plain[begin : plain.find("\n", match.end())]
        if before.endswith(("func", "operator")) or (HEAD.match(line) and "{" not in line[: match.start() - begin]):
            continue
        kind, others = OPERATORS[symbol]
        if kind == "equal" and after.startswith("nil"):
            kind = "nil"
        becomes = [(f"{symbol} becomes {other}", other) for other in others]
        literal = re.match(r"[0-9][0-9_]*\b(?![.(])", after)
        if kind == "add" and literal:
            becomes.append((f"{symbol} number dropped", None))
        found.append(Site(match.start(), match.end(), symbol, kind, tuple(becomes)))
    for match in re.finditer(r"(?<=[\s(])!(?=[a-z(])", plain):
        found.append(Site(match.start(), match.end(), "!", "not", (("! dropped", ""),)))
    for match in re.finditer(r"(?<=[\s(])(true|false)\b", plain):
        before = plain[: match.start()].rstrip()
        line = plain[plain.rfind("\n", 0, match.start()) + 1 : match.start()]
        in_pattern = line.lstrip().startswith("case ") and line.count("(") > line.count(")")
        # After `while true` the compiler requires no return.
        if not in_pattern and not before.endswith(("case", "while")):
            other = "false" if match.group() == "true" else "true"
            found.append(
                Site(match.start(), match.end(), match.group(), "bool", ((f"{match.group()} becomes {other}", other),))
            )
    return sorted(found, key=lambda site: site.start)


def code_of(number):
    """An operator's suffix that encodes a number."""
    tail = ""
    while True:
        number, digit = divmod(number, len(DIGITS))
        tail += DIGITS[digit]
        if number == 0:
            return tail


PRECEDENCE = {
    "compare": "ComparisonPrecedence",
    "equal": "ComparisonPrecedence",
    "nil": "ComparisonPrecedence",
    "add": "AdditionPrecedence",
    "wrap": "AdditionPrecedence",
    "multiply": "MultiplicationPrecedence",
    "shift": "BitwiseShiftPrecedence",
    "assign": "AssignmentPrecedence",
}


def precedence(site):
    if site.kind == "logic":
        return "LogicalConjunctionPrecedence" if site.symbol == "&&" else "LogicalDisjunctionPrecedence"
    if site.kind == "bits":
        return "MultiplicationPrecedence" if site.symbol == "&" else "AdditionPrecedence"
    return PRECEDENCE[site.kind]


def declaration(site, name, numbers):
    """The operator of a place."""
    if site.kind == "not":
        return f"prefix operator {name}\nprefix func {name} (a: Bool) -> Bool {{ activeMutant == {numbers[0]} ? a : !a }}\n"

    def chosen(expression):
        cases = ""
        for number, (_, other) in zip(numbers, site.becomes, strict=False):
            cases += f"case {number}: {expression(other)}; "
        return f"switch activeMutant {{ {cases}default: {expression(site.symbol)} }}"

    def binary(other):
        return "return a" if other is None else f"return a {other} b"

    head = f"infix operator {name}: {precedence(site)}\n"
    body = chosen(binary)
    if site.kind in ("compare", "equal"):
        # Tuples are compared by functions of the standard library, not as a type.
        kind = "Comparable" if site.kind == "compare" else "Equatable"
        head += f"func {name} <T: {kind}, U: {kind}>(a: (T, U), b: (T, U)) -> Bool {{ {body} }}\n"
        return head + f"func {name} <T: {kind}>(a: T, b: T) -> Bool {{ {body} }}\n"
    if site.kind == "nil":
        return head + f"func {name} <T>(a: T?, b: _OptionalNilComparisonType) -> Bool {{ {body} }}\n"
    if site.kind == "logic":
        lazy = chosen(lambda other: f"return try a {other} b()")
        return head + f"func {name} (a: Bool, b: @autoclosure () throws -> Bool) rethrows -> Bool {{ {lazy} }}\n"
    if site.kind == "assign":
        return (
            head
            + overloads(site, name, numbers)
            + f"func {name} <T: AdditiveArithmetic>(a: inout T, b: T) {{ {chosen(lambda other: f'a {other} b')} }}\n"
        )
    types = {
        "add": "AdditiveArithmetic",
        "multiply": "BinaryInteger",
        "bits": "BinaryInteger",
        "wrap": "FixedWidthInteger",
    }
    head += overloads(site, name, numbers)
    if site.kind == "shift":
        return head + f"func {name} <T: BinaryInteger, S: BinaryInteger>(a: T, b: S) -> T {{ {body} }}\n"
    return head + f"func {name} <T: {types[site.kind]}>(a: T, b: T) -> T {{ {body} }}\n"


def overloads(site, name, numbers):
    """The operator of a place for types that are not numbers: times, durations, collections."""
    first, other = f"activeMutant == {numbers[0]}", f"activeMutant == {numbers[-1]}"
    both = "where S.Element == C.Element"
    table = {
        "+": [
            f"(a: Instant, b: Duration) -> Instant {{ a + ({first} ? .zero - b : b) }}",
            f"<C: RangeReplaceableCollection, S: Sequence>(a: C, b: S) -> C {both} {{ {first} ? a : a + b }}",
        ],
        "-": [f"(a: Instant, b: Instant) -> Duration {{ {first} ? b - a : a - b }}"],
        "*": [
            f"(a: Duration, b: Int) -> Duration {{ {first} ? a : a * b }}",
            f"(a: Int, b: Duration) -> Duration {{ {first} ? b : b * a }}",
        ],
        "/": [f"(a: Duration, b: Int) -> Duration {{ {first} ? a * b : a / b }}"],
        "+=": [
            f"<C: RangeReplaceableCollection, S: Sequence>(a: inout C, b: S) {both} "
            f"{{ if {first} {{ return }}; if {other} {{ a = C(b) }} else {{ a += b }} }}"
        ],
    }
    return "".join(f"func {name} {rest}\n" for rest in table.get(site.symbol, ()))


def function_at(text, start):
    """The name of the function, initialiser or property that contains a place, as far as the layout
    shows it."""
    name = ""
    for line in text[:start].splitlines():
        match = DECLARATION.match(line)
        if match and (len(line) - len(line.lstrip())) <= 4:
            name = match[1] or ("init" if "init" in line else "subscript")
    return name


def rewrite(path, text, first, excluded=frozenset()):
    """The copy of a file, the declarations of its operators, and its mutants, numbered from
    `first`.

    `excluded`: lines whose operators are not changed, because the compiler refuses the copy.
    """
    parts, declarations, mutants, at, number, seen = [], [], [], 0, first, {}
    for site in sites(text):
        row = text.count("\n", 0, site.start) + 1
        if row in excluded:
            continue
        numbers = list(range(number, number + len(site.becomes)))
        number += len(site.becomes)
        begin, finish = text.rfind("\n", 0, site.start) + 1, text.find("\n", site.end)
        parts.append(text[at : site.start])
        at = site.end
        if site.kind == "bool":
            parts.append(f"mutantBool({numbers[0]}, {site.symbol})")
        else:
            name = site.symbol + code_of(numbers[0])
            parts.append(name)
            declarations.append(declaration(site, name, numbers))
        line = " ".join(text[begin:finish].split())
        function = function_at(text, site.start)
        for index, (operator, other) in zip(numbers, site.becomes, strict=False):
            if other is None:
                literal = re.match(r"\s*[0-9][0-9_]*", text[site.end :])
                changed = text[begin : site.start] + text[site.end + literal.end() : finish]
            else:
                changed = text[begin : site.start] + other + text[site.end : finish]
            mutated = " ".join(changed.split())
            key = (function, line, mutated)
            seen[key] = seen.get(key, 0) + 1
            known = function if seen[key] == 1 else f"{function}#{seen[key]}"
            mutants.append(SwiftMutant(path, known, row, line, mutated, operator, index))
    parts.append(text[at:])
    return "".join(parts), declarations, mutants
