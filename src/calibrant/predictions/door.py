"""How every public function takes its data: labels and probabilities, predictions, or a state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from calibrant.inputs import check_choice, wrapped
from calibrant.predictions.device import on_device
from calibrant.predictions.event import Event, event_of
from calibrant.predictions.plain import plain_event
from calibrant.predictions.predictions import Predictions
from calibrant.problems import InputError
from calibrant.state.state import State
from calibrant.types import Cluster


def admit(labels: Any, probs: Any = None, *, counts: Any = None, weights: Any = None) -> Predictions:
    """Predictions as they are, made of `labels` and `probs`, or of a state.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state; or
        a dict of states, each of which is a group.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.
    """
    if counts is None and weights is None and (plain := plain_event(labels, probs)) is not None:
        return plain
    beside = any(each is not None for each in (probs, counts, weights))
    if isinstance(labels, Predictions):
        if beside:
            carried = "is a Predictions and carries its own probs, counts and weights"
            raise InputError("labels", carried, advice="Pass it alone")
        return labels
    if isinstance(labels, State):
        if beside:
            raise InputError("labels", "is a State and holds all that was collected", advice="Pass it alone")
        return of_state(labels)
    if isinstance(labels, Mapping) and not beside and any(isinstance(each, State) for each in labels.values()):
        return of_states(labels)
    if isinstance(probs, Predictions):
        raise InputError(
            "probs", "is a Predictions, which carries its own labels", advice="Pass it as the only argument"
        )
    if probs is None:
        raise InputError("probs", "is required", "only labels were given", "Pass (labels, probs) or a Predictions")
    found = on_device(labels, probs, counts, weights)
    return Predictions.borrowed(labels, probs, counts=counts, weights=weights) if found is None else found


class StatePredictions(Predictions):
    """A state of several classes where predictions are asked for: events, grids and sums of scores, but no rows."""

    __slots__ = ("state",)

    def __init__(self, state: State) -> None:
        self.state, self.classes, self.counted = state, state.classes, state.n
        self._events = {view: event_of(state, view) for view in state.views}
        self._probs = self.logits = self.weights = self.squares = self.groups = self.index = self.source = None

    is_binary = soft = is_confidence = False

    def _no_rows(self) -> Any:
        raise InputError(
            "labels",
            "is a state, and this needs the rows themselves",
            "a state of several classes holds none",
            "Pass the labels and probs, or a view that the state has pooled",
        )

    labels = probs = outputs = property(_no_rows)

    def _make_event(self, name: str) -> Event:
        self.state.pooled(name)
        raise AssertionError  # every view that the state has is kept

    def class_events(self) -> Iterator[Event]:
        """The events of the classes, if the state has pooled every one of them."""
        return (self.event(f"class {name}") for name in self.classes)

    def __repr__(self) -> str:
        return repr(self.state)


def of_state(state: State) -> Predictions:
    """A state as predictions: its pooled rows for one event; for several classes whatever the state holds."""
    if not state.one_column:
        return StatePredictions(state)
    event = event_of(state, "binary")
    found = Predictions.borrowed(event.outcomes, event.probs, counts=event.weights)
    found.classes = state.classes
    found.counted = state.n
    found._events["binary"] = event
    return found


def of_states(states: Mapping[Any, Any], view: Any = "auto") -> Predictions:
    """The pooled rows of several states as predictions, with the name of its state as the group of each row."""
    for name, state in states.items():
        if not isinstance(state, State):
            raise InputError("labels", "must be rows, or a dict of states", f"{name!r} is a {type(state).__name__}")
    if not states:
        raise InputError("labels", "must hold at least one state", "it is empty")
    names = [str(name) for name in states]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError("labels", "must have states of different names", f"two are called {twice!r}", "Rename one")
    first = next(iter(states.values()))
    chosen = first.views[0] if view == "auto" else view
    tables = [state.pooled(chosen).rows() for state in states.values()]
    probs, outcomes, counts = (np.concatenate(column) for column in zip(*tables, strict=True))
    groups = np.repeat(np.array(names), [len(table[0]) for table in tables])
    return Predictions(outcomes, probs, counts=counts, groups=groups)


def as_predictions(event: Event, groups: Any = None) -> Predictions:
    """A yes/no question as predictions of their own."""
    found = Predictions.borrowed(event.outcomes, event.probs, groups=groups, soft=not event.hard)
    found._weigh(event.mass)
    found.counted = event.counted
    found._events["binary"] = event.named("binary")
    return found


def cluster_kind(predictions: Any, cluster: Any) -> Cluster | None:
    """The user's `cluster=`, checked: how rows of a group may depend; None for independent rows.

    None and False take rows as independent (None because the user did not say so), True
    and "any" let rows of a group depend in any way, "same" says that they share one
    outcome.
    """
    if cluster is None or cluster is False:
        return None
    kind: Cluster = "any" if cluster is True else check_choice("cluster", cluster, ("any", "same"))
    if predictions.groups is None:
        how = wrapped("groups=groups")
        if not isinstance(predictions, Predictions):
            how = f"the groups to {type(predictions).__name__}"
        raise InputError("cluster", "needs groups", "the predictions have none", f"Pass {how}")
    return kind


def repeats_groups(predictions: Predictions) -> bool:
    """Are there groups of several rows?"""
    return predictions.groups is not None and len(np.unique(predictions.groups)) < predictions.n
