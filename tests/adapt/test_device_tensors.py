"""Tensors on a device are checked there: the answers and the error texts of arrays, without copies of the predictions.

Tensors of the CPU stand in for those of a device, and what is copied to NumPy is counted.
"""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.problems import InputError

torch = pytest.importorskip("torch", reason="torch is not installed")

from calibrant.adapt import batch, losses  # noqa: E402
from calibrant.estimate import canonical, skce  # noqa: E402
from calibrant.kernels.fit import device_temperature  # noqa: E402
from calibrant.kernels.rows import device_rows  # noqa: E402
from calibrant.predictions import DevicePredictions, admit, device  # noqa: E402
from calibrant.score.score import check_score  # noqa: E402

N, K = 400, 12


class Copies:
    """Numbers that were copied."""

    n = 0


@pytest.fixture
def copied(monkeypatch):
    for module in (batch, canonical, device, skce):
        monkeypatch.setattr(module, "device_of", lambda x: "cpu" if isinstance(x, torch.Tensor) else None)
    found, to_numpy = Copies(), torch.Tensor.numpy

    def counted(tensor, *given, **options):
        found.n += tensor.numel()
        return to_numpy(tensor, *given, **options)

    monkeypatch.setattr(torch.Tensor, "numpy", counted)
    return found


@pytest.fixture
def rows(rng):
    probs = rng.dirichlet(np.full(K, 0.3), N).astype(np.float32)
    probs[: N // 2, 3] = probs[: N // 2, 7] = probs[: N // 2].max(axis=1)  # ties in the top
    probs /= probs.sum(axis=1, keepdims=True)
    return rng.integers(0, K, N), probs


def tensors(rows):
    return tuple(torch.tensor(each) for each in rows)


BINS = 15 * 4  # sums of rows, predictions, their squares and hits


def same(found, expected):
    assert (found.n, found.title, found.settings) == (expected.n, expected.title, expected.settings)
    assert found.value == pytest.approx(expected.value, rel=1e-12)


def test_bins_are_counted_there(copied, rows):
    labels, probs = tensors(rows)
    for view, sums in (("top", BINS), ("class 3", BINS), ("classwise", K * BINS)):
        before = copied.n
        same(cal.ece(labels, probs, view=view), cal.ece(*rows, view=view))
        assert copied.n == before + sums
    same(cal.ece(rows[0], probs), cal.ece(*rows))
    same(cal.classwise_error(labels, probs, norm=2), cal.classwise_error(*rows, norm=2))
    same(
        cal.ece(labels, probs, bins=cal.EqualWidth(10, closed="left")),
        cal.ece(*rows, bins=cal.EqualWidth(10, closed="left")),
    )


def test_other_estimators_copy_the_event(copied, rows):
    labels, probs = tensors(rows)
    same(cal.sweep_error(labels, probs), cal.sweep_error(*rows))
    assert copied.n == 2 * N  # the probability of the top class, and whether it was right
    same(cal.ks_error(labels, probs, view="class 3"), cal.ks_error(*rows, view="class 3"))
    assert copied.n == 4 * N


@pytest.mark.parametrize("as_labels", [lambda y: y, lambda y: y.astype(bool), lambda y: y.astype(np.float32)])
def test_one_column(copied, rng, as_labels):
    probs = rng.random(N).astype(np.float32)
    labels = as_labels((rng.random(N) < probs).astype(np.int64))
    given = torch.tensor(labels), torch.tensor(probs)
    for view in ("binary", "class 0"):
        same(cal.ece(*given, view=view), cal.ece(labels, probs, view=view))
    assert copied.n == 2 * BINS
    same(cal.brier_score(*given), cal.brier_score(labels, probs))
    same(cal.canonical_error(*given), cal.canonical_error(labels, probs))
    same(cal.skce(*given), cal.skce(labels, probs))


@pytest.mark.parametrize("name", ["brier", "log", "spherical", "ranked"])
def test_scores_are_found_there(monkeypatch, copied, rows, name):
    monkeypatch.setattr(device, "BLOCK_NUMBERS", 70 * K)
    found = check_score(name).score
    same(found(*tensors(rows), view="canonical"), found(*rows, view="canonical"))
    many = [np.tile(each, (50, 1)[: each.ndim]) for each in rows]
    before = copied.n
    same(found(*map(torch.tensor, many)), found(*many))
    if name != "log":  # its interval looks at every outcome that was possible
        assert copied.n == before + 50 * N


@pytest.mark.parametrize("name", ["probs", "logits"])
@pytest.mark.parametrize("penalty", [None, 2.0])
def test_temperature_is_fitted_there(monkeypatch, copied, rows, name, penalty):
    labels, probs = rows[0], rows[1] + np.float32(1e-4)
    probs /= probs.sum(axis=1, keepdims=True)
    given = probs if name == "probs" else np.log(probs) + 3
    monkeypatch.setattr(device_temperature, "BLOCK_NUMBERS", 70 * K)
    expected = cal.Temperature(penalty=penalty).fit(labels, **{name: given})
    found = cal.Temperature(penalty=penalty).fit(torch.tensor(labels), **{name: torch.tensor(given)})
    assert copied.n == 2 * N  # labels, and what the penalty adds
    assert found.temperature == pytest.approx(expected.temperature, rel=1e-5)
    assert found.fit.loss == pytest.approx(expected.fit.loss, rel=1e-6)
    assert found.fit.prevalence.tolist() == expected.fit.prevalence.tolist()
    for more in ({"counts": np.arange(N) % 3 + 1}, {"weights": np.arange(N) % 3 + 0.5}):
        expected = cal.Temperature(penalty=penalty).fit(labels, **{name: given}, **more)
        found = cal.Temperature(penalty=penalty).fit(torch.tensor(labels), **{name: torch.tensor(given)}, **more)
        assert found.temperature == pytest.approx(expected.temperature, rel=1e-9)


@pytest.mark.parametrize("name", ["probs", "logits"])
def test_temperature_of_one_event_and_of_zeros(copied, rng, name):
    probs = rng.random(N)
    labels = (rng.random(N) < probs).astype(np.int64)
    given = probs if name == "probs" else np.log(probs / (1 - probs))
    found = cal.Temperature().fit(torch.tensor(labels), **{name: torch.tensor(given)})
    assert found.temperature == pytest.approx(cal.Temperature().fit(labels, **{name: given}).temperature, rel=1e-9)
    given[:3] = 0 if name == "probs" else 1e6
    found = cal.Temperature().fit(torch.tensor(labels), **{name: torch.tensor(given)})
    expected = cal.Temperature().fit(labels, **{name: given})
    assert (found.temperature, found.fit.cautions) == (expected.temperature, expected.fit.cautions)
    for recipe in (cal.Platt(), cal.maps.Identity()):
        found, expected = (
            recipe.fit(y, **{name: x}) for y, x in ((torch.tensor(labels), torch.tensor(given)), (labels, given))
        )
        assert found.parameters == expected.parameters


def test_sums_over_pairs_copy_no_predictions(copied, rows):
    labels, probs = tensors(rows)
    found = cal.skce(labels, probs, bandwidth=0.4)
    assert copied.n == 0
    assert found.value == pytest.approx(cal.skce(*rows, bandwidth=0.4).value, rel=1e-9)
    counts = np.arange(N) % 3
    for given in ({"counts": counts}, {"weights": counts + 0.5}, {"kernel": "laplace", "estimator": "biased"}):
        one, other = cal.skce(labels, probs, **given), cal.skce(*rows, **given)
        assert one.value == pytest.approx(other.value, rel=1e-9)
        assert one.settings["bandwidth"] == pytest.approx(other.settings["bandwidth"], rel=1e-9)


@pytest.mark.parametrize(
    "ask",
    [cal.brier_score, cal.classwise_error, cal.canonical_error, cal.sweep_error, cal.mean_gap, cal.collect],
)
def test_answers_are_those_of_arrays(copied, rows, ask):
    found, expected = ask(*tensors(rows)), ask(*rows)
    assert found.n == expected.n
    if ask is cal.collect:
        found, expected = cal.ece(found), cal.ece(expected)
    assert found.value == pytest.approx(expected.value, rel=1e-9)


def test_rows_are_copied_when_they_are_asked_for(copied, rows):
    found = admit(*tensors(rows))
    assert isinstance(found, DevicePredictions)
    assert (found.n, found.n_classes, found.shape, found.precision, copied.n) == (N, K, (N, K), "float32", 0)
    some = found.rows(slice(10))
    np.testing.assert_array_equal(some.probs, rows[1][:10])
    assert copied.n == N + N * K
    assert some.event("top").probs.tolist() == rows[1][:10].max(axis=1).tolist()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(copied, rows, dtype):
    labels, logits = rows[0], torch.log(torch.tensor(rows[1]) + 1e-3)
    probs = torch.softmax(logits, dim=1).to(dtype)
    found = cal.ece(torch.tensor(labels), probs)
    assert copied.n == BINS
    same(found, cal.ece(labels, probs.float().numpy()))


def test_one_hot_labels(copied, rows):
    one_hot = torch.nn.functional.one_hot(torch.tensor(rows[0]), K)
    same(cal.ece(one_hot.float(), torch.tensor(rows[1])), cal.ece(*rows))
    assert copied.n == BINS


def changed(rows, **what):
    labels, probs = rows[0].copy(), rows[1].copy()
    for name, (place, value) in what.items():
        {"labels": labels, "probs": probs}[name][place] = value
    return labels, probs


BAD = {
    "NaN": {"probs": ((70, 5), np.nan)},
    "infinite": {"probs": ((70, 5), np.inf)},
    "negative": {"probs": ((70, 5), -0.25)},
    "above 1": {"probs": ((70, 5), 1.5)},
    "rounding": {"probs": ((70, 5), -1e-6)},
    "row sum": {"probs": (70, 0.05)},
    "label below": {"labels": (33, -1)},
    "label above": {"labels": (33, K)},
    "both": {"labels": (33, K), "probs": ((70, 5), 2.0)},
}


@pytest.mark.parametrize("bad", BAD)
def test_error_texts_are_those_of_arrays(copied, rows, bad):
    given = changed(rows, **BAD[bad])
    with pytest.raises(InputError) as expected:
        cal.ece(*given)
    with pytest.raises(InputError) as found:
        cal.ece(*tensors(given))
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    "labels",
    [
        lambda y: y[:-1],
        lambda y: y + 0.5,
        lambda y: np.where(y == 3, np.nan, y),
        lambda y: np.eye(K)[y] * 2,
        lambda y: np.eye(K)[y][:, :-1],
        lambda y: y[:0],
    ],
)
def test_bad_labels_have_the_texts_of_arrays(copied, rows, labels):
    given = labels(rows[0])
    with pytest.raises(InputError) as expected:
        cal.ece(given, rows[1])
    with pytest.raises(InputError) as found:
        cal.ece(torch.tensor(given), torch.tensor(rows[1]))
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("name", ["probs", "logits"])
def test_losses_copy_nothing(copied, rows, name):
    labels, probs = tensors(rows)
    outputs = (probs if name == "probs" else torch.log(probs + 1e-3)).requires_grad_()
    losses.brier_loss(labels, **{name: outputs}).backward()
    assert copied.n == 0
    assert outputs.grad.abs().sum() > 0
    event = torch.full((3,), 0.25)
    losses.brier_loss(torch.tensor([0, 1, 0]), **{name: event})
    losses.brier_loss(torch.tensor([0.0, 0.5, 1.0]), **{name: event})
    assert copied.n == 0


@pytest.mark.parametrize("bad", BAD)
def test_losses_name_what_is_wrong(rows, bad, request):
    given = tensors(changed(rows, **BAD[bad]))
    with pytest.raises(InputError) as expected:
        losses.brier_loss(*given)
    request.getfixturevalue("copied")
    with pytest.raises(InputError) as found:
        losses.brier_loss(*given)
    assert str(found.value) == str(expected.value)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("width", [2, 12, 300, 3000])
def test_rows_are_checked_and_their_top_found_in_one_pass(rng, width):
    probs = rng.dirichlet(np.full(width, 0.3), N).astype(np.float32)
    probs[: N // 2, 0] = probs[: N // 2, -1]  # ties
    probs /= probs.sum(axis=1, keepdims=True)
    labels = rng.integers(0, width, N)
    p, y = torch.tensor(probs, device="cuda"), torch.tensor(labels, device="cuda")
    top, hit = device_rows.top_of_rows(p, y, 1e-4)
    np.testing.assert_array_equal(top.cpu(), probs.max(axis=1))
    np.testing.assert_array_equal(hit.cpu(), probs.argmax(axis=1) == labels)
    same(cal.ece(y, p), cal.ece(labels, probs))
    for row, column, value in ((N - 1, width - 1, float("nan")), (0, 0, -0.01), (3, 1, 1.5)):
        wrong = p.clone()
        wrong[row, column] = value
        assert device_rows.top_of_rows(wrong, y, 1e-4) is None
        with pytest.raises(InputError, match="probs"):
            cal.ece(y, wrong)
    for label in (-1, width):
        assert device_rows.top_of_rows(p, torch.full_like(y, label), 1e-4) is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("kind", [torch.int64, torch.int32, torch.uint8, torch.bool])
def test_one_event_is_checked_in_one_pass(rng, kind):
    probs = rng.random(10_007).astype(np.float32)
    labels = (rng.random(10_007) < probs).astype(np.int64)
    p, y = torch.tensor(probs, device="cuda"), torch.tensor(labels, device="cuda").to(kind)
    same(cal.ece(y, p), cal.ece(labels, probs))
    for value in (float("nan"), -0.01, 1.5):
        wrong = p.clone()
        wrong[-1] = value
        with pytest.raises(InputError, match="probs"):
            cal.ece(y, wrong)
    if kind != torch.bool:
        y[5] = 2
        with pytest.raises(InputError, match="labels"):
            cal.ece(y, p)
