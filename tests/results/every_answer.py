"""An answer of every kind."""

import calibrant as cal
from calibrant import simulate
from made_once import MadeOnce
from report.test_answers import ANSWERS as COMMON

WORLD = simulate.power_world(0.05)
ANSWERS = MadeOnce(
    {
        **COMMON.makers,
        "diagnosis of classes": lambda: cal.diagnose(cal.example()[1]),
        "bias": lambda: simulate.bias(cal.ece, WORLD, 50, 4),
        "bias grid": lambda: simulate.bias_grid(WORLD, [50, 100], [5, 10], 4),
        "bias test": lambda: simulate.bias_test(simulate.bias(["ece", "sweep"], WORLD, [30, 50], 4), "ece", "sweep"),
        "detection": lambda: simulate.detection(cal.ece, WORLD, 50, n_data_sets=20),
    }
)
