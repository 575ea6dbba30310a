"""Maps as ONNX models say in another runtime what the maps say."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibrant as cal
from adapt import fitted_maps as some
from registered import METHODS
from tolerances import ROUNDING

onnx = pytest.importorskip("onnx", reason="the extra onnx is not installed; make peers installs it")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed; make peers installs it")
from calibrant.adapt.onnx import to_onnx  # noqa: E402

PARITY = {"float32": 1e-6, "float64": 1e-12}
"""What the model may differ from the map by"""

each = pytest.mark.parametrize(("name", "single", "given"), some.CASES, ids=some.IDS)


def run(model, said):
    session = runtime.InferenceSession(model.SerializeToString())
    return session.run(None, {session.get_inputs()[0].name: said})[0]


@each
@pytest.mark.parametrize("dtype", PARITY)
def test_the_model_says_what_the_map_says_of_logits(name, single, given, dtype):
    fitted, z = some.fitted(name, single, given), some.new_logits(single, dtype)
    found = run(to_onnx(fitted, dtype=dtype), z)
    assert found.dtype == dtype
    if dtype == "float32" and name in some.THROUGH_PROBABILITIES:
        expected = fitted.apply(run(to_onnx(some.fitted("identity", single)), z))
    else:
        expected = fitted.apply(logits=z)
    np.testing.assert_allclose(found, expected, rtol=0, atol=PARITY[dtype])


@each
@pytest.mark.parametrize("dtype", PARITY)
def test_the_model_says_what_the_map_says_of_probabilities(name, single, given, dtype):
    fitted, p = some.fitted(name, single, given), some.new_probs(single, dtype)
    if getattr(fitted, "space", "") == "logits":
        with pytest.raises(cal.InputError, match="input must be 'logits' for this map"):
            to_onnx(fitted, input="probs")
        return
    found = run(to_onnx(fitted, input="probs", dtype=dtype), p)
    np.testing.assert_allclose(found, fitted.apply(p), rtol=0, atol=PARITY[dtype])


@pytest.mark.parametrize("opset", [13, 17, 18, 21])
@pytest.mark.parametrize("name", ["one_vs_rest_temperature", "structured_matrix", "isotonic", "spline", "top beta"])
def test_opsets_agree(name, opset):
    fitted, z = some.fitted(name, single=False), some.new_logits(False, "float64")
    model = to_onnx(fitted, dtype="float64", opset=opset)
    assert model.opset_import[0].version == opset
    np.testing.assert_allclose(run(model, z), run(to_onnx(fitted, dtype="float64"), z), atol=ROUNDING)


@pytest.mark.parametrize("dtype", PARITY)
def test_no_outcome_is_called_impossible(dtype):
    found = run(to_onnx(some.fitted("temperature", single=False), dtype=dtype), some.new_logits(False, dtype))
    assert found.min() > 0
    event = run(to_onnx(some.fitted("platt", single=True), dtype=dtype), some.new_logits(True, dtype))
    assert 0 < event.min() < event.max() < 1


def test_small_probabilities_keep_their_digits():
    fitted = some.fitted("platt", single=True)
    z = np.linspace(-60, -10, 50).astype(np.float32)
    np.testing.assert_allclose(run(to_onnx(fitted), z), fitted.apply(logits=z), rtol=1e-5)


@pytest.mark.parametrize("name", ["histogram", "bayesian_binning", "unit_slope_bins", "venn_abers", "isotonic"])
def test_float32_probabilities_stay_on_their_side_of_a_cut(name, rng):
    p = rng.random(200)
    fitted = METHODS[name]().fit((rng.random(200) < p).astype(int), p)
    cuts = np.concatenate([v for k, v in fitted.parameters.items() if "cuts" in k or k == "x"]).astype(np.float32)
    near = np.concatenate([cuts, np.nextafter(cuts, np.float32(0)), np.nextafter(cuts, np.float32(1))])
    found = run(to_onnx(fitted, input="probs"), near)
    np.testing.assert_allclose(found, fitted.apply(near), rtol=0, atol=PARITY["float32"])


def test_a_steep_line_is_followed_in_float32():
    fitted = cal.Isotonic(bounded=False).fit([0, 0, 1, 1], [0.3, 0.3 + 1e-12, 0.3 + 1e-7, 0.3 + 2e-7])
    p = np.linspace(0.3 - 3e-7, 0.3 + 5e-7, 40).astype(np.float32)
    assert (fitted.apply(p) % 1).max() > 0
    np.testing.assert_allclose(run(to_onnx(fitted, input="probs"), p), fitted.apply(p), rtol=0, atol=1e-6)


def test_a_model_is_written_with_its_origin(tmp_path):
    fitted = cal.Temperature().fit(
        cal.Predictions.from_logits(["b", "a"], [[2.0, 1.0], [0.0, 1.0]], classes=["a", "b"])
    )
    made = to_onnx(fitted, tmp_path / "map.onnx")
    read = onnx.load(tmp_path / "map.onnx")
    assert read == made
    told = {found.key: found.value for found in read.metadata_props}
    assert told["calibrant.version"] == cal.__version__ == read.producer_version
    assert told["calibrant.method"] == "temperature"
    assert json.loads(told["calibrant.classes"]) == ["a", "b"]
    shape = read.graph.input[0].type.tensor_type.shape.dim
    assert (shape[0].dim_param, shape[1].dim_value) == ("batch", 2)


@pytest.mark.parametrize("name", sorted(some.WITHOUT_FORMULA & set(METHODS)))
def test_maps_without_a_formula_are_refused(name):
    fitted = METHODS[name]().fit(some.EVENT_LABELS[:60], logits=some.EVENT[:60])
    with pytest.raises(cal.InputError, match=rf"map must be a fitted map that has a formula; it is a \w+ \({name}\)"):
        to_onnx(fitted)


def test_messages(tmp_path):
    fitted = some.fitted("temperature", single=False)
    for options, text in (
        ({"input": "odds"}, "input must be one of 'logits', 'probs'"),
        ({"dtype": "float16"}, "dtype must be one of 'float32', 'float64'"),
        ({"opset": 12}, "opset must be a whole number, at least 13"),
    ):
        with pytest.raises(cal.InputError, match=text):
            to_onnx(fitted, **options)
    with pytest.raises(cal.FileError, match="cannot write the model"):
        to_onnx(fitted, tmp_path / "no" / "map.onnx")


def test_a_model_of_someone_else_is_not_replaced(tmp_path):
    fitted, path = some.fitted("temperature", single=False), tmp_path / "model.onnx"
    path.write_bytes(b"\x08\x07\x12\x07pytorch")
    with pytest.raises(
        cal.FileError, match=r"model\.onnx' exists already\. Choose another name, or pass overwrite=True"
    ):
        to_onnx(fitted, path)
    to_onnx(fitted, path, overwrite=True)
    to_onnx(fitted, path)


def test_classes_that_differ_in_numbers_only_share_their_nodes():
    few, many = (len(to_onnx(some.fitted(name, single=False)).graph.node) for name in ("platt", "isotonic"))
    assert few < 40 < many
