"""Array maths only: no options, no names, no checks."""
