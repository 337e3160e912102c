"""Parameters of the profile neural-art: what a node needs, by rule or from its user.

pieces    how a sum is cut into passes of the unit
stored    parameters as a node's `given` holds them, and as the kernels take them
derive    the compiler's rules: numbers from scales, zero points and weights
settle    every node's parameters, given or derived, stored in the graph
"""
