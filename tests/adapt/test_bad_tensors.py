"""Losses, torch modules and ONNX models on every kind of bad input: an error that names the argument, or the right answer."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra torch is not installed; make peers installs it")
pytest.importorskip("onnx", reason="the extra onnx is not installed; make peers installs it")

from adapt.bad_tensors import network_calls
from bad_outcomes import bad_data, bad_options, odd_numbers, spellings

CALLS = {call.name: call for call in network_calls(Path(tempfile.mkdtemp()))}


@pytest.mark.parametrize("name", CALLS)
def test_bad_data_are_refused(name):
    wrong = {title: found for title, found in bad_data(CALLS[name]) if found != "refused"}
    assert not wrong


@pytest.mark.parametrize("name", CALLS)
def test_bad_options_are_refused(name):
    wrong = {title: found for title, found in bad_options(CALLS[name]) if found != "refused"}
    assert not wrong


@pytest.mark.parametrize("name", CALLS)
def test_odd_numbers_are_refused_or_used(name):
    wrong = {title: found for title, found in odd_numbers(CALLS[name]) if found not in ("refused", "answered")}
    assert not wrong


@pytest.mark.parametrize("name", CALLS)
def test_the_same_labels_in_another_form_give_the_same_answer(name):
    assert not [title for title, equal in spellings(CALLS[name]) if not equal]
