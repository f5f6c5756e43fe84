"""Metrics that a config derives from others: arithmetic on their names, and nothing else.

What promptfoo gives to a mathematics library is read here by Python's own parser and worked out node by node: numbers,
names, the usual operators and a few functions. There are no attributes, no calls of anything else, no powers without
end.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_mapping

LONGEST = 1000
_LARGEST_POWER = 1000.0

_BINARY: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: lambda a, b: math.pow(a, b) if abs(b) <= _LARGEST_POWER else math.nan,
}
_COMPARED: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_NODES = (
    *(ast.Name, ast.Load, ast.Constant, ast.IfExp, ast.BoolOp, ast.And, ast.Or, ast.Compare),
    *(ast.BinOp, ast.UnaryOp, ast.USub, ast.UAdd, ast.Not, *_BINARY, *_COMPARED),
)
_FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "abs": math.fabs,
    "ceil": math.ceil,
    "exp": math.exp,
    "floor": math.floor,
    "log": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "max": lambda *n: max(n),
    "mean": lambda *n: sum(n) / len(n),
    "min": lambda *n: min(n),
    "mod": operator.mod,
    "pow": _BINARY[ast.Pow],
    "round": lambda number, places=0: _rounded(number, int(places)),
    "sqrt": math.sqrt,
    "sum": lambda *n: sum(n),
}
_CONSTANTS: Mapping[str, float] = {"pi": math.pi, "e": math.e, "true": 1.0, "false": 0.0}
_CHOICE = re.compile(r"^([^?]+)\?([^:?]+):(.+)$", re.DOTALL)


class Derived:
    """Metrics of a column that are worked out from its others, in the order in which a config has them.

    Args:
        definitions: What a config has under `derivedMetrics`; what is no expression is left out, see `problem`.
    """

    def __init__(self, definitions: object) -> None:
        self._formulas: list[tuple[str, ast.expr]] = []
        for item in (
            cast("Sequence[Any]", definitions) if isinstance(definitions, (list, tuple)) else ()
        ):
            if is_mapping(item) and not problem(item):
                fields = item
                self._formulas.append((str(fields["name"]), _parsed(str(fields["value"]))))

    def of(self, named: Mapping[str, float], count: int) -> dict[str, float]:
        """The derived metrics; one that cannot be worked out from these is left out.

        Args:
            named: The column's metrics, summed.
            count: How many rows the column has: `__count`.
        """
        known = {**named, "__count": float(count)}
        derived: dict[str, float] = {}
        for name, formula in self._formulas:
            try:
                value = float(_value(formula, known))
            except (ArithmeticError, ValueError, KeyError, TypeError):
                continue
            if math.isfinite(value):
                # A later metric can be made of this one.
                known[name] = derived[name] = value
        return derived


def problem(item: Mapping[str, Any]) -> str:
    """What keeps a derived metric from being worked out; empty for nothing."""
    name, value = item.get("name"), item.get("value")
    if not name or not isinstance(value, (str, int, float)):
        return "a derived metric needs a name and a value"
    try:
        _known(_parsed(str(value)))
    except UsageError as error:
        return f"derived metric '{name}': {error.message}"
    return ""


def _parsed(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise UsageError(f"its value is longer than {LONGEST} characters")
    if choice := _CHOICE.match(text):
        if_, then, else_ = (part.strip() for part in choice.groups())
        text = f"({then}) if ({if_}) else ({else_})"
    try:
        # A power is written with ^ there, which Python takes for an exclusive or.
        return ast.parse(text.strip().replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(f"{text!r} is not arithmetic") from None


def _known(node: ast.expr) -> None:
    """Raises a UsageError where there is something in it that is not worked out here."""
    for inner in ast.walk(node):
        good = isinstance(inner, _NODES)
        if isinstance(inner, ast.Constant):
            good = isinstance(inner.value, (int, float))
        if isinstance(inner, ast.Call):
            called = inner.func.id if isinstance(inner.func, ast.Name) else ""
            good = called in _FUNCTIONS and not inner.keywords
        if not good:
            raise UsageError(f"{ast.unparse(inner)!r} is not arithmetic")


def _value(node: ast.expr, known: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name):
            # A metric that is called `e` or `pi` goes before the constant.
            return known[name] if name in known else _CONSTANTS[name]
        case ast.BinOp(left, op, right):
            return _BINARY[type(op)](_value(left, known), _value(right, known))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, known)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return float(not _value(operand, known))
        case ast.UnaryOp(operand=operand):
            return _value(operand, known)
        case ast.IfExp(test, body, orelse):
            return _value(body if _value(test, known) else orelse, known)
        case ast.BoolOp(op, values):
            every = isinstance(op, ast.And)
            truths = (bool(_value(value, known)) for value in values)
            return float(all(truths) if every else any(truths))
        case ast.Compare(left, [op], [right]):
            return float(_COMPARED[type(op)](_value(left, known), _value(right, known)))
        case ast.Call(func=ast.Name(id=name), args=args):
            return float(_FUNCTIONS[name](*(_value(arg, known) for arg in args)))
        case _:
            raise ValueError(ast.unparse(node))


def _rounded(number: float, places: int) -> float:
    """Half away from zero, as on paper; Python's own goes to the even digit."""
    scale = 10.0**places
    return math.copysign(math.floor(abs(number) * scale + 0.5) / scale, number)
