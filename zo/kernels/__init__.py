"""The integer functions of `zo` compiled by numba: same names, arguments and bits as in `zo`."""
