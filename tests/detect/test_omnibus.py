"""One exact answer from several statistics, and what it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import strategies as some
from calibrant import InputError, Predictions
from calibrant.detect.omnibus import is_calibrated
from calibrant.results import TestResult

COMPONENTS = [
    "mean_gap",
    "cox",
    "spiegelhalter",
    "kuiper",
    "scan",
    "neyman",
    "rank_polynomials",
    "waves",
    "isotonic_ratio",
]
WHOLE = ["temperature", "brier", "classes", "worst class", "class cox", "class bins", "top kuiper"]


def sample(rng, truth, n=1500):
    p = rng.random(n)
    return (rng.random(n) < truth(p)).astype(int), p


def shifted(p, by):
    return 1 / (1 + np.exp(-(np.log(p / (1 - p)) + by)))


def tempered(p, by):
    return 1 / (1 + np.exp(-by * np.log(p / (1 - p))))


def test_a_calibrated_model_is_not_accused(rng):
    found = is_calibrated(*sample(rng, lambda p: p))
    assert found.p_value > 0.05
    assert found.finding == "no sign of miscalibration"
    assert not found.rejects()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "words"),
    [
        (lambda p: shifted(p, -0.6), "predictions are too high on average"),
        (lambda p: shifted(p, 0.6), "predictions are too low on average"),
        (lambda p: tempered(p, 0.5), "predictions are too extreme (over-confident)"),
        (lambda p: tempered(p, 2.0), "predictions are not extreme enough (under-confident)"),
    ],
)
def test_it_says_which_way_a_model_is_wrong(rng, truth, words):
    found = is_calibrated(*sample(rng, truth))
    assert found.p_value < 0.001
    assert found.finding.startswith(words)


@pytest.mark.slow
def test_it_says_where_a_model_is_wrong(rng):
    found = is_calibrated(*sample(rng, lambda p: np.where((p > 0.6) & (p < 0.75), p - 0.4, p), 4000))
    place = found.parts["where"]
    assert 0.55 < place["from"] < 0.65
    assert 0.7 < place["to"] < 0.8
    assert place["gap"] == pytest.approx(0.4, abs=0.1)
    low, high = f"{place['from']:.4f}", f"{place['to']:.4f}"
    words = f"predictions between {low} and {high} are too high by {place['gap']:.4f}"
    assert words == found.parts["neyman"].finding


def test_every_statistic_is_a_result_of_its_own(rng):
    found = is_calibrated(*sample(rng, lambda p: p), n_draws=199)
    assert [name for name, part in found.parts.items() if isinstance(part, TestResult)] == COMPONENTS
    assert found.statistic == min(found.parts[name].p_value for name in COMPONENTS)
    assert found.parts["adjusted"] == {name: found.parts[name].parts["adjusted"] for name in COMPONENTS}
    assert all(found.parts[name].p_value <= found.parts["adjusted"][name] for name in COMPONENTS)
    assert TestResult.from_json(found.to_json()) == found


def test_labels_of_probability_0_refute(rng):
    labels, probs = sample(rng, lambda p: p, 200)
    probs[17], labels[17] = 0.0, 1
    found = is_calibrated(labels, probs, n_draws=99)
    assert found.p_value == 0
    assert found.finding == "some labels had predicted probability 0"


@given(said=some.predictions())
def test_any_data_give_an_answer(said):
    found = is_calibrated(said.labels, said.probs, counts=said.weights, n_draws=19)
    assert 0 <= found.p_value <= 1
    assert TestResult.from_json(found.to_json()) == found


@given(said=some.matrices(weighted=False))
def test_any_classes_give_an_answer_as_a_whole(said):
    found = is_calibrated(said.labels, said.probs, view="canonical", n_draws=19)
    assert 0 <= found.p_value <= 1
    assert [name for name, part in found.parts.items() if isinstance(part, TestResult)] == WHOLE


def classes(rng, truth, n=1500):
    probs = rng.dirichlet(np.ones(4), n)
    true = truth(probs)
    true = true / true.sum(axis=1, keepdims=True)
    return (rng.random((n, 1)) > true.cumsum(axis=1)).sum(axis=1).clip(0, 3), probs


@pytest.mark.parametrize(
    ("truth", "words"),
    [
        (lambda p: p**0.6, "predictions are too extreme (over-confident)"),
        (lambda p: p**1.6, "predictions are not extreme enough (under-confident)"),
        (lambda p: p * [1, 1, 2, 1], "predictions of class 2 are too low on average"),
    ],
)
def test_the_whole_vector_says_what_is_wrong(rng, truth, words):
    found = is_calibrated(*classes(rng, truth), view="canonical", n_draws=999)
    assert found.p_value <= 0.01
    assert words in found.finding
    assert found.settings["view"] == "canonical"


def test_classes_swapped_below_the_top_are_seen_as_a_whole_only(rng):
    labels, probs = classes(rng, lambda p: p, 3000)
    ranked = np.sort(probs, axis=1)[:, ::-1].copy()
    rank = (np.argsort(-probs, axis=1) == labels[:, None]).argmax(axis=1)
    swapped = np.array([0, 3, 2, 1])[rank]  # second and last trade places
    assert not is_calibrated(swapped, ranked, n_draws=999).rejects()
    assert is_calibrated(swapped, ranked, view="canonical", n_draws=999).p_value == 0.001


def test_the_order_of_rows_does_not_matter(rng):
    labels, probs = classes(rng, lambda p: p, 200)
    order = rng.permutation(200)
    for view in ("top", "class 2", "canonical"):
        found = is_calibrated(labels, probs, view=view, n_draws=99)
        assert is_calibrated(labels[order], probs[order], view=view, n_draws=99).p_value == found.p_value


def test_whole_weights_are_rows_for_all_classes(rng):
    labels, probs = classes(rng, lambda p: p, 60)
    times = rng.integers(0, 3, 60)
    weighted = is_calibrated(labels, probs, view="canonical", counts=times, n_draws=99)
    repeated = is_calibrated(np.repeat(labels, times), np.repeat(probs, times, axis=0), view="canonical", n_draws=99)
    assert weighted.p_value == repeated.p_value


def test_repeated_questions_fool_only_those_who_count_them(rng):
    labels, probs = sample(rng, lambda p: p, 150)
    said = Predictions(np.repeat(labels, 20), np.repeat(probs, 20), groups=np.repeat(np.arange(150), 20))
    assert is_calibrated(said, n_draws=999).p_value == 0.001
    assert is_calibrated(said, cluster="same", n_draws=999).p_value > 0.05
    assert is_calibrated(said, cluster="any", n_draws=999).p_value > 0.05


def test_soft_labels_are_refused():
    with pytest.raises(InputError, match="they are shares"):
        is_calibrated(Predictions([0.2, 0.9], [0.3, 0.6], soft=True))
    with pytest.raises(InputError, match="they are shares"):
        is_calibrated(Predictions([[0.2, 0.8]], [[0.3, 0.7]], soft=True), view="canonical")


ASSUMED = "rows of a group are taken as independent: pass cluster='same'"


def shared_fates(rng, repeat=25):
    """Forty calibrated questions, each asked several times with one answer."""
    groups, q = np.repeat(np.arange(40), repeat), rng.random(40)
    return Predictions((rng.random(40) < q)[groups], q[groups], groups=groups)


def test_groups_without_a_word_on_dependence_are_warned_of(rng):
    said = shared_fates(rng)
    (caution,) = is_calibrated(said, n_draws=99).cautions
    assert caution.startswith(ASSUMED)
    assert caution.endswith("cluster=False if they do not")
    for cluster in (False, "same"):
        assert is_calibrated(said, cluster=cluster, n_draws=99).cautions == ()
    assert is_calibrated(shared_fates(rng, 1), n_draws=99).cautions == ()  # each row a group of its own
    probs = np.stack([1 - said.probs, said.probs / 2, said.probs / 2], axis=1)
    whole = Predictions(said.labels, probs, groups=said.groups)
    assert is_calibrated(whole, view="canonical", n_draws=99).cautions[0].startswith(ASSUMED)
    assert is_calibrated(whole, view="canonical", cluster=False, n_draws=99).cautions == ()


@pytest.mark.slow
def test_counts_of_very_many_rows(rng):
    y, p = sample(rng, lambda p: p, 300)
    assert is_calibrated(y, p, counts=np.full(300, 1e12), n_draws=99).p_value == 0.01
    hits = np.round(p * 1e12)
    counts = np.concatenate([hits, 1e12 - hits])
    outcomes, both = np.repeat([1, 0], 300), np.concatenate([p, p])
    assert is_calibrated(outcomes, both, counts=counts, n_draws=99).p_value > 0.5


def test_counts_that_stand_for_more_rows_than_can_be_drawn_are_refused(rng):
    y, p = sample(rng, lambda p: p, 300)
    with pytest.raises(InputError, match=r"counts must sum to at most 1e\+15; they sum to 3e\+202"):
        is_calibrated(y, p, counts=np.full(300, 1e200))
    with pytest.raises(InputError, match=r"counts must stand for at most 3.33e\+07 rows"):
        is_calibrated(y, np.stack([1 - p, p / 2, p / 2], axis=1), view="canonical", counts=np.full(300, 1e9))
    assert 0 < is_calibrated(y, p, weights=np.where(p > 0.5, 2e12, 1e12), n_draws=99).p_value <= 1
