"""Seeds, switches and tolerances that all tests share."""

from __future__ import annotations

import gc
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

for profile, examples in {"default": 10, "slow": 40}.items():
    settings.register_profile(
        f"calibrant, {profile}",
        deadline=None,
        derandomize=True,
        max_examples=examples,
        suppress_health_check=[HealthCheck.too_slow],
    )

NEEDED = {
    "howto/boosting.md": ("lightgbm", "xgboost", "sklearn"),
    "howto/lightning.md": ("lightning", "torch"),
    "howto/mlflow.md": ("mlflow", "sqlalchemy"),
    "howto/pytorch.md": ("torch", "onnx"),
    "howto/spark.md": ("pyspark",),
    "howto/trainer.md": ("transformers",),
    "howto/wandb.md": ("wandb",),
    "from/netcal.md": ("netcal",),
    "from/probcal.md": ("probcal",),
    "from/torchmetrics.md": ("torch", "torchmetrics"),
    "from/uncertainty_calibration.md": ("calibration",),
}
"""Pages whose examples are skipped where a library is absent; `make howto`, `peers` and `engines` run them."""

LONG_EXAMPLES = {
    "calibrant.detect.multi_scale.multi_scale_test",
    "calibrant.detect.omnibus.is_calibrated",
    "calibrant.estimate.canonical.canonical_error",
    "calibrant.infer.any_estimator.interval_of",
    "calibrant.infer.error.classwise_intervals",
    "calibrant.maps.auto.Auto",
    "calibrant.plot.confidences.clinical_plot",
    "calibrant.plot.forecasts.forecast_plot",
    "calibrant.plot.grid.grid",
    "calibrant.plot.reliability.reliability",
    "calibrant.plot.segments.segments",
    "calibrant.report.page.write",
    "calibrant.simulate.several.DirichletWorld",
    "calibrant.simulate.several.LogisticNormalWorld",
    "calibrant.verbs.auditing.audit.audit",
    "calibrant.verbs.diagnose.diagnose",
    "calibrant.verbs.diagnose_regression.diagnose_forecasts",
    "calibrant.verbs.examine.examine",
    "calibrant.verbs.optimism.optimism",
    "calibrant.verbs.planning.plan.plan",
    "calibrant.verbs.recalibrate.recalibrate",
}
"""Docstrings whose examples run with the slow tests; those of all others run by default."""

SHORT_PAGES = ("README.md", "start.md", "estimators.md", "files.md")
"""Pages whose examples are run by default; those of all others run with the slow tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the slow tests, and properties on 40 examples")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile(f"calibrant, {'slow' if config.getoption('--slow') else 'default'}")
    config.pluginmanager.register(OpenFigures())


class OpenFigures:
    """Closes the figures that a test or an example leaves open; a plugin, as hooks of this file see nothing of `src`."""

    def pytest_runtest_teardown(self) -> None:
        if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
            pyplot.close("all")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Thousands of tests and modules are made and all kept: looking for garbage among them takes time and finds none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the cases of a test marked `some(k)` one in k is run by default; the others are slow, and left out without --slow.

    Those are run whose places in their lists add up to a multiple of k: with several lists, every value of each.
    """
    for item in items:
        page = f"{item.path.parent.name}/{item.path.name}"
        if absent := [name for name in NEEDED.get(page, ()) if find_spec(name) is None]:
            item.add_marker(pytest.mark.skip(reason=f"{' and '.join(absent)} not installed"))
        if page in NEEDED:  # other libraries warn of each other
            item.add_marker(pytest.mark.filterwarnings("ignore"))
        marked = item.get_closest_marker("some")
        long = item.path.suffix == ".md" and page not in NEEDED and item.path.name not in SHORT_PAGES
        if long or item.name in LONG_EXAMPLES or (marked and sum(item.callspec.indices.values()) % marked.args[0]):
            item.add_marker(pytest.mark.slow)
    if not config.getoption("--slow"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("slow")])
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261115)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Test files are no doctests: read as such, one that cannot be imported would be skipped instead of failing."""
    found = yield
    return [collector for collector in found if not isinstance(collector, DoctestModule)]
