"""Made-up predictions and made-up repairs: where the truth is known, and where an error can be fooled."""

from calibrant.simulate.fooling import LabelFrequencies, LabelFrequenciesMap, TopAccuracy, TopAccuracyMap

__all__ = ["LabelFrequencies", "LabelFrequenciesMap", "TopAccuracy", "TopAccuracyMap"]
