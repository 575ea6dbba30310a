"""A page on this computer alone: a file is dropped and diagnosed, and repairs of it are compared."""
