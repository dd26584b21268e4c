"""``python -m ascend_agent``."""

from ascend_agent.cli import start

start()
