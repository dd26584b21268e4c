"""A library of the first generation whose every answer is out of its range, code 0 all the same.

The fake library is a faithful one; what no faithful library does is compiled from here.
"""

import subprocess
from pathlib import Path

ODD = """
#include <string.h>
#define NONE 0xFFFFFFFFu
int dcmi_init(void) { return 0; }
int dcmi_get_card_list(int *count, int *ids, int size)
{
    *count = 3;
    for (int i = 0; i < size; i++)
        ids[i] = i;
    return 0;
}
/* Card 0 claims nine chips, card 1 none; card 2 has two, of which the first has no logic id. */
int dcmi_get_device_num_in_card(int card, int *count)
{
    *count = card == 0 ? 9 : card == 1 ? 0 : 2;
    return 0;
}
int dcmi_get_device_logic_id(int *logic, int card, int slot)
{
    *logic = slot ? card : -5;
    return 0;
}
/* The chip with logic id 7 is the only one with a physical id; logic id 8 has no name. */
int dcmi_get_device_phyid_from_logicid(unsigned logic, unsigned *phy)
{
    *phy = logic >= 7 ? logic : NONE;
    return 0;
}
int dcmi_get_device_chip_info(int card, int slot, char info[100])
{
    memset(info, 0, 100);
    if (card != 8)
        memset(info + 32, 'x', 32); /* a name that fills its field */
    return 0;
}
int dcmi_get_device_board_info(int card, int slot, unsigned board[4])
{
    return memset(board, 0xFF, 16), 0;
}
int dcmi_get_mainboard_id(int card, int slot, unsigned *board) { return *board = NONE, 0; }
int dcmi_get_product_type(int card, int slot, char *text, int size) { return *text = 0; }
int dcmi_get_device_die_v2(int card, int slot, unsigned kind, unsigned die[5])
{
    return memset(die, 0, 20), 0;
}
int dcmi_get_device_hbm_info(int card, int slot, unsigned long long hbm[4])
{
    return memset(hbm, 0xFF, 32), 0;
}
int dcmi_get_device_health(int card, int slot, unsigned *health) { return *health = NONE, 0; }
int dcmi_get_device_errorcode_v2(int card, int slot, int *count, unsigned *list, unsigned size)
{
    return *count = -1, 0;
}
int dcmi_get_device_resource_info(int card, int slot, void *list, int *count)
{
    return *count = 65, 0;
}
int dcmi_get_device_utilization_rate(int card, int slot, int kind, unsigned *rate)
{
    return *rate = 101, 0;
}
int dcmi_get_device_share_enable(int card, int slot, int *flag) { return *flag = 0, 0; }
int dcmi_set_device_share_enable(int card, int slot, int flag) { return 0; }
"""

OLD = "int dcmi_init(void) { return 0; }"


def compile_library(directory: Path, source: str) -> Path:
    """Compile *source* to ``directory/libdcmi.so`` and return its path."""
    target = directory / "libdcmi.so"
    subprocess.run(
        ("gcc", "-shared", "-fPIC", "-w", "-x", "c", "-", "-o", str(target)),
        input=source.encode(),
        check=True,
    )
    return target
