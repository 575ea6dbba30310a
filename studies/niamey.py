"""The published decomposition of precipitation forecasts for Niamey (Dimitriadis, Gneiting & Jordan 2021), from a file of one's own.

Run: python -m studies.niamey PATH [--label obs] [--forecasts EMOS,ENS,...]

The data belong to the R package reliabilitydiag (`precip_Niamey_2016`): write them to CSV there, one column of what happened and one a
forecast. It rained where the label is above 0.
"""

from __future__ import annotations

import argparse

import numpy as np
from pyarrow import csv

import calibrant as cal

PUBLISHED = {"EMOS": (0.232, 0.0183, 0.0305, 0.244)}
"""Mean Brier score, miscalibration, discrimination, uncertainty, as the package's page prints them."""


def decomposed(table, label, name):
    """Score, miscalibration, discrimination and uncertainty of one forecast, rows without a value left out."""
    happened, said = (np.asarray(table[column].to_numpy(), dtype=float) for column in (label, name))
    known = ~(np.isnan(happened) | np.isnan(said))
    found = cal.decompose((happened[known] > 0).astype(int), said[known], view="binary")
    return found.score.value, found.miscalibration, found.discrimination, found.uncertainty


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--label", default="obs")
    parser.add_argument("--forecasts", default="")
    options = parser.parse_args()
    table = csv.read_csv(options.path, convert_options=csv.ConvertOptions(null_values=["", "NA"]))
    names = options.forecasts.split(",") if options.forecasts else [n for n in table.column_names if n in PUBLISHED]
    for name in names:
        figures = " ".join(f"{value:.4f}" for value in decomposed(table, options.label, name))
        printed = " ".join(map(str, PUBLISHED[name])) if name in PUBLISHED else "–"
        print(f"{name}: score, MCB, DSC, UNC {figures}; published {printed}")


if __name__ == "__main__":
    main()
