"""One HTML page for forecasts of a real number, in the look of the other."""

from __future__ import annotations

from collections.abc import Sequence

from calibrant.maps import RegressionMap
from calibrant.report.markup import tag, words
from calibrant.report.sections import (
    Answer,
    answer_section,
    comparison_section,
    document,
    facts_list,
    figure,
    listed,
    table_section,
    verdict_block,
)
from calibrant.report.svg_regression import coverage_svg, marginal_svg, pit_svg, spread_svg
from calibrant.verbs.compare import Comparison
from calibrant.verbs.diagnose_regression import ForecastDiagnosis

EXTRA_STYLE = """
.band { fill: var(--quiet); fill-opacity: .16; pointer-events: none; }
.bar { fill: var(--quiet); fill-opacity: .5; } .bar.over { fill: var(--over); } .bar.under { fill: var(--under); }
.bin:hover .bar { fill-opacity: .75; } .bin:hover .touch { fill: transparent; }
"""


def forecast_page(
    diagnosis: ForecastDiagnosis,
    *,
    after: ForecastDiagnosis | None = None,
    comparison: Comparison | None = None,
    fitted: RegressionMap | None = None,
    answers: Sequence[Answer] = (),
) -> str:
    """The report as HTML text; see `write`."""
    shown = {"": diagnosis} if after is None else {"Before": diagnosis, "After": after}
    sections = [
        _opening(shown),
        words("h2", "Said and came"),
        tag("div", "".join(_figures(shown)), class_="pair"),
        _legend(),
        "" if comparison is None else comparison_section(comparison),
        "" if fitted is None else _map(fitted),
        *map(answer_section, answers),
        *(_tables(when, each) for when, each in shown.items()),
        listed("Cautions", _cautions(shown, comparison, fitted)),
        listed("Advice", (after or diagnosis).advice),
    ]
    main = tag("main", "\n".join(filter(None, sections)))
    return document(f"Calibration of {diagnosis.name}", main, EXTRA_STYLE)


def _opening(shown: dict[str, ForecastDiagnosis]) -> str:
    first = next(iter(shown.values()))
    verdicts = "".join(verdict_block(each, when) for when, each in shown.items())
    verdicts = tag("div", verdicts, class_="pair") if len(shown) > 1 else verdicts
    facts = f"{first.n:,} rows · {first.forecasts} forecasts of a real number"
    return tag("h1", "Calibration of " + words("b", first.name)) + verdicts + words("p", facts, class_="quiet")


def _figures(shown: dict[str, ForecastDiagnosis]) -> list[str]:
    """The same drawing of each result beside each other."""
    drawn = []
    for name, draw, title, note in (
        ("pit", pit_svg, "PIT histogram", "High at both ends: too narrow; in the middle: too wide"),
        ("coverage", coverage_svg, "Coverage by level", "How often labels stay below each quantile"),
        ("spread", spread_svg, "Spread and skill", "How large errors are where much and where little was said"),
        ("marginal", marginal_svg, "All rows together", "The forecasts' mean distribution less that of the labels"),
    ):
        curves = {when: getattr(each, name) for when, each in shown.items()}
        if None in curves.values():
            continue
        for when, curve in curves.items():
            full = f"{when}: {title}" if when else title
            drawn.append(figure(full, note, draw(curve, [*curves.values()], title=full, key=f"{name}{when}")))
    return drawn


def _legend() -> str:
    block: dict[str, float] = {"x": 1, "y": 1, "width": 20, "height": 12}
    observed = tag("line", x1=11, x2=11, y1=0, y2=14, class_="interval") + tag(
        "circle", cx=11, cy=7, r=3.6, class_="dot"
    )
    keys = [
        (observed, "observed, with its interval"),
        (tag("line", x1=0, x2=22, y1=7, y2=7, class_="ideal"), "perfectly calibrated"),
        (tag("rect", "", class_="band", **block), "where a calibrated model lies, at 95 %"),
        (tag("rect", "", class_="bar over", **block), "more rows than that"),
        (tag("rect", "", class_="bar under", **block), "fewer"),
    ]
    items = [tag("li", tag("svg", drawn, viewBox="0 0 22 14", aria_hidden="true") + text) for drawn, text in keys]
    return tag("ul", "".join(items), class_="legend")


def _map(fitted: RegressionMap) -> str:
    facts = {"different forecasts stay different": fitted.injective, "converged": fitted.fit.converged}
    return words("h2", "The repair") + facts_list(fitted, facts)


def _tables(when: str, diagnosis: ForecastDiagnosis) -> str:
    title = f"The numbers {when.lower()}".strip()
    return words("h2", title) + "".join(map(table_section, diagnosis.tables()))


def _cautions(
    shown: dict[str, ForecastDiagnosis], comparison: Comparison | None, fitted: RegressionMap | None
) -> tuple[str, ...]:
    found = [f"After the repair: {c}" if when == "After" else c for when, each in shown.items() for c in each.cautions]
    found += [f"Comparison: {caution}" for caution in (comparison.cautions if comparison else ())]
    found += [f"Repair: {caution}" for caution in (fitted.fit.cautions if fitted else ())]
    return tuple(dict.fromkeys(found))
