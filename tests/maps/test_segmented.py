"""A map for each segment: shrunk to that of all rows, applied with segments, saved, refused where it must be."""

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant.maps import Segmented
from tolerances import ROUNDING

NAMES = np.array(["east", "north", "south"])


def rows(seed, n=900, wrong="south"):
    """Predictions that are right but for one segment, where they are too high."""
    rng = np.random.default_rng(seed)
    p, where = rng.beta(1.5, 1.5, n), rng.choice(NAMES, n, p=[0.2, 0.4, 0.4])
    truth = np.where(where == wrong, p**2, p)
    return (rng.random(n) < truth).astype(int), p, where, truth


def log_loss(truth, p):
    """Expected, given the true probabilities."""
    return -(truth * np.log(p) + (1 - truth) * np.log1p(-p))


LABELS, P, WHERE, TRUTH = rows(0)
FITTED = Segmented("platt").fit(LABELS, P, segments=WHERE)


def test_the_map_of_all_rows_comes_first_and_then_that_of_the_segment():
    found = FITTED.apply(P, segments=WHERE)
    assert FITTED.segments == tuple(NAMES)
    assert FITTED.base == cal.Platt().fit(LABELS, P)
    assert FITTED.alone[1]  # a segment that is right is better off without the map of all rows
    for name, part, alone in zip(NAMES, FITTED.parts, FITTED.alone, strict=True):
        own = P[name == WHERE]
        assert found[name == WHERE] == pytest.approx(part.apply(own if alone else FITTED.base.apply(own)), abs=ROUNDING)
    for name in NAMES:  # the wrong segment is repaired, and the others are not left as the map of all rows has them
        own = name == WHERE
        assert log_loss(TRUTH, found)[own].mean() < log_loss(TRUTH, FITTED.base.apply(P))[own].mean()


def test_a_segment_of_few_rows_gets_the_map_of_all_rows():
    where = np.where(np.arange(len(P)) < 9, "tiny", WHERE)
    fitted = Segmented("platt").fit(LABELS, P, segments=where)
    tiny = where == "tiny"
    assert np.array_equal(fitted.apply(P, segments=where)[tiny], fitted.base.apply(P)[tiny])
    assert "1 of 4 segments have fewer than 10 rows and get the map of all rows: 'tiny'" in fitted.fit.cautions


def test_a_segment_that_was_not_in_the_fit_gets_the_map_of_all_rows_and_a_warning():
    with pytest.warns(
        UserWarning, match=r"2 rows are in segments that were not in the fit \('west'\): they get the map"
    ):
        found = FITTED.apply(P[:3], segments=["west", "west", "south"])
    assert found[:2] == pytest.approx(FITTED.base.apply(P[:2]), abs=ROUNDING)
    assert found[2] < FITTED.base.apply(P[2:3])[0]


def test_what_a_segment_is_called_does_not_depend_on_its_type():
    codes = np.searchsorted(NAMES, WHERE)
    fitted = Segmented("temperature").fit(LABELS, P, segments=codes)
    expected = fitted.apply(P, segments=codes)
    for same in (
        codes.astype(float),
        codes.astype(str),
        codes.tolist(),
        pd.Series(codes, dtype="Int64"),
        codes[:, None],
    ):
        assert np.array_equal(fitted.apply(P, segments=same), expected)
    missing = Segmented("temperature").fit(LABELS, P, segments=np.where(codes == 2, np.nan, codes))
    assert missing.segments == ("0", "1", "missing")
    assert np.array_equal(missing.apply(P, segments=[None if c == 2 else str(c) for c in codes]), expected)


@pytest.mark.slow
def test_counts_are_rows_repeated_and_rows_of_weight_0_are_none():
    counts = np.arange(150) % 3
    some = [each[:150] for each in (LABELS, P, WHERE)]
    counted = Segmented("platt").fit(*some[:2], segments=some[2], counts=counts)
    labels, p, where = (np.repeat(each, counts) for each in some)
    repeated = Segmented("platt").fit(labels, p, segments=where)
    assert counted.apply(p, segments=where) == pytest.approx(repeated.apply(p, segments=where), abs=1e-9)
    none = Segmented("identity").fit(LABELS, P, segments=WHERE, weights=np.where(WHERE == "east", 0.0, 1.0))
    assert none.parts[0].fit.n == 0


def test_classes_logits_and_predictions():
    rng = np.random.default_rng(1)
    z = rng.normal(size=(600, 3)) * 2
    where = rng.choice(["a", "b"], 600)
    labels = (np.where(where[:, None] == "b", 0.3, 1.0) * z + rng.gumbel(size=z.shape)).argmax(axis=1)
    fitted = Segmented("temperature").fit(labels, logits=z, segments=where)
    predictions = cal.Predictions.from_logits(labels, z)
    after = fitted.apply(predictions, segments=where)
    assert np.array_equal(after.probs, fitted.apply(logits=z, segments=where))
    b = where == "b"
    assert after.probs[b].max(axis=1).mean() < fitted.base.apply(predictions).probs[b].max(axis=1).mean() - 0.05
    assert cal.compare(predictions, after).injective is None
    assert cal.recalibrate(predictions, "temperature", segments=where) == fitted


def test_saved_and_read_back(tmp_path):
    FITTED.save(tmp_path / "map.json")
    again = cal.load_map(tmp_path / "map.json")
    assert again == FITTED
    assert np.array_equal(again.apply(P, segments=WHERE), FITTED.apply(P, segments=WHERE))


def test_its_table_says_what_was_done_in_each_segment():
    assert [row[0] for row in FITTED.table.rows] == list(NAMES)
    assert "platt" in FITTED.table.rows[2][3]
    assert float(FITTED.table.rows[2][4].replace("−", "-")) < 0


def test_progress_is_reported():
    seen = []
    Segmented("identity", progress=lambda done, of: seen.append((done, of))).fit(LABELS, P, segments=WHERE)
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("segments", "text"),
    [
        (None, r"segments must be given; this map needs them beside the predictions\. Use apply\(…, segments=…\)"),
        (WHERE[:5], r"segments must hold one value per row, 900 in all; its shape is \(5,\)"),
        ("north", "segments must be an array, a list or a column; it is a str"),
        ({"north": WHERE == "north"}, "segments must be an array, a list or a column; it is a dict"),
    ],
)
def test_segments_that_cannot_be_applied_are_refused(segments, text):
    with pytest.raises(InputError, match=text):
        FITTED.apply(P, segments=segments)


def test_what_needs_a_map_of_the_predictions_alone_is_refused():
    for use in (FITTED.curve, lambda: cal.compare(LABELS, P, FITTED), lambda: FITTED.moves(P)):
        with pytest.raises(InputError, match="segments must be given"):
            use()
    with pytest.raises(InputError, match="must be one of the predictions alone to be shifted"):
        FITTED.at_prevalence(0.1)
    with pytest.raises(InputError, match="segments must be left out; a state has no rows"):
        cal.recalibrate(cal.collect(LABELS, P), "platt", segments=WHERE)
    with pytest.raises(InputError, match="segments is required; it is None"):
        cal.recalibrate(LABELS, P, Segmented("platt"))
    with pytest.raises(InputError, match="must have the index of"):
        Segmented("platt").fit(pd.Series(LABELS), P, segments=pd.Series(WHERE, index=range(1, 901)))


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["none", "south"])
def test_no_segment_fares_worse_than_by_the_map_of_all_rows(wrong):
    """Expected log loss on new rows, the mean over fits: what is wrong is repaired, what is right is not harmed."""
    fresh, against_all = ({name: [] for name in NAMES} for _ in range(2))
    for seed in range(100, 112):
        labels, p, where, _ = rows(seed, 600, wrong)
        _, new, new_where, truth = rows(seed + 1000, 3000, wrong)
        fitted = Segmented("platt").fit(labels, p, segments=where)
        losses = [
            log_loss(truth, each) for each in (fitted.apply(new, segments=new_where), fitted.base.apply(new), new)
        ]
        for name in NAMES:
            own, base, before = (each[new_where == name].mean() for each in losses)
            fresh[name].append(own - before)
            against_all[name].append(own - base)
    assert max(np.mean(each) for each in against_all.values()) < 0.003
    if wrong == "south":
        assert np.mean(fresh["south"]) < -0.05
        assert max(np.mean(each) for each in against_all.values()) < -0.003  # right segments need it as well
        right = [np.array(fresh[name]) for name in ("east", "north")]
        assert max(each.mean() - 2 * each.std() / len(each) ** 0.5 for each in right) < 0.004  # beyond noise
    else:
        assert max(np.mean(each) for each in fresh.values()) < 0.003
