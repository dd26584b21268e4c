"""The chips a simulated node can have: what each reports about itself, and how cards carry them.

Numbers are those of real nodes where they are published; a chip of whose board no id is known
gets one that no other generation uses. Source: DCMI API, identification rules.

Part of the worker, so plain classes.
"""

MOST_CARDS = 64


class Preset:
    """One kind of chip and how a node of it is built.

    ``callbacks`` False: the driver refuses a fault subscription; ``share`` False: it knows no
    device share; ``bus`` False: the chip hangs on no PCI bus. ``switches``: the node has switches
    whose library tells of faults. ``cuttable``: the driver can cut vNPUs out of the chip.
    """

    __slots__ = (
        "ai_cores",
        "api",
        "board_id",
        "bus",
        "callbacks",
        "chip_name",
        "cuttable",
        "dies",
        "mainboard_id",
        "memory_kind",
        "memory_mib",
        "npu_name",
        "npu_percent",
        "product",
        "share",
        "switches",
        "vector",
    )

    def __init__(  # noqa: PLR0913 -- one argument a column of the table below
        self,
        *,
        chip_name: str,
        npu_name: str = "",
        api: str = "v1",
        dies: int = 1,
        ai_cores: int,
        memory_mib: int,
        memory_kind: str = "hbm",
        board_id: int,
        mainboard_id: int | None = None,
        product: str | None = None,
        callbacks: bool = True,
        share: bool = True,
        bus: bool = True,
        vector: bool = True,
        npu_percent: bool = True,
        switches: bool = False,
        cuttable: bool = False,
    ) -> None:
        self.chip_name = chip_name
        self.npu_name = npu_name or chip_name
        self.api = api
        self.dies = dies
        self.ai_cores = ai_cores
        self.memory_mib = memory_mib
        self.memory_kind = memory_kind
        self.board_id = board_id
        self.mainboard_id = mainboard_id
        self.product = product
        self.callbacks = callbacks
        self.share = share
        self.bus = bus
        self.vector = vector
        self.npu_percent = npu_percent
        self.switches = switches
        self.cuttable = cuttable


PRESETS = {
    "310": Preset(
        chip_name="310",
        dies=4,
        ai_cores=0,
        memory_mib=8192,
        memory_kind="ddr",
        board_id=0x03,
        product="Atlas 300I Model 3010",
        callbacks=False,
        share=False,
        vector=False,
        npu_percent=False,
    ),
    "310B4": Preset(
        chip_name="310B4",
        ai_cores=1,
        memory_mib=4096,
        memory_kind="ddr",
        board_id=0x0A,
        product="Atlas 200I A2",
        share=False,
        npu_percent=False,
    ),
    "310P3": Preset(
        chip_name="310P3",
        ai_cores=8,
        memory_mib=21527,
        memory_kind="ddr",
        board_id=0x64,
        product="Atlas 300I Pro",
        npu_percent=False,
        cuttable=True,
    ),
    "310P3-duo": Preset(
        chip_name="310P3",
        dies=2,
        ai_cores=8,
        memory_mib=44280,
        memory_kind="ddr",
        board_id=0x97,
        product="Atlas 300I Duo",
        npu_percent=False,
        cuttable=True,
    ),
    "910A": Preset(
        chip_name="910A",
        ai_cores=30,
        memory_mib=32768,
        board_id=0x02,
        vector=False,
        npu_percent=False,
        cuttable=True,
    ),
    "910B1": Preset(
        chip_name="910B1",
        ai_cores=24,
        memory_mib=65536,
        board_id=0x30,
        mainboard_id=0x01,
        cuttable=True,
    ),
    "910B2": Preset(
        chip_name="910B2",
        ai_cores=24,
        memory_mib=65536,
        board_id=0x31,
        mainboard_id=0x01,
        cuttable=True,
    ),
    "910B3": Preset(
        chip_name="910B3",
        ai_cores=20,
        memory_mib=65536,
        board_id=0x32,
        mainboard_id=0x01,
        cuttable=True,
    ),
    "910B4": Preset(
        chip_name="910B4",
        ai_cores=20,
        memory_mib=32768,
        board_id=0x34,
        mainboard_id=0x01,
        cuttable=True,
    ),
    "910C": Preset(
        chip_name="Ascend910",
        npu_name="9391",
        dies=2,
        ai_cores=20,
        memory_mib=65536,
        board_id=0xB0,
        mainboard_id=0x18,
        switches=True,
    ),
    "950": Preset(
        chip_name="Ascend950PR",
        npu_name="9579",
        api="v2",
        ai_cores=32,
        memory_mib=131072,
        board_id=0x08,
        mainboard_id=0x23,
        callbacks=False,
        bus=False,
    ),
}
