"""The questions a user asks, one a file."""
