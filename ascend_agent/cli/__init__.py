"""The command line: argv, environment and files become settings; here alone is ``os.environ``.

Exit codes: 0 orderly, 1 a vital task failed, 2 the configuration can't be used.
"""

from ascend_agent.cli.main import main, start

__all__ = ["main", "start"]
