"""What holds for the whole package: sizes of files and functions, and documented parameters."""

import ast
import inspect
import re
from pathlib import Path

import calibrant as cal

SOURCE = Path(cal.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
NAMESPACES = ("regression", "maps", "simulate", "detect", "score", "plot", "report")


def functions(tree):
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def code_lines(function):
    """Lines of a function without its docstring."""
    documented = isinstance(function.body[0], ast.Expr) and isinstance(function.body[0].value, ast.Constant)
    doc = function.body[0].end_lineno - function.body[0].lineno + 1 if documented else 0
    return function.end_lineno - function.lineno + 1 - doc


def test_no_file_is_above_400_lines():
    sizes = {str(file.relative_to(SOURCE)): len(file.read_text(encoding="utf-8").splitlines()) for file in FILES}
    assert {name: size for name, size in sizes.items() if size > 400} == {}


def test_no_function_is_above_60_lines():
    found = {
        f"{file.relative_to(SOURCE)}:{node.name}": code_lines(node)
        for file in FILES
        for node in functions(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert {name: size for name, size in found.items() if size > 60} == {}


def public():
    """Public functions and classes by the name users write."""
    for name in sorted(set(cal.__all__)):
        yield f"cal.{name}", getattr(cal, name)
    for space in NAMESPACES:
        module = getattr(cal, space)
        for name in sorted(set(dir(module))):
            if not name.startswith("_"):
                yield f"cal.{space}.{name}", getattr(module, name)


def undocumented(thing):
    """Parameters that the docstring does not name."""
    parameters = [p for p in inspect.signature(thing).parameters.values() if p.name not in ("self", "cls")]
    text = inspect.getdoc(thing) or ""
    section = re.search(r"Parameters\n-+\n(.*?)(?=\n[A-Z]\w+\n-+\n|\Z)", text, re.DOTALL)
    headings = re.findall(r"^(\S.*)$", section[1], re.MULTILINE) if section else []
    named = {name.strip().lstrip("*") for heading in headings for name in heading.split(",")}
    return [p.name for p in parameters if p.name not in named]


CALLABLES = {
    name: thing
    for name, thing in public()
    if (inspect.isfunction(thing) or inspect.isclass(thing))
    and getattr(thing, "__module__", "").startswith("calibrant")
    and not (inspect.isclass(thing) and issubclass(thing, (cal.results.Record, Exception)))
}


def test_every_public_parameter_is_documented():
    taking = {name: each for name, each in CALLABLES.items() if takes_something(each)}
    assert len(taking) > 150
    assert {name: found for name, each in taking.items() if (found := undocumented(each))} == {}


def takes_something(thing):
    return not (inspect.isclass(thing) and thing.__init__ is object.__init__)
