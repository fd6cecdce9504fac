"""Plain formulas of steps (``f32(A_scale / C_scale)``) → MathML, which browsers typeset and screen readers read.

MathML and not KaTeX: a table of formulas is drawn 100 ms faster, and an edit is to show its result within 200 ms.
"""

import re

from qlab.views.markup import text
from qlab.views.palette import role_of

_TOKEN = re.compile(r"\s*(Σ|[A-Za-z_][A-Za-z_0-9]*|\d+(?:\.\d+)?|[-+·*/^(),−])")
_SYMBOLS = {"·": "·", "*": "·", "-": "−", "−": "−", "+": "+"}


class _NotAFormula(ValueError):
    pass


def mathml(formula: str) -> str:
    """One ``<math>`` element; what is no formula becomes its text.

    Names are coloured by what they are (a scale, a zero point, an accumulator); ``a / b`` outside of a function
    becomes a fraction.
    """
    try:
        parser = _Parser(_tokens(formula))
        result = parser.sum(top=True)
        if parser.rest:
            raise _NotAFormula
    except _NotAFormula:
        result = _words(formula)
    return f'<math displaystyle="true"><mrow>{result}</mrow></math>'


def _tokens(formula: str) -> list[str]:
    tokens, position = [], 0
    stripped = formula.strip()
    while position < len(stripped):
        match = _TOKEN.match(stripped, position)
        if not match:
            raise _NotAFormula
        tokens.append(match[1])
        position = match.end()
    if not tokens:
        raise _NotAFormula
    return tokens


class _Parser:
    """Recursive descent over sum, product, power, atom."""

    def __init__(self, tokens: list[str]) -> None:
        self.rest = tokens

    def _next(self) -> str:
        if not self.rest:
            raise _NotAFormula
        return self.rest.pop(0)

    def _peek(self) -> str:
        return self.rest[0] if self.rest else ""

    def sum(self, *, top: bool = False) -> str:
        result = self.product(top=top)
        while self._peek() in _SYMBOLS and self._peek() not in "·*":
            result += f"<mo>{_SYMBOLS[self._next()]}</mo>{self.product(top=top)}"
        return result

    def product(self, *, top: bool) -> str:
        result = self.power(bare=top)
        while self._peek() in ("·", "*", "/"):
            sign = self._next()
            right = self.power(bare=top and sign == "/")
            if sign != "/":
                result = f"{_parenthesized(result)}<mo>·</mo>{right}"
            elif top:
                result = f"<mfrac><mrow>{result}</mrow><mrow>{right}</mrow></mfrac>"
            else:
                result = f"{result}<mo>/</mo>{right}"
        return _parenthesized(result)

    def power(self, *, bare: bool = False) -> str:
        base = self.atom(bare=bare)
        if self._peek() == "^":
            self._next()
            base = _parenthesized(base)
            return f"<msup><mrow>{base}</mrow><mrow>{self.atom()}</mrow></msup>"
        return base

    def atom(self, *, bare: bool = False) -> str:
        token = self._next()
        if token in ("-", "−"):
            return f"<mo>−</mo>{self.atom()}"
        if token == "Σ":
            return f'<mo largeop="false">∑</mo>{self.product(top=False)}'
        if token == "(":
            inner = self.sum()
            self._close()
            return _Sum(inner) if bare else _group(inner)
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if not (token[0].isalpha() or token[0] == "_"):
            raise _NotAFormula
        if self._peek() == "(":
            self._next()
            arguments = [self.sum()]
            while self._peek() == ",":
                self._next()
                arguments.append(self.sum())
            self._close()
            joined = '<mo separator="true">,</mo>'.join(arguments)
            return f"<mtext>{text(token)}</mtext>{_group(joined)}"
        return _name(token)

    def _close(self) -> None:
        if self._next() != ")":
            raise _NotAFormula


class _Sum(str):
    """A sum that stood in parentheses, without them: a fraction bar makes them needless."""

    __slots__ = ()


def _parenthesized(inner: str) -> str:
    return _group(inner) if isinstance(inner, _Sum) else inner


def _group(inner: str) -> str:
    return f'<mo stretchy="false">(</mo>{inner}<mo stretchy="false">)</mo>'


def _name(name: str) -> str:
    """``A_scale`` → A with the subscript "scale", coloured by its role; ``rA`` → r with the subscript A."""
    base, _, subscript = name.partition("_")
    if len(base) <= 2 and subscript:
        words = subscript.replace("_", " ")
        shown = f"<msub>{_letters(base)}<mtext>{text(words)}</mtext></msub>"
    elif len(name) <= 2:
        shown = _letters(name)
    else:
        shown = f"<mtext>{text(name.replace('_', ' '))}</mtext>"
    role = role_of(name)
    coloured = role != "code" or len(name) == 1
    return f'<mrow class="c-{role}">{shown}</mrow>' if coloured else shown


def _letters(name: str) -> str:
    if len(name) == 2 and name[0].islower() and name[1].isupper():
        return f"<msub><mi>{name[0]}</mi><mi>{name[1]}</mi></msub>"
    return f"<mi>{text(name)}</mi>"


def _words(words: str) -> str:
    return f"<mtext>{text(words)}</mtext>"
