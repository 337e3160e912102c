"""Slow, obvious twins of the fast code, in Python integers; nothing here imports npusim or zo."""
