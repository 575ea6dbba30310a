"""Speed as ratios, measured in one run: against other packages and against one pass over the memory."""
