"""Ways to cut [0, 1] into bins: small frozen values that know how to sum the rows of an event."""

from calibrant.bins.binning import Binning, from_settings
from calibrant.bins.edges import Edges
from calibrant.bins.equal_mass import EqualMass
from calibrant.bins.equal_width import EqualWidth
from calibrant.state.bin_sums import BinSums

__all__ = ["BinSums", "Binning", "Edges", "EqualMass", "EqualWidth", "from_settings"]
