"""Prior shift: known, by sampling, fitted, or estimated from unlabelled rows."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, Predictions
from calibrant.maps import PriorShift
from calibrant.maps.unlabelled import estimated
from tolerances import ROUNDING

MEANS = np.array([[1.5, 0], [-1, 1], [-1, -1]])


def seen(rng, n, prevalence):
    """Rows of three classes that look alike in every population, and their probabilities at equal prevalences."""
    labels = rng.choice(3, n, p=prevalence)
    x = MEANS[labels] + rng.normal(size=(n, 2))
    p = np.exp(-((x[:, None] - MEANS) ** 2).sum(axis=2) / 2)
    return labels, p / p.sum(axis=1, keepdims=True)


def test_by_hand():
    fitted = PriorShift(new=0.2, old=0.5).fit([0, 1], [0.3, 0.6])
    assert fitted.apply([0.5, 0.8]) == pytest.approx([0.2, 0.5], abs=ROUNDING)  # odds divided by four
    assert fitted.injective
    assert fitted.keeps_ranking
    rows = PriorShift(new=(0.5, 0.25, 0.25), old=(0.25, 0.25, 0.5)).fit([0, 1, 2], np.eye(3))
    assert rows.apply([[0.2, 0.4, 0.4]]) == pytest.approx(np.array([[0.4, 0.4, 0.2]]), abs=ROUNDING)


def test_a_share_of_kept_rows_is_a_factor_of_the_odds():
    fitted = PriorShift(kept=0.1).fit([0, 1, 0], [0.3, 0.6, 0.4])
    assert fitted.apply([0.5]) == pytest.approx([1 / 11], abs=ROUNDING)
    rows = PriorShift(kept=(0.1, 1.0, 1.0)).fit([0, 1, 2], np.full((3, 3), 1 / 3))
    assert rows.apply([[1 / 3] * 3]) == pytest.approx(np.array([[10, 1, 1]]) / 12, abs=ROUNDING)


def test_a_map_knows_the_prevalence_of_its_rows():
    fitted = cal.Platt().fit([0, 0, 0, 1], [0.1, 0.3, 0.2, 0.7])
    assert fitted.fit.prevalence == pytest.approx([0.75, 0.25])
    there = fitted.at_prevalence(0.25)
    assert there.apply([0.1, 0.6]) == pytest.approx(fitted.apply([0.1, 0.6]), abs=1e-12)
    odds = fitted.at_prevalence(0.5).apply([0.6]) / (1 - fitted.at_prevalence(0.5).apply([0.6]))
    assert odds == pytest.approx(3 * fitted.apply([0.6]) / (1 - fitted.apply([0.6])))
    assert type(there).from_json(there.to_json()) == there


def test_a_shifted_map_knows_where_it_was_shifted_to(rng):
    p = rng.random(400)
    y = rng.random(400) < p
    fitted = cal.Platt().fit(y, p)
    rare = fitted.at_prevalence(0.1)
    assert rare.made_for == pytest.approx([0.9, 0.1])
    assert rare.at_prevalence(0.5) == fitted.at_prevalence(0.5)
    assert rare.at_prevalence(0.1) == rare
    assert rare.at_prevalence(unlabelled=p) == fitted.at_prevalence(unlabelled=p)
    read = type(rare).from_json(rare.to_json())
    assert read.at_prevalence(0.5) == fitted.at_prevalence(0.5)
    assert rare.at_prevalence(0.5, old=0.2).apply([0.3]) == pytest.approx(
        odds_times(rare.apply([0.3]), 4), abs=ROUNDING
    )


def odds_times(p, factor):
    return p * factor / (1 - p + p * factor)


@pytest.mark.parametrize("options", [{"new": 0.1}, {"kept": 0.1}, {"new": 0.1, "old": 0.3}, {}], ids=str)
def test_a_shift_to_where_the_map_is_changes_nothing(rng, options):
    p = rng.random(400)
    fitted = PriorShift(**options).fit(rng.random(400) < p, p)
    assert fitted.at_prevalence(float(fitted.new[1])).apply(p) == pytest.approx(fitted.apply(p), abs=ROUNDING)


def test_shifts_of_several_classes_follow_each_other(rng):
    labels, probs = seen(rng, 300, (0.5, 0.3, 0.2))
    fitted = cal.Temperature().fit(labels, probs)
    once, twice = fitted.at_prevalence((0.2, 0.2, 0.6)), fitted.at_prevalence((0.1, 0.8, 0.1))
    assert once.at_prevalence((0.1, 0.8, 0.1)) == twice
    assert type(once).from_json(once.to_json()).at_prevalence((0.1, 0.8, 0.1)) == twice
    shifted = PriorShift(new=(0.2, 0.2, 0.6)).fit(labels, probs)
    assert shifted.at_prevalence((0.2, 0.2, 0.6)).apply(probs) == pytest.approx(shifted.apply(probs), abs=1e-12)


def test_shares_kept_of_both_outcomes():
    pair = PriorShift(kept=(0.1, 1.0)).fit([0, 1, 0], [0.3, 0.6, 0.4])
    assert pair == PriorShift(kept=0.1).fit([0, 1, 0], [0.3, 0.6, 0.4])
    halves = PriorShift(kept=(0.05, 0.5)).fit([0, 1, 0], [0.3, 0.6, 0.4])
    assert halves.apply([0.5]) == pytest.approx([1 / 11], abs=ROUNDING)


def test_calibrated_after_the_shift(rng):
    labels, probs = seen(rng, 4000, (0.7, 0.2, 0.1))
    before = Predictions(labels, probs)
    known = PriorShift(new=(0.7, 0.2, 0.1), old=(1 / 3, 1 / 3, 1 / 3)).fit(before).apply(before)
    fitted = PriorShift().fit(before)
    assert cal.log_score(known).value < cal.log_score(before).value - 0.05
    assert np.exp(fitted.shifts - fitted.shifts[0]) == pytest.approx([1, 2 / 7, 1 / 7], rel=0.3)
    assert cal.log_score(fitted.apply(before)).value < cal.log_score(known).value + 1e-3
    assert cal.compare(before, known, score="log").injective


def test_the_fitted_offsets_are_those_of_lowest_loss(rng):
    labels, probs = seen(rng, 300, (0.6, 0.3, 0.1))
    fitted = PriorShift(prior=1e-6).fit(labels, probs)

    def loss(shifts):
        q = probs * np.exp(shifts)
        return -np.log((q / q.sum(axis=1, keepdims=True))[np.arange(300), labels]).mean()

    for step in np.eye(3) * 0.01:
        assert loss(fitted.shifts) < min(loss(fitted.shifts + step), loss(fitted.shifts - step))


def test_a_class_that_never_occurred_keeps_a_chance():
    fitted = PriorShift().fit(Predictions([0, 0, 1], np.full((3, 3), 1 / 3), classes=(0, 1, 2)))
    assert (fitted.apply([[1 / 3] * 3]) > 0.01).all()


@pytest.mark.slow
def test_unlabelled_rows_tell_their_prevalences(rng):
    labels, probs = seen(rng, 1000, (1 / 3, 1 / 3, 1 / 3))
    fitted = cal.maps.Identity().fit(labels, probs)
    new_labels, new = seen(rng, 1000, (0.1, 0.6, 0.3))
    there = fitted.at_prevalence(unlabelled=new, old=(1 / 3, 1 / 3, 1 / 3))
    assert there.new == pytest.approx([0.1, 0.6, 0.3], abs=0.06)
    assert all(interval.low < value < interval.high for interval, value in zip(there.intervals, there.new, strict=True))
    same = fitted.at_prevalence(unlabelled=Predictions(new_labels, new), old=(1 / 3, 1 / 3, 1 / 3))
    assert same == there


@pytest.mark.slow
def test_the_estimate_is_the_limit_of_em(rng):
    _, probs = seen(rng, 200, (0.2, 0.5, 0.3))
    old, at = np.full(3, 1 / 3), np.full(3, 1 / 3)
    for _ in range(2000):
        share = probs * at / old
        at = (share / share.sum(axis=1, keepdims=True)).mean(axis=0)
    assert estimated(probs, old, None, 0.95).prevalences == pytest.approx((200 * at + old) / 201, abs=1e-6)


@pytest.mark.slow
def test_intervals_by_curvature_resemble_those_by_likelihood(rng, monkeypatch):
    _, probs = seen(rng, 2000, (0.3, 0.4, 0.3))
    exact = estimated(probs, np.full(3, 1 / 3), None, 0.95).intervals
    monkeypatch.setattr("calibrant.maps.unlabelled.MOST_PROFILES", 2)
    near = estimated(probs, np.full(3, 1 / 3), None, 0.95).intervals
    for one, other in zip(exact, near, strict=True):
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=2e-3)
        assert (one.method, other.method) == ("likelihood ratio", "curvature")


@pytest.mark.slow
@pytest.mark.parametrize(("prevalence", "n"), [(0.02, 60), (0.1, 200), (0.5, 60)])
def test_the_interval_covers(rng, prevalence, n):
    held = 0
    for _ in range(400):
        x = rng.normal(size=n) + np.where(rng.random(n) < prevalence, 1, -1)
        q = 1 / (1 + np.exp(-2 * x))
        held += prevalence in estimated(np.stack([1 - q, q], axis=1), np.array([0.5, 0.5]), None, 0.95).intervals[1]
    assert 0.95 - 3.5 * np.sqrt(0.95 * 0.05 / 400) < held / 400


def test_rows_that_are_repeated_in_groups_add_nothing(rng):
    x = rng.normal(size=200) + np.where(rng.random(200) < 0.3, 1, -1)
    q = np.stack([1 - (p := 1 / (1 + np.exp(-2 * x))), p], axis=1)
    old, every, groups = np.array([0.5, 0.5]), np.repeat(q, 5, axis=0), np.repeat(np.arange(200), 5)
    once = estimated(q, old, None, 0.95, np.arange(200)).intervals[1]
    again = estimated(every, old, None, 0.95, groups).intervals[1]
    assert (again.low, again.high) == pytest.approx((once.low, once.high), abs=1e-3)
    assert again.method == "likelihood ratio, clusters"
    plain = estimated(q, old, None, 0.95).intervals[1]
    assert (once.low, once.high) == pytest.approx((plain.low, plain.high), abs=0.02)


def test_what_the_intervals_rest_on_is_said(rng):
    p = rng.random(60)
    y = rng.random(60) < p
    assert "no map was fitted" in cal.maps.Identity().fit(y, p).at_prevalence(unlabelled=p).fit.cautions[0]
    few = cal.Platt().fit(y, p).at_prevalence(unlabelled=rng.random(4000)).fit.cautions
    assert "due to the 60 labelled rows of the fit" in few[0]
    many = cal.Platt().fit(rng.random(20_000) < (x := rng.random(20_000)), x)
    assert many.at_prevalence(unlabelled=p).fit.cautions == ()
    grouped = many.at_prevalence(unlabelled=Predictions(y, p, groups=np.arange(60) // 6))
    assert grouped.fit.cautions == ("10 clusters are few for intervals of prevalences: they may be too short",)
    alone = many.at_prevalence(unlabelled=Predictions(y, p, groups=np.zeros(60)))
    assert alone.intervals == ()
    assert alone.fit.cautions == ("one cluster has no interval",)
    assert type(grouped).from_json(grouped.to_json()) == grouped


COVERED = {
    "one fit of few rows": (cal.Platt(), 300, 2000, 1),
    "a calibrated model": (cal.maps.Identity(), 300, 2000, 1),
    "groups": (cal.Platt(), 5000, 500, 5),
    "groups and few rows": (cal.Platt(), 300, 1000, 5),
}


@pytest.mark.slow
@pytest.mark.parametrize("prevalence", [0.1, 0.5])
@pytest.mark.parametrize(("recipe", "n", "unlabelled", "size"), COVERED.values(), ids=COVERED)
def test_the_interval_counts_groups_and_the_error_of_the_fit(rng, recipe, n, unlabelled, size, prevalence):
    def drawn(n, rate, size=1):
        y = rng.random(n // size) < rate
        z = 1.5 * (rng.normal(size=n // size) + 1.5 * y) - 1.125 + np.log(2 / 3)  # the posterior log-odds at 0.4
        return np.repeat(y, size), np.repeat(1 / (1 + np.exp(-z)), size)

    held, draws = 0, 300
    for _ in range(draws):
        there = Predictions(*drawn(unlabelled, prevalence, size), groups=np.arange(unlabelled) // size)
        there = there if size > 1 else there.with_groups(None)
        held += prevalence in recipe.fit(*drawn(n, 0.4)).at_prevalence(unlabelled=there).intervals[1]
    assert 0.95 - 3.5 * np.sqrt(0.95 * 0.05 / draws) < held / draws


WRONG = {
    "above one": (lambda: PriorShift(new=1.5), "new must be at most 1; it is 1.5"),
    "zero": (lambda: PriorShift(new=0.0), "new must be above 0: a number for an event, or one per class; it is 0.0"),
    "old alone": (lambda: PriorShift(old=0.2), "old needs new as well"),
    "two ways": (lambda: PriorShift(new=0.2, kept=0.1), "kept says how prevalences change"),
    "one for all": (lambda: PriorShift(new=1.0).fit([0, 1], [0.2, 0.7]), "new must lie between 0 and 1"),
    "too few": (lambda: PriorShift(new=(0.5, 0.5)).fit([0, 1, 2], np.eye(3)), "new must have one number for each of the 3"),
    "no sum": (lambda: PriorShift(new=(0.5, 0.5, 0.5)).fit([0, 1, 2], np.eye(3)), "new must sum to 1"),
    "both": (lambda: cal.Platt().fit([0, 1], [0.2, 0.7]).at_prevalence(0.1, unlabelled=[0.2]), "one of the two"),
    "one class": (lambda: cal.Platt().fit([1, 1], [0.2, 0.7]).at_prevalence(0.1), "old must be given; no row of the fit was of class 0. Pass"),
    "kept of three": (lambda: PriorShift(kept=(0.1, 1, 1)).fit([0, 1], [0.2, 0.7]), "kept must have one number for each of the 2 classes; it has 3"),
    "plain numbers": (lambda: cal.Platt().fit([0, 1], [0.2, 0.7]).at_prevalence(np.float64(1)), "it is 1.0"),
    "unknown": (lambda: cal.maps.IdentityMap((0, 1), True).at_prevalence(0.1), "old must be given"),
    "prior": (lambda: PriorShift(prior=0), "prior must be a number of rows above 0"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_wrong_options_are_refused(case):
    call, text = case
    with pytest.raises(InputError, match=text):
        call()
