"""Plain formulas of steps (``f32(A_scale / C_scale)``) → LaTeX for KaTeX. What is no formula becomes text."""

import re

from qlab.views.palette import FORMULA_ROLES, ROLES, role_of

_TOKEN = re.compile(r"\s*(Σ|[A-Za-z_][A-Za-z_0-9]*|\d+(?:\.\d+)?|[-+·*/^(),−])")
_SYMBOLS = {"·": r"\cdot ", "*": r"\cdot ", "-": "-", "−": "-", "+": "+"}
_SPECIAL = {
    "\\": r"\textbackslash ",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "^": r"\^{}",
    "~": r"\~{}",
}


class _NotAFormula(ValueError):
    pass


def latex(formula: str) -> str:
    """LaTeX of one formula, without the dollar signs.

    Names are coloured by what they are (a scale, a zero point, an accumulator); ``a / b`` outside of a function
    becomes a fraction.
    """
    try:
        parser = _Parser(_tokens(formula))
        result = parser.sum(top=True)
        if parser.rest:
            raise _NotAFormula
    except _NotAFormula:
        return _text(formula)
    return result


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
        while self._peek() in ("+", "-", "−") and self._peek():
            result += f" {_SYMBOLS[self._next()]} {self.product(top=top)}"
        return result

    def product(self, *, top: bool) -> str:
        result = self.power()
        while self._peek() in ("·", "*", "/") and self._peek():
            sign = self._next()
            right = self.power()
            if sign != "/":
                result = f"{result} {_SYMBOLS[sign]} {right}"
            elif top:
                result = rf"\dfrac{{{_bare(result)}}}{{{_bare(right)}}}"
            else:
                result = rf"{result} \,/\, {right}"
        return result

    def power(self) -> str:
        base = self.atom()
        if self._peek() == "^":
            self._next()
            return f"{base}^{{{self.atom()}}}"
        return base

    def atom(self) -> str:
        token = self._next()
        if token in ("-", "−"):
            return f"-{self.atom()}"
        if token == "Σ":
            return rf"\textstyle\sum {self.product(top=False)}"
        if token == "(":
            inner = self.sum()
            self._close()
            return rf"\left({inner}\right)"
        if token[0].isdigit():
            return token
        if not (token[0].isalpha() or token[0] == "_"):
            raise _NotAFormula
        if self._peek() == "(":
            self._next()
            arguments = [self.sum()]
            while self._peek() == ",":
                self._next()
                arguments.append(self.sum())
            self._close()
            joined = r",\, ".join(arguments)
            return rf"\operatorname{{{_escape(token)}}}\!\left({joined}\right)"
        return _name(token)

    def _close(self) -> None:
        if self._next() != ")":
            raise _NotAFormula


def _bare(inner: str) -> str:
    """Without the parentheses that a fraction bar makes needless."""
    if inner.startswith(r"\left(") and inner.endswith(r"\right)") and inner.count(r"\left(") == 1:
        return inner[len(r"\left(") : -len(r"\right)")]
    return inner


def _name(name: str) -> str:
    """``A_scale`` → A with the subscript "scale", coloured by its role."""
    base, _, subscript = name.partition("_")
    if len(base) <= 2 and subscript:
        words = subscript.replace("_", " ")
        shown = rf"{_letters(base)}_{{\text{{{words}}}}}"
    elif len(name) <= 2:
        shown = _letters(name)
    else:
        shown = rf"\text{{{name.replace('_', ' ')}}}"
    role = role_of(name)
    if role in FORMULA_ROLES and role != "code":
        return rf"\textcolor{{{ROLES[role].light}}}{{{shown}}}"
    return rf"\textcolor{{{ROLES['code'].light}}}{{{shown}}}" if len(name) == 1 else shown


def _letters(name: str) -> str:
    """One letter in italics, ``rA`` as r with the subscript A."""
    if len(name) == 2 and name[0].islower() and name[1].isupper():
        return rf"{name[0]}_{{{name[1]}}}"
    return name if len(name) == 1 else rf"\text{{{_escape(name)}}}"


def _text(words: str) -> str:
    # KaTeX has no Σ inside of \text.
    return r"\textstyle\sum ".join(rf"\text{{{_escape(part)}}}" if part else "" for part in words.split("Σ"))


def _escape(words: str) -> str:
    replaced = "".join(_SPECIAL.get(letter, letter) for letter in words.replace("\n", " "))
    return replaced.replace("<", r"\textless ").replace(">", r"\textgreater ").replace("`", "'")
