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
from calibrant.predictions import DevicePredictions, admit, device  # noqa: E402

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


def test_one_event_copies_its_own_columns(copied, rows):
    labels, probs = tensors(rows)
    assert cal.ece(labels, probs) == cal.ece(*rows)
    assert copied.n == 3 * N  # labels, the top class, its probability
    assert cal.ece(labels, probs, view="class 3") == cal.ece(*rows, view="class 3")
    assert copied.n == 5 * N
    assert cal.ece(rows[0], probs) == cal.ece(*rows)


def test_sums_over_pairs_copy_no_predictions(copied, rows):
    labels, probs = tensors(rows)
    found = cal.skce(labels, probs, bandwidth=0.4)
    assert copied.n == N
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
    assert (found.n, found.n_classes, copied.n) == (N, K, N)
    some = found.rows(slice(10))
    np.testing.assert_array_equal(some.probs, rows[1][:10])
    assert copied.n == N + N * K
    assert some.event("top").probs.tolist() == rows[1][:10].max(axis=1).tolist()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(copied, rows, dtype):
    labels, logits = rows[0], torch.log(torch.tensor(rows[1]) + 1e-3)
    probs = torch.softmax(logits, dim=1).to(dtype)
    found = cal.ece(torch.tensor(labels), probs)
    assert copied.n == 3 * N
    assert found == cal.ece(labels, probs.float().numpy())


def test_one_hot_labels(copied, rows):
    one_hot = torch.nn.functional.one_hot(torch.tensor(rows[0]), K)
    assert cal.ece(one_hot.float(), torch.tensor(rows[1])) == cal.ece(*rows)
    assert copied.n == 3 * N


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
