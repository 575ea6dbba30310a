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
    "p1_tables": Study(
        "ECE, TACE, SCE and ACE after five recalibrations",
        ("P1 Table 1", "P1 Table 2", "P1 Table 3", "P1 Table 4", "P1 Fig. 2", "P1 Fig. 5"),
        5,
        "a folder with logits, see the study",
    ),
    "p1_noise": Study("errors over label noise", ("P1 Fig. 1",), 2, seed=2019, extra="sklearn"),
    "p1_training": Study(
        "ranges of ACE and TACE over training", ("P1 Fig. 2", "P1 Fig. 3", "P1 Fig. 4"), 1, seed=2019, extra="sklearn"
    ),
    "arena": Study(
        "which repair wins: data sets × models × calibration sizes × maps, ours and other packages'",
        (),
        60,
        "(folders with sets or outputs of models, interpreters with other packages)",
        extra="sklearn",
    ),
    "harm": Study("does `auto` harm a model that needs no repair: calibrated worlds of any confidence", (), 60),
    "roelofs": Study("bias of seven estimators on ten realistic worlds", ("P2 Fig. 4", "P2 Fig. 6"), 20, seed=2022),
    "p4_ece_size": Study("ECE over the size of the test set, with Proposition 3.3", ("P4 Fig. 2",), 1, seed=2022),
    "p4_test_size": Study(
        "errors and improvements over the size of the test set",
        ("P4 Fig. 1", "P4 Fig. 3", "P4 Fig. 5", "P4 Fig. 6", "P4 Fig. 7"),
        5,
        "a folder with logits, see the study",
        2022,
    ),
    "p2_worlds": Study(
        "bias where the truth is known, and the bins that the sweep chooses",
        ("P2 Fig. 1", "P2 Fig. 2", "P2 Fig. 4", "P2 Fig. 13", "P2 Fig. 14"),
        2,
        seed=2022,
    ),
    "p2_grids": Study("bias and spread over rows and bins", tuple(f"P2 Fig. {k}" for k in range(7, 13)), 2, seed=2022),
    "p2_detection": Study("miss rates at 5 % false alarms", ("P2 Fig. 5",), 1, seed=2022),
    "p2_fits": Study(
        "worlds fitted to real networks, and data drawn from them",
        ("P2 Fig. 3", "P2 Table 2", "P2 Table 3", "P2 Table 4"),
        1,
        "(a folder with a network's logits, see the study)",
        2022,
    ),
    "p2_selection": Study(
        "which recalibrator each estimator selects",
        ("P2 Table 1",),
        2,
        "(a folder with a network's logits, see the study)",
        2022,
    ),
    "p4_residential": Study(
        "variance regression over training, Residential Building",
        ("P4 Fig. 4", "P4 Fig. 8", "P4 Table 1", "P4 Table 2"),
        1,
        "a folder with residential_building.csv",
        2023,
    ),
    "friedman": Study("an overfitted variance, recalibrated over training", ("P4 Fig. 9",), 3, extra="torch"),
    "scoreboard": Study("RMSE, bias, coverage and time of all estimators", (), 200, seed=2026),
    "error_estimates": Study("estimates of errors that lie in one place", (), 10, seed=2045),
    "coverage": Study("coverage of intervals of bins and cumulative errors, and of bands", (), 60, seed=20_261_117),
    "coverage_error": Study("coverage of the interval of the calibration error", (), 38, seed=20_261_118),
    "coverage_means": Study("coverage of intervals of gaps, scores and their changes", (), 60, seed=20_261_116),
    "coverage_forecasts": Study("coverage of intervals of scores of forecasts", (), 15, seed=20_261_117),
    "coverage_clinical": Study("coverage of intervals of E50, E90 and Emax", (), 8, seed=20_261_121),
    "weights": Study("coverage and false alarms where rows have weights", (), 30, seed=20261116),
    "false_alarms": Study("false alarms of every single test", (), 10, seed=20261115),
    "power": Study("power and false alarms of `is_calibrated` and other tests", (), 60, seed=811_2026),
    "audit": Study("false alarms, power and intervals of `audit`", (), 30, seed=20261115),
    "monitoring": Study("false alarms and delays of `Monitor`", (), 2, seed=20261115),
    "planning": Study("plans by formula beside simulated ones", (), 4),
    "plans_simulated": Study("plans by simulation, checked on other data sets", (), 3, seed=31),
    "improvement": Study("coverage of the interval of `compare`", (), 10),
    "trust": Study("real biases beside those that `trust` predicts", (), 4, seed=2027),
    "maps": Study("every map on a real model", (), 2, "(two files, to fit and to test)"),
    "real_data": Study("every estimator on real models", (), 1, "files or folders"),
    "p3_figures": Study(
        "binned, piecewise-linear and true maps, on both scales",
        (
            *("P3 Fig. 1", "P3 Fig. 2", "P3 Fig. 4", "P3 Fig. D1", "P3 Fig. E2", "P3 Fig. E3", "P3 Fig. E4"),
            *("P3 Fig. E5", "P3 Fig. E6", "P3 Fig. E7"),
        ),
        0.5,
        "(a folder with kull_resnet110_c10_val.npz and kull_resnet110_c10_tst.npz)",
    ),
    "piecewise": Study(
        "the synthetic benchmark of Kängsepp et al. on its own draws, and maps of skewed scores",
        ("P3 Table F20", "P3 Table F21", "P3 Table F22", "P3 Table F23"),
        30,
    ),
    "p3_synthetic": Study(
        "the synthetic benchmark of Kängsepp et al. on fresh draws, with standard errors",
        ("P3 Table F20", "P3 Table F21", "P3 Table F22"),
        5,
    ),
    "p3_standin": Study(
        "calibrators and evaluators on a stand-in for CIFAR-5m with a known map",
        (
            *("P3 Table 1", "P3 Table 2", "P3 Table 3", *(f"P3 Table F{k}" for k in range(1, 20)), "P3 Table F24"),
            "P3 Fig. F8",
        ),
        10,
        "(a folder with kull_resnet110_c10_val.npz and kull_resnet110_c10_tst.npz)",
    ),
    "niamey": Study(
        "the published decomposition of precipitation forecasts for Niamey", (), 0.1, "a CSV file, see the study"
    ),
}
