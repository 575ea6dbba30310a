"""Losses give the numbers of the estimators, with the slopes of finite differences."""

from __future__ import annotations

import copy
import io

import numpy as np
import pytest

import calibrant as cal
from calibrant.forecasts import GaussianForecasts
from calibrant.score.dawid_sebastiani import dawid_sebastiani_score

torch = pytest.importorskip("torch", reason="the extra torch is not installed; make peers installs it")
from calibrant.adapt import losses  # noqa: E402
from calibrant.adapt.losses import (  # noqa: E402
    BrierLoss,
    CanonicalLoss,
    DawidSebastianiLoss,
    LogLoss,
    MMCELoss,
    SKCELoss,
    brier_loss,
    canonical_loss,
    dawid_sebastiani_loss,
    log_loss,
    mmce_loss,
    skce_loss,
)

PARITY = 1e-10
"""What a loss in float64 may differ from the estimator by"""

N, K = 40, 4
RNG = np.random.default_rng(7)
WEIGHTS = RNG.integers(0, 4, N).astype(np.float64)
LOGITS = {"event": RNG.normal(size=N) * 2, "rows": RNG.normal(size=(N, K)) * 2}
LABELS = {
    "event": (RNG.logistic(size=N) < LOGITS["event"] / 2).astype(int),
    "rows": (LOGITS["rows"] / 2 + RNG.gumbel(size=(N, K))).argmax(axis=1),
}
SHARES = {"event": RNG.random(N), "rows": RNG.dirichlet(np.ones(K), N)}

EACH = {
    "brier": (brier_loss, cal.brier_score),
    "mmce": (mmce_loss, cal.mmce),
    "mmce, narrow": (lambda *a, **o: mmce_loss(*a, bandwidth=0.01, **o), lambda p: cal.mmce(p, bandwidth=0.01)),
    "mmce²": (lambda *a, **o: mmce_loss(*a, root=False, **o), lambda p: cal.mmce(p, root=False)),
    "skce": (lambda *a, **o: skce_loss(*a, bandwidth=0.3, **o), lambda p: cal.skce(p, bandwidth=0.3)),
    "skce, biased": (
        lambda *a, **o: skce_loss(*a, estimator="biased", bandwidth=0.3, **o),
        lambda p: cal.skce(p, estimator="biased", bandwidth=0.3),
    ),
    "canonical": (
        lambda *a, **o: canonical_loss(*a, bandwidth=0.05, **o),
        lambda p: cal.canonical_error(p, bandwidth=0.05),
    ),
    "canonical, narrow": (
        lambda *a, **o: canonical_loss(*a, bandwidth=1e-4, **o),
        lambda p: cal.canonical_error(p, bandwidth=1e-4),
    ),
    "canonical, 2": (
        lambda *a, **o: canonical_loss(*a, bandwidth=0.05, norm=2, **o),
        lambda p: cal.canonical_error(p, bandwidth=0.05, norm=2),
    ),
    "canonical²": (
        lambda *a, **o: canonical_loss(*a, bandwidth=0.05, norm=2, root=False, **o),
        lambda p: cal.canonical_error(p, bandwidth=0.05, norm=2, root=False),
    ),
}
each = pytest.mark.parametrize("name", EACH)
both_shapes = pytest.mark.parametrize("shape", ["event", "rows"])
both_inputs = pytest.mark.parametrize("given", ["probs", "logits"])


def probabilities(logits):
    z = torch.as_tensor(logits)
    return torch.sigmoid(z) if z.ndim == 1 else torch.softmax(z, 1)


def outputs(shape, given, dtype=torch.float64):
    z = torch.tensor(LOGITS[shape], dtype=dtype)
    return z if given == "logits" else probabilities(z)


def measured(shape, given, soft=False, weights=None):
    labels = SHARES[shape] if soft else LABELS[shape]
    said = outputs(shape, given).numpy()
    make = cal.Predictions if given == "probs" else cal.Predictions.from_logits
    return make(labels, said, soft=soft, weights=weights)


@each
@both_shapes
@both_inputs
@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_a_loss_is_the_estimate(name, shape, given, soft, weights):
    loss, estimator = EACH[name]
    labels = torch.tensor(SHARES[shape] if soft else LABELS[shape])
    found = loss(labels, **{given: outputs(shape, given)}, weights=weights)
    expected = estimator(measured(shape, given, soft, weights)).value
    assert found.item() == pytest.approx(expected, abs=PARITY, rel=PARITY)


@both_shapes
@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_log_loss_is_the_log_score(shape, soft, weights):
    labels = torch.tensor(SHARES[shape] if soft else LABELS[shape])
    found = log_loss(labels, logits=outputs(shape, "logits"), weights=weights)
    expected = cal.log_score(measured(shape, "logits", soft, weights)).value
    assert found.item() == pytest.approx(expected, abs=PARITY, rel=PARITY)


@both_shapes
@pytest.mark.parametrize("n", [2, 3, 7, 8, N])
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_the_median_bandwidth_is_that_of_the_estimator(shape, n, estimator):
    p, y = outputs(shape, "probs")[:n], LABELS[shape][:n]
    found = skce_loss(y, p, estimator=estimator)
    assert found.item() == pytest.approx(cal.skce(y, p.numpy(), estimator=estimator).value, abs=PARITY)


def test_equal_rows_have_a_bandwidth_of_1():
    p = torch.full((5,), 0.3, dtype=torch.float64)
    assert skce_loss([0, 1, 0, 0, 1], p).item() == pytest.approx(cal.skce([0, 1, 0, 0, 1], p.numpy()).value, abs=PARITY)
    assert skce_loss([1], p[:1], estimator="biased").item() == pytest.approx(2 * 0.7**2)


def test_no_slope_passes_through_the_median():
    z = outputs("rows", "logits").requires_grad_(True)
    width = cal.skce(LABELS["rows"], probabilities(LOGITS["rows"]).numpy()).settings["bandwidth"]
    (free,) = torch.autograd.grad(skce_loss(LABELS["rows"], logits=z), z)
    (fixed,) = torch.autograd.grad(skce_loss(LABELS["rows"], logits=z, bandwidth=width), z)
    torch.testing.assert_close(free, fixed, rtol=0, atol=PARITY)


def test_dawid_sebastiani_loss_is_the_score():
    mean, spread, y = np.random.default_rng(2).normal(size=(3, N))
    variance = np.exp(spread)
    rows = (mean - y) ** 2 / variance + np.log(variance)
    assert dawid_sebastiani_score(GaussianForecasts(y, mean, variance)).value == pytest.approx(rows.mean(), abs=PARITY)
    mu, sigma, s = (torch.tensor(x) for x in (mean, variance, spread))
    for given in ({"variance": sigma}, {"log_variance": s}):
        np.testing.assert_allclose(dawid_sebastiani_loss(y, mu, **given, reduction="none"), rows, atol=PARITY)
        weighted = dawid_sebastiani_loss(y, mu, **given, weights=WEIGHTS)
        assert weighted.item() == pytest.approx(np.average(rows, weights=WEIGHTS), abs=PARITY)
    assert DawidSebastianiLoss()(mu, torch.tensor(y), sigma).item() == pytest.approx(rows.mean(), abs=PARITY)
    assert DawidSebastianiLoss(log=True)(mu, torch.tensor(y), s).item() == pytest.approx(rows.mean(), abs=PARITY)


@each
@both_shapes
@both_inputs
@pytest.mark.parametrize("weights", [None, WEIGHTS[:12]], ids=["plain", "weighted"])
def test_slopes_are_those_of_finite_differences(name, shape, given, weights):
    x = outputs(shape, given)[:12].clone().requires_grad_(True)
    labels = torch.tensor(LABELS[shape][:12])
    loss = EACH[name][0]
    assert torch.autograd.gradcheck(lambda x: loss(labels, **{given: x}, weights=weights), (x,))


@both_shapes
def test_slopes_of_log_loss_are_those_of_finite_differences(shape):
    z = outputs(shape, "logits").requires_grad_(True)
    for labels in (LABELS[shape], SHARES[shape]):
        assert torch.autograd.gradcheck(lambda z, y=labels: log_loss(y, logits=z, weights=WEIGHTS), (z,))


def test_slopes_of_dawid_sebastiani_are_those_of_finite_differences():
    mean, spread, y = (torch.tensor(x).requires_grad_(True) for x in np.random.default_rng(1).normal(size=(3, N)))
    assert torch.autograd.gradcheck(lambda m, s, y: dawid_sebastiani_loss(y, m, s.exp()), (mean, spread, y))
    assert torch.autograd.gradcheck(lambda m, s, y: dawid_sebastiani_loss(y, m, log_variance=s), (mean, spread, y))


CERTAIN = {
    "event": torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.5, 0.5]),
    "rows": torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 1.0, 0.0]] * 2),
}
FAR = {
    "event": torch.tensor([-1000.0, 1000.0, 88.0, -88.0, 104.0, -104.0, 0.0, 1e30]),
    "rows": torch.tensor([[0.0, 1000.0, -1000.0], [0.0, 88.0, -88.0], [104.0, 0.0, 0.0], [1e30, 0.0, -1e30]] * 2),
}


@each
@both_shapes
@both_inputs
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_certain_rows_have_finite_slopes(name, shape, given, dtype):
    x = {"probs": CERTAIN, "logits": FAR}[given][shape].to(dtype).requires_grad_(True)
    for labels in ([0, 1, 1, 0, 0, 1, 0, 1], [0, 1, 0, 1, 0, 0, 1, 1]):
        value = EACH[name][0](labels, **{given: x})
        (slope,) = torch.autograd.grad(value, x)
        assert value.dtype == dtype
        assert torch.isfinite(value)
        assert torch.isfinite(slope).all()


@both_shapes
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_log_loss_of_certain_rows_is_finite(shape, dtype):
    z = FAR[shape].to(dtype).requires_grad_(True)
    value = log_loss([0, 1, 1, 0, 0, 1, 0, 1], logits=z)
    (slope,) = torch.autograd.grad(value, z)
    assert torch.isfinite(value)
    assert torch.isfinite(slope).all()
    assert slope.abs().max() > 0.1  # a certain mistake is still told


@both_inputs
def test_the_root_is_level_at_0(given):
    x = {"probs": torch.tensor([0.0, 1.0]), "logits": torch.tensor([-1000.0, 1000.0])}[given].requires_grad_(True)
    for loss in (mmce_loss, lambda *a, **o: canonical_loss(*a, bandwidth=0.1, norm=2, **o)):
        labels = [0, 1] if loss is mmce_loss else torch.tensor([1.0, 0.0])  # each row is judged by the other's label
        value = loss(labels, **{given: x})
        assert value.item() == 0
        (slope,) = torch.autograd.grad(value, x)
        assert (slope == 0).all()


@each
@both_shapes
@both_inputs
def test_float32_is_close(name, shape, given):
    loss, estimator = EACH[name]
    found = loss(LABELS[shape], **{given: outputs(shape, given, torch.float32)})
    assert found.dtype == torch.float32
    narrow = 1e-2 if "narrow" in name else 1e-5  # a narrow kernel sees the rounding of the inputs
    assert found.item() == pytest.approx(estimator(measured(shape, given)).value, abs=narrow)


MODULES = {
    "brier": (BrierLoss(), brier_loss),
    "log": (LogLoss(), log_loss),
    "mmce": (MMCELoss(bandwidth=0.2), lambda y, **o: mmce_loss(y, bandwidth=0.2, **o)),
    "skce": (SKCELoss(estimator="biased"), lambda y, **o: skce_loss(y, estimator="biased", **o)),
    "canonical": (CanonicalLoss(bandwidth=0.1, norm=2), lambda y, **o: canonical_loss(y, bandwidth=0.1, norm=2, **o)),
}


@pytest.mark.parametrize("name", MODULES)
@both_shapes
def test_a_module_takes_outputs_first(name, shape):
    module, function = MODULES[name]
    z, y = outputs(shape, "logits"), torch.tensor(LABELS[shape])
    assert module(z, y) == function(y, logits=z)
    column = z[:, None] if shape == "event" else z
    assert module(column, y[:, None]) == module(z, y)
    if name != "skce":
        assert module(z, y, WEIGHTS) == function(y, logits=z, weights=WEIGHTS)
    stream = io.BytesIO()
    torch.save(module, stream)
    stream.seek(0)
    for twin in (copy.deepcopy(module), torch.load(stream, weights_only=False)):
        assert twin(z, y) == module(z, y)


def test_a_module_may_take_probabilities():
    p, y = outputs("rows", "probs"), torch.tensor(LABELS["rows"])
    for make in (BrierLoss, MMCELoss, SKCELoss):
        assert make(inputs="probs")(p, y).item() == pytest.approx(make()(p.log(), y).item(), abs=PARITY)
    assert repr(MMCELoss(inputs="probs")) == "MMCELoss(inputs='probs', bandwidth=0.4, root=True)"
    assert repr(DawidSebastianiLoss(log=True)) == "DawidSebastianiLoss(log=True, reduction='mean')"


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_reductions_agree(weights):
    z, y = outputs("rows", "logits"), LABELS["rows"]
    total = N if weights is None else weights.sum()
    for make in (BrierLoss, LogLoss):
        mean, whole, rows = (make(reduction=r)(z, y, weights) for r in ("mean", "sum", "none"))
        assert rows.shape == (N,)
        assert rows.sum().item() == pytest.approx(whole.item(), rel=PARITY)
        assert whole.item() / total == pytest.approx(mean.item(), rel=PARITY)


@pytest.mark.parametrize("name", MODULES)
@both_shapes
def test_the_scale_of_weights_changes_nothing(name, shape):
    module, _ = MODULES[name]
    module = SKCELoss(bandwidth=0.2) if name == "skce" else module
    z, y, w = outputs(shape, "logits"), torch.tensor(LABELS[shape]), torch.tensor(WEIGHTS)
    scaled, given = z.clone().requires_grad_(True), z.clone().requires_grad_(True)
    one, other = module(scaled, y, 3.7 * w), module(given, y, w)
    assert one.item() == pytest.approx(other.item(), abs=PARITY)
    torch.testing.assert_close(*(torch.autograd.grad(v, x)[0] for v, x in ((one, scaled), (other, given))))


@pytest.mark.parametrize("name", [name for name in MODULES if name not in ("skce", "canonical")])
@both_shapes
def test_a_mean_with_whole_weights_is_that_of_repeated_rows(name, shape):
    module, _ = MODULES[name]
    z, y, w = outputs(shape, "logits"), torch.tensor(LABELS[shape]), torch.tensor(WEIGHTS).long()
    weighted, repeated = z.clone().requires_grad_(True), z.clone().requires_grad_(True)
    one, other = module(weighted, y, w), module(repeated.repeat_interleave(w, 0), y.repeat_interleave(w, 0))
    assert one.item() == pytest.approx(other.item(), abs=PARITY)
    torch.testing.assert_close(*(torch.autograd.grad(v, x)[0] for v, x in ((one, weighted), (other, repeated))))


@pytest.mark.parametrize("name", MODULES)
@both_shapes
def test_half_precision_is_computed_in_full(name, shape):
    module, _ = MODULES[name]
    z, y = outputs(shape, "logits", torch.bfloat16), torch.tensor(LABELS[shape])
    expected = module(z.float(), y)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = module(z, y)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-7)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("name", MODULES)
@both_shapes
def test_a_loss_lives_where_its_outputs_live(name, shape):
    module, _ = MODULES[name]
    z, y = outputs(shape, "logits"), torch.tensor(LABELS[shape])
    near, far = z.clone().requires_grad_(True), z.cuda().requires_grad_(True)
    here, there = module(near, y), module(far, y)
    assert there.device.type == "cuda"
    torch.testing.assert_close(there.cpu(), here, rtol=0, atol=PARITY)
    slopes = [torch.autograd.grad(value, x)[0].cpu() for value, x in ((here, near), (there, far))]
    torch.testing.assert_close(*slopes, rtol=0, atol=PARITY)


def test_training_on_a_score_finds_the_map_of_that_score():
    z, y = outputs("rows", "logits"), LABELS["rows"]
    slope = torch.ones((), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([slope], max_iter=100, line_search_fn="strong_wolfe", tolerance_grad=1e-12)

    def closure():
        optimiser.zero_grad()
        value = LogLoss()(slope * z, y)
        value.backward()
        return value

    optimiser.step(closure)
    fitted = cal.Temperature(penalty=None).fit(y, logits=z.numpy())
    assert 1 / slope.item() == pytest.approx(fitted.temperature, rel=1e-6)


@pytest.mark.parametrize("name", ["mmce", "skce", "canonical"])
def test_training_on_a_calibration_error_lowers_it(name):
    module, _ = MODULES[name]
    z, y = 3 * outputs("rows", "logits"), LABELS["rows"]
    slope = torch.ones((), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([slope], lr=0.02)
    before = module(z, y).item()
    for _ in range(60):
        optimiser.zero_grad()
        module(slope * z, y).backward()
        optimiser.step()
    assert module(slope * z, y).item() < 0.8 * before


P, Z = torch.tensor([0.2, 0.7]), torch.zeros(2, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: brier_loss([0, 1]), "probs or logits must be given; neither is."),
        (lambda: brier_loss([0, 1], P, logits=P), "probs or logits must be given; both are."),
        (lambda: brier_loss([0, 1], [0.2, 0.7]), "probs must be a tensor of floats; it is a list."),
        (lambda: brier_loss([0, 1], torch.tensor([0, 1])), "probs must be a tensor of floats; it is torch.int64."),
        (
            lambda: brier_loss([0, 1], torch.zeros(2, 3, 4)),
            "probs must have shape (n,) or (n, K); it has shape (2, 3, 4).",
        ),
        (lambda: brier_loss([], torch.zeros(0)), "probs must hold at least one row; it is empty, with shape (0,)."),
        (
            lambda: brier_loss([0, 1], logits=torch.tensor([0.0, torch.nan])),
            "logits must be finite; logits[1] is nan.",
        ),
        (
            lambda: mmce_loss([0, 1], torch.tensor([0.0, 3.0])),
            "probs must lie in [0, 1]; probs[1] is 3.0.",
        ),
        (lambda: skce_loss([0, 1], Z), "probs must have rows that sum to 1 (within 0.0001); row 0 sums to 0."),
        (lambda: log_loss(["cat", "dog"], logits=Z), "labels holds names; labels[0] is cat."),
        (
            lambda: log_loss([0, 1, 2], logits=Z),
            "labels and logits must have as many rows; labels has 3, logits 2.",
        ),
        (
            lambda: log_loss([0, 3], logits=Z),
            "labels must lie in 0 … 2, as logits has 3 columns; labels[1] is 3.",
        ),
        (
            lambda: log_loss([0, 0.5], logits=Z),
            "labels must be classes; labels[1] is 0.5.",
        ),
        (lambda: log_loss(Z, logits=Z), "labels must have rows that sum to 1 (within 0.0001); row 0 sums to 0."),
        (
            lambda: log_loss([0, 2], logits=P),
            "labels must lie in [0, 1]; labels[1] is 2.0.",
        ),
        (
            lambda: log_loss([0, 1], logits=P, weights=[1, 1, 1]),
            "weights must hold one number",
        ),
        (
            lambda: log_loss([0, 1], logits=P, weights=[1, -1]),
            "weights must not be negative; weights[1] is -1.0.",
        ),
        (lambda: log_loss([0, 1], logits=P, weights=[0, 0]), "weights must not all be zero."),
        (lambda: log_loss([0, 1], logits=P, weights=["a", "b"]), "weights must hold numbers; it holds"),
        (lambda: brier_loss(torch.zeros(2, 4), logits=Z), "labels must have 3 columns if one-hot; it has 4."),
        (
            lambda: log_loss([0, 1], logits=P, reduction="max"),
            "reduction must be one of 'mean', 'sum', 'none'; it is 'max'.",
        ),
        (lambda: BrierLoss(reduction="max"), "reduction must be one of 'mean', 'sum', 'none'; it is 'max'."),
        (lambda: BrierLoss(inputs="odds"), "inputs must be one of 'logits', 'probs'; it is 'odds'."),
        (lambda: mmce_loss([0, 1], P, bandwidth=0), "bandwidth must be positive and finite; it is 0."),
        (lambda: MMCELoss(bandwidth=-1), "bandwidth must be positive and finite; it is -1."),
        (lambda: SKCELoss(estimator="block"), "estimator must be one of 'unbiased', 'biased'; it is 'block'."),
        (lambda: skce_loss([0], P[:1]), "labels must hold at least two rows for the unbiased estimator; it holds 1."),
        (
            lambda: skce_loss([0, 1], P, weights=[1, 2]),
            "bandwidth must be given with weights; it is None. The median distance counts each row once.",
        ),
        (lambda: CanonicalLoss(bandwidth=0.1, norm=3), "norm must be one of 1, 2; it is 3."),
        (
            lambda: canonical_loss([0], P[:1], bandwidth=0.1),
            "labels must hold at least two rows: each is judged by the others; it holds 1.",
        ),
        (lambda: dawid_sebastiani_loss([1.0, 2.0], P), "variance or log_variance must be given; neither is."),
        (
            lambda: dawid_sebastiani_loss([1.0, 2.0], P, torch.tensor([1.0, 0.0])),
            "variance must be positive; variance[1] is 0.0.",
        ),
        (lambda: dawid_sebastiani_loss([1.0], P, P), "labels must hold one number"),
        (lambda: dawid_sebastiani_loss([1.0, 2.0], Z, P), "mean must hold one number"),
        (
            lambda: DawidSebastianiLoss()(P, torch.tensor([1.0, torch.inf]), P),
            "labels must be finite; labels[1] is inf.",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(cal.InputError) as caught:
        call()
    assert str(caught.value).startswith(message)  # advice may follow


def test_labels_may_be_one_hot_and_weights_a_column():
    one_hot = torch.tensor([[1, 0], [0, 1]])
    assert brier_loss(one_hot, P) == brier_loss([0, 1], P)
    weights = torch.tensor([[1.0], [3.0]])
    assert brier_loss([0, 1], P, weights=weights) == brier_loss([0, 1], P, weights=[1, 3])


def test_gradients_reach_soft_labels():
    y = torch.tensor([0.3, 0.6], requires_grad=True)
    (slope,) = torch.autograd.grad(log_loss(y, logits=P), y)
    torch.testing.assert_close(slope, -P / 2)


def test_every_function_has_its_module():
    functions = {name.removesuffix("_loss").replace("_", "") for name in vars(losses) if name.endswith("_loss")}
    modules = {name.removesuffix("Loss").lower() for name in vars(losses) if name.endswith("Loss") and name != "_Loss"}
    assert functions == modules
