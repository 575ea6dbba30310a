"""Ways to cut [0, 1] into bins: small frozen values that know how to sum the rows of an event."""

from calibrant.bins.edges import Edges
from calibrant.bins.equal_mass import EqualMass
from calibrant.bins.equal_width import EqualWidth
from calibrant.bins.sums import Binning, BinSums, from_settings

__all__ = ["BinSums", "Binning", "Edges", "EqualMass", "EqualWidth", "from_settings"]
