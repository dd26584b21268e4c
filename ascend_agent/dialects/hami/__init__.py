"""HAMi's scheduler, and Volcano's deviceshare in HAMi mode: annotations say who gets what.

One concern a file: what the texts mean (``annotation``, ``runtime_info``, ``node_lock``), whose
request it is (``candidates``), what it gets (``assign``), what the scheduler is told
(``register``, ``handshake``), how all of it is configured (``chips``, ``device_config``,
``node_config``, ``effective``).
"""

from typing import Final

from ascend_agent.dialects.hami.dialect import HamiDialect
from ascend_agent.interfaces import SchedulerDialect

DIALECT: Final[SchedulerDialect] = HamiDialect()
