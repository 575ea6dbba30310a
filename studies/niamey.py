"""The published decomposition of precipitation forecasts for Niamey (Dimitriadis, Gneiting & Jordan 2021), from a file of one's own.

The data belong to the R package reliabilitydiag (`precip_Niamey_2016`): write them to CSV there, `obs` for what happened and one column a
forecast, and pass `--data FILE`. It rained where `obs` is above 0. `--quick` without data takes a few made-up rows.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyarrow import csv

import calibrant as cal
from studies.frame import Page, Row

PUBLISHED = {"EMOS": (0.232, 0.0183, 0.0305, 0.244)}
"""As the package's page prints them."""
PARTS = ("mean Brier score", "miscalibration", "discrimination", "uncertainty")


def decomposed(table, label, name):
    """Score, miscalibration, discrimination and uncertainty of one forecast, rows without a value left out."""
    happened, said = (np.asarray(table[column].to_numpy(), dtype=float) for column in (label, name))
    known = ~(np.isnan(happened) | np.isnan(said))
    found = cal.decompose((happened[known] > 0).astype(int), said[known], view="binary")
    return found.score.value, found.miscalibration, found.discrimination, found.uncertainty


def run(job):
    if job.data:
        table = csv.read_csv(job.data[0], convert_options=csv.ConvertOptions(null_values=["", "NA"]))
    else:
        table = pa.table({"obs": [0.0, 1.5, 0.0, 3.0, None], "EMOS": [0.2, 0.6, 0.7, 0.8, 0.5]})
    rows = []
    for name in (name for name in table.column_names if name in PUBLISHED):
        ours = decomposed(table, "obs", name)
        rows += [Row("", f"{name}, {what}", *pair) for what, *pair in zip(PARTS, ours, PUBLISHED[name], strict=True)]
    return Page("Precipitation forecasts for Niamey", "Decomposition of the Brier score.", rows, digits=4)
