"""Other packages beside calibrant: speed, memory, agreement and accuracy, each package in an environment of its own."""
