"""Studies on data of your own: each takes paths and prints a table."""
