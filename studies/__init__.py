"""Studies: tables and figures of the papers, and what is claimed of the methods, each run by `calibrant study NAME`."""
