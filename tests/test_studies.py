"""The studies: their register, what they write, and a reduced version of each."""

import json

import numpy as np
import pytest
from studies import arena, frame
from studies.register import STUDIES

from calibrant.problems import InputError

SLOWLY = [pytest.param(name, marks=pytest.mark.slow) for name in STUDIES]


def test_studies_make_tables_and_figures_of_the_papers():
    assert set(frame.makers()) <= set(frame.papers())


def test_every_table_and_figure_is_made_or_explained():
    """Those of P3 follow with the stand-in for its large data set."""
    open_ones = [item for item, about in frame.papers().items() if item not in frame.makers() and not about.get("fact")]
    assert [item for item in open_ones if not item.startswith("P3 ")] == []


def test_the_overview_is_up_to_date():
    assert (frame.HERE / "RESULTS.md").read_text(encoding="utf-8") == frame.overview()


def test_published_numbers_belong_to_tables_and_figures_of_the_papers():
    for paper in ("P1", "P2", "P3", "P4"):
        assert {f"{paper} {item}" for item in frame.published(paper)} <= set(frame.papers())


@pytest.mark.parametrize("name", SLOWLY)
def test_a_reduced_version_runs(name, tmp_path):
    for package in filter(None, [STUDIES[name].extra]):
        pytest.importorskip(package)
    text = frame.run(name, quick=True, output=tmp_path)
    assert text.startswith("# ")
    assert (tmp_path / f"{name}.md").read_text(encoding="utf-8") == text
    if STUDIES[name].makes:
        assert list(tmp_path.glob("*.svg")) or "|" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["p2_selection", "p4_ece_size"])
def test_the_same_seed_gives_the_same_table(name):
    first, again, other = (frame.run(name, quick=True, seed=seed).split("CPU time.")[1] for seed in (1, 1, 2))
    assert first == again != other


def test_what_agrees_is_counted():
    near, far, bare = (
        frame.Row("P1 Table 1", "x", ours, 1.0, error) for ours, error in ((1.1, 0.1), (1.5, 0.1), (9, None))
    )
    assert near.distance == pytest.approx(1)
    assert bare.distance is None
    rows = {"a": {"rows": [vars(near), vars(far), vars(bare)]}}
    assert frame._agreement("P1 Table 1", ["a"], rows) == "3; 1 of 2 within 2 SE"


def doubled(x):
    if x < 0:
        raise RuntimeError
    return [2 * x]


def test_a_run_that_was_cut_goes_on_where_it_stopped(tmp_path):
    kept = tmp_path / "kept.jsonl"
    job = frame.Job("x", kept=kept)
    with pytest.raises(RuntimeError):
        job.parts(doubled, {"a": (1,), "b": (-1,)})
    kept.write_text(kept.read_text(encoding="utf-8") + '["half', encoding="utf-8")
    assert frame._resumed(kept, resume=True) == {"a": [2]}
    again = frame.Job("x", kept=kept, done={"a": ["kept"]})
    assert again.parts(doubled, {"a": (1,), "c": (3,)}) == {"a": ["kept"], "c": [6]}
    assert frame._resumed(kept, resume=False) == {}
    assert not kept.exists()


def test_a_study_that_is_not_there_or_lacks_its_data():
    with pytest.raises(InputError, match="must be one of"):
        frame.run("nothing")
    with pytest.raises(InputError, match="none was given"):
        frame.run("niamey")
    with pytest.raises(InputError, match="must be a folder with x"):
        frame.Job("x").file("x.npz")


def test_a_page_is_written_with_rows_and_figures(tmp_path):
    drawn, (ax,) = frame.figure()
    ax.plot([0, 1], [0, 1])
    page = frame.Page("T", "text", [frame.Row("P1 Table 1", "x", 0.5, 0.4, 0.05)], 2, {"f": drawn})
    text = frame.write(page, frame.Job("one"), tmp_path, 3.0)
    assert "| P1 Table 1 | x | 0.50 | 0.40 | +0.10 | +2.0 |" in text
    assert "![f](one.svg)" in text
    assert json.loads((tmp_path / "one.rows.json").read_text(encoding="utf-8"))["rows"][0]["ours"] == 0.5
    first = (tmp_path / "one.svg").read_bytes()
    drawn, (ax,) = frame.figure()
    ax.plot([0, 1], [0, 1])
    frame.write(frame.Page("T", figures={"f": drawn}), frame.Job("one"), tmp_path, 3.0)
    assert (tmp_path / "one.svg").read_bytes() == first


def test_an_entry_beside_the_others_of_the_arena_is_no_rival():
    losses = np.array([[0.3, 0.3], [0.2, 0.3], [0.1, 0.1], [0.4, np.nan]])  # entries, experiments
    rivals = np.array([True, True, False, True])
    np.testing.assert_array_equal(arena.win_rates(losses, 0, rivals), [1 / 2, 1 / 2])
    np.testing.assert_array_equal(arena.win_rates(losses, 2, rivals), [1, 1])


def test_the_arena_tells_harm_apart_by_the_number_of_test_rows():
    def experiment(loss, informed, test_rows):
        numbers = {"auto": loss, arena.INFORMED: informed, arena.NEVER: 1.0}
        return {"platt": []} | {name: [value, 0, 0, 0, test_rows] for name, value in numbers.items()}

    found = dict(enumerate([experiment(1.1, 1.2, 400), experiment(0.9, 1.2, 599), experiment(0.9, 0.8, 2000)]))
    lines = arena.chance(found).splitlines()
    assert [line for line in lines if line.startswith("| one event")] == [
        "| one event | 300 to 599 | 2 | 50.0% | 100.0% |",
        "| one event | 1,500 to 5,000 | 1 | 0.0% | 0.0% |",
    ]
    assert arena.chance({}) == ""
