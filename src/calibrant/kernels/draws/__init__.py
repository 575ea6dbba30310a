"""Random labels under a null, and the laws of what they add up to."""
