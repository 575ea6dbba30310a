"""The questions a user asks, one file per question, with the answer that it returns."""
