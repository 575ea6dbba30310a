"""Draw a finished result with matplotlib; compute nothing."""

from calibrant.plot.bias import bias_curves, bias_grid
from calibrant.plot.decision import decision, risk_coverage
from calibrant.plot.reliability import reliability

__all__ = ["bias_curves", "bias_grid", "decision", "reliability", "risk_coverage"]
