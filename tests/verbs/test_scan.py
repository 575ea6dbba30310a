"""Files and streams of any size: the state of one pass, resumed after a stop, and errors that name file, row and column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import calibrant as cal
from calibrant.files import batches
from calibrant.problems import FileError, InputError
from calibrant.verbs import collect as collecting


def table(n: int = 300, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    probs = rng.beta(0.6, 0.9, n)
    labels = (rng.random(n) < probs**1.2).astype(np.int64)
    return pa.table({"label": labels, "prob": probs, "other": rng.random(n), "site": rng.choice(["a", "b"], n)})


def whole(*tables: pa.Table, **options) -> cal.State:
    both = pa.concat_tables(tables)
    return cal.collect(both["label"].to_numpy(), both["prob"].to_numpy(), **options)


def same(one: cal.State, other: cal.State) -> None:
    assert one.n == other.n
    assert one.pooled("binary").to_data() == other.pooled("binary").to_data()


@pytest.fixture
def lake(tmp_path):
    for k in range(3):
        parquet.write_table(table(seed=k), tmp_path / f"{k}.parquet", row_group_size=100)
    return tmp_path


ALL = [table(seed=k) for k in range(3)]


def scan(source, **options):
    return cal.scan(source, progress=False, **options)


def test_files_by_folder_pattern_and_list(lake):
    (lake / "_SUCCESS.csv").write_text("")
    (lake / "notes.txt").write_text("no data")
    for source in (lake, str(lake / "*.parquet"), [lake / f"{k}.parquet" for k in range(3)]):
        found = scan(source)
        same(found, whole(*ALL))
        assert len(found.parts) == 3


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "feather", "arrow", "jsonl", "npz"])
def test_every_format(tmp_path, ending):
    path, rows = tmp_path / f"rows.{ending}", table()
    frame = rows.to_pandas()
    if ending in ("csv", "csv.gz", "tsv"):
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    elif ending == "jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
        rows = rows.set_column(1, "prob", pa.array(pd.read_json(path, lines=True)["prob"]))
    elif ending == "npz":
        np.savez(path, **{name: frame[name].to_numpy() for name in ("label", "prob")})
    elif ending == "arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=70)
    else:
        {"parquet": parquet.write_table, "feather": feather.write_feather}[ending](rows, path)
    np.testing.assert_allclose(scan(path).pooled("binary").values, whole(rows).pooled("binary").values, rtol=1e-14)
    assert scan(path).n == 300


def test_streams_and_frames(lake):
    rows = ALL[0]
    sources = [
        rows,
        pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches(max_chunksize=50)),
        pl.from_arrow(rows),
        pl.from_arrow(rows).lazy(),
        rows.to_pandas(),
        iter(rows.to_batches(max_chunksize=50)),
        (pl.from_arrow(batch) for batch in rows.to_batches(max_chunksize=50)),
        iter([{name: rows[name].to_numpy() for name in ("label", "prob")}]),
    ]
    for source in sources:
        same(scan(source), whole(rows))


def test_batches_of_any_size_give_the_same_state(lake, monkeypatch):
    expected = scan(lake, max_distinct=200)
    assert expected.pooled("binary").coarse
    monkeypatch.setattr(batches, "_rows", lambda _: 37)
    found = scan(lake, max_distinct=200)
    np.testing.assert_array_equal(found.pooled("binary").hits, expected.pooled("binary").hits)
    np.testing.assert_allclose(found.pooled("binary").values, expected.pooled("binary").values, rtol=1e-14)


@pytest.mark.parametrize("most", [1 << 32, 100])
def test_rows_taken_into_buckets_at_once_count_the_same(lake, tmp_path, monkeypatch, most):
    expected = scan(lake, max_distinct=200)
    monkeypatch.setattr(batches, "_rows", lambda _: 37)
    monkeypatch.setattr(collecting, "COMPILE_FROM", 1)
    monkeypatch.setattr(collecting, "MOST_ROWS", most)
    found, saved = scan(lake, max_distinct=200), tmp_path / "state.json"
    resumed = [
        scan([lake / f"{k}.parquet" for k in range(last)], max_distinct=200, checkpoint=saved) for last in (2, 3)
    ]
    merged = scan(lake / "0.parquet", max_distinct=200)
    merged = scan(lake / "1.parquet", max_distinct=200).merge(merged).merge(scan(lake / "2.parquet", max_distinct=200))
    assert sorted(found.parts) == sorted(expected.parts)
    for state in (found, resumed[-1], merged):
        assert (state.n, len(state.parts)) == (900, 3)
        for name in ("weight", "hits", "low", "high"):
            np.testing.assert_array_equal(
                getattr(state.pooled("binary"), name), getattr(expected.pooled("binary"), name)
            )
        np.testing.assert_allclose(state.pooled("binary").values, expected.pooled("binary").values, rtol=1e-14)


def test_many_distinct_predictions_are_known_by_their_first_rows(rng):
    assert collecting._many(rng.random(400), 150)
    assert not collecting._many(np.repeat(rng.random(150), 3), 150)
    assert not collecting._many(rng.random(400), None)


def test_names_of_classes_hold_for_all_batches(tmp_path):
    first = pa.table({"y": ["no", "yes"], "prob": [0.2, 0.9]})
    second = pa.table({"y": ["no", "no"], "prob": [0.3, 0.4]})
    parquet.write_table(first, tmp_path / "1.parquet")
    parquet.write_table(second, tmp_path / "2.parquet")
    found = scan(tmp_path, label="y", classes="no,yes")
    assert found.classes == ("no", "yes")
    assert found.pooled("binary").hits.tolist() == [0, 0, 0, 1]


def test_several_classes_from_files(tmp_path, rng):
    probs = rng.dirichlet(np.ones(4), 900)
    labels = (probs.cumsum(axis=1) < rng.random((900, 1))).sum(axis=1)
    columns = {"label": labels} | {f"prob_{k}": probs[:, k] for k in range(4)}
    for k in range(3):
        rows = slice(300 * k, 300 * (k + 1))
        parquet.write_table(pa.table({n: c[rows] for n, c in columns.items()}), tmp_path / f"{k}.parquet")
    found, expected = scan(tmp_path, views=["top", "class 1"]), cal.collect(labels, probs, views=["top", "class 1"])
    for measure in (cal.ece, cal.brier_score, cal.log_score, cal.static_error):
        assert measure(found).value == pytest.approx(measure(expected).value, rel=1e-12)
    assert cal.sweep_error(found, view="class 1") == cal.sweep_error(expected, view="class 1")


def test_states_of_segments_can_be_audited(lake):
    found = scan(lake, segments="site")
    assert list(found) == ["a", "b"]
    both = pa.concat_tables(ALL).to_pandas()
    for site, state in found.items():
        rows = both[both.site == site]
        same(state, cal.collect(rows.label, rows.prob))
    audited = cal.audit(found, n_draws=199)
    expected = cal.audit(cal.Predictions(both.label, both.prob, groups=both.site), n_draws=199)
    assert [(s.name, s.n) for s in audited.segments] == [(s.name, s.n) for s in expected.segments]
    for one, other in zip(audited.segments, expected.segments, strict=True):
        assert one.gap == pytest.approx(other.gap, abs=1e-12)


def test_a_checkpoint_resumes_and_counts_nothing_twice(lake, tmp_path):
    saved = tmp_path / "state.arrow"
    (lake / "2.parquet").rename(tmp_path / "later")
    assert scan(lake / "*.parquet", checkpoint=saved).n == 600
    (tmp_path / "later").rename(lake / "2.parquet")
    reads = []
    found = cal.scan(lake / "*.parquet", checkpoint=saved, progress=lambda done, of: reads.append((done, of)))
    same(found, whole(*ALL))
    assert cal.State.load(saved) == found
    same(scan(lake / "*.parquet", checkpoint=saved), found)
    assert reads[-1][0] == reads[-1][1] > 0


def test_what_was_merged_stays_when_a_later_file_is_damaged(lake, tmp_path):
    saved = tmp_path / "state.json"
    damaged = lake / "1.parquet"
    content = bytearray(damaged.read_bytes())
    content[100:1200] = bytes(1100)
    damaged.write_bytes(content)
    with pytest.raises(FileError, match=r"1\.parquet.*column '(label|prob)' of row group 0"):
        scan(lake / "*.parquet", checkpoint=saved)
    same(cal.State.load(saved), whole(ALL[0]))
    parquet.write_table(ALL[1], damaged, row_group_size=100)
    same(scan(lake / "*.parquet", checkpoint=saved), whole(*ALL))


def test_a_file_that_changed_since_it_was_counted_is_named(lake, tmp_path):
    scan(lake / "*.parquet", checkpoint=tmp_path / "state.json")
    parquet.write_table(table(seed=9), lake / "1.parquet")
    with pytest.raises(FileError, match=r"1\.parquet' has changed since it was counted"):
        scan(lake / "*.parquet", checkpoint=tmp_path / "state.json")


def test_a_truncated_file_is_named(lake):
    content = (lake / "2.parquet").read_bytes()
    (lake / "2.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(FileError, match=r"2\.parquet"):
        scan(lake)


def test_a_bad_value_far_into_a_file_is_named_with_its_row(lake, monkeypatch):
    monkeypatch.setattr(batches, "_rows", lambda _: 64)
    rows = ALL[1].to_pandas()
    for value, words in ((1.5, r"must lie in \[0, 1\]; row 207"), (np.nan, "row 207")):
        rows.loc[207, "prob"] = value
        parquet.write_table(pa.Table.from_pandas(rows), lake / "1.parquet")
        with pytest.raises(InputError, match=rf"1\.parquet: column 'prob' .*{words}"):
            scan(lake)


def test_a_column_that_changes_its_type_is_named(lake):
    rows = ALL[1]
    words = pa.array(["much"] * 300)
    parquet.write_table(rows.set_column(1, "prob", words), lake / "1.parquet")
    with pytest.raises(InputError, match=r"1\.parquet: column 'prob' must hold numbers"):
        scan(lake)
    parquet.write_table(rows.set_column(0, "label", pa.array(["yes", "no"] * 150)), lake / "1.parquet")
    with pytest.raises(InputError, match=r"1\.parquet: column 'label'"):
        scan(lake)
    mixed = [rows, rows.set_column(1, "prob", words)]
    with pytest.raises(InputError, match=r"must have column 'prob' of one type; it is string in batch 1"):
        scan(iter(mixed))
    with pytest.raises(InputError, match=r"must have column 'prob' in every batch; batch 1 has none"):
        scan(iter([rows, rows.drop_columns(["prob"])]))


def test_text_that_would_end_the_process_or_is_none_is_refused(tmp_path):
    deep = tmp_path / "deep.jsonl"
    deep.write_text('{"label": 1, "prob": 0.5, "more": ' + "[" * 5000 + "]" * 5000 + "}\n")
    with pytest.raises(FileError, match=r"deep\.jsonl': its JSON is nested more than 100 levels deep"):
        scan(deep)
    wide = tmp_path / "wide.csv"
    wide.write_bytes("label,prob\n1,0.5\n".encode("utf-16-le"))
    with pytest.raises(FileError, match=r"wide\.csv': it holds NUL bytes.*Pass encoding='utf-16-le'"):
        scan(wide)
    assert scan(wide, encoding="utf-16-le").n == 1


def test_a_column_that_is_there_twice_is_named(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("label,prob,prob\n1,0.5,0.6\n")
    with pytest.raises(FileError, match="several columns called 'prob'"):
        scan(path, probs="prob")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("no/such/*.parquet", "no file fits 'no/such/\\*.parquet'"),
        ("missing.parquet", "there is no such file"),
        (3, "source must be a path"),
        (iter([]), "there are no rows"),
        (iter([3]), "source must give Arrow tables"),
        ({"label": [1]}, "source must be a path"),
    ],
)
def test_sources_that_are_none(source, words):
    with pytest.raises((InputError, FileError), match=words):
        scan(source)


def test_an_empty_folder_and_an_empty_file(tmp_path):
    with pytest.raises(FileError, match="holds no file that ends in"):
        scan(tmp_path)
    csv.write_csv(table().slice(0, 0), tmp_path / "none.csv")
    with pytest.raises((FileError, InputError), match=r"none\.csv"):
        scan(tmp_path)


def test_segments_must_be_a_column_and_has_no_checkpoint(lake, tmp_path):
    with pytest.raises(InputError, match="segments must name a column"):
        scan(lake, segments="town")
    with pytest.raises(InputError, match="checkpoint must be left out"):
        scan(lake, segments="site", checkpoint=tmp_path / "state.json")


def test_edges_of_equal_mass_bins_are_exact_on_request(lake, monkeypatch):
    monkeypatch.setattr(batches, "_rows", lambda _: 70)
    rows = whole(*ALL)
    coarse, found = scan(lake, max_distinct=20), scan(lake, max_distinct=20, exact_bins=[7, 15])
    for n_bins in (7, 15):
        bins = cal.EqualMass(n_bins)
        exact = cal.ece(rows, bins=bins)
        assert cal.ece(found, bins=bins).value == pytest.approx(exact.value, rel=1e-12)
        np.testing.assert_array_equal(
            cal.ece(found, bins=bins).parts["bins"].weight, cal.ece(rows, bins=bins).parts["bins"].weight
        )
    assert len(found.pooled("binary")) < len(rows.pooled("binary"))
    assert found.pooled("binary").coarsened().to_data() == coarse.pooled("binary").to_data()
    merged = found.merge(cal.collect([1], [0.5]))
    assert merged.n == 901


def test_exact_edges_need_files_and_one_state(lake):
    with pytest.raises(InputError, match="exact_bins needs files"):
        scan(iter([ALL[0]]), max_distinct=5, exact_bins=15)
    with pytest.raises(InputError, match="exact_bins must be left out"):
        scan(lake, segments="site", exact_bins=15)
    with pytest.raises(InputError, match="exact_bins"):
        scan(lake, exact_bins=0)
