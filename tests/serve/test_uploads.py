"""Uploads: random names, nothing left behind, limits."""

import io
import stat

import pytest

from calibrant.files.formats import ENDINGS
from calibrant.problems import FileError
from calibrant.serve.uploads import Uploads
from calibrant.serve.workers import Busy, Gone


@pytest.fixture
def uploads():
    found = Uploads(1000, most_kept=3)
    yield found
    found.close()


def receive(uploads, name="a.csv", content=b"label,prob\n", size=None):
    return uploads.receive(name, len(content) if size is None else size, io.BytesIO(content).read)


def test_content_is_kept_in_a_folder_nobody_else_may_enter(uploads):
    found = receive(uploads)
    assert found.path.read_bytes() == b"label,prob\n"
    for folder in (uploads.folder, found.folder):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "name", ["../../../etc/cron.d/x.csv", "..\\..\\x.csv", "/x.csv", "a/../../x.csv", "\x00.csv", "…/é\n.csv", "~/.csv"]
)
def test_a_name_is_never_a_path(uploads, name):
    found = receive(uploads, name)
    assert found.path == uploads.folder / found.id / "data.csv"
    assert "/" not in found.name
    assert "\\.." not in found.name
    assert "\x00" not in found.name
    assert [each.name for each in uploads.folder.iterdir()] == [found.id]


@pytest.mark.parametrize("ending", [*ENDINGS, ".json", ".eval"])
def test_known_endings_are_kept(uploads, ending):
    assert receive(uploads, f"Mine{ending.upper()}").path.name == f"data{ending}"


@pytest.mark.parametrize("name", ["model.pkl", "a.npy", "a.csv.exe", "csv", "", "a.parquet.gz", "a.json.gz"])
def test_other_endings_are_refused_in_the_words_of_the_reader(uploads, name):
    with pytest.raises(FileError, match=r"has no ending that tells its format. Use one of \.csv"):
        receive(uploads, name)
    assert list(uploads.folder.iterdir()) == []


def test_an_upload_that_breaks_off_leaves_nothing(uploads):
    with pytest.raises(Gone):
        receive(uploads, size=500)

    def broken(_):
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        uploads.receive("a.csv", 5, broken)
    assert len(uploads.kept) == 0
    assert list(uploads.folder.iterdir()) == []


def test_no_more_is_written_than_was_announced(uploads):
    found = receive(uploads, content=b"0123456789", size=4)
    assert found.path.read_bytes() == b"0123"


def test_the_oldest_go_first_but_none_that_is_worked_on(uploads):
    first, second, third = (receive(uploads) for _ in range(3))
    with uploads.held(first.id, lambda: False):
        fourth = receive(uploads)
        assert {first.id, third.id, fourth.id} == {each.name for each in uploads.folder.iterdir()}
        with pytest.raises(FileError, match="not here any more"):
            uploads.find(second.id)
        others = (uploads.held(each.id, lambda: False) for each in (third, fourth))
        with next(others), next(others), pytest.raises(Busy):
            receive(uploads)
    assert receive(uploads).path.exists()
    assert not first.folder.exists()


def test_the_disk_holds_ten_of_the_largest_files():
    uploads = Uploads(100, most_kept=1000)
    try:
        kept = [receive(uploads, content=b"x" * 100) for _ in range(12)]
        assert [each.path.exists() for each in kept] == [False] * 2 + [True] * 10
    finally:
        uploads.close()


def test_who_waits_for_an_upload_and_leaves_is_let_go(uploads):
    found = receive(uploads)
    with uploads.held(found.id, lambda: False), pytest.raises(Gone), uploads.held(found.id, lambda: True):
        pass


@pytest.mark.parametrize("key", ["", "x", None, 3, ["a"], {"a": 1}, ".."])
def test_unknown_ids_are_refused(uploads, key):
    with pytest.raises(FileError, match="not here any more"):
        uploads.find(key)


def test_ids_cannot_be_guessed(uploads):
    assert len({receive(uploads).id for _ in range(50)}) == 50
    assert len(receive(uploads).id) == 32
