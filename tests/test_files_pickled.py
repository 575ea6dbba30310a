"""Pickled logits are read; a hostile pickle runs nothing."""

import os
import pickle
import struct

import numpy as np
import pytest

from calibrant.files import read_pickled_logits
from calibrant.problems import CalibrantError, FileError

RNG = np.random.default_rng(3)
LOGITS, LABELS = RNG.normal(size=(40, 3)).astype(np.float32), RNG.integers(0, 3, 40)


def written(tmp_path, content, protocol=None):
    path = tmp_path / "logits.p"
    path.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content, protocol))
    return path


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "kind", ["plain", "labels in a column", "by column", "big-endian", "float64", "lists of pairs"]
)
def test_arrays_are_read_as_they_are(tmp_path, protocol, kind):
    logits, labels = LOGITS, LABELS
    if kind == "labels in a column":
        labels = labels[:, None]
    elif kind == "by column":
        logits = np.asfortranarray(logits)
    elif kind == "big-endian":
        logits = logits.astype(">f4")
    elif kind == "float64":
        logits = logits.astype(float)
    parts = ((logits, labels), (logits[:10], labels[:10]))
    valid, test = read_pickled_logits(
        written(tmp_path, [list(p) for p in parts] if kind.startswith("lists") else parts, protocol)
    )
    assert (valid.n, test.n) == (40, 10)
    assert (valid.labels == LABELS).all()
    assert np.array_equal(valid.probs, type(valid).from_logits(LABELS, logits).probs)


class Hostile:
    """Runs a command when it is unpickled in the usual way."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("inside", [False, True])
def test_a_hostile_file_runs_nothing(tmp_path, protocol, inside):
    mark = tmp_path / "ran"
    hostile = Hostile(mark)
    path = written(tmp_path, ((LOGITS, LABELS), (hostile, LABELS)) if inside else hostile, protocol)
    with pytest.raises(FileError, match=r"it calls \w+\.system, which is no array; nothing of it was run"):
        read_pickled_logits(path)
    assert not mark.exists()


OTHERS = {
    "builtins.eval": b"cbuiltins\neval\n(S'1'\ntR.",
    "numpy.load": b"cnumpy\nload\n(S'x'\ntR.",
    "a dotted name": b"\x80\x04\x8c\x05numpy\x8c\x0dndarray.tofile\x93.",
    "outside data": b"Pabc\n.",
    "extension codes": b"\x80\x02\x82\x01.",
    "a new object": b"\x80\x02cnumpy\nndarray\n)\x81.",
    "an old instance": b"(S'x'\nicalibrant\nread\n.",
    "a change of our own names": b"\x80\x02c_codecs\nencode\n}(X\x03\x00\x00\x00abcK\x01ub.",
    "a change of a name's state": b"\x80\x02c_codecs\nencode\nNb.",
    "a call of a value": b"\x80\x02K\x01)R.",
    "an unhashable call": b"\x80\x02])R.",
    "a memo without end": b"\x80\x02Nr\xff\xff\xff\x7f.",
    "a length that lies": b"\x80\x03B\xff\xff\xff\x7fabc.",
    "nothing on the stack": b"\x80\x02.",
    "nothing": b"",
}


@pytest.mark.parametrize("content", OTHERS.values(), ids=OTHERS)
def test_names_that_are_no_arrays_are_refused(tmp_path, content):
    with pytest.raises(FileError, match="cannot read"):
        read_pickled_logits(written(tmp_path, content))


WRONG = {
    "one part": (LOGITS, LABELS, LABELS),
    "no arrays": ((1, 2), (3, 4)),
    "a number": 3,
    "objects": ((np.array([{}, 1], object), LABELS), (LOGITS, LABELS)),
    "text": ((np.array(["a", "b"]), LABELS), (LOGITS, LABELS)),
    "records": ((np.zeros(3, [("a", float)]), LABELS), (LOGITS, LABELS)),
    "other lengths": ((LOGITS, LABELS[:-1]), (LOGITS, LABELS)),
    "other labels": ((LOGITS, LABELS + 7), (LOGITS, LABELS)),
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_other_contents_are_refused(tmp_path, content):
    with pytest.raises(CalibrantError):
        read_pickled_logits(written(tmp_path, content))


def test_any_damage_gives_an_error_of_our_own(tmp_path):
    whole = pickle.dumps(((LOGITS, LABELS), (LOGITS, LABELS)), 2)
    rng = np.random.default_rng(1)
    for _ in range(300):
        damaged = bytearray(whole)
        for at in rng.integers(0, 300, 3):
            damaged[at] = rng.integers(256)
        path = written(tmp_path, bytes(damaged[: rng.integers(10, len(damaged) + 1)]))
        try:
            valid, _ = read_pickled_logits(path)
        except CalibrantError:
            continue
        assert valid.n


def test_a_shape_that_lies_takes_no_memory(tmp_path):
    whole = pickle.dumps(((LOGITS, LABELS), (LOGITS, LABELS)), 2)
    lies = whole.replace(struct.pack("<BB", ord("K"), 40), b"J\xff\xff\xff\x7f", 1)
    assert lies != whole
    with pytest.raises(FileError, match="another number of values than its shape"):
        read_pickled_logits(written(tmp_path, lies))


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(FileError, match="there is no such file"):
        read_pickled_logits(tmp_path / "none.p")
