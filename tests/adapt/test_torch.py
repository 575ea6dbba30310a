"""Maps as torch modules say what the maps say."""

from __future__ import annotations

import copy
import io
import warnings

import numpy as np
import pytest

import calibrant as cal
from adapt import fitted_maps as some
from registered import METHODS

torch = pytest.importorskip("torch", reason="the extra torch is not installed; make peers installs it")
from calibrant.adapt.torch import to_module  # noqa: E402

PARITY = {"float32": 1e-6, "float64": 1e-12}
"""What the module may differ from the map by"""

STEPS = {"histogram", "plain histogram", "bayesian_binning", "scaling_binning", "venn_abers"}

each = pytest.mark.parametrize(("name", "single", "given"), some.CASES, ids=some.IDS)
smooth = pytest.mark.parametrize(
    ("name", "single"),
    [(name, single) for name in ("temperature", "vector", "structured_matrix", "beta") for single in (True, False)],
)


def said(single, dtype="float64"):
    return torch.tensor(some.new_logits(single, dtype))


@each
@pytest.mark.parametrize("dtype", PARITY)
def test_the_module_says_what_the_map_says(name, single, given, dtype):
    fitted, z = some.fitted(name, single, given), said(single, dtype)
    found = to_module(fitted, dtype=getattr(torch, dtype))(z)
    assert str(found.dtype) == f"torch.{dtype}"
    if dtype == "float32" and name in some.THROUGH_PROBABILITIES:
        expected = fitted.apply(torch.sigmoid(z) if single else torch.softmax(z, -1))
    else:
        expected = fitted.apply(logits=z)
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=PARITY[dtype])


@each
def test_the_three_outputs_agree(name, single, given):
    fitted = some.fitted(name, single, given)
    probs, logs, logits = (
        to_module(fitted, output=output, dtype=torch.float64)(said(single)).numpy()
        for output in ("probs", "log_probs", "logits")
    )
    seen = (probs > 1e-300) & (probs < 1)
    np.testing.assert_allclose(logs[seen], np.log(probs[seen]), atol=1e-9)
    again = 1 / (1 + np.exp(-np.clip(logits, -700, 700))) if single else torch.softmax(torch.tensor(logits), -1).numpy()
    np.testing.assert_allclose(again, probs, atol=1e-12)


def test_far_away_logits_keep_their_log_probabilities():
    fitted = cal.Platt().fit(some.EVENT_LABELS, logits=some.EVENT)
    logs = to_module(fitted, output="log_probs")(torch.tensor([-400.0]))
    assert logs.item() == pytest.approx(fitted.intercept - 400 * fitted.slope, rel=1e-6)


@each
def test_gradients_are_those_of_finite_differences(name, single, given):
    module = to_module(some.fitted(name, single, given), dtype=torch.float64)
    z = said(single)[:20].clone()
    z.requires_grad_(True)
    out = module(z)
    if name in STEPS:
        assert not out.requires_grad  # level wherever it has a slope
        return
    (slope,) = torch.autograd.grad(out.sum() if single else out[:, 0].sum(), z)
    assert torch.isfinite(slope).all()
    step = 1e-6
    shift = torch.zeros_like(z)
    shift.select(-1, 0).fill_(step) if not single else shift.fill_(step)
    with torch.no_grad():
        high, low = module(z + shift), module(z - shift)
    numeric = (high - low) / (2 * step) if single else (high - low)[:, 0] / (2 * step)
    found = slope if single else slope[:, 0]
    bent = "isotonic" in name or name.split("_")[0].split()[0] in {"unit", "piecewise", "evolved"}
    close = (numeric - found).abs() < 1e-6
    assert close.double().mean() >= (0.85 if bent else 1)  # a row may lie on a corner


@smooth
def test_gradients_reach_saturated_rows(name, single):
    z = said(single).clone().requires_grad_(True)
    module = to_module(some.fitted(name, single), output="log_probs", dtype=torch.float64)
    (slope,) = torch.autograd.grad(module(z).sum(), z)
    assert torch.isfinite(slope).all()


def log_loss(module, single):
    z = torch.tensor(some.EVENT if single else some.ROWS)
    if single:
        happened = torch.tensor(some.EVENT_LABELS, dtype=torch.float64)
        return torch.nn.functional.binary_cross_entropy_with_logits(module(z), happened)
    return torch.nn.functional.cross_entropy(module(z), torch.tensor(some.ROW_LABELS))


@smooth
def test_training_from_elsewhere_comes_back_to_the_fit(name, single):
    fitted = some.fitted(name, single, "logits")
    module = to_module(fitted, output="logits", trainable=True, dtype=torch.float64)
    assert len(list(module.parameters())) == len(module.state_dict()) > 0
    best = log_loss(module, single).item()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(1.3).add_(0.1)
    assert log_loss(module, single).item() > best + 1e-4
    optimiser = torch.optim.LBFGS(module.parameters(), max_iter=200, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        value = log_loss(module, single)
        value.backward()
        return value

    optimiser.step(closure)
    if name == "temperature":
        labels, z = (some.EVENT_LABELS, some.EVENT) if single else (some.ROW_LABELS, some.ROWS)
        plain = cal.Temperature(penalty=None).fit(labels, logits=z)  # training has no prior
        assert module.temperature.item() == pytest.approx(plain.temperature, rel=1e-4)
    assert log_loss(module, single).item() <= best + 1e-6


def test_buffers_are_not_trained_unless_asked():
    module = to_module(some.fitted("vector", single=False))
    assert not list(module.parameters())
    assert set(module.state_dict()) == {"weight", "bias"}
    with pytest.raises(cal.InputError, match="trainable needs a map with numbers to train; isotonic has none"):
        to_module(some.fitted("isotonic", single=True), trainable=True)


@each
def test_the_module_can_be_exported(name, single, given):
    module = to_module(some.fitted(name, single, given))
    z = said(single, "float32")
    batch = torch.export.Dim("batch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own
        exported = torch.export.export(module, (z[:7],), dynamic_shapes=({0: batch},)).module()
    torch.testing.assert_close(exported(z), module(z), rtol=0, atol=0)


def test_the_module_can_be_copied_and_saved():
    for name in ("temperature", "isotonic"):
        module = to_module(some.fitted(name, single=False))
        z = said(False, "float32")
        stream = io.BytesIO()
        torch.save(module, stream)
        stream.seek(0)
        for twin in (copy.deepcopy(module), torch.load(stream, weights_only=False)):
            assert torch.equal(twin(z), module(z))
        other = to_module(some.fitted(name, single=False))
        other.load_state_dict(module.state_dict())
        assert torch.equal(other(z), module(z))
    assert repr(module) == "CalibrationModule(isotonic, 4 classes, output='probs')"


def test_shapes_and_precisions_that_networks_give():
    event, rows = some.fitted("platt", single=True), some.fitted("dirichlet", single=False)
    assert to_module(event)(torch.zeros(5, 1)).shape == (5, 1)
    assert to_module(rows)(torch.zeros(2, 3, 4)).shape == (2, 3, 4)
    half = to_module(rows)(torch.zeros(3, 4, dtype=torch.bfloat16))
    assert half.dtype == torch.float32
    wide = to_module(rows).double()(torch.zeros(3, 4))
    assert wide.dtype == torch.float64


def test_a_step_keeps_float32_probabilities_on_their_side():
    labels, p = np.array([0, 1] * 50), np.linspace(0.005, 0.995, 100)
    fitted = cal.Histogram(cal.EqualWidth(10)).fit(labels, p)
    module = to_module(fitted)
    edges = np.sort(np.concatenate([fitted.cuts.astype(np.float32)] * 3))
    edges[::3], edges[2::3] = np.nextafter(edges[::3], np.float32(0)), np.nextafter(edges[2::3], np.float32(1))
    places = torch.bucketize(torch.tensor(edges), module.cuts)
    np.testing.assert_array_equal(places.numpy(), np.searchsorted(fitted.cuts, edges.astype(np.float64), side="left"))


@pytest.mark.parametrize("name", sorted(some.WITHOUT_FORMULA & set(METHODS)))
def test_maps_without_a_formula_are_refused(name):
    fitted = METHODS[name]().fit(some.EVENT_LABELS[:60], logits=some.EVENT[:60])
    with pytest.raises(cal.InputError, match=rf"map must be a fitted map that has a formula; it is a \w+ \({name}\)"):
        to_module(fitted)


def test_messages():
    fitted = some.fitted("temperature", single=False)
    with pytest.raises(cal.InputError, match="output must be one of 'probs', 'log_probs', 'logits'"):
        to_module(fitted, output="odds")
    with pytest.raises(cal.InputError, match=r"dtype must be torch\.float32 or torch\.float64; it is torch\.float16"):
        to_module(fitted, dtype=torch.float16)
    with pytest.raises(cal.InputError, match="logits must have 4 columns, as this map was fitted; its shape is"):
        to_module(fitted)(torch.zeros(2, 3))
    with pytest.raises(cal.InputError, match="it is a Temperature"):
        to_module(cal.Temperature())
