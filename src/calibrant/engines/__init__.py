"""Engines that hold rows on many machines: each delivers Arrow batches, the states of which are merged."""
