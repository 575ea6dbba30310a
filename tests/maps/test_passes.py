"""Maps fitted by passes over batches: those of all rows at once."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import calibrant as cal
from calibrant import InputError
from calibrant.maps.passes import fit_batches

METHODS = ("temperature", "vector", "structured_vector", "structured_matrix")
FITTED = 1e-7
"""The searches end where a step gains nothing that counts."""


def rows(seed, n=900, k=4):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, k)) * 2
    labels = (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1)
    return labels, np.exp(z) / np.exp(z).sum(axis=1, keepdims=True), z


def cut(predictions, places=(100, 101, 640)):
    edges = [0, *places, len(predictions.labels)]
    return [predictions.rows(slice(*pair)) for pair in pairwise(edges)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    labels, p, _ = rows(1)
    found = tmp_path_factory.mktemp("lake")
    for i, place in enumerate((slice(0, 300), slice(300, 900))):
        columns = {f"prob_{k}": p[place, k] for k in range(4)}
        parquet.write_table(pa.table({"label": labels[place]} | columns), found / f"{i}.parquet", row_group_size=200)
    return found


@pytest.mark.some(4)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["probs", "logits", "float32", "counts", "impossible", "event"])
def test_batches_give_the_map_of_all_rows(method, kind):
    labels, p, z = rows(0)
    options = {"counts": np.random.default_rng(0).integers(0, 4, 900)} if kind == "counts" else {}
    if kind == "impossible":
        p[500] = [0, 0.5, 0.5, 0]
        labels[500] = 3
    if kind == "event":
        labels, p = (labels == 1).astype(int), p[:, 1]
    p = p.astype(np.float32) if kind == "float32" else p
    all_rows = cal.Predictions.from_logits(labels, z) if kind == "logits" else cal.Predictions(labels, p, **options)
    by_passes, expected = fit_batches(method, cut(all_rows), False), cal.recalibrate(all_rows, method)
    given = all_rows.outputs
    found, wanted = ({"logits": given} if kind == "logits" else {"probs": given} for _ in range(2))
    np.testing.assert_allclose(
        by_passes.apply(**found), expected.apply(**wanted), atol=1e-5 if kind == "float32" else FITTED
    )
    assert by_passes.fit.n == expected.fit.n
    assert by_passes.fit.loss == pytest.approx(expected.fit.loss, abs=1e-5 if kind == "float32" else 1e-9)
    assert by_passes.fit.prevalence == pytest.approx(expected.fit.prevalence)
    assert bool(by_passes.fit.cautions) == bool(expected.fit.cautions)


@pytest.mark.some(2)
@pytest.mark.parametrize("method", [*METHODS, "auto"])
def test_files_are_read_again_for_every_pass(folder, method):
    labels, p, _ = rows(1)
    fitted = cal.recalibrate(cal.files.read_batches(folder / "*.parquet"), method)
    expected = cal.recalibrate(labels, p, "structured_vector" if method == "auto" else method)
    np.testing.assert_allclose(fitted.apply(p), expected.apply(p), atol=FITTED)
    assert cal.maps.CalibrationMap.from_json(fitted.to_json()) == fitted


def test_rows_without_an_error_give_a_finite_map():
    labels, p, _ = rows(2)
    labels = p.argmax(axis=1)
    fitted = fit_batches("temperature", cut(cal.Predictions(labels, p)), False)
    assert fitted.temperature == pytest.approx(cal.recalibrate(labels, p, "temperature").temperature, rel=1e-6)


def test_what_cannot_be_fitted_in_passes_is_refused(folder):
    labels, p, _ = rows(1)
    batches = cal.files.read_batches(folder)
    with pytest.raises(
        InputError, match=r"method must be 'temperature', 'vector', .* for rows that are read in batches"
    ):
        cal.recalibrate(batches, "isotonic")
    with pytest.raises(InputError, match="labels are batches of files, which carry their own columns"):
        cal.recalibrate(batches, "temperature", counts=[1])
    with pytest.raises(InputError, match="source must be files, which can be read again; it is the batches"):
        cal.files.read_batches(iter([{"label": labels}]))
    with pytest.raises(InputError, match="batches must hold rows; there are none"):
        fit_batches("temperature", [], False)
    with pytest.raises(InputError, match="must have the same classes"):
        fit_batches("temperature", [cal.Predictions(labels, p), cal.Predictions(labels == 1, p[:, 1])], False)


def test_the_command_line_fits_many_files_in_passes(folder, tmp_path):
    from click.testing import CliRunner

    from calibrant.cli import main

    out = tmp_path / "map.json"
    done = CliRunner().invoke(main, ["recalibrate", f"{folder}/*.parquet", "--method", "temperature", "-o", str(out)])
    assert done.exit_code == 0, done.output
    labels, p, _ = rows(1)
    expected = cal.recalibrate(labels, p, "temperature").temperature
    assert cal.load_map(out).temperature == pytest.approx(expected, rel=1e-9)
