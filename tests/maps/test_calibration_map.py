"""Every map: saved, read back, applied, refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant import FileError, InputError, MapError, Predictions, load_map
from calibrant.maps import Identity, IdentityMap, TemperatureMap


@pytest.fixture
def saved(tmp_path):
    """Write some text as a map file."""

    def write(content):
        path = tmp_path / "map.json"
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


@given(st.floats(1e-3, 1e3), st.sampled_from([(0, 1), ("no", "yes"), (False, True), ("ä", "→"), (1.5, 2.5)]))
def test_a_map_survives_as_json_bit_for_bit(temperature, classes):
    first = TemperatureMap(classes, True, cal.maps.Fit(3, 0.1 + 0.2, True, ("beware",)), temperature)
    again = cal.maps.CalibrationMap.from_json(first.to_json())
    assert again == first
    assert again.temperature == temperature
    assert again.classes == classes
    assert type(again) is TemperatureMap
    probs = np.array([0.1, 0.2, 0.9])
    assert np.array_equal(again.apply(probs), first.apply(probs))


def test_saving_and_loading(tmp_path):
    valid, test = cal.example()
    fitted = cal.recalibrate(valid, "temperature")
    for path in (tmp_path / "map.json", str(tmp_path / "other.json")):
        fitted.save(path)
        assert load_map(path) == fitted
        assert np.array_equal(load_map(path).apply(test).probs, fitted.apply(test).probs)


FIT = {"kind": "Fit", "n": 3, "loss": 0.5, "converged": True, "cautions": [], "choice": None, "prevalence": None}
GOOD = {
    "schema": 1,
    "kind": "TemperatureMap",
    "classes": [0, 1],
    "single": True,
    "fit": FIT,
    "temperature": 2.0,
    "zero": 0.0,
}

BAD_FILES = {
    "later schema": (GOOD | {"schema": 99}, r"written with schema 99; this calibrant reads 1\. Upgrade calibrant"),
    "schema of another kind": (GOOD | {"schema": True}, r"schema"),
    "no schema": ({"kind": "TemperatureMap"}, r"was not written by calibrant: it has no schema version"),
    "a list": ([1, 2], r"was not written by calibrant"),
    "no JSON": ("T = 2", r"this is not JSON: Expecting value"),
    "empty": ("", r"this is not JSON"),
    "cut off": (json.dumps(GOOD)[:-9], r"this is not JSON"),
    "binary": (b"\xff\xfe\x00\x80", r"map\.json' is not a saved map: it is not text"),
    "unknown kind": (GOOD | {"kind": "MagicMap"}, r"unknown kind of record: 'MagicMap'"),
    "kind of another kind": (GOOD | {"kind": ["TemperatureMap"]}, r"kind"),
    "no kind": ({"schema": 1}, r"object of no kind"),
    "another record": (json.loads(cal.results.Interval(0, 1, 0.9, "").to_json()), r"map\.json' holds a saved Interval, not a map"),
    "fields missing": ({"schema": 1, "kind": "TemperatureMap"}, r"classes"),
    "fit half there": (GOOD | {"fit": {"kind": "Fit"}}, r"Fit|n"),
    "negative temperature": (GOOD | {"temperature": -2.0}, r"temperature"),
    "no temperature": (GOOD | {"temperature": 0.0}, r"temperature"),
    "temperature in words": (GOOD | {"temperature": "hot"}, r"temperature"),
    "NaN": (json.dumps(GOOD | {"temperature": float("nan")}), r"temperature|NaN"),
    "classes as a number": (GOOD | {"classes": 3}, r"classes"),
    "NaN of our own": (GOOD | {"zero": {"kind": "float", "value": "nan"}}, r"zero must lie in \[0, 0\.5\]; zero is nan"),
    "a field left out": ({k: v for k, v in GOOD.items() if k != "temperature"}, r"temperature is missing"),
    "single in words": (GOOD | {"single": "yes"}, r"single must be"),
    "fit as a number": (GOOD | {"fit": 3}, r"fit must be a Fit; it is 3"),
    "half a float": (GOOD | {"temperature": {"kind": "float"}}, r"."),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_FILES.values(), ids=BAD_FILES)
def test_files_that_are_no_maps_are_refused(saved, case):
    with pytest.raises(MapError, match=case[1]):
        load_map(saved(case[0]))


def test_a_field_that_no_map_has_is_refused(saved):
    assert load_map(saved(GOOD)).temperature == 2
    with pytest.raises(MapError, match="it has no field 'mood'"):
        load_map(saved(GOOD | {"mood": "sunny"}))


def test_paths_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(FileError, match=r"cannot read the map '.*none\.json': No such file"):
        load_map(tmp_path / "none.json")
    with pytest.raises(FileError, match=r"cannot read the map '.*': Is a directory"):
        load_map(tmp_path)


def test_paths_that_cannot_be_written_are_refused(tmp_path):
    with pytest.raises(FileError, match="cannot write"):
        cal.recalibrate(cal.example()[0], "temperature").save(tmp_path / "no" / "such" / "map.json")


ONE = TemperatureMap((0, 1), True, temperature=2.0)
THREE = TemperatureMap((0, 1, 2), False, temperature=2.0)

WRONG_APPLIED = {
    "matrix for an event": (ONE, {"probs": [[0.5, 0.5]]}, r"probs must have 1 column, as this map was fitted; it has 2"),
    "vector for classes": (THREE, {"probs": [0.5, 0.5]}, r"probs must have 3 columns, as this map was fitted; it has 1"),
    "logits of another width": (THREE, {"logits": [[0.5, 0.5]]}, r"logits must have 3 columns.*it has 2"),
    "predictions of another width": (THREE, {"probs": Predictions([0], [0.5])}, r"predictions must have 3 columns.*it has 1"),
    "both": (ONE, {"probs": [0.5], "logits": [0.0]}, r"probs or logits must be given, one of the two"),
    "neither": (ONE, {}, r"probs or logits must be given, one of the two"),
    "predictions and logits": (ONE, {"probs": Predictions([0], [0.5]), "logits": [0.0]}, r"probs|logits"),
    "NaN": (ONE, {"probs": [float("nan")]}, r"probs must be finite"),
    "infinite logits": (ONE, {"logits": [float("inf")]}, r"logits must be finite"),
    "logits as probs": (ONE, {"probs": [3.0]}, r"probs must lie in \[0, 1\]"),
    "rows off": (THREE, {"probs": [[0.5, 0.5, 0.5]]}, r"rows that sum to 1"),
    "empty": (ONE, {"probs": []}, r"probs must hold at least one row"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_APPLIED.values(), ids=WRONG_APPLIED)
def test_a_map_is_applied_to_what_it_was_fitted_for(case):
    fitted, arguments, text = case
    with pytest.raises(InputError, match=text):
        fitted.apply(**arguments)


def test_advice_that_cannot_be_followed_is_not_given():
    with pytest.raises(InputError) as caught:
        THREE.apply([[0.5, 0.5, 0.5]])
    assert "normalize=True" not in str(caught.value)  # apply has no such option


def test_applied_predictions_remember_their_source():
    valid, test = cal.example()
    fitted = cal.recalibrate(valid, "temperature")
    mended = fitted.apply(test)
    assert mended.source == (test, fitted)
    assert mended.labels is test.labels
    assert mended.probs.dtype == np.float32
    np.testing.assert_allclose(mended.logits - mended.logits.max(axis=1, keepdims=True), mended.logits, atol=1e-6)
    from_probs = fitted.apply(Predictions(test.labels, test.probs))
    assert from_probs.logits is None
    np.testing.assert_allclose(from_probs.probs, mended.probs, atol=1e-6)  # float32 rounding of ln p


def test_the_identity_changes_nothing(rng):
    probs = rng.dirichlet(np.ones(3), 20)
    fitted = Identity().fit(rng.integers(0, 3, 20), probs)
    assert np.array_equal(fitted.apply(probs), probs)
    assert not np.shares_memory(fitted.apply(probs), probs)
    assert fitted.n_parameters == 0
    assert (fitted.injective, fitted.keeps_ranking, fitted.keeps_accuracy) == (True, True, True)
    assert isinstance(cal.maps.CalibrationMap.from_json(fitted.to_json()), IdentityMap)
    assert repr(fitted) == "IdentityMap(; fitted on 20 rows)" or repr(fitted) == "IdentityMap(fitted on 20 rows)"


def test_maps_are_values():
    assert TemperatureMap((0, 1), True, temperature=2.0) == ONE
    assert TemperatureMap((0, 1), True, temperature=2.5) != ONE
    assert ONE != THREE
    assert len({ONE, TemperatureMap((0, 1), True, temperature=2.0)}) == 1
    with pytest.raises(AttributeError, match="temperature"):
        ONE.temperature = 3.0


def test_a_map_of_several_classes_is_no_curve():
    valid, _ = cal.example()
    with pytest.raises(cal.MapError, match="no curve"):
        cal.recalibrate(valid, "temperature").curve()
    assert cal.Temperature().fit([0, 1, 1], [0.2, 0.4, 0.9]).curve(3).y[1] == 0.5


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1.2, -0.1, 5e3])
def test_a_plain_column_is_refused_in_the_words_of_a_list(bad):
    probs = np.array([0.1, bad, 0.9])
    fitted = TemperatureMap((0, 1), True)
    texts = []
    for given_as in (probs, probs.tolist(), np.append(probs, 0.5)[::1]):
        with pytest.raises(InputError) as refused:
            fitted.apply(given_as)
        texts.append(str(refused.value))
    assert len(set(texts)) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ">f8"])
def test_a_plain_column_is_read_as_any_other_and_left_alone(dtype):
    probs = np.array([0.0, -0.0, 0.25, 1.0], dtype)
    fitted = cal.maps.HistogramMap((0, 1), True, cuts=[0.5], heights=[0.2, 0.7], weight=[3.0, 4.0])
    found = fitted.apply(probs)
    assert np.array_equal(found, fitted.apply(probs[:, None]))
    assert found.dtype == np.dtype(dtype).newbyteorder("=")
    assert probs.flags.writeable
    assert found.flags.writeable


SEVERAL = (
    "bent", "dirichlet", "ensemble_temperature", "identity", "matrix", "prior_shift",
    "structured_matrix", "structured_vector", "temperature", "vector",
)  # fmt: skip


@pytest.mark.parametrize("method", SEVERAL)
def test_injective_maps_of_several_classes_keep_rows_apart(rng, method):
    z = 2 * rng.normal(size=(400, 3))
    probs = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    labels = (rng.random((400, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    fitted = cal.recalibrate(labels, probs**1.5 / (probs**1.5).sum(axis=1, keepdims=True), method)
    assert fitted.injective
    near = probs * np.exp(1e-6 * rng.normal(size=probs.shape))
    for other in (near / near.sum(axis=1, keepdims=True), probs[:, [1, 2, 0]], probs[rng.permutation(400)]):
        differ = (probs != other).any(axis=1)
        assert (fitted.apply(probs) != fitted.apply(other))[differ].any(axis=1).all()
