"""Worlds fitted to a real network, and data drawn from published ones (Roelofs et al. 2022, Figure 3 and Tables 2 to 4).

`--data` is a folder with `kull_resnet110_c10_tst.npz`, the ResNet-110 on CIFAR-10 of the paper; the logits of its nine other models
are not among the data. Without it Table 4 is made from the published fits alone.

Saturated scores decide the fits: the softmax in single precision stores 29 % of the top scores of this network as exactly 1, where the Beta density and
the logarithm of 1 − p are infinite. `fit_world` reads logits exactly, or takes scores stored as 1 as censored. The paper does not say what it did; here 1 − p
of stored ones is also set to several small numbers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

import calibrant as cal
from calibrant.plot.axes import ideal, labelled
from calibrant.simulate import REAL_SIZES, bias, fit_world, named_world
from calibrant.simulate.curves import fit_curves
from calibrant.simulate.families import NAMED_WORLDS
from calibrant.simulate.fitting import fit_beta
from studies.frame import Page, Row, figure, published, table

WIDTH = partial(cal.binned_error, bins=cal.EqualWidth(15), norm=2, view="auto")
NETWORK, FILE = "resnet110_c10", "kull_resnet110_c10_tst.npz"
STORED = (1e-9, 1e-16, 1e-20, 1e-22, 1e-25, 1e-30)
"""What 1 − p of scores stored as 1 is set to."""
NEAREST = 1e-320
"""No score counts as censored."""


def simulated(name, count, seed):
    """Mean ECE of data drawn from a published fit, in per cent, and its standard error."""
    row = bias(WIDTH, named_world(name), REAL_SIZES[name], count, seed, workers=1)
    return [100 * row.mean, 100 * row.mean_error, 100 * rounding(named_world(name))]


def rounding(world):
    """Standard deviation of the true error, as intercept and slope are printed with two digits."""
    curve, spread = world.calibration, []
    for field in ("intercept", "slope"):
        value = getattr(curve, field)
        if value:
            ends = [world.with_curve(replace(curve, **{field: value + step})).true_error(2) for step in (-0.005, 0.005)]
            spread.append((ends[1] - ends[0]) / np.sqrt(12))
    return float(np.hypot.reduce(spread))


def network(job):
    """The network's predictions; made-up ones for a reduced version."""
    if job.has(FILE):
        return cal.read(job.file(FILE))
    return cal.example()[1] if job.quick else None


def fits(predictions):
    """α, β and the best curves by AIC under each treatment of saturated scores."""
    found = {}
    exact = fit_world(predictions, view="top")
    found["logits, exact"] = exact.alpha, exact.beta, exact.fit.table.rows
    event = predictions.event("top")
    stored, hits = np.asarray(event.probs, np.float32).astype(float), np.asarray(event.outcomes, float)
    single = fit_world(hits.astype(int), stored.astype(np.float32))
    found["single precision, 1 is censored"] = single.alpha, single.beta, single.fit.table.rows
    for least in STORED:
        p, q, weight = stored, np.where(stored >= 1, least, 1 - stored), np.ones(len(stored))
        beta = fit_beta(p, q, weight, (NEAREST, NEAREST))
        curves = fit_curves(p, q, hits, weight, (NEAREST, NEAREST))
        rows = [(each.name, each.n_parameters, each.aic, each.curve.intercept, each.curve.slope) for each in curves]
        found[f"single precision, 1 − p at least {least:g}"] = beta.alpha, beta.beta, rows
    return found, float((stored >= 1).mean()), exact.fit.cautions


def same_alpha(predictions, alpha):
    """What 1 − p of stored ones must be for the published α, as a power of ten, and β there; None if none is near."""
    stored = np.asarray(predictions.event("top").probs, np.float32).astype(float)
    weight = np.ones(len(stored))

    def fitted(power):
        return fit_beta(stored, np.where(stored >= 1, 10.0**power, 1 - stored), weight, (NEAREST, NEAREST))

    low, high = -40.0, -8.0
    if not fitted(low).alpha < alpha < fitted(high).alpha:
        return None
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if fitted(middle).alpha > alpha else (middle, high)
    return middle, fitted(middle).beta


def run(job):
    names = list(NAMED_WORLDS)[:2] if job.quick else list(NAMED_WORLDS)
    known = published("P2")
    found = job.parts(simulated, {name: (name, 3 if job.quick else 100, job.seed) for name in names})
    rows = [
        Row(
            "P2 Table 4",
            f"{name}, mean ECE of drawn data, %",
            mean,
            known["Table 4"][name]["simulated"],
            float(np.hypot(*errors)),
        )
        for name, (mean, *errors) in found.items()
    ]
    text = [
        "## Data drawn from the published fits (Table 4, Figure 3c)\n\nECE over 15 equal-width bins, norm 2, as many rows as the real data had. Standard errors are those of our simulation and of the two digits to which the curves are printed; the paper does not state the size of its drawn data sets."
    ]
    figures = {"Fitted scores and curves; ECE of data and fits": drawn(names, found)}
    data = network(job)
    if data is not None:
        text.append(of_network(data, rows, known))
    return Page("Worlds fitted to real networks", "\n\n".join(text), rows, digits=4, figures=figures)


def of_network(data, rows, known):
    """Tables 2 and 3 for one network, by the treatment of saturated scores."""
    ece = WIDTH(data, view="top")
    rows.append(Row("P2 Table 4", f"{NETWORK}, ECE of the data, %", 100 * ece.value, known["Table 4"][NETWORK]["data"]))
    treated, share, cautions = fits(data)
    alpha, beta = known["Table 2"][NETWORK]
    body = [(name, f"{a:.4f}", f"{b:.4f}", *_best(curves)) for name, (a, b, curves) in treated.items()]
    best, least = min(known["Table 3"][NETWORK]["AIC"].items(), key=lambda each: each[1])
    b0, b1 = known["Table 3"][NETWORK]["b0 b1 of the best"]
    body.append(("published", alpha, beta, best, least, b0, b1))
    same = [name for name, (_, _, curves) in treated.items() if _theirs(curves[0][0], known) == least]
    off = min(abs(curves[0][2] - least) for _, _, curves in treated.values())
    met = same_alpha(data, alpha)
    solved = (
        ""
        if met is None
        else f" α is the published one where 1 − p of stored ones is 10^{met[0]:.1f}; β is then {met[1]:.4f} (published {beta})."
    )
    if met is not None:
        rows.append(Row("P2 Table 2", f"{NETWORK}, β where α is the published one", met[1], beta, 0.0001))
    near = min(treated, key=lambda name: abs(np.log(treated[name][1] / beta)) + abs(np.log(treated[name][0] / alpha)))
    ordered = table(
        ("curve", "AIC of ours, logits", "published"),
        [(name, f"{aic:.1f}", _theirs(name, known)) for name, _, aic, *_ in treated["logits, exact"][2]],
    )
    return f"""## Fits to a ResNet-110 on CIFAR-10 (Tables 2 and 3), by the treatment of saturated scores

{share:.1%} of the top scores are 1 in single precision. Link and transform of the best curve by AIC, its intercept b₀ and slope b₁.

{table(("scores", "α", "β", "best curve", "AIC", "b₀", "b₁"), body)}

The published α and β lie nearest to *{near}*.{solved} The published best curve is also ours with: {"; ".join(same) or "none"}.
The lowest AIC is off from the published one by at least {off:.0f}. What `fit_world` says of the exact scores: {"; ".join(cautions) or "nothing"}.

{ordered}"""


def _best(curves):
    name, _, aic, b0, b1 = curves[0]
    return name, f"{aic:.1f}", f"{b0:.2f}", f"{b1:.2f}"


def _theirs(name, known):
    """The published AIC of a curve, by our name for it."""
    link, _, rest = name.partition(", ")
    transform, _, free = rest.partition(": ")
    theirs = known["Table 3"][NETWORK]["AIC"].get(f"{link}_{transform}_{free.replace(', ', '_')}")
    return "–" if theirs is None else theirs


def drawn(names, found):
    from scipy.stats import beta

    picture, axes = figure(3)
    p = np.linspace(0.002, 0.998, 300)
    for name in names:
        world = NAMED_WORLDS[name]
        axes[0].plot(p, beta(world.alpha, world.beta).pdf(p), linewidth=1, label=name)
        axes[1].plot(p, world.curve(p), linewidth=1, label=name)
    axes[0].set(yscale="log")
    axes[1].plot([0, 1], [0, 1], **ideal(axes[1]))
    labelled(axes[0], "score", "density", fontsize=5)
    labelled(axes[1], "score", "observed frequency", fontsize=5)
    known = published("P2")["Table 4"]
    for name, (mean, *_) in found.items():
        axes[2].plot(known[name]["data"], mean, "o", markersize=4, label=name)
    axes[2].axline((5, 5), slope=1, **ideal(axes[2]))
    labelled(axes[2], "ECE of the data (published), %", "mean ECE of drawn data, %", fontsize=5)
    return picture
