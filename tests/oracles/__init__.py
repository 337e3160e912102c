"""Outside programs that decide what is right, and seeded cases to ask them about.

The modules import each other relatively and nothing of npusim, so a fault of npusim cannot hide
in its own tests.
"""
