"""What all studies share: their options, parts that are kept, pages with published numbers beside ours, and `RESULTS.md`."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from calibrant.problems import InputError
from calibrant.progress import reported
from studies.register import STUDIES

HERE = Path(__file__).parent
RESULTS = HERE / "results"


@cache
def published(paper: str) -> dict[str, Any]:
    """The numbers of a paper, by table or figure."""
    return json.loads((HERE / "published" / f"{paper.lower()}.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Row:
    """One number, ours beside the published one."""

    item: str
    """table or figure, as `papers.json` names it"""
    what: str
    ours: float
    published: float | None = None
    error: float | None = None
    """standard error of the difference: of our simulation, and of theirs where they give it"""

    @property
    def distance(self) -> float | None:
        """The difference in standard errors."""
        if self.published is None or not self.error:
            return None
        return (self.ours - self.published) / self.error


@dataclass
class Page:
    """What a study found."""

    title: str
    text: str = ""
    """Markdown below the title"""
    rows: list[Row] = field(default_factory=list)
    digits: int = 3
    """of the numbers in the rows"""
    figures: dict[str, Any] = field(default_factory=dict)
    """matplotlib figures by their caption, saved as SVG"""
    data: Any = None
    """what is also saved as JSON, for those who read it"""

    @classmethod
    def of(cls, text: str, **more: Any) -> Page:
        """A page that is written in full, its title in the first line."""
        title, _, rest = text.partition("\n")
        return cls(title.removeprefix("# "), rest, **more)


@dataclass
class Job:
    """One run of a study: its options, and the parts that are done."""

    name: str
    quick: bool = False
    seed: int = 0
    data: tuple[Path, ...] = ()
    kept: Path | None = None
    """finished parts, one per line"""
    folder: Path | None = None
    """where pages are written"""
    progress: Any = False
    done: dict[str, Any] = field(default_factory=dict)

    def file(self, name: str) -> Path:
        """A file of the folder that `--data` gives."""
        found = [folder / name for folder in self.data if (folder / name).is_file()]
        if not found:
            missing = "no folder was given" if not self.data else f"{self.data[0]} has no {name}"
            raise InputError("data", f"must be a folder with {name}", missing, "Pass --data FOLDER")
        return found[0]

    def has(self, *names: str) -> bool:
        """Does the folder of `--data` hold these files?"""
        return all(any((folder / name).is_file() for folder in self.data) for name in names)

    def parts(self, function: Callable[..., Any], cases: Mapping[str, Sequence[Any]], cores: int = 1) -> dict[str, Any]:
        """`function(*case)` for every case; finished ones are kept, so that a run that was cut can be resumed.

        Results go through JSON, also those that are not read back: arrays become lists. Cases carry their own seeds, so
        the order and the number of processes change nothing.
        """
        open_cases = {key: case for key, case in cases.items() if key not in self.done}
        with reported(self.progress, self.name) as report:
            before = len(cases) - len(open_cases)
            for count, (key, value) in enumerate(_computed(function, open_cases, 1 if self.quick else cores), 1):
                self._keep(key, value)
                report(before + count, len(cases))
        return {key: self.done[key] for key in cases}

    def _keep(self, key: str, value: Any) -> None:
        line = json.dumps([key, value], default=lambda each: each.tolist())
        self.done[key] = json.loads(line)[1]
        if self.kept is not None:
            with self.kept.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


def _computed(
    function: Callable[..., Any], cases: Mapping[str, Sequence[Any]], cores: int
) -> Iterable[tuple[str, Any]]:
    if cores == 1 or len(cases) < 2:
        yield from ((key, function(*case)) for key, case in cases.items())
        return
    from joblib import Parallel, delayed

    tasks = (delayed(function)(*case) for case in cases.values())
    yield from zip(cases, Parallel(n_jobs=min(cores, os.cpu_count() or 1), return_as="generator")(tasks), strict=True)


def run(
    name: str,
    *,
    quick: bool = False,
    seed: int | None = None,
    data: tuple[Path, ...] = (),
    output: Path | None = None,
    resume: bool = False,
    progress: Any = False,
) -> str:
    """Run a study and return its page; written to `output`, to `studies/results` unless it is quick."""
    if name not in STUDIES:
        raise InputError(
            "study", f"must be one of {', '.join(STUDIES)}", f"it is {name!r}", "See calibrant study --list"
        )
    about = STUDIES[name]
    if about.data and not about.data.startswith("(") and not data and not quick:
        raise InputError("data", f"must be {about.data}", "none was given", "Pass --data PATH")
    folder = output or (None if quick else RESULTS)
    seed = about.seed if seed is None else seed
    kept = None if folder is None or quick else folder / f".{name}_{seed}.jsonl"
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    job = Job(name, quick, seed, data, kept, folder, progress, _resumed(kept, resume))
    start, again = cpu_seconds(), bool(job.done)
    page = importlib.import_module(f"studies.{name}").run(job)
    text = write(page, job, folder, cpu_seconds() - start, again)
    if kept is not None:
        kept.unlink(missing_ok=True)
    if folder == RESULTS:
        (HERE / "RESULTS.md").write_text(overview(), encoding="utf-8")
    return text


def cpu_seconds() -> float:
    """Of this process and its finished children: what a study takes whatever else runs beside it."""
    return sum(os.times()[:4])


def _resumed(kept: Path | None, resume: bool) -> dict[str, Any]:
    """The parts of a run that was cut; without `resume` it starts anew."""
    if kept is None or not kept.exists():
        return {}
    if not resume:
        kept.unlink()
        return {}
    found = {}
    for line in kept.read_text(encoding="utf-8").splitlines():
        try:
            key, value = json.loads(line)
        except ValueError:  # the line that was being written
            continue
        found[key] = value
    return found


def write(page: Page, job: Job, folder: Path | None, seconds: float, again: bool = False) -> str:
    """The page as Markdown, saved with its figures and rows if a folder is given."""
    names = {title: f"{job.name}{'' if k == 0 else f'_{k + 1}'}.svg" for k, title in enumerate(page.figures)}
    took = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"
    took += " of CPU time" + " after a run that was cut and resumed" * again
    head = (
        ""
        if f"`calibrant study {job.name}`" in page.text
        else f"Written by `calibrant study {job.name}`, seed {job.seed}, in {took}."
    )
    parts = [f"# {page.title}", head, page.text.strip()]
    if page.rows:
        parts.append(beside(page))
    parts += [f"![{title}]({name})" for title, name in names.items()]
    text = "\n\n".join(part for part in parts if part) + "\n"
    if folder is not None:
        _save(page, names, folder)
        (folder / f"{job.name}.md").write_text(text, encoding="utf-8")
        if page.rows:
            record = {"seed": job.seed, "seconds": round(seconds, 1), "rows": [asdict(row) for row in page.rows]}
            (folder / f"{job.name}.rows.json").write_text(
                json.dumps(record, indent=0, ensure_ascii=False) + "\n", encoding="utf-8"
            )
        if page.data is not None:
            (folder / f"{job.name}.json").write_text(
                json.dumps(page.data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
            )
    _closed(page)
    return text


def _save(page: Page, names: Mapping[str, str], folder: Path) -> None:
    """Figures as SVG that are the same for the same numbers."""
    if not names:
        return
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "calibrant", "svg.fonttype": "none"}):
        for title, figure in page.figures.items():
            figure.savefig(folder / names[title], metadata={"Date": None, "Creator": None})


def _closed(page: Page) -> None:
    if page.figures:
        import matplotlib.pyplot as plt

        for figure in page.figures.values():
            plt.close(figure)


def beside(page: Page) -> str:
    """Ours beside the published numbers."""
    number = f"{{:.{page.digits}f}}".format
    body = [
        (
            row.item,
            row.what,
            number(row.ours),
            "–" if row.published is None else number(row.published),
            "–" if row.published is None else f"{row.ours - row.published:+.{page.digits}f}",
            "–" if row.distance is None else f"{row.distance:+.1f}",
        )
        for row in page.rows
    ]
    heads = ("of", "what", "ours", "published", "difference", "in standard errors")
    return "## Ours beside the published\n\n" + table(heads, body)


def table(heads: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def figure(panels: int = 1, size: tuple[float, float] = (4.2, 3.4), columns: int = 4) -> tuple[Any, list[Any]]:
    """A figure and its axes, drawn as all plots of the library are."""
    from calibrant.plot.axes import new_axes

    axes = list(new_axes(panels, size, columns))
    return axes[0].figure, axes


def listed() -> str:
    """The register as a table."""
    rows = []
    for name, about in STUDIES.items():
        needs = ", ".join(filter(None, [about.data, about.extra and f"the extra {about.extra!r}"]))
        rows.append((name, about.shows, "; ".join(about.makes), f"{about.minutes:g}", needs))
    return columns(("study", "shows", "makes", "minutes", "needs"), rows)


def columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns for the terminal."""
    lines = [heads, *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(heads))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def papers() -> dict[str, dict[str, str]]:
    """All tables and figures of the four papers: what they show, a note, and the fact why one is not, or only partly, made."""
    return json.loads((HERE / "papers.json").read_text(encoding="utf-8"))


def makers() -> dict[str, list[str]]:
    """The studies that make each table or figure."""
    found: dict[str, list[str]] = {}
    for name, about in STUDIES.items():
        for item in about.makes:
            found.setdefault(item, []).append(name)
    return found


def overview(folder: Path = RESULTS) -> str:
    """`RESULTS.md`: every table and figure of the papers, made, made in part, or why not."""
    items, made = papers(), makers()
    lines, counts = [], {"made": 0, "in part": 0, "not made": 0}
    records = {name: _recorded(name, folder) for name in STUDIES}
    for paper in ("P1", "P2", "P3", "P4"):
        rows = []
        for item, about in items.items():
            if not item.startswith(paper + " "):
                continue
            by = made.get(item, [])
            status = "not made" if not by else "in part" if about.get("fact") else "made"
            counts[status] += 1
            links = ", ".join(f"[{name}](results/{name}.md)" for name in by)
            rows.append(
                (
                    item.removeprefix(paper + " "),
                    about["shows"],
                    status,
                    links,
                    _agreement(item, by, records),
                    about.get("fact") or about.get("note", ""),
                )
            )
        heads = ("item", "shows", "status", "study", "ours beside published", "note")
        lines.append(f"## {paper}: {TITLES[paper]}\n\n{table(heads, rows)}")
    total = ", ".join(f"{count} {status}" for status, count in counts.items())
    return f"{HEAD.format(count=sum(counts.values()), total=total)}\n" + "\n\n".join(lines) + f"\n\n{_others(made)}\n"


TITLES = {
    "P1": "Nixon et al., Measuring Calibration in Deep Learning",
    "P2": "Roelofs et al., Mitigating Bias in Calibration Error Estimation",
    "P3": "Kängsepp, Valk & Kull, On the Usefulness of the Fit-on-the-Test View on Evaluating Calibration of Classifiers",
    "P4": "Gruber & Buettner, Better Uncertainty Calibration via Proper Scores",
}
HEAD = """# Every table and figure of the four papers

Written by `calibrant study`, from the register of studies (`studies/register.py`), the list of tables and figures
(`studies/papers.json`) and the recorded results (`studies/results`). {count} tables and figures: {total}. *Ours beside published* counts the
numbers that stand beside published ones, and of those with a known standard error how many lie within two of them.
`calibrant study NAME` makes one again; `calibrant study --list` lists them.
"""


def _recorded(name: str, folder: Path) -> dict[str, Any] | None:
    path = folder / f"{name}.rows.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _agreement(item: str, by: Sequence[str], records: Mapping[str, dict[str, Any] | None]) -> str:
    """How many numbers stand beside published ones, and how many agree."""
    rows = [Row(**row) for name in by if (found := records[name]) for row in found["rows"] if row["item"] == item]
    compared = [row for row in rows if row.published is not None]
    known = [row.distance for row in compared if row.distance is not None]
    if not compared:
        return ""
    within = f"; {sum(abs(d) <= 2 for d in known)} of {len(known)} within 2 SE" if known else ""
    return f"{len(compared)}{within}"


def _others(made: Mapping[str, list[str]]) -> str:
    of_papers = {name for names in made.values() for name in names}
    rows = [
        (f"[{n}](results/{n}.md)" if (RESULTS / f"{n}.md").exists() else n, s.shows)
        for n, s in STUDIES.items()
        if n not in of_papers
    ]
    return "## Studies of the methods' own claims\n\n" + table(("study", "shows"), rows)
