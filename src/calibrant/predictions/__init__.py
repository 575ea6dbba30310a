"""Predictions: what a model predicted and what was observed, and the yes/no questions (views) one can ask of them."""

from calibrant.predictions.device import DevicePredictions, labels_on_device, on_device, shares_on_device
from calibrant.predictions.door import StatePredictions, admit, as_predictions, cluster_kind, of_states, repeats_groups
from calibrant.predictions.event import Event
from calibrant.predictions.mass import Mass, check_mass
from calibrant.predictions.multilabel import MultilabelPredictions
from calibrant.predictions.plain import event_of_rows, few_plain_rows, plain_event
from calibrant.predictions.predictions import Predictions
from calibrant.predictions.views import VIEWS, chosen_rows

__all__ = [
    "VIEWS",
    "DevicePredictions",
    "Event",
    "Mass",
    "MultilabelPredictions",
    "Predictions",
    "StatePredictions",
    "admit",
    "as_predictions",
    "check_mass",
    "chosen_rows",
    "cluster_kind",
    "event_of_rows",
    "few_plain_rows",
    "labels_on_device",
    "of_states",
    "on_device",
    "plain_event",
    "repeats_groups",
    "shares_on_device",
]
