"""The file of a fitted model: a safe container, and what is in it."""
