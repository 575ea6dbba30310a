"""In which segments is it wrong? Segments, their draws under calibration, and what was found."""
