"""Draw a finished result with matplotlib; compute nothing."""

from calibrant.plot.reliability import reliability

__all__ = ["reliability"]
