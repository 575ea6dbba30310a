"""ECE, TACE, SCE and ACE before and after five recalibrations (Nixon et al. 2019, Tables 1 to 4, Figures 2 left and 5).

The paper's networks (ResNet-110 on CIFAR-100, ResNet-50 on ImageNet) were trained for it and their outputs were not published. `--data` is a folder with
other networks: `ferrer_cifar100_resnet20.npz` stands in for the first (one half of its rows recalibrates, the other tests), and
`kull_resnet110_c10_{val,tst}.npz` for the second: the same tables on other models, whose numbers need not agree. Matrix scaling of 100 classes has an
L2 penalty of 10⁻³ beside the mean log loss; without one the search is slow to converge.
"""

from __future__ import annotations

from functools import cache

import numpy as np

import calibrant as cal
from calibrant.plot.axes import labelled
from studies.frame import Job, Page, Row, figure, published, table
from studies.p4_test_size import EXAMPLE, loaded

MEASURES = {"ECE": cal.ece, "TACE": cal.thresholded_error, "SCE": cal.static_error, "ACE": cal.adaptive_error}
RECIPES = {
    "uncalibrated": None,
    "temperature": cal.Temperature(),
    "vector": cal.maps.VectorScaling(),
    "matrix": cal.maps.MatrixScaling(penalty=None),
    "isotonic": cal.OneVsRest(cal.Isotonic()),
}
MANY_CLASSES = cal.maps.MatrixScaling(penalty="l2", strength=1e-3)
STAND_INS = {"ResNet-20, CIFAR-100": "Table 3", "ResNet-110, CIFAR-10": "Table 4"}
"""and the table whose place they take; Tables 1 and 2 are these without TACE"""


@cache
def read(data, name):
    return loaded(Job("p1_tables", data=data), name)


def after(data, name, method):
    """Errors in per cent after one recalibration, and whether its fit converged."""
    valid, test = read(data, name)
    recipe = MANY_CLASSES if method == "matrix" and test.n_classes >= 100 else RECIPES[method]
    fitted = None if recipe is None else recipe.fit(valid)
    shown = test if fitted is None else fitted.apply(test)
    values = [100 * float(measure(shown)) for measure in MEASURES.values()]
    return {"values": values, "cautions": [] if fitted is None else list(fitted.fit.cautions)}


def run(job):
    names = [EXAMPLE] if job.quick else list(STAND_INS)
    found = {}
    for name in names:
        cases = {f"{name}: {method}": (job.data, name, method) for method in RECIPES}
        found[name] = dict(zip(RECIPES, job.parts(after, cases).values(), strict=True))
    known, parts = published("P1"), []
    for name in names:
        item = STAND_INS.get(name, "Table 3")
        body = [
            (method, *(f"{v:.3f}" for v in each["values"]), *known[item][method])
            for method, each in found[name].items()
        ]
        heads = ("recalibrated by", *(f"{m}, ours" for m in MEASURES), *(f"{m}, {item}" for m in MEASURES))
        best = ", ".join(
            f"{m}: {min(found[name], key=lambda x, k=k: found[name][x]['values'][k])}" for k, m in enumerate(MEASURES)
        )
        theirs = ", ".join(
            f"{m}: {min((x for x in known[item] if x != 'columns'), key=lambda x, k=k: known[item][x][k])}"
            for k, m in enumerate(MEASURES)
        )
        cautions = "; ".join(
            f"{method}: {', '.join(each['cautions'])}" for method, each in found[name].items() if each["cautions"]
        )
        note = f"\n\nWarnings of the fits: {cautions}." if cautions else ""
        parts.append(
            f"## {name}, in the place of {item}\n\nIn per cent.\n\n{table(heads, body)}\n\nBest by each measure, ours: {best}; published: {theirs}.{note}"
        )
    row, per_class = pathology(), cal.adaptive_error(read(job.data, names[0])[1]).parts["classes"]
    parts.append(
        f'## The pathology of Figure 5\n\nThe code of the figure, 10 bins: ECE {row.ours:.4f}; published as "extremely low", {row.published}.'
    )
    values = 100 * np.sort(np.asarray(per_class.values))[::-1]
    parts.append(
        f"## ACE of each class (Figure 2 left), {names[0]}\n\nFrom {values[-1]:.3f} to {values[0]:.3f} %, median {np.median(values):.3f} %."
    )
    picture, (ax,) = figure(size=(6, 3.2))
    ax.bar(range(len(values)), values, color="0.6", label=f"{names[0]}, 15 ranges")
    labelled(ax, "class, by its error", "ACE, %")
    return Page(
        "ECE, TACE, SCE and ACE after recalibration", "\n\n".join(parts), [row], 4, {"ACE of each class": picture}
    )


def pathology():
    """450 rows that said .52 and were wrong, 550 that said .58 and were right."""
    probs = np.repeat([[0.52, 0.48], [0.58, 0.42]], [450, 550], axis=0)
    labels = np.repeat([1, 0], [450, 550])
    return Row(
        "P1 Fig. 5",
        "ECE of a model that is wrong everywhere",
        cal.ece(labels, probs, bins=10).value,
        published("P1")["Fig. 5"]["ECE"],
        0.0005,
    )
