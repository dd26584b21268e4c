"""What hccn_tool prints, in every form that is known; whatever else it prints is unknown."""

import pytest

from ascend_agent.host.hccn_output import (
    Port,
    parse_link,
    parse_ports,
    parse_roce_traffic,
    parse_ub_traffic,
    parse_wired,
)
from tests.fakes.hccn import MORE_TABLES, PORTS, row

ROCE_COUNTERS = """\
packet statistics:
mac_tx_mac_pause_num:0
mac_rx_pfc_pkt_num:12
roce_rx_rc_pkt_num:880123
roce_rx_all_pkt_num:880456
roce_rx_err_pkt_num:0
roce_tx_all_pkt_num:771190
roce_tx_err_pkt_num:
nic_rx_all_pkg_num:3407
"""

UB_COUNTERS = """\
packet statistics:
port_id: 4
is_uboe_port: 0
rx_busi_flit_num: 90210
rx_send_ack_flit: 17
tx_busi_flit_num: 80100
crc_error_sum: 0
"""

PORT_INFO = """\
port_id: 0x5
======================= UB PORT LINK INFO =======================
target_speed: LANE_400G_X4
fec: FEC RS
port_enable: {}
port_link: unlink
======================== UB DLPHY INFO ==========================
fec: FEC Mode 1 RS (128, 120,T=4)
port_enable: on
"""


@pytest.mark.parametrize(
    ("text", "up"),
    [
        ("link status: UP", True),
        ("link status: DOWN\n", False),
        ("\nlink status:\nUP\n", True),
        ("", None),
        ("link status: UNKNOWN", None),
        ("link status: up", None),
        ("link status: UP now", None),
        ("speed status: UP", None),
        ("Error: link status: DOWN", None),
    ],
)
def test_a_link_is_up_or_down_only_in_the_known_words(text: str, *, up: bool | None) -> None:
    """Taking anything else for "down" isolated whole nodes (faults D13)."""
    assert parse_link(text) is up


def test_traffic_is_what_is_sent_and_received() -> None:
    assert parse_roce_traffic(ROCE_COUNTERS) == 880456 + 771190
    assert parse_ub_traffic(UB_COUNTERS) == 90210 + 80100


@pytest.mark.parametrize("left_out", ["roce_rx_all_pkt_num", "roce_tx_all_pkt_num"])
def test_a_counter_that_is_absent_makes_traffic_unknown(left_out: str) -> None:
    """As zero it would look like silence."""
    lines = [line for line in ROCE_COUNTERS.splitlines() if not line.startswith(left_out)]

    assert parse_roce_traffic("\n".join(lines)) is None


@pytest.mark.parametrize("value", ["", "-1", "many", "1.5", "0x10", "9" * 21, "²"])
def test_a_counter_that_is_no_number_makes_traffic_unknown(value: str) -> None:
    assert parse_ub_traffic(f"tx_busi_flit_num: {value}\nrx_busi_flit_num: 5") is None


@pytest.mark.parametrize(("word", "wired"), [("on", True), ("off", False), ("unlink", False)])
def test_a_port_is_wired_where_its_first_section_says_on(word: str, *, wired: bool) -> None:
    assert parse_wired(PORT_INFO.format(word)) is wired


def test_what_a_later_section_says_is_about_something_else() -> None:
    text = PORT_INFO.format("off").replace("port_enable: off\n", "")

    assert parse_wired(text) is None
    assert parse_wired("") is None


def test_the_first_table_holds_the_ports() -> None:
    rows = row(0, 4, "UB", "UP") + row(1, 8, "ETH", "DOWN") + row(1, 9, "UB", "NA")

    assert parse_ports(PORTS.format(rows=rows) + MORE_TABLES) == (
        Port(die=0, number=4, kind="UB", up=True),
        Port(die=1, number=8, kind="ETH", up=False),
        Port(die=1, number=9, kind="UB", up=None),
    )


def test_an_older_heading_and_a_banner_are_understood() -> None:
    heading = "| UDie ID | Port ID | Speed Ability(Gbps) | Port Type |"
    table = "device 0\n" + PORTS.replace(heading, "| UdieID | PortID | Speed | PortType |")

    assert parse_ports(table.format(rows=row(0, 4, "UB", "DOWN"))) == (
        Port(die=0, number=4, kind="UB", up=False),
    )


@pytest.mark.parametrize("text", ["", "\n", PORTS.format(rows="")])
def test_a_chip_may_have_no_ports(text: str) -> None:
    """The tool prints no table at all then."""
    assert parse_ports(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("no permission", id="a message"),
        pytest.param(MORE_TABLES, id="another table"),
        pytest.param("+--+\n+--+\n+--+\n", id="rules alone"),
        pytest.param(PORTS.format(rows=row(0, 4, "UB", "DOWN"))[:-90], id="cut off"),
        pytest.param(PORTS.format(rows="| 0 | 4 | 400 | UB |\n"), id="too few cells"),
        pytest.param(PORTS.format(rows=row(0, 4, "UB", "UP") + "| | 5 | 400 | UB | UP |\n")),
        pytest.param(PORTS.format(rows="| 0 | x | 400 | UB | UP | |\n"), id="no number"),
        pytest.param(PORTS.format(rows="device lost\n"), id="a message inside"),
        pytest.param(PORTS.format(rows=row(0, 4, "UB", "DOWN") * 65), id="too many ports"),
    ],
)
def test_a_table_that_is_not_understood_whole_tells_nothing(text: str) -> None:
    """A port read from the wrong column would be a fault of a healthy chip."""
    assert parse_ports(text) is None
