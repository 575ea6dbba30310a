"""The choice among maps: by held-out rows, towards the simpler."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import Auto, Predictions
from calibrant.maps.auto import FEWEST, candidates_for


def softmax(z):
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def tempered(rng, n=1500, temperature=2.5):
    z = rng.normal(size=(n, 3)) * 3
    return Predictions.from_logits((z / temperature + rng.gumbel(size=z.shape)).argmax(axis=1), z)


def calibrated(rng, n=1500):
    p = rng.beta(1, 0.5, n)
    return Predictions(rng.random(n) < p, p)


def test_a_clear_repair_is_found(rng):
    fitted = cal.recalibrate(tempered(rng), "auto")
    assert fitted.fit.choice.chosen == fitted.method == "temperature"
    assert fitted.temperature == pytest.approx(2.5, rel=0.15)


@pytest.mark.slow
def test_what_needs_no_repair_is_left_alone(rng):
    chosen = [cal.recalibrate(calibrated(rng, 300), Auto(nested=False)).method for _ in range(20)]
    assert chosen.count("identity") >= 14  # a rival must win by more than one standard error


def test_the_table_holds_every_candidate_and_the_choice_itself(rng):
    choice = Auto(candidates=("identity", "temperature", cal.maps.VectorScaling())).fit(tempered(rng, 200)).fit.choice
    assert {each.name for each in choice.candidates} == {"identity", "temperature", "VectorScaling()"}
    scores = [each.score for each in choice.candidates]
    assert scores == sorted(scores)
    assert next(each for each in choice.candidates if each.name == "identity").change == 0
    assert choice.procedure.score >= scores[0]
    assert [row[0] for row in choice.table.rows] == [*(each.name for each in choice.candidates), "auto"]
    assert choice.reason.startswith(choice.chosen)
    assert "Candidates" in repr(choice)
    assert "<table>" in choice._repr_html_()


def test_scores_are_those_of_maps_that_have_not_seen_the_row(rng):
    said = tempered(rng, 90)
    choice = Auto(candidates=("temperature",), n_folds=3).fit(said).fit.choice
    from calibrant.maps.folds import in_folds

    rows = np.empty(90)
    for held in in_folds(said, 3)[1]:
        fitted = cal.Temperature().fit(said.rows(~held))
        rows[held] = cal.score.LogScore().rows(fitted.apply(said.rows(held)))
    assert choice.candidates[0].score == pytest.approx(rows.mean(), abs=1e-12)


def test_the_order_of_the_rows_does_not_matter(rng):
    said = calibrated(rng, 200)
    one, other = Auto().fit(said), Auto().fit(said.rows(rng.permutation(200)))
    assert one.fit.choice.chosen == other.fit.choice.chosen
    for a, b in zip(one.fit.choice.candidates, other.fit.choice.candidates, strict=True):
        assert a.name == b.name
        assert a.score == pytest.approx(b.score, abs=1e-6)


def test_weight_two_is_the_row_twice(rng):
    said = calibrated(rng, 120)
    times = rng.integers(0, 3, 120)
    weighted = Auto(nested=False).fit(Predictions(said.labels, said.probs, counts=times))
    repeated = Auto(nested=False).fit(Predictions(np.repeat(said.labels, times), np.repeat(said.probs, times)))
    for a, b in zip(weighted.fit.choice.candidates, repeated.fit.choice.candidates, strict=True):
        assert a.name == b.name
        assert (a.score, a.change) == pytest.approx((b.score, b.change), abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 5, FEWEST - 1])
def test_a_few_rows_vouch_for_nothing(rng, n):
    fitted = cal.recalibrate(calibrated(rng, n), "auto")
    assert fitted.method == "identity"
    assert "too few" in fitted.fit.choice.reason


def test_the_choice_survives_as_json(rng):
    fitted = Auto(nested=False).fit(tempered(rng, 100))
    assert cal.maps.CalibrationMap.from_json(fitted.to_json()) == fitted
    assert "chosen:" in repr(fitted)


def test_candidates_grow_with_the_data(rng):
    sizes = [len(candidates_for(calibrated(rng, n))) for n in (50, 300, 1000, 10_000)]
    assert sizes == sorted(set(sizes))
    assert all(candidates_for(tempered(rng, n))[0] == "identity" for n in (50, 1000))


def test_infinite_scores_lose_and_do_not_poison(rng):
    p = np.r_[np.zeros(50), np.full(50, 0.6)]
    y = np.r_[np.ones(3), np.zeros(47), rng.random(50) < 0.6].astype(int)
    fitted = Auto(candidates=("identity", "platt")).fit(y, p)
    assert fitted.method == "platt"
    assert np.isinf(next(each for each in fitted.fit.choice.candidates if each.name == "identity").score)


def test_progress_is_told(rng):
    seen = []
    Auto(candidates=("identity", "temperature"), n_folds=3, progress=lambda done, of: seen.append((done, of))).fit(
        tempered(rng, 60)
    )
    assert seen[-1] == (2 * (1 + 3 + 9) + 3, 2 * (1 + 3 + 9) + 3)
    assert [done for done, _ in seen] == list(range(1, len(seen) + 1))


@pytest.mark.parametrize(
    ("options", "argument"),
    [({"score": "ece"}, "score"), ({"n_folds": 1}, "n_folds"), ({"candidates": ()}, "candidates"), ({"candidates": "platt"}, "candidates")],
)  # fmt: skip
def test_bad_options_are_refused(options, argument):
    with pytest.raises(cal.InputError, match=argument):
        Auto(**options)


def test_unknown_candidates_are_refused(rng):
    with pytest.raises(cal.InputError, match="method"):
        Auto(candidates=("identity", "magic")).fit(calibrated(rng, 40))


def test_few_rows_that_make_the_score_infinite_are_mended_all_the_same():
    fitted = Auto().fit([1, 0] * 10, [0.0] + [0.5] * 19)
    assert np.isfinite(cal.log_score([1, 0] * 10, fitted.apply([0.0] + [0.5] * 19)).value)


@pytest.mark.parametrize("n_groups", [1, 2, 3, 40])
def test_groups_fewer_than_folds_are_no_obstacle(rng, n_groups):
    said = calibrated(rng, 200)
    grouped = Predictions(said.labels, said.probs, groups=rng.permutation(np.arange(200) % n_groups))
    for recipe in (Auto(candidates=("identity", "platt")), cal.Dirichlet()):
        assert np.isfinite(recipe.fit(grouped).apply(said.probs)).all()


def test_a_candidate_that_refuses_rows_is_named(rng):
    class Touchy:
        def fit(self, predictions):
            if predictions.n < 100:
                raise cal.InputError("labels", "must be many")
            return cal.Platt().fit(predictions)

        def __repr__(self):
            return "Touchy()"

    choice = Auto(candidates=("identity", Touchy())).fit(calibrated(rng, 100)).fit.choice
    assert "Touchy() refused some rows: labels must be many" in choice.note
    assert choice.chosen == "identity"
