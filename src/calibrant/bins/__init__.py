"""Rules that cut [0, 1] into bins: small frozen values that compute the per-bin sums of an event."""

from calibrant.bins.binning import Binning as Binning
from calibrant.bins.binning import BinRule as BinRule
from calibrant.bins.binning import bins_of as bins_of
from calibrant.bins.binning import from_settings as from_settings
from calibrant.bins.edges import Edges as Edges
from calibrant.bins.equal_mass import EqualMass as EqualMass
from calibrant.bins.equal_width import EqualWidth as EqualWidth
from calibrant.state.bin_sums import BinSums as BinSums
