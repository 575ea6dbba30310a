"""Ask calibrant, in a process that has not imported the plugin, for all that the plugin adds; prints one JSON object.

Each part is a value, or the error that came in its place.
"""

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import calibrant as cal
from calibrant.bins import from_settings
from calibrant.cli import main
from calibrant.methods import methods

FOLDER = Path(sys.argv[1])
rng = np.random.default_rng(5)
p = rng.random(400)
y = (rng.random(400) < 0.5 + 0.6 * (p - 0.5)).astype(int)
said = cal.Predictions(y, p)
FILE = FOLDER / "data.csv"
FILE.write_text("label,prob\n" + "".join(f"{a},{b!r}\n" for a, b in zip(y, p.tolist(), strict=True)), encoding="utf-8")
WORLD = cal.simulate.calibrated_world((1, 1))


def command(*arguments):
    found = CliRunner().invoke(main, [str(a) for a in arguments])
    return [found.exit_code, found.output]


def halves(cut):
    return methods("binning")["halves"].function(cut)


def by_hand():
    parts = [p <= 0.5, p > 0.5]
    return max(abs(p[half].mean() - y[half].mean()) for half in parts)


def bias_of_bins(cut):
    found = cal.simulate.bias(partial(cal.binned_error, bins=halves(cut)), WORLD, 50, 20)
    return [found.mean, found.sd]


def one_at_a_time(cut):
    """The same data sets, one estimate after the other."""

    def plain(labels, probs=None, **options):
        return cal.binned_error(labels, probs, bins=halves(cut))

    found = cal.simulate.bias(plain, WORLD, 50, 20)
    return [found.mean, found.sd]


def save_map():
    fitted = cal.recalibrate(said, "shrink")
    fitted.save(FOLDER / "map.json")
    return [fitted.factor, fitted.apply([0.2, 0.9]).tolist()]


PARTS = {
    "registered": lambda: {kind: "calibrant_example" in str([m.function.__module__ for m in methods(kind).values()]) for kind in ("estimator", "map", "score", "binning", "test")},
    "by hand": by_hand,
    "measure": lambda: json.loads(command("measure", FILE, "HG", "--json")[1])[0]["value"],
    "help": lambda: command("--help")[1],
    "calibration_test": lambda: cal.calibration_test(said, statistic="half_gap", n_draws=99).statistic,
    "bias": lambda: cal.simulate.bias("half_gap", WORLD, 50, 20).mean,
    "diagnose": lambda: cal.diagnose(said, measures=["half_gap"])["half_gap"].value,
    "binned_error": lambda: cal.binned_error(said, bins=halves(0.5)).value,
    "binned_error, classwise": lambda: cal.binned_error(y, np.stack([1 - p, p], axis=1), bins=halves(None), view="classwise").value,
    "bins from settings": lambda: repr(from_settings(dict(cal.binned_error(said, bins=halves(0.3)).settings["rule"]))),
    "bias of fixed bins": lambda: [bias_of_bins(0.4), one_at_a_time(0.4)],
    "bias of moving bins": lambda: [bias_of_bins(None), one_at_a_time(None)],
    "map": save_map,
    "recalibrate": lambda: command("recalibrate", FILE, "--method", "shrink", "-o", FOLDER / "again.json"),
    "apply": lambda: command("apply", FOLDER / "again.json", FILE, "-o", FOLDER / "new.csv"),
    "compare": lambda: cal.compare(said, cal.recalibrate(said, "shrink").apply(said), score="cubic").verdict,
    "compare command": lambda: command("compare", FILE, FOLDER / "again.json", "--score", "cubic", "--json")[0],
    "decompose": lambda: cal.decompose(said, score="cubic", method="shrink").sentence(),
    "test, refused": lambda: command("test", FILE, "--test", "mean_z", "--draws", 9),
    "test, unknown": lambda: command("test", FILE, "--test", "no_such_test"),
    "test": lambda: json.loads(command("test", FILE, "--test", "mean_z", "--json")[1])["p_value"],
}  # fmt: skip


def attempt(part):
    try:
        return part()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


print(json.dumps({name: attempt(part) for name, part in PARTS.items()}))  # noqa: T201
