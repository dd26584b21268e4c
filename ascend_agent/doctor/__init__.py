"""Whether this node can serve its NPUs, asked from outside: one file a kin of checks.

Nothing here is part of the running agent. What is checked is listed in ``checks``; how it looks to
people is decided in ``cli``.
"""
