"""States: collected, updated, merged, saved, read back, and refused where damaged."""

import json
import pickle

import numpy as np
import pytest

import calibrant as cal
from calibrant.problems import FileError, InputError, MapError
from calibrant.state.pooled import Pooled
from calibrant.state.state import State
from calibrant.verbs.collect import collect


@pytest.fixture
def rows():
    rng = np.random.default_rng(1)
    probs = rng.random(400).round(3)
    return (rng.random(400) < probs**1.3).astype(int), probs


@pytest.fixture
def classes():
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.full(3, 0.7), 200)
    return np.array([rng.choice(3, p=p) for p in probs]), probs


def test_by_hand():
    state = collect([0, 1, 1, 0], [0.5, 0.5, 0.9, 0.2])
    pooled = state.pooled("binary")
    assert (state.n, pooled.values.tolist()) == (4, [0.2, 0.5, 0.9])
    assert (pooled.weight.tolist(), pooled.hits.tolist()) == ([1, 2, 1], [0, 1, 1])


def test_many_updates_equal_one_collection(rows):
    labels, probs = rows
    state = collect(labels[:1], probs[:1])
    for i in range(1, len(labels)):
        assert state.update(labels[i : i + 1], probs[i : i + 1]) is state
    assert state.n == len(state.parts) == len(labels)
    assert state.pooled("binary") == collect(labels, probs).pooled("binary")


def test_tables_stay_few(rows):
    labels, probs = rows
    state = collect(labels[:1], probs[:1])
    for i in range(1, 100):
        state.update(labels[i : i + 1], probs[i : i + 1])
        assert len(state.tables["binary"]) <= 8


def test_merging_leaves_the_parts_as_they_were(rows):
    labels, probs = rows
    one, other = collect(labels[:100], probs[:100]), collect(labels[100:], probs[100:])
    before = one.to_json(), other.to_json()
    assert one.merge(other).n == 400
    assert (one.to_json(), other.to_json()) == before


def test_no_part_counts_twice(rows):
    part = collect(*rows, part="monday")
    with pytest.raises(InputError, match="'monday' is in both"):
        part.merge(part)
    with pytest.raises(InputError, match="'monday' is in both"):
        part.update(*rows, part="monday")


def test_states_of_different_models_do_not_merge(rows, classes):
    with pytest.raises(InputError, match="classes and views"):
        collect(*rows).merge(collect(*classes))
    with pytest.raises(InputError, match="must be a State"):
        collect(*rows).merge("monday")


@pytest.mark.parametrize("ending", ["json", "arrow"])
@pytest.mark.parametrize("kind", ["rows", "classes"])
def test_saved_and_read_back(request, tmp_path, kind, ending):
    state = collect(*request.getfixturevalue(kind), part="a").merge(collect(*request.getfixturevalue(kind), part="b"))
    state.save(tmp_path / f"state.{ending}")
    again = State.load(tmp_path / f"state.{ending}")
    assert again == state
    assert [each.name for each in tmp_path.iterdir()] == [f"state.{ending}"]
    assert cal.ece(again) == cal.ece(state)


def test_pickled_by_the_same_road(rows):
    state = collect(*rows)
    assert pickle.loads(pickle.dumps(state)) == state


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        (lambda d: d.update(version=99), "version"),
        (lambda d: d.update(n=0), "n must be at least 1"),
        (lambda d: d.update(n="many"), "n must be a whole number"),
        (lambda d: d.pop("classes"), "incomplete or damaged"),
        (
            lambda d: d["events"]["binary"].update(hits=[9] * len(d["events"]["binary"]["hits"])),
            r"hits must not exceed weight; hits\[0\] is 9",
        ),
        (lambda d: d["events"]["binary"]["values"].reverse(), "increase"),
        (lambda d: d["events"]["binary"]["weight"].pop(), r"weight must have the shape \(values\)"),
        (lambda d: d.update(precision="float8"), "precision"),
        (lambda d: d.update(schema=7), "schema"),
    ],
)
def test_damaged_states_are_refused(rows, damage, match):
    data = json.loads(collect(*rows).to_json())
    damage(data)
    with pytest.raises(MapError, match=match):
        State.from_json(json.dumps(data))


def test_files_that_hold_no_state(tmp_path):
    (tmp_path / "no.arrow").write_bytes(b"nothing")
    with pytest.raises(MapError, match="no saved state"):
        State.load(tmp_path / "no.arrow")
    with pytest.raises(FileError, match="cannot read"):
        State.load(tmp_path / "absent.json")
    with pytest.raises(FileError, match=r"\.json or \.arrow"):
        State.load(tmp_path / "state.txt")


def test_a_failed_write_leaves_what_was_there(tmp_path, rows, monkeypatch):
    state = collect(*rows)
    state.save(tmp_path / "state.json")
    before = (tmp_path / "state.json").read_text()
    monkeypatch.setattr(State, "to_json", lambda self: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(OSError, match="No space"):
        state.save(tmp_path / "state.json")
    assert (tmp_path / "state.json").read_text() == before


def test_what_a_state_would_lose_is_refused(rows):
    labels, probs = rows
    with pytest.raises(InputError, match=r"counts must be whole numbers of rows; counts\[0\] is 0.5"):
        collect(labels, probs, counts=np.full(400, 0.5))
    with pytest.raises(InputError, match="weights must be left out for a state"):
        collect(labels, probs, weights=np.arange(400) + 0.5)
    with pytest.raises(InputError, match="weights must be left out for a state"):
        collect(labels, probs).update(labels, probs, weights=np.arange(400) + 0.5)
    with pytest.raises(InputError, match="groups"):
        collect(cal.Predictions(labels, probs, groups=np.arange(400) % 7))
    with pytest.raises(InputError, match="soft labels"):
        collect(cal.Predictions(probs, probs, soft=True))
    with pytest.raises(InputError, match="holds all that was collected"):
        cal.ece(collect(labels, probs), probs)
    with pytest.raises(InputError, match="must be a string"):
        collect(labels, probs, part=3)


def test_several_classes(classes):
    labels, probs = classes
    state = collect(labels, probs, views=["top", "class 2"])
    assert state.views == ("top", "class 2")
    assert cal.ks_error(state, view="class 2") == cal.ks_error(labels, probs, view="class 2")
    assert cal.static_error(state, bins=20).value == pytest.approx(cal.static_error(labels, probs, bins=20).value)
    with pytest.raises(InputError, match="divisor of 300 bins"):
        cal.static_error(state, bins=7)
    with pytest.raises(InputError, match="Collect it"):
        cal.ks_error(state, view="class 1")
    with pytest.raises(InputError, match="needs the rows themselves"):
        cal.canonical_error(state)


def test_pooled_rows_come_back_in_order():
    pooled = Pooled(np.array([0.2, 0.7]), np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    probs, outcomes, weights = pooled.rows()
    assert (probs.tolist(), outcomes.tolist(), weights.tolist()) == ([0.2, 0.2, 0.7], [0, 1, 1], [2, 1, 1])


def test_more_rows_have_the_classes_of_the_state():
    names = ["cat", "dog"]
    state = collect(cal.Predictions(["cat", "dog"], [[0.8, 0.2], [0.4, 0.6]], classes=names))
    assert state.update(["dog"], [[0.1, 0.9]]).n == 3
    with pytest.raises(InputError, match="must be among the classes"):
        state.update(["cow"], [[0.1, 0.9]])


@pytest.mark.parametrize(
    "option", [{"probs": [0.5]}, {"part": "b"}, {"views": ["binary"]}, {"counts": [1]}, {"weights": [1]}]
)
def test_a_state_is_collected_already(rows, option):
    state = collect(*rows)
    assert collect(state) is state
    with pytest.raises(InputError, match="must be left out; labels is a state"):
        collect(state, **option)


def test_an_infinite_score_stays_infinite(tmp_path):
    sure = [[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]
    state = collect([1, 2], sure).merge(collect([0, 2], sure))
    state.save(tmp_path / "state.json")
    assert cal.log_score(State.load(tmp_path / "state.json")).value == np.inf


def test_a_dict_of_states_is_rows_in_groups(rows):
    labels, probs = rows
    groups = np.array(["a", "b", "c"])[np.arange(400) % 3]
    whole = cal.Predictions(labels, probs, groups=groups)
    states = {name: collect(labels[groups == name], probs[groups == name]) for name in "abc"}
    found, expected = (cal.mean_gap(each, cluster=True).interval for each in (states, whole))
    assert (found.low, found.high) == (pytest.approx(expected.low, rel=1e-12), pytest.approx(expected.high, rel=1e-12))
    assert cal.ece(states).value == pytest.approx(cal.ece(labels, probs).value, rel=1e-12)
    with pytest.raises(InputError, match="must be rows, or a dict of states; 'd' is a list"):
        cal.ece(states | {"d": [1]})
    with pytest.raises(InputError, match="must have states of different names; two are called '1'"):
        cal.ece({1: states["a"], "1": states["b"]})
    with pytest.raises(InputError, match="it is a dict"):
        cal.ece({"d": [1]}, [0.5])
