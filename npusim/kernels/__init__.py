"""Kernels: one visible loop nest per operator, in portable numba."""
