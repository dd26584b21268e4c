"""``python -m ascend_agent``."""

import sys

from ascend_agent.cli import main

sys.exit(main())
