"""How the agent is put together: each module makes the tasks of one part from their classes.

``app`` alone calls it. No decision about NPUs is made here. What stands behind an option that is
off by default is imported where it is wired: a start is short, and memory scarce.
"""
