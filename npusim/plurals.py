"""Counts in words."""


def counted(count: int, noun: str) -> str:
    """ "1 node", "1,234 nodes"; for nouns that take an s."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
