"""Running sums of errors, equal predictions added together."""

from __future__ import annotations

from fractions import Fraction
from typing import Any


def steps(probs: Any, outcomes: Any, weights: Any = None) -> list[float]:
    """C(σ) = 1/n Σ_(p ≤ σ) (p − y) at every prediction σ, exactly."""
    w = [Fraction(1)] * len(probs) if weights is None else [Fraction(float(v)) for v in weights]
    rows = [(Fraction(float(p)), Fraction(float(y)), u) for p, y, u in zip(probs, outcomes, w, strict=True)]
    places = sorted({p for p, _, u in rows if u > 0})
    return [float(sum(u * (p - y) for p, y, u in rows if p <= place) / sum(w)) for place in places]


def ks(found: list[float]) -> float:
    return max(map(abs, found))


def kuiper(found: list[float]) -> float:
    """max C − min C, with C = 0 before the first prediction."""
    return max(0.0, *found) - min(0.0, *found)


def ks_of_classes(labels: Any, probs: Any) -> float:
    """E[KS(f, C)]: for each row the KS error of its top class's own column over all rows, averaged over rows."""
    each = []
    for row in probs:
        top = max(range(len(row)), key=lambda k: (float(row[k]), -k))
        column, hits = [float(r[top]) for r in probs], [int(label == top) for label in labels]
        each.append(ks(steps(column, hits)))
    return sum(each) / len(each)
