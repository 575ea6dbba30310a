"""The methods that tests run through, by name, from the register."""

from calibrant.methods import methods

METHODS = {name: each.function for name, each in methods("map").items()}
FORECAST_METHODS = {name: each.function for name, each in methods("forecast map").items()}
SCORES = {name: each.function() for name, each in methods("score").items()}
FORECAST_SCORES = {name: each.function() for name, each in methods("forecast score").items()}
