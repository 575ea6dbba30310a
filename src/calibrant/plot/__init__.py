"""Draw finished answers with matplotlib; compute nothing."""

from calibrant.plot.bias import bias_curves, bias_grid
from calibrant.plot.decision import decision, risk_coverage
from calibrant.plot.draw import draw
from calibrant.plot.evidence import evidence
from calibrant.plot.forecasts import forecast_plot
from calibrant.plot.power import miss_rates, power_curve
from calibrant.plot.reliability import reliability
from calibrant.plot.segments import segments

__all__ = [
    "bias_curves", "bias_grid", "decision", "draw", "evidence", "forecast_plot", "miss_rates", "power_curve", "reliability",
    "risk_coverage", "segments",
]  # fmt: skip
