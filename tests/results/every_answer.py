"""An answer of every kind."""

import calibrant as cal
from calibrant import simulate
from report.test_answers import ANSWERS as COMMON

WORLD = simulate.power_world(0.05)
ANSWERS = {
    **COMMON,
    "diagnosis of classes": cal.diagnose(cal.example()[1]),
    "bias": simulate.bias(cal.ece, WORLD, 50, 4),
    "bias grid": simulate.bias_grid(WORLD, [50, 100], [5, 10], 4),
    "bias test": simulate.bias_test(simulate.bias(["ece", "sweep"], WORLD, [30, 50], 4), "ece", "sweep"),
    "detection": simulate.detection(cal.ece, WORLD, 50, n_data_sets=20),
}
