"""Calls of npusim's C functions: one module for each C file."""
