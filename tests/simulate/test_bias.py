"""Bias by construction: the figures are those of a plain loop, whatever the workers, and an interrupted run goes on."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature

import numpy as np
import pytest
from scipy.stats import ttest_rel

import calibrant as cal
from calibrant import simulate
from calibrant.methods import methods
from calibrant.simulate import Bias, bias, bias_table, calibrated_world, named_world, power_world
from calibrant.simulate.batch import Batch, batched
from calibrant.simulate.measuring import measured, named

FAMILY = [
    partial(cal.ece, bins=9),
    cal.binned_error,
    partial(cal.binned_error, bins=cal.EqualMass(7), norm=2, debiased=True),
    partial(cal.binned_error, bins=cal.EqualMass(7), norm=1, debiased=True, clip=False),
    partial(cal.binned_error, bins=cal.EqualWidth(7), norm="max"),
    partial(cal.binned_error, bins=cal.EqualWidth(7, closed="left")),
    partial(cal.binned_error, bins=cal.Edges([0, 0.3, 0.8, 1]), norm=2, debiased=True, root=False, clip=False),
    cal.label_binned_error,
    partial(cal.label_binned_error, bins=cal.EqualMass(7), norm=2),
    partial(cal.label_binned_error, bins=cal.EqualWidth(7), norm="max"),
    partial(cal.label_binned_error, bins=cal.Edges([0, 0.3, 0.8, 1]), norm=2, root=False),
    cal.sweep_error,
    partial(cal.sweep_error, bins=cal.EqualWidth, norm=2),
    partial(cal.sweep_error, debiased=True),
]


def batches(rng):
    plain = rng.random((20, 83))
    yield "no ties", plain, rng.random(plain.shape) < plain**1.3
    tied = np.round(plain, 1)
    yield "ties", tied, rng.random(tied.shape) < tied
    yield "separable", plain, plain > 0.5
    yield "one value", np.full((3, 11), 0.4), rng.random((3, 11)) < 0.4
    yield "one row", rng.random((5, 1)), rng.random((5, 1)) < 0.5
    yield "ends", np.tile([0.0, 1.0, 0.5], (4, 5)), rng.random((4, 15)) < 0.5


@pytest.mark.some(4)
@pytest.mark.parametrize("estimator", FAMILY, ids=lambda e: named(e).name)
def test_a_batch_is_the_same_as_one_by_one(rng, estimator):
    one = named(estimator)
    for name, probs, occurred in batches(rng):
        outcomes = occurred.astype(np.uint8)
        values, low, high = batched(one.function, one.options, Batch(probs, outcomes))
        plain = [one(y, p) for y, p in zip(outcomes, probs, strict=True)]
        assert values == pytest.approx([e.value for e in plain], abs=1e-7 if one.option("norm", 1) == 2 else 1e-12), (
            name
        )
        if plain[0].interval is not None:
            assert low == pytest.approx([e.interval.low for e in plain], abs=1e-7), name
            assert high == pytest.approx([e.interval.high for e in plain], abs=1e-7), name


def test_batched_forms_have_the_options_and_defaults_of_their_estimators():
    forms = methods("batched").values()
    assert {form.of for form in forms} >= {cal.binned_error, cal.ece, cal.label_binned_error, cal.sweep_error}
    for form in forms:
        known = signature(form.of).parameters
        for name, parameter in list(signature(form.function).parameters.items())[1:]:
            assert parameter.default == known[name].default, (form.name, name)


def test_options_without_a_batched_form_are_computed_one_by_one():
    batch = Batch(np.array([[0.2, 0.7]]), np.array([[0, 1]], dtype=np.uint8))
    assert batched(cal.binned_error, {}, batch) is not None
    assert batched(cal.binned_error, {"view": "top"}, batch) is None
    assert batched(cal.density_error, {}, batch) is None
    for bins in (cal.EqualMass(5, ties="split"), cal.Edges([0, 1], ends=False), Halves()):
        assert batched(cal.binned_error, {"bins": bins}, batch) is None
        assert batched(cal.label_binned_error, {"bins": bins}, batch) is None


@dataclass(frozen=True)
class Halves:
    """A rule for bins of another package: it has what `Binning` asks for, and nothing else."""

    mergeable = True

    def collect(self, event):
        return cal.EqualWidth(2).collect(event)

    def collect_classes(self, predictions):
        return cal.EqualWidth(2).collect_classes(predictions)

    def index(self, event):
        return cal.EqualWidth(2).index(event)

    def describe(self):
        return "two halves"


@pytest.mark.parametrize("estimator", [cal.binned_error, cal.label_binned_error])
def test_bins_of_another_package_have_a_bias(estimator):
    world = power_world(0.05)
    theirs, ours = (bias(partial(estimator, bins=bins), world, 50, 20) for bins in (Halves(), cal.EqualWidth(2)))
    assert theirs.mean == pytest.approx(ours.mean, abs=1e-12)


def test_an_edge_that_belongs_to_no_bin_is_left_out():
    world, bins = calibrated_world([0.0, 0.4, 1.0]), cal.Edges([0, 0.5, 1], ends=False)
    found = bias(partial(cal.binned_error, bins=bins), world, 20, 10)
    values = [
        cal.binned_error(each, bins=bins).value
        for each in Batch(*world.draw(20, 10, np.random.default_rng((0, 20, 0)))[:2]).data_sets
    ]
    assert found.mean == pytest.approx(np.mean(values), abs=1e-12)


@pytest.mark.slow
def test_the_workers_change_nothing():
    world, several = power_world(0.05), [named("ece"), named("density")]
    alone = measured(several, world, 200, 100, seed=3, workers=1)  # more than one part for each worker
    shared = measured(several, world, 200, 100, seed=3, workers=2)
    assert np.array_equal(alone.values, shared.values)
    assert not np.array_equal(alone.values, measured(several, world, 200, 100, seed=4, workers=1).values)


@pytest.mark.slow
def test_an_interrupted_run_goes_on(tmp_path):
    path = tmp_path / "parts.jsonl"
    call = partial(bias, cal.ece, power_world(0.05), 2000, 500, checkpoint=path)
    complete = call()
    lines = path.read_text().splitlines()
    assert len(lines) > 4
    changed = json.loads(lines[0])
    changed["found"][0] = [[9.0] * len(changed["found"][0][0])]
    path.write_text("\n".join([json.dumps(changed), lines[1], lines[2][:40]]))  # killed while it wrote the third part
    again = call()
    assert again.mean > complete.mean + 0.3  # the first part was read, not done again
    path.unlink()
    assert {**call().to_data(), "seconds": 0} == {**complete.to_data(), "seconds": 0}


@pytest.mark.parametrize("content", [b"label,p\n1,0.5\n", b"\xff\xfe"])
def test_a_checkpoint_is_not_added_to_another_file(tmp_path, content):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(cal.FileError, match=r"data\.csv'"):
        bias(cal.ece, power_world(0.05), 200, 10, checkpoint=path)
    assert path.read_bytes() == content


def test_figures_are_those_of_the_values():
    world = power_world(0.05)
    found = bias(cal.ece, world, 200, 300, seed=1)
    values = measured([named("ece")], world, 200, 300, 1).values[0]
    assert found.mean == pytest.approx(values.mean())
    assert found.sd == pytest.approx(values.std(ddof=1))
    assert found.rmse == pytest.approx(np.sqrt(((values - 0.05) ** 2).mean()))
    assert found.rmse**2 == pytest.approx(found.bias**2 + found.sd**2 * 299 / 300)
    assert found.mae == pytest.approx(np.abs(values - 0.05).mean())
    assert found.truth == pytest.approx(0.05, abs=1e-9)
    assert Bias.from_json(found.to_json()) == found


@pytest.mark.slow
def test_errors_of_the_figures_are_honest(rng):
    """Over many runs of a normal estimator the figures scatter as much as stated."""

    def noise(predictions):  # an estimator that only adds noise to 0.05
        return 0.05 + 0.01 * rng.normal()

    runs = [bias(noise, power_world(0.05), 1, 100, truth=0.05) for _ in range(200)]
    for name in ("mean", "sd", "rmse", "mae"):
        values = np.array([getattr(run, name) for run in runs])
        stated = np.mean([getattr(run, f"{name}_error") for run in runs])
        assert values.std(ddof=1) == pytest.approx(stated, rel=5 / np.sqrt(2 * 200))


@pytest.mark.slow
def test_the_distribution_of_ece_on_a_calibrated_confident_world(rng):
    """Roelofs et al., Fig. 1: ResNet-110 on CIFAR-10 made perfectly calibrated, n = 200, 15 equal-width bins."""
    world = calibrated_world(named_world("resnet110_c10"))
    found = bias(cal.ece, world, 200, 4000, seed=0)
    direct = []
    for _ in range(4000):
        p = rng.beta(world.alpha, world.beta, 200)
        y = rng.random(200) < p
        index = np.clip(np.ceil(p * 15).astype(int) - 1, 0, 14)
        gaps = np.bincount(index, p - y, 15)
        direct.append(np.abs(gaps).sum() / 200)
    assert found.truth == 0
    error = np.hypot(found.mean_error, np.std(direct) / np.sqrt(4000))
    assert abs(found.mean - np.mean(direct)) < 4 * error
    assert abs(found.sd - np.std(direct)) < 4 * np.sqrt(2) * found.sd_error


@pytest.mark.slow
def test_coverage_counts_the_intervals():
    found = bias(partial(cal.binned_error, norm=2, debiased=True), calibrated_world((1, 1)), 500, 400)
    assert found.coverage > 0.9
    assert 0 < found.width < 0.2
    assert bias(cal.ece, calibrated_world((1, 1)), 50, 20).coverage is None


@pytest.mark.slow
def test_several_estimators_and_sizes_share_their_data():
    rows = bias({"mine": cal.ece, "sweep": "sweep"}, power_world(0.1), [100, 300], 50)
    assert [(r.estimator, r.n) for r in rows] == [("mine", 100), ("sweep", 100), ("mine", 300), ("sweep", 300)]
    assert rows[0].mean == bias(cal.ece, power_world(0.1), 100, 50).mean
    table = bias_table(rows)
    assert len(table.rows) == 4
    assert "mine" in table.to_text()
    assert [r.n for r in bias(cal.ece, power_world(0.1), [10, 20], 5)] == [10, 20]
    assert [r.truth for r in bias(["ks", "kuiper"], power_world(0.1), 10, 5, truth=0.2)] == [0.2, 0.2]
    assert rows[0].tables()[0].rows[0][0] == "mine"


def test_no_estimator_is_refused():
    with pytest.raises(cal.InputError, match="estimator must name at least one"):
        bias([], power_world(0.1), 100, 10)


def test_squares_are_compared_with_squares():
    squared = partial(cal.binned_error, norm=2, root=False, debiased=True, clip=False)
    found = bias(squared, power_world(0.1, norm=2), 500, 200)
    assert found.truth == pytest.approx(0.01, abs=1e-8)


@pytest.mark.parametrize("estimator", ["nothing", 3, partial(cal.ece, [1])])
def test_what_is_no_estimator_is_refused(estimator):
    with pytest.raises(cal.InputError, match="estimator"):
        bias(estimator, power_world(0.1), 100, 10)


def test_a_quantity_of_its_own_needs_a_truth():
    with pytest.raises(cal.InputError, match="Pass truth="):
        bias(cal.ks_error, power_world(0.1), 100, 10)
    assert bias(cal.ks_error, power_world(0.1), 100, 10, truth=0.1).truth == 0.1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"n": []}, "n must hold at least one number"),
        ({"workers": -1}, "workers must be a whole number, at least 1; it is -1"),
        ({"truth": float("inf")}, r"truth must lie within"),
        ({"world": "beta"}, "world must be a World; it is 'beta'"),
        ({"estimator": int}, "estimator must be a function"),
    ],
)
def test_options_that_give_no_answer_are_refused(options, text):
    given = {"estimator": cal.ece, "world": power_world(0.1), "n": 10, "n_data_sets": 2} | options
    with pytest.raises(cal.InputError, match=text):
        bias(**given)


ANY = bias(cal.ece, calibrated_world((1, 1)), 10, 2)


def fake(estimator, world, n, off):
    return replace(ANY, estimator=estimator, world=world, n=n, truth=0.0, mean=off)


def test_the_paired_t_test_is_that_of_scipy(rng):
    values = rng.normal(size=(2, 12))
    rows = [
        fake(name, f"world {k % 4}", 100 + k // 4, value)
        for name, side in zip(("a", "b"), values, strict=True)
        for k, value in enumerate(side)
    ]
    rng.shuffle(rows)
    found = simulate.bias_test(rows, "a", "b")
    expected = ttest_rel(np.abs(values[0]), np.abs(values[1]))
    assert (found.n_pairs, found.degrees) == (12, 11)
    assert found.t == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval(0.95)
    assert (found.interval.low, found.interval.high) == pytest.approx((ends.low, ends.high))
    assert found.mean_first == pytest.approx(np.abs(values[0]).mean())
    assert found.difference == pytest.approx(found.mean_first - found.mean_second)
    assert "Mean absolute bias over 12 worlds and sizes" in found.sentence()


def test_pairs_that_do_not_match_are_refused():
    rows = [fake("a", "w", 10, 0.1), fake("b", "w", 10, 0.2), fake("a", "w", 20, 0.3), fake("b", "w", 20, 0.1)]
    for bad, second, text in (
        (rows, "c", "second must be one of 'a', 'b'; it is 'c'"),
        (rows[:3], "b", "rows must hold both estimators in every world and size; one lacks n = 20, w"),
        (rows[:2], "b", "rows must hold at least two worlds or sizes"),
        ([], "b", "rows must hold what bias returned; they are empty"),
    ):
        with pytest.raises(cal.InputError, match=text):
            simulate.bias_test(bad, "a", second)
    same = simulate.bias_test([*rows[:2], fake("a", "w", 20, 0.3), fake("b", "w", 20, 0.4)], "a", "b")
    assert same.t < -1e6  # equal differences, but for rounding
    assert simulate.bias_test(rows, "a", "a").p_value == 1
