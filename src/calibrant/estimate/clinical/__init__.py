"""What journals ask of a clinical prediction model, each with an interval; `calibrant.clinical` gives all together."""
