"""The register of studies: what each shows, which tables and figures of the papers it makes, what it takes and needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Study:
    """One study: a module of this package with a function `run(job)` that returns a `Page`."""

    shows: str
    """in a line"""
    makes: tuple[str, ...] = ()
    """tables and figures, as `papers.json` names them; several of a paper are joined by commas"""
    minutes: float = 1
    """on one core, in full; `--quick` takes seconds"""
    data: str = ""
    """what `--data` must be; empty if nothing is read, in brackets if the study can do without"""
    seed: int = 0
    """unless `--seed` gives another"""
    extra: str = ""
    """the optional dependency it needs"""


STUDIES = {
    "arena": Study(
        "which repair wins: data sets × models × calibration sizes × maps, ours and other packages'",
        (),
        60,
        "(folders with sets or outputs of models, interpreters with other packages)",
        extra="sklearn",
    ),
    "harm": Study("does `auto` harm a model that needs no repair: calibrated worlds of any confidence", (), 60),
    "roelofs": Study("bias of seven estimators on ten realistic worlds", ("P2 Fig. 4", "P2 Fig. 6"), 20, seed=2022),
    "niamey": Study(
        "the published decomposition of precipitation forecasts for Niamey", (), 0.1, "a CSV file, see the study"
    ),
}
