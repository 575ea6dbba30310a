"""Auto: candidates judged on held-out rows, and averaged, or the simplest good one chosen."""

import warnings

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (has threads of its own)
from scipy import stats
from threadpoolctl import threadpool_info, threadpool_limits

import calibrant as cal
from calibrant import Auto, Predictions
from calibrant.maps.auto import FEWEST, LIFT, candidates_for
from calibrant.maps.judged import DOUBT, DOUBTED_UP_TO, SEVERAL_OTHERS, Judged, effect_of_groups, trusted


def softmax(z):
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def tempered(rng, n=1500, temperature=2.5):
    z = rng.normal(size=(n, 3)) * 3
    return Predictions.from_logits((z / temperature + rng.gumbel(size=z.shape)).argmax(axis=1), z)


def calibrated(rng, n=1500):
    p = rng.beta(1, 0.5, n)
    return Predictions(rng.random(n) < p, p)


def scores(choice):
    return {each.name: each.score for each in choice.candidates}


FAST = ("identity", "temperature", "platt")


def test_a_clear_repair_is_found(rng):
    fitted = Auto(candidates=("identity", "temperature", "vector"), prefer="simple").fit(tempered(rng))
    assert fitted.fit.choice.chosen == fitted.method == "temperature"
    assert fitted.temperature == pytest.approx(2.5, rel=0.15)


def test_the_average_is_as_sure_as_the_truth(rng):
    said = tempered(rng, 1000)
    fitted = cal.recalibrate(said, Auto(candidates=("identity", "temperature", "vector")))
    truth = softmax(said.logits / 2.5)
    assert np.abs(fitted.apply(said).probs - truth).max() < 0.1
    assert "identity" not in [part.method for part in fitted.parts]


def never(self, logs, level):
    return lambda used: False


def test_weights_follow_the_held_out_loss_and_the_worst_credible_change(rng, monkeypatch):
    monkeypatch.setattr(Judged, "doubted", never)
    said = calibrated(rng, 120)
    fitted = Auto(candidates=("identity", "platt")).fit(said)
    from calibrant.maps.folds import in_folds
    from calibrant.maps.mixture import lifted_logs

    rows, masks = in_folds(said, 5)
    lift = LIFT / 121
    logs = {name: np.empty((120, 2)) for name in ("identity", "platt")}
    for held in masks:
        logs["platt"][held] = lifted_logs(cal.Platt().fit(rows.rows(~held)).apply(rows.rows(held)).probs, lift)
    logs["identity"] = lifted_logs(rows.probs, lift)
    loss = {name: -each[np.arange(120), rows.labels].sum() for name, each in logs.items()}
    change = (logs["identity"] - logs["platt"]).ravel()
    chance = np.exp(np.maximum(logs["identity"], logs["platt"])).ravel()
    order = np.argsort(-change)
    worst = change[order][np.searchsorted(np.cumsum(chance[order]), 0.05)]
    beyond = change > worst
    guard = worst + 2 * (chance[beyond] * (change[beyond] - worst)).sum()
    price = DOUBT * np.log(SEVERAL_OTHERS) * DOUBTED_UP_TO / (DOUBTED_UP_TO + 120)
    odds = np.exp(-trusted("one event", 120) * (loss["platt"] + guard - loss["identity"]) - price)
    assert fitted.weights[1] / fitted.weights[0] == pytest.approx(odds, rel=0.05)  # limits lie on a grid


def test_the_fewer_the_rows_the_more_the_identity_weighs(rng, monkeypatch):
    """The loss and the guard of a map that is the identity are those of the identity: the price alone is left."""
    monkeypatch.setattr(Judged, "doubted", never)
    said = calibrated(rng, 80)

    class Same:
        def __init__(self, name):
            self.name = name

        def fit(self, predictions):
            return cal.maps.Identity().fit(predictions)

        def __repr__(self):
            return self.name

    weights = Auto(candidates=("identity", *(Same(f"same {i}") for i in range(7)))).fit(said).weights
    expected = 7 ** (DOUBT * DOUBTED_UP_TO / (DOUBTED_UP_TO + 80))
    assert weights[0] / weights[1] == pytest.approx(expected)


def test_the_more_rows_the_more_pieces_weigh(rng):
    for n, more in ((100, 1.5), (400, 3.0), (5000, 8.0)):
        p = rng.uniform(0.1, 0.9, n)
        logs = two_columns_of(p)
        same = dict.fromkeys(("identity", "platt", "piecewise_linear"), logs)
        weights = Judged(Predictions(rng.random(n) < p, p), logs, same, cal.score.LogScore()).weights()
        assert weights["piecewise_linear"] / weights["platt"] == pytest.approx(more)


def two_columns_of(p):
    return np.log(np.stack([1 - p, p], axis=1))


@pytest.mark.parametrize("grouped", [False, True])
def test_a_gain_must_outlast_one_more_row_or_group(rng, grouped):
    p, groups = rng.uniform(0.1, 0.9, 300), np.arange(300) // 3
    said = Predictions(np.repeat(rng.random(100) < 0.4, 3), p, groups=groups if grouped else None)
    before = two_columns_of(p)
    for towards in (0.02, 0.3, 0.9):
        logs = two_columns_of((1 - towards) * p + towards * 0.4)
        judged = Judged(said, before, {"identity": before, "other": logs}, cal.score.LogScore())
        change, rows = (before - logs)[np.arange(300), said.labels], np.arange(300)
        worst = judged.guards["other"]
        if grouped:
            worst = max(worst, change.reshape(100, 3).sum(axis=1).max())
        doubted, order = judged.doubted(logs), np.argsort(change)
        kept = next(m for m in range(1, 301) if change[order[:m]].sum() + worst < 0)
        assert doubted(rows[order[: kept - 1]])
        assert not doubted(rows[order[:kept]])
    assert judged.doubted(before)(slice(None))  # nothing is changed


def test_what_calls_an_outcome_impossible_or_is_no_candidate_is_not_kept(rng):
    p = rng.uniform(0.1, 0.9, 50)
    worse = two_columns_of(1 - p)
    for first, names in ((0.5, ("other",)), (0.0, ("identity", "other"))):
        p[0] = first
        before = two_columns_of(np.maximum(p, 1e-9))
        judged = Judged(Predictions(p > 0.5, p), before, {"identity": before, "other": worse}, cal.score.LogScore())
        judged.held = {name: judged.held[name] for name in names}
        assert not judged.doubted(worse)(slice(None))


def test_what_held_out_rows_do_not_show_to_be_better_is_not_done(rng):
    worlds = [calibrated(rng, 400) for _ in range(4)]
    found = [Auto(candidates=("identity", "platt")).fit(each) for each in worlds]
    untouched = [(fitted, said) for fitted, said in zip(found, worlds, strict=True) if fitted.method == "identity"]
    assert len(untouched) >= 2
    for fitted, said in untouched:
        assert (fitted.apply(said.probs) == said.probs).all()
        assert fitted.fit.choice.chosen == "identity"
        assert {each.name: each.weight for each in fitted.fit.choice.candidates} == {"identity": 1, "platt": 0}
        assert "do not show" in fitted.fit.choice.reason


@pytest.mark.slow
def test_what_needs_no_repair_is_left_nearly_alone(rng):
    worlds = [calibrated(rng, 300) for _ in range(4)]
    moved = [np.abs(cal.recalibrate(each).apply(each.probs) - each.probs).mean() for each in worlds]
    assert max(moved) < 0.03


def test_the_table_holds_every_candidate_and_the_procedure(rng):
    choice = Auto(candidates=("identity", "temperature", cal.maps.VectorScaling())).fit(tempered(rng, 200)).fit.choice
    assert {each.name for each in choice.candidates} == {"identity", "temperature", repr(cal.maps.VectorScaling())}
    ordered = [each.score for each in choice.candidates]
    assert ordered == sorted(ordered)
    assert next(each for each in choice.candidates if each.name == "identity").change == 0
    assert sum(each.weight for each in choice.candidates) == pytest.approx(1)
    assert [row[0] for row in choice.table.rows] == [*(each.name for each in choice.candidates), "auto"]
    assert choice.table.columns[-1] == "weight"
    assert "Candidates" in repr(choice)
    assert "<table>" in choice._repr_html_()


def test_a_simple_choice_has_no_weights(rng):
    choice = Auto(candidates=FAST, prefer="simple").fit(calibrated(rng, 100)).fit.choice
    assert all(each.weight is None for each in choice.candidates)
    assert choice.table.columns[-1] == "change from identity"
    assert choice.reason.startswith(choice.chosen)


def test_scores_are_those_of_maps_that_have_not_seen_the_row(rng):
    said = tempered(rng, 90)
    choice = Auto(candidates=("temperature",), n_folds=3).fit(said).fit.choice
    from calibrant.maps.folds import in_folds

    rows = np.empty(90)
    for held in in_folds(said, 3)[1]:
        fitted = cal.Temperature().fit(said.rows(~held))
        rows[held] = cal.score.LogScore().rows(fitted.apply(said.rows(held)))
    assert choice.candidates[0].score == pytest.approx(rows.mean(), abs=LIFT / 91)


def test_the_order_of_the_rows_does_not_matter(rng):
    said = calibrated(rng, 200)
    one, other = (Auto(candidates=FAST).fit(each) for each in (said, said.rows(rng.permutation(200))))
    at = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(one.apply(at), other.apply(at), rtol=1e-6)
    for a, b in zip(one.fit.choice.candidates, other.fit.choice.candidates, strict=True):
        assert a.name == b.name
        assert a.score == pytest.approx(b.score, abs=1e-6)


@pytest.mark.parametrize("prefer", ["average", "simple"])
def test_weight_two_is_the_row_twice(rng, prefer):
    said = calibrated(rng, 120)
    times = rng.integers(0, 3, 120)
    recipe = Auto(candidates=FAST, prefer=prefer)
    weighted = recipe.fit(Predictions(said.labels, said.probs, counts=times))
    repeated = recipe.fit(Predictions(np.repeat(said.labels, times), np.repeat(said.probs, times)))
    for a, b in zip(weighted.fit.choice.candidates, repeated.fit.choice.candidates, strict=True):
        assert a.name == b.name
        assert (a.score, a.change) == pytest.approx((b.score, b.change), abs=1e-9)
    np.testing.assert_allclose(weighted.apply(said.probs), repeated.apply(said.probs), rtol=1e-8)


@pytest.mark.parametrize("kind", ["rows", "counts", "groups"])
def test_with_a_level_the_interval_of_the_change_must_lie_below_zero(rng, kind):
    said, times, group = calibrated(rng, 300), rng.integers(1, 4, 300), np.arange(300) % 60
    given = {"counts": times} if kind == "counts" else {"groups": group} if kind == "groups" else {}
    rows = Predictions(said.labels, said.probs, **given)
    truth, before = (np.log(np.stack([1 - p, p], axis=1)) for p in (said.probs, 0.5 + (said.probs - 0.5) * 0.6))
    judged = Judged(rows, before, {"identity": before, "truth": truth}, cal.score.LogScore())
    change = (before - truth)[np.arange(300), rows.labels]
    each = {"rows": change, "counts": np.repeat(change, times), "groups": np.bincount(group, change)}[kind]
    t = each.mean() / (each.std(ddof=1) / len(each) ** 0.5)
    p_value = 2 * float(stats.t.sf(-t, len(each) - 1))
    assert 0 < p_value < 0.05
    assert not judged.doubted(truth)(slice(None))
    assert not judged.doubted(truth, 1 - 1.001 * p_value)(slice(None))
    assert judged.doubted(truth, 1 - 0.999 * p_value)(slice(None))


def test_a_high_level_leaves_the_predictions_as_they_are(rng):
    said, tried = tempered(rng, 300), ("identity", "temperature")
    for prefer, reason in (("average", "at a level of"), ("simple", "no more than chance")):
        sure, unsure = (Auto(candidates=tried, prefer=prefer, level=each).fit(said) for each in (0.5, 1 - 1e-15))
        assert "temperature" in sure.fit.choice.reason
        assert unsure.fit.choice.chosen == "identity"
        assert reason in unsure.fit.choice.reason
        np.testing.assert_array_equal(unsure.apply(said.probs), said.probs)


@pytest.mark.parametrize("n", [1, 2, 5, FEWEST - 1])
def test_a_few_rows_vouch_for_nothing(rng, n):
    fitted = cal.recalibrate(calibrated(rng, n), "auto")
    assert fitted.fit.choice.chosen == "identity"
    assert "too few" in fitted.fit.choice.reason


@pytest.mark.parametrize("prefer", ["average", "simple"])
def test_the_choice_survives_as_json(rng, prefer):
    fitted = Auto(candidates=FAST, prefer=prefer).fit(calibrated(rng, 100))
    assert cal.maps.CalibrationMap.from_json(fitted.to_json()) == fitted
    assert "chosen:" in repr(fitted)


def test_candidates_grow_with_the_data(rng):
    sizes = [len(candidates_for(calibrated(rng, n))) for n in (30, 300, 10_000)]
    assert sizes == sorted(sizes)
    assert {"gaussian_process", "piecewise_linear"} <= set(candidates_for(calibrated(rng, 60)))
    assert all(candidates_for(tempered(rng, n))[0] == "identity" for n in (50, 1000))
    many = Predictions(np.arange(300) % 150, np.full((300, 150), 1 / 150))
    assert "structured_matrix" not in candidates_for(many)
    assert "structured_vector" in candidates_for(many)  # whose place no matrix takes


@pytest.mark.parametrize(
    ("k", "names"), [(2, {"temperature", "platt", "quadratic"}), (3, {"temperature", "structured_vector"})]
)
def test_a_single_map_is_chosen_from_more_than_an_average_needs(rng, k, names):
    given = calibrated(rng, 200) if k == 2 else Predictions(np.arange(200) % 3, rng.dirichlet(np.ones(3), 200))
    averaged, alone = set(candidates_for(given)), set(candidates_for(given, alone=True))
    assert alone - averaged == names
    tried = {each.name for each in Auto(prefer="simple").fit(given).fit.choice.candidates}
    assert names <= tried


RIGHT = np.full((100, 10), 1e-4 / 9)
RIGHT[np.arange(100), np.arange(100) % 10] = 1 - 1e-4


@pytest.mark.parametrize("prefer", ["average", "simple"])
def test_rows_without_an_error_do_not_make_a_confident_model_surer(prefer):
    fitted = Auto(candidates=("identity", "temperature", "structured_vector"), prefer=prefer).fit(
        np.arange(100) % 10, RIGHT
    )
    new = fitted.apply(RIGHT)
    loss = -(RIGHT * np.log(new)).sum(axis=1).mean()
    assert loss <= -(RIGHT * np.log(RIGHT)).sum(axis=1).mean() + 0.003


def test_a_heavy_tail_does_not_excuse_a_bad_mean():
    """One row in fifty loses 690 nats by the identity: the difference has a large error, and yet no doubt is left."""
    p = np.full(100, 0.6)
    p[[3, 50]] = 1e-300
    y = np.r_[np.ones(51), np.tile([0, 1, 1], 17)[:49]].astype(int)
    for prefer in ("average", "simple"):
        fitted = Auto(candidates=("identity", "platt", "ensemble_temperature"), prefer=prefer).fit(y, p)
        assert cal.log_score(y, fitted.apply(p)).value < 1.0


@pytest.mark.parametrize("prefer", ["average", "simple"])
def test_an_exact_zero_that_has_not_happened_yet_is_allowed_for(rng, prefer):
    p = rng.dirichlet(np.ones(3), 200)
    p[:28, 0] = 0.0
    p /= p.sum(axis=1, keepdims=True)
    y = (rng.random(200)[:, None] > np.cumsum(p, axis=1)).sum(axis=1).clip(0, 2)
    fitted = Auto(candidates=("identity", "temperature"), prefer=prefer).fit(y, p)
    assert fitted.apply(p).min() > LIFT / 201 / 3 / 2
    if fitted.fit.choice.chosen != "mixture":
        assert "some predictions are 0" in fitted.fit.cautions[-1]


def test_infinite_scores_lose_and_do_not_poison(rng):
    p = np.r_[np.zeros(50), np.full(50, 0.6)]
    y = np.r_[np.ones(3), np.zeros(47), rng.random(50) < 0.6].astype(int)
    fitted = Auto(candidates=("identity", "platt")).fit(y, p)
    assert fitted.fit.choice.candidates[0].name == "platt"
    assert np.isfinite(cal.log_score(y, fitted.apply(p)).value)


@pytest.mark.slow
def test_no_warning_reaches_the_user(rng):
    worlds = [
        (np.r_[1, np.zeros(99)], np.r_[0.0, np.full(99, 1e-12)]),
        (np.ones(60), np.ones(60)),
        (np.arange(100) % 10, RIGHT),
        (rng.integers(0, 4, 80), np.eye(4)[rng.integers(0, 4, 80)]),
        (np.zeros(30), np.full(30, 0.5)),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for labels, probs in worlds:
            classes = tuple(range(10 if np.ndim(probs) == 2 and probs.shape[1] == 10 else 4))
            given = (
                Predictions(labels.astype(int), probs)
                if np.ndim(probs) == 1
                else Predictions(labels, probs, classes=classes)
            )
            assert np.isfinite(cal.recalibrate(given).apply(given).probs).all()


def test_progress_is_told(rng):
    seen = []
    Auto(candidates=("identity", "temperature"), n_folds=3, progress=lambda done, of: seen.append((done, of))).fit(
        tempered(rng, 60)
    )
    assert seen == [(done, 8) for done in range(1, 9)]


def test_of_many_rows_one_fold_is_judged(rng, monkeypatch):
    monkeypatch.setattr("calibrant.maps.auto.FEW_ENOUGH", 100)
    said, seen = calibrated(rng, 500), []
    recipe = Auto(candidates=("identity", "platt"), progress=lambda done, of: seen.append((done, of)))
    choice = recipe.fit(said).fit.choice
    assert choice.note.startswith("one fold of 100 rows")
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    from calibrant.maps.folds import in_folds

    rows, masks = in_folds(said, 25)  # folds of the folds
    mine = np.any(masks[:5], axis=0)
    fitted, held = cal.Platt().fit(rows.rows(~mine)), rows.rows(mine)
    assert scores(choice)["platt"] == pytest.approx(cal.log_score(fitted.apply(held)).value, abs=LIFT / 500)
    times = rng.integers(1, 3, 200)
    one = recipe.fit(Predictions(said.labels[:200], said.probs[:200], counts=times))
    other = recipe.fit(Predictions(np.repeat(said.labels[:200], times), np.repeat(said.probs[:200], times)))
    np.testing.assert_allclose(one.apply(said.probs), other.apply(said.probs), rtol=1e-8)


def test_of_many_probabilities_fewer_folds_are_judged(rng, monkeypatch):
    said, recipe = tempered(rng, 500), Auto(candidates=("identity", "temperature"))
    groups = Predictions.from_logits(said.labels, said.logits, groups=np.arange(500) % 50)
    for least, start in (
        ({1500: 2, 1000: 3}, "two folds of 200"),
        ({1501: 2, 1500: 3}, "three folds of 300"),
        ({1501: 1}, "5-fold"),
    ):
        monkeypatch.setattr("calibrant.maps.folds.FEWER_FOLDS", least)
        assert recipe.fit(said).fit.choice.note.startswith(start)
        assert recipe.fit(groups).fit.choice.note.startswith("5-fold")


@pytest.mark.parametrize(
    ("options", "argument"),
    [({"score": "ece"}, "score"), ({"n_folds": 1}, "n_folds"), ({"candidates": ()}, "candidates"), ({"candidates": "platt"}, "candidates"), ({"prefer": "best"}, "prefer"), ({"level": 95}, "level")],
)  # fmt: skip
def test_bad_options_are_refused(options, argument):
    with pytest.raises(cal.InputError, match=argument):
        Auto(**options)


def test_unknown_candidates_are_refused(rng):
    with pytest.raises(cal.InputError, match="method"):
        Auto(candidates=("identity", "magic")).fit(calibrated(rng, 40))


def test_few_rows_that_make_the_score_infinite_are_mended_all_the_same():
    fitted = Auto(candidates=("identity", "platt")).fit([1, 0] * 10, [0.0] + [0.5] * 19)
    assert np.isfinite(cal.log_score([1, 0] * 10, fitted.apply([0.0] + [0.5] * 19)).value)


@pytest.mark.parametrize("n_groups", [1, 2, 3, 40])
def test_groups_fewer_than_folds_are_no_obstacle(rng, n_groups):
    said = calibrated(rng, 200)
    grouped = Predictions(said.labels, said.probs, groups=rng.permutation(np.arange(200) % n_groups))
    for recipe in (Auto(candidates=("identity", "platt")), cal.Dirichlet()):
        assert np.isfinite(recipe.fit(grouped).apply(said.probs)).all()


class Touchy:
    def fit(self, predictions):
        if predictions.n < 100:
            raise cal.InputError("labels", "must be many")
        return cal.Platt().fit(predictions)

    def __repr__(self):
        return "Touchy()"


@pytest.mark.parametrize("prefer", ["average", "simple"])
def test_a_map_at_its_bound_is_no_candidate(rng, prefer):
    p = np.where(rng.random(200) < 0.5, 0.02, 0.98)
    y = (p < 0.5).astype(int)  # always wrong: any temperature helps less than a uniform guess
    assert "stopped at the bound" in cal.Temperature().fit(y, p).fit.cautions[-1]
    choice = Auto(candidates=("identity", "temperature", "platt"), prefer=prefer).fit(y, p).fit.choice
    assert "temperature is no candidate: " in choice.note
    assert {each.name for each in choice.candidates} == {"identity", "platt"}


class Counting:
    """Sees how many threads linear algebra has."""

    def fit(self, predictions):
        self.threads = blas_threads()
        return cal.Platt().fit(predictions)


def blas_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_maps_are_tried_with_one_thread_of_linear_algebra(rng):
    with threadpool_limits(2, "blas"):
        candidate = Counting()
        Auto(candidates=("temperature", candidate)).fit(calibrated(rng, 100))
        assert candidate.threads == {1}
        assert blas_threads() == {2}


def test_a_candidate_that_refuses_rows_is_named(rng):
    choice = Auto(candidates=("identity", Touchy())).fit(calibrated(rng, 100)).fit.choice
    assert "Touchy() is no candidate: labels must be many" in choice.note
    assert choice.chosen == "identity"


def test_candidates_that_all_refuse_are_an_error(rng):
    with pytest.raises(cal.InputError, match=r"candidates must hold a map .*; Touchy\(\): labels must be many"):
        Auto(candidates=(Touchy(),)).fit(calibrated(rng, 100))


WORLDS = {
    "one event, mean 0.9": (lambda rng, n: rng.beta(1.8, 0.2, n), 100),
    "one event, mean 0.999": (lambda rng, n: rng.beta(4.995, 0.005, n), 30),
    "one event, rate 0.001": (lambda rng, n: rng.beta(0.002, 1.998, n), 60),
    "three classes": (lambda rng, n: softmax(8 * rng.normal(size=(n, 3))), 30),
    "ten classes": (lambda rng, n: softmax(10 * rng.normal(size=(n, 10))), 100),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_a_calibrated_model_is_not_harmed(rng, name):
    """The excess of the expected log loss over that of the true probabilities, on fresh rows."""
    drawn, n = WORLDS[name]
    found, least = [], []
    for _ in range(6):
        p, fresh = drawn(rng, n), drawn(rng, 2000)
        columns, truth = (np.stack([1 - q, q], axis=1) if q.ndim == 1 else q for q in (p, fresh))
        labels = (rng.random(n)[:, None] > np.cumsum(columns, axis=1)).sum(axis=1).clip(0, columns.shape[1] - 1)
        fitted = cal.recalibrate(Predictions(labels, p, classes=range(columns.shape[1])))
        said = fitted.apply(fresh)
        said = np.stack([1 - said, said], axis=1) if fresh.ndim == 1 else said
        possible = truth > 0
        least.append(-(truth[possible] * np.log(truth[possible])).sum() / 2000)
        found.append(-(truth[possible] * np.log(said[possible])).sum() / 2000 - least[-1])
    error = np.std(found, ddof=1) / 6**0.5
    assert np.mean(found) - 2 * error < max(0.003, 0.01 * np.mean(least))
    assert max(found) < 0.05


def test_weights_that_are_no_numbers_of_rows_are_held_out_too(rng):
    p = rng.random(80)
    y, w = rng.random(80) < p, rng.random(80) + 0.5
    names = [each.name for each in cal.recalibrate(y, p, weights=w).fit.choice.candidates]
    assert {"gaussian_process", "beta", "venn_abers"} <= set(names)


def mixed_up(rng, n, k):
    """Predictions of the class before the one that is right."""
    z = 4 * rng.normal(size=(n, k))
    probs = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    right = (rng.random(n)[:, None] > probs.cumsum(axis=1)).sum(axis=1).clip(0, k - 1)
    return Predictions((right + 1) % k, probs, classes=tuple(range(k)))


@pytest.mark.parametrize("prefer", ["average", "simple"])
@pytest.mark.parametrize("k", [2, 5])
def test_classes_that_are_mixed_up_are_put_right(rng, k, prefer):
    """No temperature helps, and so no map that begins at one."""
    valid, test = mixed_up(rng, 400, k), mixed_up(rng, 2000, k)
    fitted = cal.recalibrate(valid, Auto(prefer=prefer))
    loss = {
        name: cal.log_score(test.with_probs(p)).value
        for name, p in (("before", test.probs), ("after", fitted.apply(test.probs)))
    }
    best = -(test.probs * np.log(test.probs)).sum(axis=1).mean()  # of predictions that are right but for their order
    assert loss["before"] > 3 * best
    assert loss["after"] < 1.2 * best
    assert "structured_matrix is no candidate" in fitted.fit.choice.note


def test_predictions_that_say_nothing_become_a_uniform_guess(rng):
    probs = rng.dirichlet(np.full(10, 0.1), 3000)
    labels = rng.integers(0, 10, 3000)
    fitted = cal.recalibrate(Predictions(labels[:1000], probs[:1000]))
    assert cal.log_score(labels[1000:], fitted.apply(probs[1000:])).value < np.log(10) + 0.02


def test_a_map_alone_says_so(rng):
    said = tempered(rng, 100)
    for name in ("identity", "platt"):
        assert Auto(candidates=(name,)).fit(said).fit.choice.reason == f"{name}: no other map could be judged."


def in_groups(rng, n, size, k):
    """Calibrated rows, the same for all of a group."""
    group = np.repeat(np.arange(n), size)
    if k == 2:
        p = rng.beta(9.7, 0.3, n)
        return Predictions((rng.random(n) < p)[group], p[group], groups=group), p
    p = rng.dirichlet(np.full(k, 0.1), n)
    labels = (rng.random(n)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(0, k - 1)
    return Predictions(labels[group], p[group], classes=tuple(range(k)), groups=group), p


@pytest.mark.slow
@pytest.mark.parametrize(("k", "n", "size"), [(2, 24, 5), (2, 100, 5), (3, 24, 5), (3, 60, 2)])
def test_rows_of_a_group_do_not_count_as_independent_ones(k, n, size):
    """What groups of equal rows show, fewer rows show: as evidence they harmed calibrated models by up to 0.75 nats."""
    found = []
    for seed in range(150):
        rng = np.random.default_rng([seed, k, n])
        said, _ = in_groups(rng, n, size, k)
        fresh = in_groups(rng, 2000, 1, k)[1]
        new = cal.recalibrate(said).apply(fresh)
        truth, after = (np.stack([1 - each, each], axis=1) if k == 2 else each for each in (fresh, new))
        tiny = np.finfo(float).tiny
        excess = truth * (np.log(np.maximum(truth, tiny)) - np.log(np.maximum(after, tiny)))
        found.append(excess.sum(axis=1).mean())
    assert np.mean(found) < 0.003
    assert np.max(found) < 0.05


def test_a_group_of_equal_rows_tells_as_much_as_one(rng):
    one, _ = in_groups(rng, 60, 1, 3)
    groups = np.arange(60)
    alone = Predictions(one.labels, one.probs, classes=(0, 1, 2), groups=groups)
    many = Predictions(
        np.repeat(one.labels, 7), np.repeat(one.probs, 7, axis=0), classes=(0, 1, 2), groups=np.repeat(groups, 7)
    )
    assert effect_of_groups(one) == 1
    assert effect_of_groups(alone) == pytest.approx(1)
    assert effect_of_groups(many) == pytest.approx(7)
    assert candidates_for(many) == candidates_for(alone)
    assert len(candidates_for(Predictions(many.labels, many.probs, classes=(0, 1, 2)))) > 3
    said, logs = [], []
    for rows in (alone, many):
        before = np.log(np.clip(rows.probs, 1e-6, 1))
        held = {"identity": before, "ensemble_temperature": np.log(0.9 * np.exp(before) + 0.1 / 3)}
        judged = Judged(rows, before, held, cal.score.LogScore())
        judged.guards = dict.fromkeys(held, 0.0)  # rows of a group have no limits of their own
        said.append(judged.weights()["identity"])
        logs.append(judged.measured(held["ensemble_temperature"])[1].interval(0.95)[0])
    assert said[0] == pytest.approx(said[1])
    assert logs[0].low == pytest.approx(logs[1].low)


def test_few_rows_of_several_classes_are_left_to_the_ensemble(rng):
    few = Predictions(np.arange(76) % 4, rng.dirichlet(np.ones(4), 76))
    assert candidates_for(few) == ("identity", "ensemble_temperature")


def test_held_out_losses_of_several_classes_count_more_the_more_rows_there_are():
    assert trusted("one event", 50) == trusted("one event", 1e6) == 0.25
    assert trusted("several classes", 0) == 0.25
    assert trusted("several classes", 1000) == 0.375
    assert trusted("several classes", 1e9) == pytest.approx(0.5)
