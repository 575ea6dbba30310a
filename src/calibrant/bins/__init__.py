"""Rules that cut [0, 1] into bins: small frozen values that compute the per-bin sums of an event."""

from calibrant.bins.binning import Binning, BinRule, from_settings
from calibrant.bins.edges import Edges
from calibrant.bins.equal_mass import EqualMass
from calibrant.bins.equal_width import EqualWidth
from calibrant.bins.sums import BinSums

__all__ = ["BinRule", "BinSums", "Binning", "Edges", "EqualMass", "EqualWidth", "from_settings"]
