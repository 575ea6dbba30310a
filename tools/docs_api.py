"""Pages of the API reference: every public name with every parameter, from signatures and docstrings.

They are made when the site is built and not kept in the repository.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import calibrant as cal
from calibrant import cli
from calibrant._names import HOMES
from calibrant.methods import methods
from calibrant.results import Record

SOURCE = Path(cal.__file__).parent
EMPTY = inspect.Parameter.empty
BASES = {*dir(cal.results), *dir(cal.extend), *dir(cal.maps), *dir(cal.score), *dir(cal.simulate)}
"""Public classes: what others inherit from them is documented once."""


@dataclass(frozen=True)
class Parameter:
    """One parameter: its name as users pass it, its type and its default, both as text."""

    name: str
    annotation: str = ""
    default: str = ""


@dataclass(frozen=True)
class Entry:
    """One documented thing."""

    path: str
    doc: str
    call: str = ""
    parameters: tuple[Parameter, ...] = ()
    parts: tuple[Entry, ...] = ()
    also: str = ""
    """another path of the same thing"""

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring in one line."""
        return " ".join(self.doc.split("\n\n")[0].split())


def shown(annotation: Any) -> str:
    """A type as readers know it: without constraints and module names."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"Annotated\[([^\[\],]+(?:\[[^\]]*\])?),.*\]$", r"\1", text)
    return re.sub(r"\b(?:\w+\.)+(\w)", r"\1", text)


def signature_of(thing: Any) -> tuple[str, tuple[Parameter, ...]]:
    """A call as it is written, and its parameters."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "", ()
    kept = [p for p in found.parameters.values() if p.name not in ("self", "cls")]
    bare = [p.replace(annotation=EMPTY) for p in kept]
    stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"} if (p := kept[0] if kept else None) else {}
    parameters = tuple(
        Parameter(
            stars.get(p.kind, "") + p.name,
            "" if p.annotation in (EMPTY, "Any", Any) else shown(p.annotation),
            "" if p.default is EMPTY else repr(p.default),
        )
        for p in kept
    )
    return str(found.replace(parameters=bare, return_annotation=EMPTY)), parameters


def entry_of(path: str, thing: Any) -> Entry:
    """A function, a class with its methods, or a value."""
    doc = inspect.getdoc(thing) or ""
    if inspect.isclass(thing):
        if issubclass(thing, Record) and is_dataclass(thing):
            own = tuple(Parameter(f.name, shown(str(f.type))) for f in fields(thing))
            return Entry(path, doc, "", own, tuple(_methods(path, thing)))
        return Entry(path, doc, *signature_of(thing), tuple(_methods(path, thing)))
    if callable(thing):
        return Entry(path, doc, *signature_of(thing))
    return Entry(path, "")


def _methods(path: str, owner: type) -> Iterator[Entry]:
    """Public methods of a class, without those of its public bases, which are documented there."""
    bases = [each for each in owner.__mro__[1:] if each.__name__ in BASES]
    common = {name for each in bases for name in dir(each)}
    for name, raw in sorted(inspect.getmembers_static(owner)):
        thing = getattr(raw, "__func__", raw)
        if name.startswith("_") or name in common or not inspect.isfunction(thing):
            continue
        if thing.__module__.startswith("calibrant") and inspect.getdoc(thing):
            yield Entry(f"{path}.{name}", inspect.getdoc(thing) or "", *signature_of(thing))


def entries_in(file: Path, names: Iterable[str]) -> Iterator[Entry]:
    """Things of a module that needs a library which may be absent: read, not imported."""
    tree, module = ast.parse(file.read_text(encoding="utf-8")), f"calibrant.{file.parent.name}.{file.stem}"
    wanted = set(names)
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in wanted:
            inner = [each for each in node.body if isinstance(each, ast.FunctionDef)]
            made = next((each for each in inner if each.name == "__init__"), None)
            taken = node if isinstance(node, ast.FunctionDef) else made
            parts = tuple(_read(f"{module}.{node.name}.{each.name}", each) for each in inner if each.name[0] != "_")
            yield Entry(f"{module}.{node.name}", ast.get_docstring(node) or "", *_call(taken), parts)


def _read(path: str, node: ast.FunctionDef) -> Entry:
    return Entry(path, ast.get_docstring(node) or "", *_call(node))


def _call(node: ast.FunctionDef | None) -> tuple[str, tuple[Parameter, ...]]:
    if node is None:
        return "", ()
    taken = node.args
    taken.posonlyargs = [a for a in taken.posonlyargs if a.arg not in ("self", "cls")]
    taken.args = [a for a in taken.args if a.arg not in ("self", "cls")]
    named = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs]
    first = [None] * (len(taken.posonlyargs + taken.args) - len(taken.defaults))
    values = [*first, *taken.defaults, *taken.kw_defaults]
    parameters = [
        Parameter(a.arg, shown(ast.unparse(a.annotation)) if a.annotation else "", ast.unparse(v) if v else "")
        for a, v in zip(named, values, strict=True)
    ]
    for star, each in (("*", taken.vararg), ("**", taken.kwarg)):
        parameters += [Parameter(star + each.arg)] if each else []
    for each in [*named, taken.vararg, taken.kwarg]:
        if each:
            each.annotation = None
    return f"({ast.unparse(taken)})", tuple(parameters)


SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def plain(text: str) -> str:
    """Prose for Markdown: what looks like HTML is text."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)


def described(body: str) -> dict[str, str]:
    """Names with their text, of a section such as Parameters."""
    found: dict[str, str] = {}
    for heading, text in re.findall(r"^(\S.*)\n((?:[ \t]+.*\n?|\n(?=[ \t]))*)", body + "\n", re.MULTILINE):
        for name in heading.split(","):
            found[name.split(":")[0].strip()] = inspect.cleandoc(text)
    return found


def rendered(entry: Entry, level: int = 2) -> list[str]:
    """An entry as Markdown."""
    head, *sections = SECTION.split(entry.doc)
    bodies = dict(zip(sections[::2], sections[1::2], strict=True))
    anchor = entry.path.removeprefix("calibrant.")
    lines = [f"{'#' * level} `{entry.name}` {{ #{anchor} }}", ""]
    if entry.call:
        lines += ["```python", _wrapped(f"{entry.path.replace('calibrant.', 'cal.', 1) if level == 2 else entry.name}", entry.call), "```", ""]  # fmt: skip
    if entry.also:
        lines += [
            f'<span id="{entry.also.removeprefix("calibrant.")}">Also `{entry.also.replace("calibrant.", "cal.", 1)}`.</span>',
            "",
        ]
    lines += [plain(head.strip()), ""]
    texts = described(bodies.pop("Parameters", ""))
    if entry.parameters and (level == 2 or texts):
        lines += [f"**{'Parameters' if entry.call else 'Fields'}**", "", *map(_item(texts), entry.parameters), ""]
    for title, body in bodies.items():
        lines += [f"**{title}**", "", *_section(title, body), ""]
    for part in entry.parts:
        lines += rendered(part, level + 1)
    return lines


def _wrapped(name: str, call: str) -> str:
    """A call in one line, or an argument per line where that is longer than a phone is wide."""
    if len(name + call) <= 60:
        return name + call
    inner = re.split(r", (?![^(\[]*[)\]])", call[1:-1])
    return "\n".join([f"{name}(", *(f"    {each}," for each in inner), ")"])


def _item(texts: dict[str, str]) -> Any:
    def item(each: Parameter) -> str:
        kind = (
            f" (`{each.annotation}`{f', default `{each.default}`' if each.default else ''})" if each.annotation else ""
        )
        kind = kind or (f" (default `{each.default}`)" if each.default else "")
        text = texts.get(each.name) or texts.get(each.name.lstrip("*")) or texts.get("*" + each.name, "")
        return f"- **`{each.name}`**{kind}" + (f": {plain(' '.join(text.split()))}" if text else "")

    return item


def _section(title: str, body: str) -> list[str]:
    body = body.strip("\n")
    if title == "Examples":
        return ["```pycon", inspect.cleandoc(body), "```"]
    facts = re.findall(r"^([A-Z][\w ]*): (.*(?:\n(?![A-Z][\w ]*: ).*)*)", body, re.MULTILINE)
    if title == "Notes" and facts:
        return [f"- {name}: {plain(' '.join(text.split()))}" for name, text in facts]
    named = described(body)
    if title in ("Returns", "Raises", "Attributes", "Yields") and all(named.values()):
        return [f"- **`{name}`**: {plain(' '.join(text.split()))}" for name, text in named.items()]
    return [plain(body)]


def of_package(*packages: str) -> list[Entry]:
    """Public names of `calibrant` that these packages define."""
    return [
        entry_of(f"calibrant.{name}", getattr(cal, name))
        for name, home in sorted(HOMES.items())
        if home.split(".")[0] in packages
    ]


def of_module(module: Any) -> list[Entry]:
    """Public functions, classes and values of a module."""
    names = getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]
    things = {name: getattr(module, name) for name in sorted(set(names)) if not inspect.ismodule(getattr(module, name))}
    return [
        entry_of(f"{module.__name__}.{name}", each)
        for name, each in things.items()
        if getattr(each, "__module__", "calibrant").startswith("calibrant") and inspect.getdoc(each)
    ]


def of_clinical() -> list[Entry]:
    """The numbers of clinical validation, which the register knows."""
    found = [each.function for each in methods("clinical estimator").values()]
    return [entry_of(f"{each.__module__}.{each.__name__}", each) for each in found]


def of_libraries() -> list[Entry]:
    """What needs another library."""
    named = {
        "adapt/sklearn.py": "CalibratedModel MapTransformer",
        "adapt/scorers.py": "scorer scorers",
        "adapt/torch.py": "to_module CalibrationModule",
        "adapt/meter.py": "Meter",
        "adapt/losses.py": "brier_loss log_loss dawid_sebastiani_loss BrierLoss LogLoss DawidSebastianiLoss MMCELoss SKCELoss CanonicalLoss",
        "adapt/error_losses.py": "mmce_loss skce_loss canonical_loss",
        "adapt/onnx.py": "to_onnx",
        "engines/spark.py": "use_this_python scan apply",
        "engines/dask.py": "scan apply",
    }
    return [entry for file, names in named.items() for entry in entries_in(SOURCE / file, names.split())]


def of_results() -> list[Entry]:
    """Records, and what all of them can do; maps and worlds are on pages of their own."""
    kept = [
        "Answer",
        *sorted(n for n in dir(cal.results) if n[0].isupper() and not n.endswith(("Map", "World", "Curve", "Scores"))),
    ]
    things = {name: getattr(cal.results, name) for name in dict.fromkeys(kept) if hasattr(cal.results, name)}
    return [entry_of(f"calibrant.results.{name}", each) for name, each in things.items() if inspect.isclass(each)] + [
        entry_of(f"calibrant.results.{name}", getattr(cal.results, name)) for name in ("json_schema", "to_frame")
    ]


GROUPS: dict[str, tuple[str, str, Any]] = {
    "verbs": ("Questions", "One function per question; each returns an answer that prints, plots and is saved.", lambda: of_package("verbs")),
    "data": ("Predictions, bins and states", "What goes in, and what can be kept in place of rows.", lambda: of_package("predictions", "files", "examples", "bins", "state", "monitor", "problems")),
    "estimators": ("Estimators", "Every calibration error, and the numbers of clinical validation.", lambda: of_package("estimate") + of_clinical()),
    "tests": ("Tests", "Could a calibrated model have made these predictions?", lambda: of_package("detect") + of_module(cal.detect)),
    "intervals": ("Intervals and bands", "How sure are we?", lambda: of_package("infer")),
    "maps": ("Maps", "Recipes (`Platt()`) are fitted to predictions and give maps (`LogOddsMap`).", lambda: of_package("maps") + of_module(cal.maps)),
    "scores": ("Proper scores", "Losses that are best, on average, for a model that predicts what it believes.", lambda: of_package("score") + of_module(cal.score)),
    "regression": ("Forecasts of a number", "All that is made for forecasts of a real number.", lambda: of_module(cal.regression)),
    "simulate": ("Worlds", "Simulated predictions whose true calibration error is known.", lambda: of_module(cal.simulate)),
    "plot": ("Plots and reports", "Answers drawn with matplotlib, or written as one file.", lambda: of_module(cal.plot) + of_module(cal.report)),
    "results": ("Results", "What answers hold, and what every answer can do. [JSON](../json.md) has every field with its meaning.", of_results),
    "libraries": ("Inside other libraries", "scikit-learn, PyTorch, ONNX, Spark and Dask.", of_libraries),
    "extend": ("Methods of your own", "What other packages build on.", lambda: of_module(cal.extend)),
}  # fmt: skip
"""Pages of the reference: title, a sentence, and what is on them."""


def unique(entries: Iterable[Entry]) -> list[Entry]:
    """Each thing once, with the other path under which it is public."""
    found: dict[tuple[str, str, str], Entry] = {}
    for each in entries:
        known = found.setdefault((each.name, each.doc, each.call), each)
        if known.path != each.path:
            found[each.name, each.doc, each.call] = replace(known, also=each.path)
    return list(found.values())


@cache
def pages() -> dict[str, str]:
    """Every page of the reference by its file name."""
    found = {key: (title, about, unique(make())) for key, (title, about, make) in GROUPS.items()}
    made = {}
    for key, (title, about, entries) in found.items():
        made[f"{key}.md"] = "\n".join(
            [f"# {title}", "", about, "", *(line for each in entries for line in rendered(each))]
        )
    made["commands.md"] = commands()
    made["index.md"] = index(found)
    return made


def index(found: dict[str, tuple[str, str, list[Entry]]]) -> str:
    """All names with what they answer, by page."""
    lines = [
        "# API reference",
        "",
        "`import calibrant as cal`. Labels come first, options by keyword; every call is checked.",
        "",
    ]
    lines += ["The [command line](commands.md) has the same verbs.", ""]
    for key, (title, about, entries) in found.items():
        lines += [f"## [{title}]({key}.md)", "", about, ""]
        for each in entries:
            lines.append(
                f"- [`{each.path.replace('calibrant.', 'cal.', 1)}`]({key}.md#{each.path.removeprefix('calibrant.')}): {plain(each.summary)}"
            )
        lines.append("")
    return "\n".join(lines)


def commands() -> str:
    """The command line, from its own help."""
    lines = [
        "# Command line",
        "",
        "`calibrant COMMAND --help` prints the same. In short: [command line](../command_line.md).",
        "",
    ]
    for name, command in cli.main.commands.items():
        context = cli.main.context_class(command, info_name=f"calibrant {name}")
        lines += [f"## `{name}` {{ #{name} }}", "", "```text", command.get_help(context).rstrip(), "```", ""]
    return "\n".join(lines)
