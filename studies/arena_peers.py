"""Other packages' maps as entries, run in an environment of their own: PYTHON -m studies.arena_peers, tasks as JSON on standard input.

A package that is not there is skipped, and the reason is given.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from studies.arena_rules import judged, rows

ONE_EVENT = {
    "probmetrics: temperature": "temp-scaling",
    "probmetrics: default": "logistic",
    "probmetrics: quadratic": "quadratic-scaling",
    "probmetrics: beta": "beta",
    "probmetrics: centred isotonic": "cir",
    "probmetrics: Venn-Abers": "ivap",
}
SEVERAL = {
    "probmetrics: temperature": "temp-scaling",
    "probmetrics: SMS": "sms",
    "probmetrics: SVS": "svs",
    "probmetrics: centred isotonic": "cir",
}
ETS, SPLINE = {"probmetrics: ETS": "ETSCalibrator"}, {"probmetrics: spline": "MLISplineCalibrator"}
"""By class; a spline per class takes minutes for many classes, so only one event has it."""


def entries(n_classes: int) -> dict[str, Callable[[], Any]]:
    """Every entry that this environment has."""
    from probmetrics import calibrators

    named = ONE_EVENT if n_classes == 2 else SEVERAL
    found = {name: partial(calibrators.get_calibrator, method) for name, method in named.items()}
    classes = ETS | SPLINE if n_classes == 2 else ETS
    return found | {name: getattr(calibrators, kind) for name, kind in classes.items()}


def main() -> None:
    """Judge every task: a file of outputs and sizes."""
    tasks, answers = json.load(sys.stdin), {}
    warnings.simplefilter("ignore")
    try:
        import torch
        from probmetrics import calibrators  # noqa: F401

        torch.set_num_threads(1)
    except ImportError as error:
        print(json.dumps({"skipped": f"no probmetrics in {sys.executable}: {error}"}))
        return
    for key, (path, size, seed) in tasks.items():
        given = rows(Path(path), size, seed)
        if given is not None:
            with contextlib.redirect_stdout(io.StringIO()):
                answers[key] = judged(entries(given[0].shape[1]), given)
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
