"""Meter: the sums of a training loop, on one process and on several; the same errors as those of all rows."""

from __future__ import annotations

from itertools import pairwise

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
    for given in ({"buckets": True}, {"view": "classwise"}):
        with pytest.raises(InputError, match="groups must be None with"):
            Meter(groups="image", **given)
    with pytest.raises(InputError, match="groups must be one of 'image'"):
        Meter(groups="pixel")
    with pytest.raises(InputError, match="groups must be left out"):
        Meter().update(torch.tensor([1]), torch.tensor([0.3]), groups=[1])
    with pytest.raises(InputError, match="buckets must be True"):
        Meter().to_state()
    meter = Meter()
    meter.update(torch.tensor([0]), torch.tensor([[0.4, 0.6]]))
    with pytest.raises(InputError, match="must have 2 columns as the meter"):
        meter.update(torch.tensor([0]), torch.tensor([[0.2, 0.2, 0.6]]))


@pytest.fixture
def maps(rng):
    """Segmentation maps of images that err together, some pixels without a label."""
    logits = torch.as_tensor(rng.normal(size=(24, 3, 6, 5)) * 2)
    right = torch.as_tensor(rng.random((24, 6, 5)) < np.repeat([0.95, 0.4], 12)[:, None, None])
    top = logits.argmax(dim=1)
    labels = torch.where(right, top, (top + 1) % 3)
    labels[::2, :2] = 255
    return labels, logits


def pixels(labels, logits):
    """The same as rows, with the image of each as its group."""
    kept = labels != 255
    images = torch.arange(len(labels))[:, None, None].expand(labels.shape)[kept]
    return cal.Predictions(labels[kept], torch.softmax(logits, dim=1).movedim(1, -1)[kept], groups=images)


def images(maps, size=10):
    labels, logits = maps
    meter = Meter(ignore=255, groups="image")
    for start in range(0, len(labels), size):
        meter.update(labels[start : start + size], logits=logits[start : start + size])
    return meter


def test_the_noise_floor_is_that_of_independent_images(maps):
    found, rows = images(maps).compute(), pixels(*maps)
    event = rows.event("top")
    place = np.ceil(event.probs * 15).astype(int) - 1
    errors = np.zeros((24, 15))
    np.add.at(errors, (rows.groups, place), event.probs - event.outcomes)
    floor = np.sqrt(2 / np.pi * (errors**2).sum(axis=0)).sum() / rows.n
    whole = cal.ece(rows)
    assert (found.value, found.noise_floor) == (pytest.approx(whole.value, rel=1e-12), pytest.approx(floor, rel=1e-12))
    assert floor > 1.5 * whole.noise_floor
    assert found.n == rows.n
    np.testing.assert_array_equal(found.parts["bins"].weight, whole.parts["bins"].weight)


def test_the_interval_is_that_of_independent_images(maps, rng):
    found = images(maps).compute(norm=2, debiased=True).interval
    plain = Meter(ignore=255)
    plain.update(maps[0], logits=maps[1])
    other = plain.compute(norm=2, debiased=True).interval
    assert found.high - found.low > 1.5 * (other.high - other.low)
    assert found.method == f"{other.method}, images"
    p = torch.as_tensor(rng.random(20_000))
    y = torch.as_tensor(rng.random(20_000)) < p**1.2
    single, plain = Meter(groups="image"), Meter()  # each row a group: they are independent
    for meter in (single, plain):
        meter.update(y, p)
    found, other = (meter.compute(norm=2, debiased=True).interval for meter in (single, plain))
    assert (found.low, found.high) == (pytest.approx(other.low, rel=0.02), pytest.approx(other.high, rel=0.02))


def test_states_of_images_are_rows_in_groups(maps):
    states, rows = images(maps).to_state(part="valid"), pixels(*maps)
    assert list(states) == [f"image {k}" for k in range(24)]
    assert states["image 1"].parts == ("valid, image 1",)
    assert cal.State.from_json(states["image 1"].to_json()) == states["image 1"]
    found, expected = (cal.mean_gap(each, cluster=True) for each in (states, as_event(rows)))
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert found.interval.low == pytest.approx(expected.interval.low, rel=1e-12)
    assert cal.ece(states).value == pytest.approx(cal.ece(rows).value, rel=1e-12)
    assert cal.is_calibrated(states, cluster="any", n_draws=99).n == rows.n


def as_event(rows):
    event = rows.event("top")
    return cal.Predictions(event.outcomes, event.probs, groups=rows.groups)


def test_slices_of_one_scan_are_one_group(maps):
    labels, logits = maps
    whole, parts = Meter(ignore=255, groups="image"), Meter(ignore=255, groups="image")
    scans = torch.arange(24) // 3
    whole.update(labels.reshape(8, -1), logits=logits.movedim(1, 2).reshape(8, 18, 3, 5).movedim(1, 2).flatten(2))
    for start in (0, 10):
        some = slice(start, start + 10 if start == 0 else None)
        parts.update(labels[some], logits=logits[some], groups=scans[some])
    assert list(parts.to_state()) == [str(k) for k in range(8)]
    assert parts.compute().noise_floor == pytest.approx(whole.compute().noise_floor, rel=1e-12)


def test_images_are_saved_and_forgotten(maps):
    meter = images(maps)
    other = Meter(ignore=255, groups="image")
    other.load_state_dict(meter.state_dict())
    assert other.compute(norm=2, debiased=True) == meter.compute(norm=2, debiased=True)
    meter.reset()
    first = meter(maps[0][:1], logits=maps[1][:1])
    assert any("1 image is few" in caution for caution in first.cautions)
    assert (len(meter.images), meter.compute().value) == (1, first.value)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (torch.tensor([0.5, 1.0]), "one whole number per image, 2 in all; its dtype is torch.float32"),
        ([1, 2, 3], r"2 in all; its dtype is int64, its shape \(3,\)"),
        (["a", "b"], "its dtype is <U1"),
        ([4, -2], r"must not be negative; groups\[1\] is -2"),
    ],
)
def test_bad_groups(groups, words):
    with pytest.raises(InputError, match=words):
        Meter(groups="image").update(torch.tensor([0, 1]), torch.tensor([0.1, 0.2]), groups=groups)


def _rank(rank, address, given, found):
    torch.distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    labels, probs = given
    meter = filled(Meter(buckets=True), labels[rank::2], probs[rank::2])
    of_images = Meter(groups="image")
    ends = (0, 100, 600) if rank else (0, 0)  # of batches: images of one row; one rank has none but shared ones
    for start, stop in pairwise(ends):
        of_images.update(labels[start:stop], probs[start:stop])
    of_images.update(labels[rank::2], probs[rank::2], groups=torch.arange(300) // 100)
    states = {name: state.n for name, state in of_images.to_state().items()}
    error = of_images.compute()
    found.put((float(meter.compute()), meter.to_state().to_json(), states, (error.value, error.noise_floor)))
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
    alone = Meter(groups="image")
    alone.update(labels, probs)
    alone.update(labels, probs, groups=torch.arange(600) // 200)  # the k-th hundred of either rank's rows
    expected = alone.compute()
    for value, text, states, error in values:
        # images without a number are named by their place among those of all ranks, of which the first has 300
        assert states == {"0": 200, "1": 200, "2": 200} | {f"image {k}": 1 for k in range(300, 900)}
        assert error == (pytest.approx(expected.value, rel=1e-9), pytest.approx(expected.noise_floor, rel=1e-9))
        assert value == pytest.approx(cal.ece(labels, probs).value, rel=1e-6)
        table = cal.State.from_json(text).pooled("binary")
        np.testing.assert_array_equal(table.hits, whole.hits)
        np.testing.assert_array_equal(table.high, whole.high)


@pytest.mark.slow
def test_intervals_of_images_hold_the_error_where_those_of_pixels_do_not(rng):
    """Pixels of an image err together, by ±p(1 − p); on average the model is calibrated, so that its error is 0."""
    n_sets, n_images = 150, 40
    p = torch.as_tensor(rng.beta(0.7, 0.7, (n_sets, n_images, 100)))
    side = torch.as_tensor(rng.choice([-1.0, 1.0], (n_sets, n_images, 1)))
    y = torch.as_tensor(rng.random(p.shape)) < p + side * p * (1 - p)
    missed, short = {}, {}
    for groups in ("image", None):
        sets = [Meter(groups=groups) for _ in range(n_sets)]
        for k, meter in enumerate(sets):
            meter.update(y[k].ravel(), p[k].ravel(), groups=None if groups is None else torch.arange(4000) // 100)
        missed[groups] = np.mean([meter.compute(norm=2, debiased=True).interval.low > 0 for meter in sets])
        both = np.array([(each.value, each.noise_floor) for each in (meter.compute() for meter in sets)])
        short[groups] = (both[:, 0] - both[:, 1]).mean() / both[:, 0].std() * n_sets**0.5
    most = 0.05 + 4 * (0.05 * 0.95 / n_sets) ** 0.5
    assert missed["image"] <= most < missed[None]
    assert abs(short["image"]) < 4 < short[None]
