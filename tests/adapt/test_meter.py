"""Meter: the sums of a training loop, on one process and on several; the same errors as those of all rows."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.problems import InputError

torch = pytest.importorskip("torch", reason="torch is not installed")

from calibrant.adapt.torch import Meter  # noqa: E402


@pytest.fixture
def rows(rng):
    logits = rng.normal(size=(600, 4)).astype(np.float32) * 2
    probs = torch.softmax(torch.as_tensor(logits), dim=1)
    labels = torch.as_tensor((probs.numpy().cumsum(axis=1) < rng.random((600, 1))).sum(axis=1).clip(max=3))
    return labels, probs, torch.as_tensor(logits)


def filled(meter, labels, probs, size=100):
    for start in range(0, len(labels), size):
        meter.update(labels[start : start + size], probs[start : start + size])
    return meter


@pytest.mark.parametrize("view", ["top", "classwise"])
@pytest.mark.parametrize("norm", [1, 2])
def test_batches_give_the_error_of_all_rows(rows, view, norm):
    labels, probs, logits = rows
    expected = cal.binned_error(labels, probs, bins=cal.EqualWidth(15), norm=norm, view=view)
    found = filled(Meter(view), labels, probs).compute(norm=norm)
    assert float(found) == pytest.approx(expected.value, rel=1e-6)
    assert (found.n, found.title) == (expected.n, expected.title)
    of_logits = Meter(view)
    of_logits.update(labels, logits=logits)
    assert float(of_logits.compute(norm=norm)) == pytest.approx(expected.value, rel=1e-5)


def test_one_event(rng):
    p = torch.as_tensor(rng.random(500))
    y = torch.as_tensor(rng.random(500)) < p
    meter = filled(Meter(), y, p)
    assert float(meter.compute()) == pytest.approx(cal.ece(y, p).value, rel=1e-12)
    both = Meter("binary")
    both.update(y, torch.stack([1 - p, p], dim=1))
    assert float(both.compute()) == pytest.approx(cal.ece(y, p).value, rel=1e-12)
    assert sum(b.numel() * b.element_size() for b in meter.buffers()) == 480 + 8


def test_reset_and_forward(rows):
    labels, probs, _ = rows
    meter = Meter()
    first = meter(labels[:100], probs[:100])
    assert float(first) == pytest.approx(cal.ece(labels[:100], probs[:100]).value, rel=1e-6)
    assert meter.n == 100
    meter.reset()
    assert meter.n == 0
    with pytest.raises(InputError, match="at least one row"):
        meter.compute()


def test_a_state_for_every_estimator(rows):
    labels, probs, _ = rows
    meter = filled(Meter(buckets=True), labels, probs)
    state, whole = meter.to_state(part="epoch 1"), cal.collect(labels, probs, max_distinct=1)
    one, other = state.pooled("binary"), whole.pooled("top")
    np.testing.assert_array_equal(one.weight, other.weight)
    np.testing.assert_array_equal(one.hits, other.hits)
    np.testing.assert_array_equal(one.low, other.low)
    np.testing.assert_allclose(one.values, other.values, rtol=1e-12)
    assert cal.sweep_error(state).value == pytest.approx(cal.sweep_error(whole).value, rel=1e-9)
    assert cal.is_calibrated(state, n_draws=99).p_value == cal.is_calibrated(whole, n_draws=99).p_value
    assert cal.State.from_json(state.to_json()) == state
    assert cal.diagnose(state)["ECE"].value == pytest.approx(cal.ece(labels, probs).value, rel=1e-6)


def test_segmentation_leaves_out_what_is_ignored(rng):
    logits = torch.as_tensor(rng.normal(size=(2, 3, 4, 5)))
    labels = torch.as_tensor(rng.integers(0, 3, (2, 4, 5)))
    labels[0, 0] = 255
    meter = Meter(ignore=255)
    meter.update(labels, logits=logits)
    kept = labels != 255
    probs = torch.softmax(logits, dim=1).movedim(1, -1)[kept]
    assert meter.n == int(kept.sum())
    assert float(meter.compute()) == pytest.approx(cal.ece(labels[kept], probs).value, rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(rows, dtype):
    labels, _, logits = rows
    meter = Meter()
    meter.update(labels, logits=logits.to(dtype))
    probs = torch.softmax(logits.to(dtype).float(), dim=1)
    assert float(meter.compute()) == pytest.approx(cal.ece(labels, probs).value, rel=1e-6)


def test_the_buffers_are_saved_and_moved_with_the_module(rows):
    labels, probs, _ = rows
    meter = filled(Meter(buckets=True), labels, probs)
    other = Meter(buckets=True)
    other.load_state_dict(meter.state_dict())
    assert other.n == meter.n
    assert float(other.compute()) == float(meter.compute())
    every = filled(Meter("classwise"), labels, probs)
    other = Meter("classwise", n_classes=4)
    other.load_state_dict(every.state_dict())
    assert other.compute() == every.compute()
    event = filled(Meter(), labels == 1, probs[:, 1])
    again = Meter()
    again.load_state_dict(event.state_dict())
    assert again.compute().settings["view"] == event.compute().settings["view"] == "binary"


@pytest.mark.parametrize(
    ("options", "labels", "probs", "words"),
    [
        ({}, [0, 1], torch.tensor([0.1, 0.2]), "labels must be a tensor"),
        ({}, torch.tensor([0, 1]), [0.1, 0.2], "probs must be a tensor"),
        ({}, torch.tensor([0, 1, 1]), torch.tensor([0.1, 0.2]), "one label for each of the 2 predictions"),
        ({"view": "top"}, torch.tensor([0, 1]), torch.tensor([0.1, 0.2]), "a column per class"),
        ({"view": "binary"}, torch.tensor([0]), torch.tensor([[0.1, 0.2, 0.7]]), "one or two columns"),
    ],
)
def test_bad_batches(options, labels, probs, words):
    with pytest.raises(InputError, match=words):
        Meter(**options).update(labels, probs)


@pytest.mark.parametrize("bad", [float("nan"), -0.1, 1.5])
def test_values_that_are_no_probabilities_are_refused_when_asked(bad):
    meter = Meter()
    meter.update(torch.tensor([0, 1]), torch.tensor([0.3, bad]))
    with pytest.raises(InputError, match=r"must lie in \[0, 1\].*1 values were not"):
        meter.compute()


def test_bad_options():
    with pytest.raises(InputError, match="view"):
        Meter("middle")
    with pytest.raises(InputError, match="buckets must be False"):
        Meter("classwise", buckets=True)
    with pytest.raises(InputError, match="buckets must be True"):
        Meter().to_state()
    meter = Meter()
    meter.update(torch.tensor([0]), torch.tensor([[0.4, 0.6]]))
    with pytest.raises(InputError, match="must have 2 columns as the meter"):
        meter.update(torch.tensor([0]), torch.tensor([[0.2, 0.2, 0.6]]))


def _rank(rank, address, given, found):
    torch.distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    labels, probs = given
    meter = filled(Meter(buckets=True), labels[rank::2], probs[rank::2])
    found.put((rank, float(meter.compute()), meter.to_state().to_json()))
    torch.distributed.destroy_process_group()


def test_two_ranks_compute_the_error_of_all_rows(rows, tmp_path):
    labels, probs, _ = rows
    context = torch.multiprocessing.get_context("spawn")
    found = context.Queue()
    given = labels.clone(), probs.clone()
    ranks = [context.Process(target=_rank, args=(k, f"file://{tmp_path}/meet", given, found)) for k in range(2)]
    for each in ranks:
        each.start()
    values = [found.get(timeout=120) for _ in ranks]
    for each in ranks:
        each.join(30)
    whole = cal.collect(labels, probs, max_distinct=1).pooled("top")
    for _, value, text in values:
        assert value == pytest.approx(cal.ece(labels, probs).value, rel=1e-6)
        table = cal.State.from_json(text).pooled("binary")
        np.testing.assert_array_equal(table.hits, whole.hits)
        np.testing.assert_array_equal(table.high, whole.high)
