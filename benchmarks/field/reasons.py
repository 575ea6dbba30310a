"""Why calibrant is behind the fastest package in a row of the speed table. Every statement was checked with a profile of both calls."""

from __future__ import annotations

FEW = 10_000
"""Cells (rows × classes) up to which a call costs mostly its fixed part."""

FIXED = (
    "most of so short a call is the same at 20 rows: checks of labels, probabilities and options, and the result record, "
    "neither of which the other has"
)
TAILS = (
    "exact in both tails: ln p and ln(1 − p) apart, a σ that is checked for overflow, results kept off 0 and 1; the other clips the "
    "probabilities and has fewer passes"
)
NEWTON = "Newton's method to the optimum in double precision, each step several passes over the rows; the other's optimiser stops earlier"
ORDER = (
    "looks in every row for classes that rounding has tied, so that their order is kept, by a sort until the process has compiled "
    "something; a plain softmax does not"
)
RANGE = "one search per row as in the other package, after a check that all probabilities lie between 0 and 1"
DOUBLE = "computes in double precision, the other in the single precision of the logits"
STEPS = "second-order steps in double precision to the optimum; the other makes stochastic passes until a relative gap of 10⁻⁵"
TIES = "checks the rows, and pools ties, so that their order does not matter"
COLUMNS = "copies and checks labels, means and variances first"
REASONS: dict[tuple[str, str], str] = {
    ("ece", "few"): FIXED,
    ("brier", "few"): FIXED,
    ("log", "few"): FIXED,
    ("mass", "few"): FIXED,
    ("top", "few"): FIXED,
    ("histogram: fit", "few"): FIXED,
    ("Platt: fit", "few"): FIXED,
    ("beta: fit", "few"): FIXED,
    ("temperature: apply", "few"): FIXED,
    ("isotonic: fit", "few"): FIXED,
    ("Venn–Abers: fit", "few"): FIXED,
    ("crps", "few"): COLUMNS,
    ("crps", "many"): COLUMNS,
    ("kuiper", "few"): TIES,
    ("Platt: apply", "few"): TAILS,
    ("beta: apply", "few"): TAILS,
    ("temperature: apply", "many"): TAILS,
    ("Platt: apply", "many"): TAILS,
    ("beta: apply", "many"): TAILS,
    ("Platt: fit", "many"): NEWTON,
    ("beta: fit", "many"): NEWTON,
    ("temperature of classes: apply", "few"): ORDER,
    ("temperature of classes: apply", "many"): ORDER,
    (
        "ece",
        "many",
    ): "four sums per bin (rows, probabilities, their squares, events), for the bins and the noise floor, after checks; "
    "relplot has one sum and no checks; up to 3·10⁵ rows NumPy adds them until the process has compiled something",
    (
        "brier",
        "many",
    ): "the spread of the scores is summed too, for the interval, after checks of labels and probabilities",
    (
        "brier of classes",
        "many",
    ): "scores every class that each row could have had too, of which the largest limits the interval",
    (
        "log",
        "many",
    ): "the spread of the scores is summed too, and rows with a rare outcome are searched for, both for the interval",
    ("ks", "few"): TIES,
    ("histogram: apply", "few"): RANGE,
    ("histogram: apply", "many"): RANGE,
    ("isotonic: apply", "few"): RANGE,
    ("isotonic: apply", "many"): RANGE,
    ("structured vector: apply", "few"): DOUBLE,
    ("structured matrix: apply", "few"): DOUBLE,
    ("structured vector: fit", "many"): STEPS,
    ("structured matrix: fit", "many"): STEPS,
    ("structured vector: apply", "many"): DOUBLE,
    ("structured matrix: apply", "many"): DOUBLE,
    (
        "spline: fit",
        "few",
    ): "tries up to 16 numbers of knots on ten folds; calibre fits five ridge regressions of ten knots and keeps one",
    (
        "four lines: fit",
        "few",
    ): "searches the knots from many starts for the smallest loss; pwlf stops at another local optimum",
}
"""By task and size: "few" for at most `FEW` cells, else "many"."""


def reason(task: str, n: int, k: int) -> str:
    return REASONS.get((task, "few" if n * max(k, 1) <= FEW else "many"), "")
