"""How many rows does it take? Laws of sample size, checked by simulation, and clinical validation studies."""
