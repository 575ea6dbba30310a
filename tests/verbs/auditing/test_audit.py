from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant.kernels.draws.null_draws import replicate_seeds
from calibrant.kernels.rows import blocks
from calibrant.problems import InputError
from calibrant.resampling.draw import content_seed
from calibrant.resampling.null import nulls_of
from calibrant.resampling.rank import critical_score, step_down
from calibrant.verbs.auditing import family as family_module
from calibrant.verbs.auditing.audit import Audit, audit
from calibrant.verbs.auditing.family import family_of, segment_draws
from calibrant.verbs.auditing.laws import laws_of
from calibrant.verbs.auditing.segments import feature_column, feature_columns, segments_of
from calibrant.verbs.auditing.verdicts import joint_scores
from naive.audit import adjusted_p_values, course, every_segment
from tolerances import ROUNDING, STANDARD_ERRORS

ALL = slice(None)


@pytest.fixture
def people(rng):
    n = 3000
    return {
        "age": rng.integers(18, 90, n),
        "sex": rng.choice(["f", "m"], n),
        "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(10, 1, n)),
    }


@pytest.fixture
def said(rng, people):
    """Too high for old women."""
    p = rng.random(3000)
    bad = (people["sex"] == "f") & (people["age"] > 72)
    return cal.Predictions(rng.random(3000) < np.where(bad, p**3, p), p)


def cut_of(columns, n, named=(), depth=3, least=1, most=10**6, n_bins=4):
    counts = np.ones(n)
    return segments_of(feature_columns(columns, ALL, counts, n, n_bins), list(named), counts, depth, least, most)


@given(st.data(), st.integers(1, 3), st.integers(1, 4))
def test_segments_are_those_of_trying_every_combination(data, depth, least):
    n = data.draw(st.integers(1, 25))
    columns = {
        name: np.array(data.draw(st.lists(st.sampled_from("xyz"), min_size=n, max_size=n)))
        for name in data.draw(st.sampled_from((("a",), ("a", "b"), ("a", "b", "c", "d"))))
    }
    cut = cut_of(columns, n, depth=depth, least=least)
    members, starts = cut.members(cut.cells)
    wanted = every_segment(columns, depth, least)
    found = {
        tuple(members[a:b].tolist()): [s.name, *s.same]
        for a, b, s in zip(starts[:-1], starts[1:], cut.found, strict=True)
    }
    assert found.keys() == wanted.keys()
    for rows, names in found.items():
        assert sorted(names) == sorted(wanted[rows])
        assert names[0].count("&") == min(name.count("&") for name in wanted[rows])


def test_quantities_are_cut_at_quantiles_and_missing_values_are_a_level():
    column = feature_column("age", np.array([1.5, 2.5, 3.5, 4.5, np.nan, 2.5, 3.5, 1.5]), np.ones(8), 2)
    assert column.levels == ("age ≤ 2.5", "age > 2.5", "age missing")
    assert column.codes.tolist() == [0, 0, 1, 1, 2, 0, 1, 0]
    three = feature_column("x", np.arange(12) / 10, np.ones(12), 3)
    assert three.levels == ("x ≤ 0.3", "0.3 < x ≤ 0.7", "x > 0.7")
    assert np.bincount(three.codes).tolist() == [4, 4, 4]


def test_quantiles_count_weights():
    values, counts = np.array([0.1, 0.2, 0.3, 0.4]), np.array([3.0, 1.0, 1.0, 1.0])
    repeated = feature_column("x", np.repeat(values, counts.astype(int)), np.ones(6), 2)
    assert feature_column("x", values, counts, 2).levels == repeated.levels


def test_many_equal_values_make_fewer_bins():
    column = feature_column("x", np.array([0.0] * 20 + [0.5, 1.5, 2.5]), np.ones(23), 3)
    assert column.levels == ("x ≤ 0", "x > 0")


def test_close_edges_are_told_apart():
    column = feature_column("t", 1.7e9 + np.arange(300) / 100, np.ones(300), 3)
    assert len(set(column.levels)) == 3


def test_few_whole_numbers_are_categories():
    column = feature_column("grade", np.array([3, 1, 2, 1]), np.ones(4), 2)
    assert column.levels == ("grade = 1", "grade = 2", "grade = 3")


def test_rare_categories_are_one_level():
    values = np.array([f"v{k:02}" for k in range(30) for _ in range(30 - k)])
    column = feature_column("city", values, np.ones(len(values)), 4)
    assert len(column.levels) == 20
    assert column.levels[-1] == "city: 11 rarer values"
    assert (column.codes == 19).sum() == sum(30 - k for k in range(19, 30))


def test_objects_with_gaps_are_categories():
    column = feature_column("city", np.array(["Oslo", None, float("nan"), "Bern"], dtype=object), np.ones(4), 4)
    assert column.levels == ("city = Bern", "city = Oslo", "city = missing")


def test_objects_that_are_numbers_are_quantities():
    from decimal import Decimal

    values = np.array([Decimal("0.5"), 1.5, None, np.float64(2.5), 4, pd.NA], dtype=object)
    column = feature_column("x", values, np.ones(6), 2)
    assert column.levels == ("x ≤ 1.5", "x > 1.5", "x missing")
    answers = feature_column("x", np.array([True, None, False], dtype=object), np.ones(3), 2)
    assert answers.levels == ("x = False", "x = True", "x = missing")


def test_beyond_the_number_small_ones_with_many_conditions_go(said, people):
    found = audit(said, people, max_segments=10, n_draws=19)
    assert len(found) == 11  # all rows are always there
    assert all(len(s.conditions) == 1 for s in found.segments if s.name != "all rows")
    wanted = (
        "more than max_segments were found: small ones of 2 conditions, and those of more conditions were not audited"
    )
    assert audit(said, people, max_segments=12, n_draws=19).cautions == (wanted,)
    named = audit(said, people, segments={"m": people["sex"] == "m"}, max_segments=1, n_draws=19)
    assert {s.name for s in named.segments} == {"all rows", "m", "sex = f"}  # named ones do not count
    assert named["m"].same == ("sex = m",)


def test_the_same_rows_are_one_segment(said, people):
    found = audit(said, segments={"men": people["sex"] == "m", "not women": people["sex"] != "f"}, n_draws=19)
    assert len(found) == 2
    assert found["not women"] is found["men"]


def test_too_small_segments_are_left_out(said, people):
    assert min(s.n for s in audit(said, people, min_size=200, n_draws=19).segments) >= 200
    alone = audit(said, {"sex": people["sex"]}, min_size=2500, n_draws=19)
    assert [s.name for s in alone.segments] == ["all rows"]
    assert alone.cautions == ("all 2 segments are smaller than min_size: only all rows were audited",)


def test_own_segments_that_are_too_small_are_named(said):
    rows = np.arange(said.n)
    wards = {"ward 7": rows < 49, "big": rows < 600, "nobody": rows < 0}
    (caution,) = audit(said, segments=wards, n_draws=19).cautions
    assert caution == (
        "2 of your own segments or groups are smaller than min_size and were not audited: 'ward 7', 'nobody'"
    )
    (caution,) = audit(said, groups=np.maximum(rows - said.n + 10, 0), n_draws=19).cautions
    assert caution.startswith("9 of your own segments or groups are")
    assert caution.endswith("'group = 1', 'group = 2', 'group = 3' and 6 more")
    assert not audit(said, segments={"big": rows < 600}, n_draws=19).cautions


def test_two_segments_have_different_names(said, people):
    sex = {"sex": people["sex"]}
    for features, segments, name in (
        (sex, {"sex = f": people["age"] > 72}, "sex = f"),
        (None, {"all rows": people["age"] > 72}, "all rows"),
        (None, {1: people["age"] > 72, "1": people["age"] > 60}, "1"),
    ):
        with pytest.raises(InputError, match=f"must have different names; two of them are called '{name}'"):
            audit(said, features, segments=segments, n_draws=19)
    same = audit(said, sex, segments={"sex = f": people["sex"] == "f"}, n_draws=19)
    assert same["sex = f"].same == ()
    close = audit(said, {"id": 1234567 + (people["sex"] == "f")}, n_draws=19)
    assert {s.name for s in close.segments} == {"all rows", "id = 1234567", "id = 1234568"}


def families(rng, how):
    n = 60
    p = rng.integers(0, 6, n) / 5 if how != "plain" else rng.random(n)
    mass = {"counts": {"counts": rng.integers(0, 4, n)}, "fixed": {"weights": rng.random(n) + 0.1}}.get(how, {})
    groups = rng.integers(0, 12, n) if how == "clusters" else None
    columns = {"a": rng.choice(["x", "y"], n), "b": rng.choice(["u", "v", "w"], n)}
    said = cal.Predictions(rng.random(n) < p, p, **mass, groups=groups)
    kept = ALL if said.weights is None else said.weights > 0
    counts = said.weights[kept] if how == "counts" else np.ones(n)
    cut = segments_of(feature_columns(columns, kept, counts, n, 4), [], counts, 2, 1, 100)
    return family_of(said.event("auto"), said, cut, kept, how == "clusters"), said, columns


@pytest.mark.parametrize("how", ["plain", "tied", "counts", "fixed", "clusters"])
def test_sums_and_ranges_are_those_of_walking_each_segment(rng, monkeypatch, how):
    monkeypatch.setattr(family_module, "TILE", 7)
    monkeypatch.setattr(family_module, "DRAWS_AT_ONCE", 4)
    family, _, _ = families(rng, how)
    atoms = family.atoms
    found = segment_draws(family, 10, 3, True)
    seed = content_seed(3, *atoms.content, family.cells)[0]
    errors = nulls_of(atoms)[0].draws(replicate_seeds(seed, 10))
    for m, row in enumerate([atoms.errors, *errors]):
        for s in range(family.n_segments):
            inside = family.members[family.starts[s] : family.starts[s + 1]]
            total, width = course(row[inside], atoms.p[inside])
            assert found.sums[m, s] == pytest.approx(total, abs=ROUNDING)
            assert found.ranges[m, s] == pytest.approx(width, abs=ROUNDING)
    np.testing.assert_array_equal(segment_draws(family, 10, 3, False).sums, found.sums)


def test_laws_are_moments_of_the_rows(rng):
    family, said, columns = families(rng, "tied")
    laws = laws_of(family)
    p, y = said.probs, said.labels
    everywhere = int(np.argmax(laws.weight))
    variance = (p * (1 - p)).sum()
    assert laws.sigma[everywhere] == pytest.approx(variance**0.5)
    assert laws.skew[everywhere] == pytest.approx((p * (1 - p) * (1 - 2 * p)).sum() / variance**1.5)
    errors = p - y
    pooled = max(1.0, (errors**2).sum() / variance)
    for s in range(family.n_segments):
        atoms = family.members[family.starts[s] : family.starts[s + 1]]
        rows = rows_of(family.cells[atoms], columns)
        centred = ((errors[rows] - errors[rows].mean()) ** 2).sum()
        assert laws.spread[s] ** 2 == pytest.approx(max(pooled * (p * (1 - p))[rows].sum(), centred))


def rows_of(cells, columns):
    """The rows of some cells, which are the pairs of their features in order."""
    pairs = np.array([a + b for a, b in zip(columns["a"], columns["b"], strict=True)])
    return np.isin(pairs, np.unique(pairs)[np.unique(cells)])


def test_clusters_give_their_own_standard_error(rng):
    family, said, _ = families(rng, "clusters")
    errors = said.probs - said.labels
    sums = np.bincount(said.groups, errors)
    laws = laws_of(family)
    everywhere = int(np.argmax(laws.weight))
    assert laws.sigma[everywhere] == pytest.approx(np.sqrt((sums**2).sum()))
    assert laws.effective[everywhere] == pytest.approx((sums**2).sum() ** 2 / (sums**4).sum())


@given(st.data())
def test_step_down_takes_out_the_worst_one_after_the_other(data):
    shape = data.draw(st.tuples(st.integers(2, 12), st.integers(1, 6)))
    scores = np.array(
        data.draw(st.lists(st.integers(0, 8), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    )
    scores = scores.reshape(shape).astype(float)
    np.testing.assert_allclose(step_down(scores, 0.9).adjusted, adjusted_p_values(scores), rtol=ROUNDING)


def test_what_is_needed_decides_as_the_p_value_does(rng):
    for _ in range(50):
        scores = np.abs(rng.normal(size=(20, 5))) + (np.arange(20) == 0)[:, None] * rng.random(5) * 4
        judged = step_down(scores, 0.9)
        called = judged.adjusted <= 0.1 + 1e-12
        order = np.argsort(-scores[0])
        wanted = np.minimum.accumulate((scores[0] > judged.needed)[order] | (scores[0] >= judged.needed)[order])
        np.testing.assert_array_equal(called[order], wanted)
        assert judged.critical == critical_score(scores, 0.9)


def test_adjusting_never_helps_a_segment(said, people):
    found = audit(said, people, n_draws=199)
    assert all(s.adjusted >= s.p_value for s in found.segments)
    ordered = [s.adjusted for s in found.segments]
    assert ordered == sorted(ordered)
    assert found.p_value == ordered[0]


def test_a_bad_cell_is_named_with_its_direction(said, people):
    found = audit(said, people, n_draws=999)
    worst = found.segments[0]
    assert set(worst.conditions) >= {"sex = f"}
    assert worst.verdict == "too high"
    assert worst.gap > 0 > worst.standard_gap
    assert worst.interval.low > 0
    assert found.found[0] is worst
    assert all("sex = m" not in s.conditions or not s.found for s in found.segments)


def test_a_calibrated_model_has_no_bad_segment(rng, people):
    p = rng.random(3000)
    found = audit(cal.Predictions(rng.random(3000) < p, p), people, n_draws=999)
    assert not found.found
    assert found.sentence().startswith(f"None of {len(found)} segments called wrong (smallest adjusted p =")


@pytest.mark.slow
def test_errors_that_cancel_are_seen_by_the_range_alone(rng):
    p = rng.random(4000)
    part = rng.random(4000) < 0.3
    said = cal.Predictions(rng.random(4000) < np.where(part, 0.5, p), p)
    gap, course_, both = (
        audit(said, segments={"part": part}, statistic=s, n_draws=499)["part"] for s in ("gap", "range", "both")
    )
    assert not gap.found
    assert gap.standard_range is None
    for segment in (course_, both):
        assert segment.verdict == "wrong both ways"
        assert segment.fired == "range"
        assert 0 in segment.interval
    p, y = said.probs[part], said.labels[part]
    width = course(p - y, p)[1]
    assert both.standard_range == pytest.approx(width / np.sqrt((p * (1 - p)).sum()))


def test_the_order_of_rows_does_not_matter(rng, said, people):
    order = rng.permutation(said.n)
    shuffled = audit(said.rows(order), {k: v[order] for k, v in people.items()}, n_draws=99)
    assert shuffled == audit(said, people, n_draws=99)


def test_a_row_of_weight_two_is_the_row_twice(rng):
    n = 200
    p, weights = rng.integers(1, 20, n) / 20, rng.integers(0, 4, n)
    y, x, g = rng.random(n) < p, rng.random(n), rng.choice(["u", "v"], n)
    options = {"min_size": 10, "n_draws": 99}
    weighted = audit(cal.Predictions(y, p, counts=weights), {"x": x, "g": g}, **options)
    rows = np.repeat(np.arange(n), weights)
    repeated = audit(cal.Predictions(y[rows], p[rows]), {"x": x[rows], "g": g[rows]}, **options)
    assert weighted.segments == repeated.segments


def test_weights_are_held_fixed(rng):
    n = 400
    p, g = rng.random(n), rng.choice(["u", "v"], n)
    w = 0.5 + rng.random(n)
    y = rng.random(n) < p
    found = audit(cal.Predictions(y, p, weights=w), groups=g, n_draws=99)
    segment, inside = found["group = u"], g == "u"
    assert segment.n == inside.sum()
    assert segment.gap == pytest.approx(np.average((p - y)[inside], weights=w[inside]))
    sigma = np.sqrt((w**2 * p * (1 - p))[inside].sum())
    assert segment.standard_gap == pytest.approx((w * (y - p))[inside].sum() / sigma)


@pytest.mark.slow
def test_the_number_of_cores_does_not_matter(said, people, monkeypatch):
    several = audit(said, people, n_draws=99)
    monkeypatch.setattr(blocks, "n_cores", lambda: 1)
    assert audit(said, people, n_draws=99) == several


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        lambda columns: np.rec.fromarrays(list(columns.values()), names=list(columns)),
        lambda columns: pd.DataFrame(columns).astype({"sex": "category"}),
    ],
    ids=["pandas", "polars", "arrow", "structured", "pandas categories"],
)
def test_features_come_in_any_table(said, people, table):
    assert audit(said, table(people), n_draws=19) == audit(said, people, n_draws=19)


def test_missing_categories_of_arrow_stay_missing():
    column = pa.chunked_array(
        [pa.array(["a", None, "b"]).dictionary_encode(), pa.array([None, "b"]).dictionary_encode()]
    )
    (found,) = feature_columns(pa.table({"s": column}), ALL, np.ones(5), 5, 4)
    assert found.levels == ("s = a", "s = b", "s = missing")
    assert found.codes.tolist() == [0, 2, 1, 2, 1]


def test_one_row_tells_nothing():
    (segment,) = audit(cal.Predictions([1], [0.5]), groups=["a"], n_draws=19).segments
    assert (segment.interval.low, segment.interval.high) == (-0.5, 0.5)
    assert segment.detectable is None
    assert segment.adjusted == 1


def test_groups_of_the_predictions_are_the_default(said, people):
    grouped = cal.Predictions(said.labels, said.probs, groups=people["sex"])
    assert audit(grouped, n_draws=99) == audit(said, groups=people["sex"], n_draws=99)
    assert {s.name for s in audit(grouped, n_draws=19).segments} == {"all rows", "group = f", "group = m"}


@pytest.mark.parametrize("view", ["top", "class b"])
def test_a_view_of_several_classes_is_the_audit_of_its_event(rng, view):
    probs = rng.dirichlet([1, 1, 1], 600)
    labels = (rng.random((600, 1)) > probs.cumsum(axis=1)[:, :2]).sum(axis=1)
    groups = rng.choice(["u", "v"], 600)
    several = cal.Predictions(labels, probs, classes=None)
    several.classes = ("a", "b", "c")
    event = several.event(view)
    found = audit(several, groups=groups, view=view, n_draws=99)
    alone = audit(cal.Predictions(event.outcomes, event.probs), groups=groups, n_draws=99)
    assert found.segments == alone.segments
    assert found.view == view


def test_intervals_agree_with_the_gap_and_its_score(said, people):
    found = audit(said, people, statistic="gap", n_draws=499)
    for s in found.segments:
        assert s.gap == pytest.approx(s.mean_prob - s.label_rate, abs=ROUNDING)
        assert s.gap in s.interval
        if abs(s.score - found.critical) > 0.3:  # errors may vary a little more than the predictions say
            assert (0 not in s.interval) == (s.score > found.critical)
    assert found["all rows"].interval.level == 0.95


def test_the_detectable_gap_is_the_critical_one_and_some_more(rng):
    n = 10_000
    p, g = np.full(n, 0.5), rng.choice(["u", "v"], n)
    found = audit(cal.Predictions(rng.random(n) < p, p), groups=g, statistic="gap", n_draws=499)
    segment = found["group = u"]
    error = 0.5 / segment.n**0.5
    assert segment.detectable == pytest.approx((found.critical + 0.8416) * error + 0.5 / segment.n, rel=1e-3)
    ranged = audit(cal.Predictions(rng.random(n) < p, p), groups=g, statistic="range", n_draws=499)["group = u"]
    assert ranged.detectable > segment.detectable


def test_small_segments_are_told_apart_from_clean_ones(rng):
    n = 20_000
    p, g = rng.random(n), np.where(np.arange(n) < 60, "few", "many")
    found = audit(cal.Predictions(rng.random(n) < p, p), groups=g, margin=0.03, n_draws=199)
    assert found["group = few"].verdict == "too few rows"
    assert found["group = many"].verdict == "no error seen"
    assert found.could_be_missed() == pytest.approx(1 / 3)
    assert found.could_be_missed(0.5) == 0


def test_what_can_never_be_seen_has_no_detectable_gap(rng):
    p = np.full(400, 0.5)
    options = {"groups": np.arange(400) < 4, "min_size": 4, "n_draws": 199}
    found = audit(cal.Predictions(rng.random(400) < p, p), **options)["group = True"]
    assert found.detectable is None
    assert found.verdict == "too few rows"


def test_gaps_that_are_not_possible_need_not_be_seen(rng):
    """Where 1 % is said, nothing can be too high by more; a rate that would be seen four times in five is another matter."""
    p = np.full(400, 0.01)
    few = audit(cal.Predictions(rng.random(400) < p, p), groups=np.arange(400) < 60, n_draws=199)["group = True"]
    assert 0.04 < few.detectable < 0.12
    never = audit(cal.Predictions(np.zeros(1000), np.zeros(1000)), segments={"h": np.arange(1000) < 500}, n_draws=99)
    assert never["h"].detectable == pytest.approx(-np.log(0.2) / 500, rel=0.05)  # no hit in one data set of five
    assert never["h"].verdict == "no error seen"


@pytest.mark.some(3)
@pytest.mark.parametrize("said", [0.0, 1e-300, 1e-9, 1.0])
@pytest.mark.parametrize("how", ["counts", "fixed", "clusters"])
def test_a_model_that_leaves_nothing_to_chance_can_still_be_wrong(rng, said, how):
    """No surprise in 500 rows does not make surprises impossible: about 3 of 500 would often be missed."""
    n = 1000
    weights = 0.5 + rng.random(n) if how == "fixed" else None
    rows = {"weights": weights, "groups": np.arange(n) // 2 if how == "clusters" else None}
    p, half = np.full(n, said), {"half": np.arange(n) < 500}
    options = {"segments": half, "cluster": how == "clusters", "n_draws": 99}
    none = audit(cal.Predictions(p > 0.5, p, **rows), **options)["half"]
    assert 3 / 500 < none.interval.high - none.interval.low < 25 / 500
    some = audit(cal.Predictions((p > 0.5) ^ (rng.random(n) < 0.1), p, **rows), **options)["half"]
    gap = np.average(p - np.where(p > 0.5, 0.9, 0.1))
    assert gap in some.interval
    assert 0 not in some.interval
    assert 0.03 < some.interval.high - some.interval.low < 0.15


def test_where_draws_tell_nothing_segments_share_the_errors_allowed():
    from statistics import NormalDist

    scores = np.abs(np.random.default_rng(0).normal(size=(2000, 8)))
    none, some, every = (joint_scores(scores, np.arange(8) < k, 0.95) for k in (0, 2, 8))
    assert (none == critical_score(scores, 0.95)).all()
    alone = NormalDist().inv_cdf(1 - 0.05 / 8 / 2)
    np.testing.assert_allclose(every, alone)
    np.testing.assert_allclose(some[:2], alone)
    assert (some[2:] == critical_score(scores[:, 2:], 1 - 0.05 * 6 / 8)).all()


@given(st.floats(0, 1), st.booleans(), st.integers(0, 10**6))
def test_the_law_of_a_wrong_model_has_the_moments_of_its_rows(share, upward, seed):
    rng = np.random.default_rng(seed)
    n = 30
    p, w = rng.random(n), rng.random(n) + 0.1
    said = cal.Predictions(rng.random(n) < p, p, weights=w)
    w = said.weights
    cut = segments_of([], [], np.ones(n), 1, 1, 1)
    laws = laws_of(family_of(said.event("auto"), said, cut, ALL, False))
    rate = p + share * (1 - p) if upward else (1 - share) * p
    wrong = laws.wrong(np.array([share]), upward)
    variance, third = (w**2 * rate * (1 - rate)).sum(), (w**3 * rate * (1 - rate) * (1 - 2 * rate)).sum()
    assert wrong.sigma[0] ** 2 == pytest.approx(variance, rel=1e-9, abs=1e-12)
    assert wrong.skew[0] * wrong.sigma[0] ** 3 == pytest.approx(third, rel=1e-9, abs=1e-9)
    assert laws.largest(upward)[0] * share == pytest.approx(abs((w * (rate - p)).sum()), abs=1e-9)


def test_what_was_given_probability_0_is_seen(rng):
    p = np.r_[np.zeros(60), rng.random(200)]
    y = np.r_[np.ones(1), np.zeros(59), rng.random(200) < p[60:]]
    found = audit(cal.Predictions(y, p), groups=np.r_[np.zeros(60), np.ones(200)], n_draws=99)
    assert found.segments[0].name == "group = 0.0"
    assert found.segments[0].adjusted == 0.01
    assert found.segments[0].found
    assert any("probability 0" in c for c in found.cautions)
    assert Audit.from_json(found.to_json()) == found


def test_clusters_need_other_segments_and_widen_the_interval(rng):
    units = 400
    p = np.repeat(rng.random(units), 5)
    y = np.repeat(rng.random(units), 5) < p
    sex = np.repeat(rng.choice(["f", "m"], units), 5)
    said = cal.Predictions(y, p, groups=np.repeat(np.arange(units), 5))
    plain, tied = (audit(said, {"sex": sex}, cluster=c, n_draws=199)["sex = f"] for c in (False, True))
    width = [s.interval.high - s.interval.low for s in (plain, tied)]
    assert 1.8 < width[1] / width[0] < 2.8  # √5
    with pytest.raises(InputError, match="there are none beside the clusters"):
        audit(said, cluster=True)
    few = cal.Predictions(y, p, groups=np.repeat(np.arange(10), 200))
    assert any("few clusters err" in c for c in audit(few, {"sex": sex}, cluster=True, n_draws=19).cautions)


def test_clusters_are_called_wrong_only_if_independent_rows_would_be(rng):
    """One row per cluster, rare events: sign flips alone take the skewness of the errors for a fault."""
    p = np.full(600, 0.02)
    y, sex = rng.random(600) < p, rng.choice(["f", "m"], 600)
    said = cal.Predictions(y, p, groups=np.arange(600))
    tied, plain = (audit(said, {"sex": sex}, cluster=c, n_draws=199) for c in (True, False))
    for segment in tied.segments:
        assert segment.adjusted >= plain[segment.name].adjusted - STANDARD_ERRORS * (2 * 0.25 / 200) ** 0.5


def test_named_masks_and_features_are_judged_together(said, people):
    found = audit(said, {"sex": people["sex"]}, segments={"old": people["age"] > 72}, n_draws=99)
    assert {s.name for s in found.segments} == {"all rows", "sex = f", "sex = m", "old"}


@pytest.mark.slow
def test_an_audit_prints_and_travels(said, people):
    found = audit(said, people, n_draws=199)
    assert Audit.from_json(found.to_json()) == found
    text = repr(found)
    assert found.segments[0].name in text
    assert f"… and {len(found) - len(found.tables()[0].rows):,} more segments" in text
    assert len(found.table().rows) == len(found)
    marked = audit(said, segments={"<b>": people["sex"] == "m"}, n_draws=19)
    assert "<b>" not in marked._repr_html_().replace("</b>", "")
    with pytest.raises(KeyError, match="'nobody' is not here; there are"):
        found["nobody"]


def test_parts_stand_below_their_whole(said, people):
    found = audit(said, people, n_draws=499)
    table = found.nested()
    names = [row[0] for row in table.rows]
    assert sorted(name.strip() for name in names) == sorted(s.name for s in found.found)
    for k, name in enumerate(names):
        indent = len(name) - len(name.lstrip())
        if indent:
            above = next(other for other in reversed(names[:k]) if len(other) - len(other.lstrip()) < indent)
            whole, part = set(found[above.strip()].conditions), set(found[name.strip()].conditions)
            assert whole < part


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "features or groups or segments must be given; there are none"),
        ({"features": [1, 2, 3]}, "features must be a dict of columns, a table or a structured array; it is a list"),
        ({"features": {"x": [1, 2]}}, r"features\['x'\] must hold one value per row, 3 in all; its shape is \(2,\)"),
        ({"features": {}}, "features must hold at least one column; it is empty"),
        ({"features": pd.DataFrame()}, "features must hold at least one column; it is empty"),
        ({"segments": {}}, "segments must hold at least one name and mask; it is empty"),
        ({"segments": [True]}, "segments must be a dict of names and masks; it is a list"),
        ({"segments": {"a": [1, 0, 1]}}, r"segments\['a'\] must be a mask, true for its rows; its dtype is int64"),
        ({"groups": [1, 2]}, "groups must hold one value per row, 3 in all"),
        ({"groups": [1, 2, 3], "depth": 4}, "depth must be one of 1, 2, 3; it is 4"),
        ({"groups": [1, 2, 3], "statistic": "max"}, "statistic must be one of 'both', 'gap', 'range'; it is 'max'"),
        ({"groups": [1, 2, 3], "min_size": 0}, "min_size must be a whole number, at least 1"),
        ({"groups": [1, 2, 3], "n_draws": 5}, "n_draws must be a whole number, at least 19"),
        ({"groups": [1, 2, 3], "level": 95}, "level must lie between 0 and 1"),
        ({"groups": [1, 2, 3], "margin": 0}, "margin must be positive and finite"),
        ({"groups": [1, 2, 3], "cluster": True}, "cluster needs groups; the predictions have none"),
        ({"groups": [1, 2, 3], "view": "classwise"}, "'classwise' needs one column per class"),
    ],
)
def test_refusals_say_what_is_wrong(options, text):
    with pytest.raises(InputError, match=text):
        audit(cal.Predictions([0, 1, 1], [0.2, 0.5, 0.9]), **options)


def test_shares_and_other_things_are_refused():
    with pytest.raises(InputError, match="they are shares"):
        audit(cal.Predictions([0.3, 0.7], [0.2, 0.8], soft=True), groups=[0, 1])
    with pytest.raises(InputError, match="probs is required; only labels were given"):
        audit([0, 1], groups=[0, 1])


def test_labels_and_probs_are_taken_as_predictions_are(rng):
    p, sex, w = rng.random(400), rng.choice(["f", "m"], 400), rng.integers(1, 3, 400)
    y = rng.random(400) < p
    expected = audit(cal.Predictions(y, p, weights=w), {"sex": sex}, n_draws=99)
    assert audit(y, p, {"sex": sex}, weights=w, n_draws=99) == expected
    with pytest.raises(InputError, match="labels must be rows; it is a state, which has no features"):
        audit(cal.collect(y, p), {"sex": sex})
