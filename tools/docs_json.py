"""The page on JSON and the JSON Schema, from the records."""

from __future__ import annotations

import ast
import json
from dataclasses import fields

import calibrant as cal
from calibrant.results.schema import json_schema, meanings
from docs_tables import table


def schema() -> str:
    """The JSON Schema, one line per kind of record."""
    found = json_schema()
    kinds = found.pop("$defs")
    outer, lines = json.dumps(found, indent=1, ensure_ascii=False), [
        f"  {json.dumps(name)}: {json.dumps(each, ensure_ascii=False)}" for name, each in kinds.items()
    ]  # fmt: skip
    return outer.removesuffix("\n}") + ',\n "$defs": {\n' + ",\n".join(lines) + "\n }\n}\n"


class _Unconstrained(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        constrained = isinstance(node.value, ast.Name) and node.value.id == "Annotated"
        return self.visit(node.slice.elts[0]) if constrained else self.generic_visit(node)


def without_constraints(annotation: str) -> str:
    """`Annotated[int, Within(0)]` as `int`."""
    if "Annotated" not in annotation:
        return annotation
    return ast.unparse(_Unconstrained().visit(ast.parse(annotation, mode="eval")))


def fields_of_answers() -> str:
    """What every answer holds, field by field."""
    answers = {name: getattr(cal.results, name) for name in json_schema()["$defs"] if name[0].isupper()}
    lines = [_about_json()]
    for name, record in answers.items():
        if issubclass(record, cal.results.Answer):
            about = (record.__doc__ or "").strip().split("\n")[0]
            kinds, texts = {f.name: without_constraints(str(f.type)) for f in fields(record)}, meanings(record)
            rows = ([f"`{field}`", f"`{kinds[field]}`".replace("|", "\\|"), texts[field]] for field in kinds)
            lines += ["", f"### {name}", "", about, "", *table(("field", "type", "meaning"), rows)]
    return "\n".join([*lines, ""])


def _about_json() -> str:
    summary = cal.ece([0, 1, 1], [0.2, 0.7, 0.9]).summary()
    summary["numbers"] = {key: round(value, 4) for key, value in summary["numbers"].items()}
    example = json.dumps(summary, indent=2, ensure_ascii=False)
    return f"""# JSON

`to_json`, `save("x.json")` and `--json` write the same document, and `from_json` reads it back. This page is made from the records by
`tools/make_docs.py`; [schema.json](schema.json), or `calibrant.results.json_schema()`, is the same as a JSON Schema (draft 2020-12), maps and
worlds included.

- `schema` is the version, now {cal.results.SCHEMA}. It is raised when an older reader could misread a file; a file of another version is refused.
- `kind` is the class of the record, also of each record inside.
- `summary`, of answers only, comes first: the question, the answer in words, the verdict (`calibrated` or `verdict`, where there is one), the
  main numbers under the keys of `to_dict()`, and the warnings. It is derived from the other fields and ignored when the file is read.
- `input`, of the command line only, is the file and the columns that were read; it is ignored as well.
- All other members are the fields of the record, listed below. Arrays are lists; infinity and NaN, which JSON lacks, are
  `{{"kind": "float", "value": "inf"}}`.

`measure --json` writes a list of such documents, and a report (`--report x.json`) one object with `schema` and, in its other members, the records,
each with its summary.

The summary of `ece([0, 1, 1], [0.2, 0.7, 0.9])`:

```json
{example}
```

## Answers"""
