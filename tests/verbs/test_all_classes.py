"""Several classes: three tests that share the false alarms, and the classes at fault."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import Predictions
from calibrant.predictions import admit
from calibrant.resampling.classes import class_rows
from calibrant.resampling.exact import Exact
from calibrant.verbs import all_classes
from calibrant.verbs.all_classes import class_test, judged_apart, judged_classes


def drawn(rng, n, factors=(1.0, 1.0, 1.0, 1.0), power=1.0):
    """Dirichlet predictions; classes are drawn from them to a power, times factors."""
    p = rng.dirichlet(np.full(len(factors), 0.7), n)
    q = p**power * factors
    q /= q.sum(axis=1, keepdims=True)
    return Predictions((q.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1), p, classes=range(len(factors)))


def judged(predictions, draws=199):
    return judged_classes(predictions, cal.is_calibrated(predictions, view="top", n_draws=draws, ties="count"))


@pytest.mark.slow
def test_the_class_at_fault_is_named(rng):
    test, classes, cautions = judged(drawn(rng, 800, (1.0, 1.0, 2.5, 1.0)))
    assert test.rejects()
    assert classes.classes[0] == 2
    assert classes.findings[0].startswith("too low")
    assert classes.named(True).startswith("class")
    assert cautions == ()
    assert classes.table().rows[0][0] == "2"


def test_three_tests_share_the_false_alarms(rng):
    test, _, _ = judged(drawn(rng, 300))
    each = {name: test.parts[name] for name in ("top", "classwise", "canonical")}
    assert test.p_value == min(1.0, *(t.p_value / all_classes.SHARES[name] for name, t in each.items()))
    assert sum(all_classes.SHARES.values()) == pytest.approx(1)
    assert all(t.parts["adjusted"] >= max(t.p_value, test.p_value) for t in each.values())


@pytest.mark.parametrize("draws", [99, 160, 199, 799, 800])
def test_the_smallest_p_value_of_three_tests_is_known_to_be_that(rng, draws):
    """Else "p = 0.0062" would stand where no smaller one was possible."""
    rows = drawn(rng, 300, power=0.3)
    top = cal.is_calibrated(rows, view="top", n_draws=draws, ties="count")
    test, _, _ = all_classes.three_tests(rows, top, 199)
    smallest = min(1 / (t.settings["n_draws"] + 1) / all_classes.SHARES[name] for name, t in test.parts.items())
    assert test.p_value == pytest.approx(smallest)
    assert test.p_value <= test.least_p <= 1.1 * smallest


def test_an_impossible_class_is_at_fault():
    p = np.tile([[0.5, 0.5, 0.0], [0.3, 0.3, 0.4]], (100, 1))
    y = np.tile([0, 1, 1, 0], 50)
    y[0] = 2
    test, classes, _ = judged(Predictions(y, p))
    assert test.p_value == 0
    assert 2 in [c for c, p_value in zip(classes.classes, classes.adjusted, strict=True) if p_value <= 0.05]


def test_a_class_that_occurred_with_probability_0_is_named_whatever_the_draws_show(rng, monkeypatch):
    """One outcome among many rows moves no statistic, and may stand in a row that the tests of all classes leave out."""
    rows = drawn(rng, 300)
    probs, label = rows.probs.copy(), int(rows.labels[1])
    probs[1, label] = 0.0
    probs[1] /= probs[1].sum()
    refuted = Predictions(rows.labels, probs)
    for most in (10**6, 400):
        monkeypatch.setattr(all_classes, "MOST_PROBABILITIES", most)
        found = cal.diagnose(refuted)
        assert found.calibrated is False
        assert found.verdict.startswith("Not calibrated: 1 outcome given probability 0")
        assert found.test.p_value == 0
        assert (found.classes.classes[0], found.classes.adjusted[0]) == (label, 0)
        assert f"wrong for class {label} (occurred with probability 0)" in found.verdict
        assert not any("Some classes are wrong" in each for each in found.advice)


def test_many_probabilities_are_tested_in_part(rng, monkeypatch):
    monkeypatch.setattr(all_classes, "MOST_PROBABILITIES", 400)
    _, _, cautions = judged(drawn(rng, 300))
    assert cautions == ("the tests of all classes use 100 of the 300 rows, one in 3",)


@pytest.mark.slow
def test_names_of_classes_do_not_mix_with_their_places(rng):
    found = drawn(rng, 800, (1.0, 1.0, 2.5, 1.0))
    renamed = Predictions(np.array([3, 2, 1, 0])[found.labels], found.probs, classes=[3, 2, 1, 0])
    assert judged(renamed)[1].classes[0] == 1


@pytest.mark.slow
def test_groups_are_warned_of(rng):
    found = drawn(rng, 200)
    grouped = Predictions(found.labels, found.probs, groups=np.repeat(np.arange(50), 4))
    assert cal.diagnose(grouped).cautions[0].startswith("rows of a group are taken as independent")
    clustered = cal.diagnose(grouped, cluster="any")
    assert set(clustered.test.parts) == {"top", "classwise"}
    assert "the whole distribution was not tested: its test takes rows as independent" in clustered.cautions


def apart(predictions, cluster=None):
    top = cal.is_calibrated(predictions, view="top", n_draws=199, ties="count", cluster=cluster)
    return judged_apart(predictions, top, cluster)


@pytest.mark.slow
def test_a_state_names_the_class_that_rows_name(rng):
    found = drawn(rng, 800, (1.0, 1.0, 2.5, 1.0))
    test, classes, cautions = apart(admit(cal.collect(found)))
    assert test.rejects()
    assert classes.classes[0] == 2
    assert classes.findings[0].startswith("too low")
    assert classes.label_rate[0] == pytest.approx(np.mean(found.labels == 2))
    assert cautions[0] == "the whole distribution was not tested: a state holds no rows"
    assert cautions[1].startswith("classes are tested from sums in cells")
    views = ["top", *(f"class {c}" for c in range(4))]
    kept, exactly, cautions = apart(admit(cal.collect(found, views=views)))
    assert len(cautions) == 1
    assert exactly.classes[0] == 2
    assert kept.parts["classwise"].p_value == min(
        1.0, 4 * min(cal.is_calibrated(found, view=v, n_draws=800, ties="count").p_value for v in views[1:])
    )


@pytest.mark.slow
def test_copies_of_rows_are_no_evidence_where_they_are_clusters(rng):
    """A class that is wrong by chance on 60 rows stays so when each is given 20 times."""
    found = drawn(rng, 60)
    copies = Predictions(np.repeat(found.labels, 20), np.repeat(found.probs, 20, axis=0), groups=np.arange(1200) // 20)
    test, classes, _ = apart(copies, "same")
    assert not test.rejects()
    assert classes.n_wrong == 0
    assert cal.is_calibrated(copies, view="canonical", cluster=False, n_draws=199).rejects()


def test_too_many_classes_for_tests_one_by_one_are_told(rng, monkeypatch):
    monkeypatch.setattr(all_classes, "MOST_APART", 3)
    test, classes, cautions = apart(admit(cal.collect(drawn(rng, 100))))
    assert classes is None
    assert "canonical" not in test.parts
    assert cautions[0].startswith("the verdict is about the top class only: 4 classes are too many")


@pytest.mark.slow
def test_classes_that_err_alike_need_one_temperature(rng):
    assert judged(drawn(rng, 1500, power=0.6))[1].alike
    assert not judged(drawn(rng, 1500, (1.0, 1.0, 2.5, 1.0)))[1].alike


def test_findings_survive_as_json(rng):
    _, classes, _ = judged(drawn(rng, 200))
    assert type(classes).from_json(classes.to_json()) == classes


@pytest.mark.slow
def test_calibrated_distributions_are_rarely_called_wrong(monkeypatch):
    """The three tests share 5 %, at most."""
    monkeypatch.setattr(all_classes, "MOST_DRAWS", 199)
    rng = np.random.default_rng(6)
    alarms, runs = 0, 150
    for _ in range(runs):
        alarms += judged(drawn(rng, 80, (1.0, 1.0, 1.0)))[0].rejects()
    assert alarms <= runs * 0.05 + 3 * (runs * 0.05 * 0.95) ** 0.5


@pytest.mark.slow
def test_calibrated_states_are_rarely_called_wrong(monkeypatch):
    """From sums in cells, and two tests that share 5 %."""
    monkeypatch.setattr(all_classes, "DRAWS_PER_CLASS", 70)
    rng = np.random.default_rng(8)
    alarms, runs = 0, 150
    for _ in range(runs):
        alarms += apart(admit(cal.collect(drawn(rng, 100, (1.0, 1.0, 1.0)), n_cells=30)))[0].rejects()
    assert alarms <= runs * 0.05 + 3 * (runs * 0.05 * 0.95) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "n"), [(3, 60), (8, 200)])
def test_calibrated_classes_are_rarely_called_wrong(n_classes, n):
    rng = np.random.default_rng(5)
    runs = 300
    alarms = 0
    for _ in range(runs):
        rows = class_rows(drawn(rng, n, (1.0,) * n_classes), False)
        alarms += class_test(rows, tuple(range(n_classes)), Exact(99, "count"))[0].p_value <= 0.05
    assert alarms <= runs * 0.05 + 3 * (runs * 0.05 * 0.95) ** 0.5
