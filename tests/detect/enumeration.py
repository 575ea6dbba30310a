"""Every labelling of a few rows with its probability: the null written out, against which draws are judged."""

from __future__ import annotations

from itertools import product

import numpy as np


def labellings(probs):
    """(2^n, n) labels of an event, and the probability of each if the predictions are right."""
    labels = np.array(list(product((0, 1), repeat=len(probs))))
    return labels, np.where(labels == 1, probs, 1 - np.asarray(probs)).prod(axis=1)


def class_labellings(probs):
    """The same for rows of several classes."""
    probs = np.asarray(probs)
    labels = np.array(list(product(range(probs.shape[1]), repeat=len(probs))))
    return labels, probs[np.arange(len(probs)), labels].prod(axis=1)


def tail(values, chance, observed):
    """P(T ≥ observed)."""
    return float(chance[values >= observed - 1e-9].sum())
