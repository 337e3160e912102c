"""Calls of zo's C functions and what must come of them, one module per C file or two."""
