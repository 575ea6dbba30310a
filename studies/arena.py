"""Which repair wins? Data sets × models × calibration sizes × maps, ours and other packages', in the manner of CalArena.

`--data` takes folders with sets (`*.npz` with `X` and `y`, KEEL's `*.dat`), folders with outputs of models (`*.npz` with
`labels` and `probs` or `logits`), and Python interpreters of environments with other packages; `--quick` takes made-up
outputs. Trained models are kept in a folder for temporary files. The settings of `auto` were chosen on the sets named in
`CHOSEN_ON`, and these are left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import textwrap
from itertools import chain, pairwise
from pathlib import Path

import numpy as np

from calibrant import Predictions
from calibrant.maps.auto import candidates_for
from studies import arena_data
from studies.arena_entry import Calibrant, entries
from studies.arena_rules import LEAST_TEST, MOST_TEST, judged, row_scores, rows, scores
from studies.frame import Page, table

SIZES = (100, 200, 1000, 5000, 10_000)
SPLITS, MANY = 4, 1000
"""From so many calibration rows on, which fewer sets have, each model is judged on so many splits of its rows."""

CHOSEN_ON = {
    "house8L", "pol", "banana", "german", "mammographic", "letter", "contraceptive", "marketing", "digits",
    "car-good", "car-vgood", "flare-F", "kr-vs-k-one_vs_fifteen", "kr-vs-k-three_vs_eleven",
    "kr-vs-k-zero-one_vs_draw", "kr-vs-k-zero_vs_eight", "kr-vs-k-zero_vs_fifteen", "poker-8-9_vs_5", "poker-8-9_vs_6",
    "winequality-red-4", "winequality-white-3-9_vs_5", "winequality-white-3_vs_7",
}  # fmt: skip
"""The sets on which `auto` was settled: its candidates and weights on the first nine, when to leave the predictions alone
and what piecewise-linear maps weigh a priori on all of them."""

NEVER, CHAMPIONS = "identity", ("auto", "bent")
ASIDE = "auto, level 0.95"
"""An entry that is judged like the others, and is no rival of theirs: it differs from `auto` in few experiments."""

INFORMED, N_PARTS = "auto, all other rows", 5
"""`auto` fitted with the other test rows too, all but one of so many parts: what it loses is a matter of chance."""
LITTLE, NOISE = 1e-3, 2.0
"""A map is worse than no repair by anything, by more than so many nats, or by more than so many standard errors of the
paired difference on the test rows: a smaller one is a matter of those rows."""


def kept_in() -> Path:
    """The folder of trained models' outputs."""
    found = Path(os.environ.get("CALIBRANT_ARENA", Path(tempfile.gettempdir()) / "calibrant_arena"))
    found.mkdir(parents=True, exist_ok=True)
    return found


def outputs(job) -> list[Path]:
    """Files of outputs: those trained on the sets of the folders, and those that are given."""
    cache, found = kept_in(), []
    if job.quick or not job.data:
        return [made_up(cache, k) for k in (2, 3)]
    folders = [each for each in job.data if each.is_dir()]
    for name, x, y in chain(arena_data.of_scikit_learn(), *(arena_data.tables(folder) for folder in folders)):
        if name not in CHOSEN_ON:
            found += [
                cache / f"{each.data}--{each.model.replace(' ', '_')}.npz"
                for each in arena_data.trained(name, x, y, cache)
            ]
    for each in chain(*(arena_data.given(folder) for folder in folders)):
        path = cache / f"{each.data}--given.npz"
        if not path.exists():
            np.savez_compressed(path, labels=each.labels, probs=each.probs)
        found.append(path)
    return sorted(set(found))


def made_up(cache: Path, k: int) -> Path:
    """Outputs of an over-confident model of k classes."""
    rng, path = np.random.default_rng(k), cache / f"made-up-{k}--given.npz"
    z = rng.normal(size=(500, k)) * 2
    probs = np.exp(2 * z) / np.exp(2 * z).sum(axis=1, keepdims=True)
    labels = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    np.savez_compressed(path, labels=labels, probs=probs[:, 1] if k == 2 else probs)
    return path


def ours(path: str, size: int, seed: int):
    """Every entry of ours on one experiment; nothing where rows are too few."""
    given = rows(Path(path), size, seed)
    if given is None:
        return {}
    return judged(entries(given[0].shape[1]), given) | (informed(given) if size >= MANY else {})


def informed(given: tuple[np.ndarray, ...]) -> dict:
    """The scores of `auto` where every test row is recalibrated by a map of all rows but those of its part."""
    p, y, new, labels = given
    part, found = np.random.default_rng(0).permutation(len(labels)) % N_PARTS, np.empty(new.shape)
    for f in range(N_PARTS):
        others = part != f
        entry = Calibrant().fit(np.concatenate([p, new[others]]), np.concatenate([y, labels[others]]))
        found[~others] = entry.predict_proba(new[~others])
    return {INFORMED: [*scores(found, labels, row_scores(new, labels)[0]), float("nan"), len(labels)]}


def peers(python: str, tasks: dict) -> dict:
    """Every entry of an environment on some experiments, or why there is none."""
    command = [python, "-m", "studies.arena_peers"]
    done = subprocess.run(
        command, input=json.dumps(tasks), capture_output=True, text=True, cwd=Path(__file__).parent.parent, check=False
    )
    if done.returncode:
        return {"skipped": f"{python} failed: {done.stderr[-200:]}"}
    return json.loads(done.stdout)


PACKAGES = ("probmetrics", "betacal", "splinecalib", "cir-model", "venn-abers")


def versions(python: str) -> str:
    """The other packages of an environment, with their versions."""
    code = "import importlib.metadata as m, sys\nprint(*(f'{p} {m.version(p)}' for p in sys.argv[1:]), sep=', ')"
    done = subprocess.run([python, "-c", code, *PACKAGES], capture_output=True, text=True, check=False)
    return "" if done.returncode else f" Other packages: {done.stdout.strip()}."


def run(job):
    sizes = (100,) if job.quick else SIZES
    files = outputs(job)
    cases = {
        f"{path.stem} {split} {size}": (str(path), size, job.seed + split)
        for path in files
        for size in sizes
        for split in range(SPLITS if size >= MANY else 1)
    }
    found = job.parts(ours, cases, cores=1)
    skipped = {}
    for python in (each for each in job.data if each.is_file()):
        wanted = {key: case for key, case in cases.items() if found[key]}
        by_set: dict[str, dict] = {}
        for key, case in wanted.items():
            by_set.setdefault(key.split("--")[0], {})[key] = case
        answers = job.parts(
            peers, {f"{python.parent.parent.name} {name}": (str(python), t) for name, t in by_set.items()}
        )
        for answer in answers.values():
            skipped |= {"environment": answer["skipped"]} if "skipped" in answer else {}
            for key, theirs in answer.items():
                if key != "skipped":
                    found[key] |= theirs
    if not any(each.is_file() for each in job.data):
        skipped["other packages"] = "no interpreter with them was given"
    return page(found, skipped, "".join(versions(str(each)) for each in job.data if each.is_file()))


def page(found: dict, skipped: dict, others: str = "") -> Page:
    """Tables per kind and size, then what the tables leave out."""
    parts = []
    for single, title in ((True, "One event"), (False, "Several classes")):
        for size in sorted({int(key.split()[-1]) for key in found}):
            some = {k: v for k, v in found.items() if v and k.endswith(f" {size}") and ("platt" in v) == single}
            if some:
                parts.append(f"## {title}, {size:,} calibration rows\n\n{standings(some)}")
    for each in found.values():
        skipped |= {name: value for name, value in each.items() if isinstance(value, str) and name not in skipped}
    if told := chance(found):
        parts.append(told)
    if skipped:
        parts.append(
            "## Left out\n\n" + table(("entry", "reason"), [(k, str(v).replace("|", "/")) for k, v in skipped.items()])
        )
    sets = ", ".join(sorted({key.split("--")[0] for key, each in found.items() if each}))
    about = textwrap.fill(f"Sets: {sets}. Settings were chosen on others.{others}", 140, break_on_hyphens=False)
    head = f"{__doc__.split(chr(10))[0]}\n\n{HOW}\n\n{about}"
    return Page("Arena: which repair wins?", f"{head}\n\n" + "\n\n".join(parts))


HOW = f"""Win rate: the share of the other entries beaten, ties counted as half, averaged over experiments; 95 % intervals by
drawing whole data sets. "Behind the best": mean distance from the best entry of each experiment, nats × 10³. "Worse": share of
experiments in which the log loss exceeds that of no repair: by anything; by more than {LITTLE:g} nats; and by more than {NOISE:g} standard errors
of the difference, paired over the test rows ("beyond noise"), which a map as good as no repair does in 2 % of experiments.
Time: median CPU seconds of a fit. From {MANY:,} calibration rows on each model is judged on {SPLITS} splits of its rows.
"Beats it": the share of experiments in which that entry has the lower log loss.
Probabilities below 2.2e-16 are read as that. An entry that fails in an experiment takes no part in it. `{ASIDE}` is shown
beside the others, and no win is counted over it."""


TEST_ROWS = (LEAST_TEST, 600, 1500, MOST_TEST + 1)
"""Experiments are told apart by their test rows at these numbers."""


def chance(found: dict) -> str:
    """How often `auto` is worse than no repair by the number of test rows, beside a fit that knows the other test rows."""
    lines = []
    for single, title in ((True, "one event"), (False, "several classes")):
        some = [each for each in found.values() if isinstance(each.get(INFORMED), list) and ("platt" in each) == single]
        for low, high in pairwise(TEST_ROWS):
            here = [each for each in some if low <= each[INFORMED][-1] < high]
            worse = [
                f"{sum(each[name][0] > each[NEVER][0] + 1e-9 for each in here) / len(here):.1%}" if here else ""
                for name in ("auto", INFORMED)
            ]
            span = f"{low:,} to {high - 1:,}"
            lines += [(title, span, len(here), *worse)] * bool(here)
    if not lines:
        return ""
    heads = ("", "test rows", "experiments", "worse: `auto`", "worse: with all other rows")
    return f"## How much of it is chance, from {MANY:,} calibration rows on\n\n{CHANCE}\n\n{table(heads, lines)}"


CHANCE = f"""`auto` is worse than no repair most often where test rows are few. Beside it stands `auto` fitted with all other rows of the model:
every test row is recalibrated by a map of the calibration rows and the other {N_PARTS - 1} of {N_PARTS} parts of the test rows. Where that one is worse
as often, which rows came to the test decides, not how well the map is known."""


def standings(some: dict) -> str:
    """The table of one kind and size: an entry per line, the best first."""
    numbers = {name for each in some.values() for name, value in each.items() if not isinstance(value, str)}
    names = sorted(numbers - {INFORMED})
    sets = np.array([key.split("--")[0] for key in some])
    values = np.full((4, len(names), len(some)), np.nan)
    for j, each in enumerate(some.values()):
        for i, name in enumerate(names):
            if isinstance(each.get(name), list):
                values[:, i, j] = each[name]
    rivals = np.array([name != ASIDE for name in names])
    rates = [np.array([win_rates(each, i, rivals) for i in range(len(names))]) for each in values[:2]]
    behind = 1e3 * np.nanmean(values[0] - np.nanmin(values[0][rivals], axis=0), axis=1)
    loss = values[0] - values[0][names.index(NEVER)]
    champions = [name for name in CHAMPIONS if name in names]
    duels = {name: [lower(values[0][names.index(name)], each) for each in values[0]] for name in champions}
    lines = []
    for i in np.argsort(-np.nanmean(rates[0], axis=1)):
        there = ~np.isnan(loss[i])
        limits = 1e-9, LITTLE, 1e-9 + NOISE * values[2, i][there]
        worse = [f"{(loss[i][there] > limit).mean():.0%}" for limit in limits]
        cells = [with_interval(rate[i], sets) for rate in rates]
        fought = ["" if name == names[i] else with_interval(duels[name][i], sets) for name in champions]
        lines.append((names[i], *cells, f"{behind[i]:.2f}", *worse, f"{np.nanmedian(values[3, i]):.3f}", *fought))
    heads = (
        "entry",
        "wins, log loss",
        "wins, Brier",
        "behind the best",
        "worse",
        f"by {LITTLE:g}",
        "beyond noise",
        "s",
    )
    heads += tuple(f"{name} beats it" for name in champions)
    longer = values[3, names.index("auto")] / np.nanmax(
        values[3, [names.index(each) for each in candidates(names)]], axis=0
    )
    time = f"`auto` takes {np.median(longer):.1f} times as long as its slowest candidate in the median experiment."
    models = len({" ".join(key.split()[:-2]) for key in some})
    what = f"{len(some)} experiments: {models} models of {len(set(sets))} data sets. {time}"
    return f"{what}\n\n" + table(heads, lines)


def candidates(names: list[str]) -> list[str]:
    """The entries that `auto` tries."""
    k = 2 if "platt" in names else 3
    rows = Predictions(np.arange(100) % k, np.full((100, k), 1 / k) if k > 2 else np.full(100, 0.5))
    return [each for each in candidates_for(rows) if each in names]


def lower(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Per experiment 1 where the first is lower, ½ where both are equal, NaN where one is missing."""
    missing = np.isnan(one) | np.isnan(other)
    return np.where(missing, np.nan, (one < other) + 0.5 * (one == other))


def win_rates(values: np.ndarray, i: int, rivals: np.ndarray) -> np.ndarray:
    """Per experiment, the share of its rivals that entry i beats."""
    others = rivals & (np.arange(len(values)) != i)
    won = np.array([lower(values[i], other) for other in values[others]])
    with np.errstate(invalid="ignore"):
        return np.nansum(won, axis=0) / (~np.isnan(won)).sum(axis=0)


def with_interval(rate: np.ndarray, sets: np.ndarray, n_draws: int = 500) -> str:
    """The mean, and its 95 % interval over data sets."""
    known = ~np.isnan(rate)
    names = np.unique(sets[known])
    sums = np.array([[rate[known & (sets == name)].sum(), (known & (sets == name)).sum()] for name in names])
    drawn = sums[np.random.default_rng(0).integers(0, len(names), (n_draws, len(names)))].sum(axis=1)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], (0.025, 0.975))
    return f"{sums[:, 0].sum() / sums[:, 1].sum():.3f} ({low:.2f}–{high:.2f})"
