"""Maps and true calibration curves as lines: predicted against recalibrated, or against the true rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from calibrant.inputs import check_choice, check_probabilities, floats
from calibrant.kernels.logits import sigmoid
from calibrant.maps import CalibrationMap, TopLabelMap
from calibrant.options import checked
from calibrant.plot.axes import DIAGRAM, axes_or_new, check_color, labelled, series
from calibrant.plot.logit_axes import MARGIN, span_of, widened
from calibrant.plot.reliability import draw_frame
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.results import number
from calibrant.simulate.curves import TrueCurve
from calibrant.simulate.world import EventWorld
from calibrant.types import Floats

N_POINTS = 1001
"""Places along a curve, evenly spaced on the axis."""

USUAL = (-13.8, 13.8)
"""Log-odds of 10⁻⁶ and 1 − 10⁻⁶: the ends of logit axes where no data say how far they should reach."""

MOST_SHOWN = 4
"""Parameters of a map above its curve."""

N_SCORES = 2000
"""Scores drawn from a world, which show how far its predictions reach."""

Curved = CalibrationMap | EventWorld | TrueCurve


@checked
def curves(
    what: Any,
    *,
    scale: Literal["probability", "logit"] = "probability",
    probs: Any = None,
    ax: Any = None,
    label: str | None = None,
    color: Any = None,
) -> Any:
    """What do maps make of a prediction, and what is the true rate? Returns the Axes.

    Maps, several maps and the true curves of worlds, in one diagram. On the axes of a
    reliability diagram they are drawn beside its points.

    Parameters
    ----------
    what
        A fitted map of a single event or of the top class, a world of one event, or a
        `TrueCurve`; a list of these, or a mapping that gives them names.
    scale
        `"logit"` stretches both axes near 0 and 1.
    probs
        Predicted probabilities of the event, or `Predictions`, as far as which logit axes
        reach. If not given, they reach as far as they do already; new ones as far as a
        world's scores, and with maps alone from 10⁻⁶ to 1 − 10⁻⁶.
    ax
        The Axes to draw on; new ones if None.
    label
        What to call a single curve in the legend.
    color
        Of a single curve.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.simulate import power_world
    >>> world = power_world(0.05)
    >>> rows = world.sample(500, seed=0)
    >>> ax = cal.plot.curves({"truth": world, "beta": cal.Beta().fit(rows), "Platt": cal.Platt().fit(rows)})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['truth', 'beta', 'Platt']
    """
    check_choice("scale", scale, ("probability", "logit"))
    named = _named(what, label)
    functions = {name: _function_of(each) for name, each in named.items()}
    if len(named) > 1 and (label is not None or color is not None):
        raise InputError("label", "and color are those of a single curve", advice="Give names by a mapping")
    check_color(color)
    reach = _reach(list(named.values()), probs)
    ax = axes_or_new(ax, DIAGRAM)
    x = np.linspace(0, 1, N_POINTS) if scale == "probability" else _places(ax, None if probs is None else reach, reach)
    lines = {name: function(x) for name, function in functions.items()}
    every = np.tile(x, len(lines)), np.concatenate([*lines.values()])
    draw_frame(ax, False, None if scale == "probability" else span_of(*every))
    for name, y in lines.items():
        ax.plot(x, y, label=name, linewidth=1.6, zorder=3, **series(ax, color))
    known = ax.get_ylabel()
    about = _about(next(iter(named.values()))) if len(named) == 1 else ""
    meaning = known or _meaning(list(named.values()))
    return labelled(ax, "predicted probability", meaning, about, loc="upper left")


def _named(what: Any, label: str | None) -> dict[str, Curved]:
    """Curves by their names; several of one name are numbered."""
    if isinstance(what, Mapping):
        return {str(name): _curved(each) for name, each in what.items()} or _none()
    several = list(what) if isinstance(what, Sequence) and not isinstance(what, str) else [what]
    found: dict[str, Curved] = {}
    for each in several or _none():
        name = label or _name_of(_curved(each))
        copies = sum(known == name or known.startswith(f"{name} (") for known in found)
        found[f"{name} ({copies + 1})" if copies else name] = each
    return found


def _none() -> Any:
    raise InputError("what", "must hold a map, a world or a curve", "it is empty")


def _curved(what: Any) -> Any:
    if isinstance(what, CalibrationMap | EventWorld | TrueCurve):
        return what
    needed = "must be a fitted map, a world of one event or a TrueCurve, or several of these"
    raise InputError("what", needed, f"it is a {type(what).__name__}", "Fit a recipe first")


def _name_of(what: Curved) -> str:
    if isinstance(what, CalibrationMap):
        return what.method.replace("_", " ")
    return getattr(what, "name", "") or "true curve"


def _about(what: Curved) -> str:
    """The rows that a map was fitted on, and of its parameters as many as fit."""
    if not isinstance(what, CalibrationMap):
        return ""
    few = {name: value for name, value in what.parameters.items() if np.ndim(value) == 0}
    shown = [f"{name.replace('_', ' ')} {number(float(value), 3)}" for name, value in few.items()]
    return ", ".join([f"{what.method.replace('_', ' ')}: {what.fit!r}", *shown[:MOST_SHOWN]])


def _function_of(what: Curved) -> Callable[[Floats], Floats]:
    """From predictions to what is drawn above them."""
    if isinstance(what, EventWorld):
        return what.curve
    if isinstance(what, TrueCurve):
        return lambda p: what.rates(p, 1 - p)
    event = what.top if isinstance(what, TopLabelMap) else what
    if not event.single:
        if event.per_label:
            reason, advice = "each label has one of its own", "Draw one of its `maps`, or all in one diagram"
        else:
            reason = "each probability depends on the others of its row"
            advice = "Draw a map of the top class, TopLabel(…), or one of `maps` of a one-vs-rest map"
        raise InputError("what", "must be a curve", f"a map of {len(event.classes)} classes is none: {reason}", advice)
    return event.from_probs


def _reach(several: list[Curved], probs: Any) -> Floats | None:
    """Predictions as far as which the curves are to be drawn; None where nothing is known of any."""
    if isinstance(probs, Predictions):
        return probs.event("auto").probs.astype(np.float64)
    if probs is not None:
        given = floats(probs, "probs").astype(np.float64).ravel()
        check_probabilities(given)
        return given
    drawn = [each.sample(N_SCORES, 0).probs for each in several if isinstance(each, EventWorld)]
    return np.concatenate(drawn) if drawn else None


def _places(ax: Any, asked: Floats | None, usual: Floats | None) -> Floats:
    """Evenly spaced on logit axes: as far as asked for, as they reach already, or as is usual for these curves."""
    if asked is not None:
        span = widened(ax, span_of(asked))
    elif ax.get_xscale() == "logit":
        low, high = widened(ax, (0.0, 0.0))
        free = (high - low) * MARGIN / (1 + 2 * MARGIN)  # so that the axes stay as they are
        span = low + free, high - free
    else:
        span = USUAL if usual is None else span_of(usual)
    return np.asarray(sigmoid(np.linspace(*span, N_POINTS)))


def _meaning(several: list[Curved]) -> str:
    maps = [isinstance(each, CalibrationMap) for each in several]
    return "recalibrated probability" if all(maps) else "recalibrated or true rate" if any(maps) else "true rate"
