from dataclasses import replace

from ascend_agent.injection import cdi
from ascend_agent.injection.cdi import INJECTION, document
from ascend_agent.model.allocation import ContainerGrant, DeviceNode, HostMount, InjectionWants
from tests.injection.npus import EDGE, TRAINING, make

COMMON = ContainerGrant(
    nodes=(
        DeviceNode(
            host_path="/dev/davinci_manager_docker",
            container_path="/dev/davinci_manager",
            permissions="rw",
        ),
        DeviceNode(host_path="/dev/hisi_hdc", container_path="/dev/hisi_hdc", permissions="rw"),
    ),
    mounts=(
        HostMount(host_path="/opt/driver", container_path="/opt/driver", read_only=True),
        HostMount(host_path="/opt/scratch", container_path="/mnt", read_only=False),
    ),
)


def test_the_answer_names_the_devices_alone() -> None:
    wants = INJECTION.wants(make(TRAINING, 3, 12), base_mounts=("/opt/driver",))

    assert replace(wants, needs=()) == InjectionWants(
        cdi_devices=("ascend-agent/npu=3", "ascend-agent/npu=12")
    )


def test_the_nodes_behind_the_names_must_exist() -> None:
    """IM-6: a missing one fails the Allocate with its name, though the runtime hands it in."""
    wants = INJECTION.wants(make(EDGE, 3, 12), base_mounts=None)

    assert [(node.host_path, node.alternative) for node in wants.needs] == [
        ("/dev/davinci_manager", "/dev/davinci_manager_docker"),
        ("/dev/davinci3", None),
        ("/dev/davinci12", None),
    ]


def test_the_specification_says_what_the_names_mean() -> None:
    assert document(make(TRAINING, 12, 3), COMMON) == {
        "cdiVersion": "0.5.0",
        "kind": "ascend-agent/npu",
        "containerEdits": {
            "deviceNodes": [
                {
                    "path": "/dev/davinci_manager",
                    "hostPath": "/dev/davinci_manager_docker",
                    "permissions": "rw",
                },
                {"path": "/dev/hisi_hdc", "permissions": "rw"},
            ],
            "mounts": [
                {
                    "hostPath": "/opt/driver",
                    "containerPath": "/opt/driver",
                    "options": ["ro", "rbind", "rprivate", "nosuid", "nodev"],
                },
                {
                    "hostPath": "/opt/scratch",
                    "containerPath": "/mnt",
                    "options": ["rw", "rbind", "rprivate", "nosuid", "nodev"],
                },
            ],
        },
        "devices": [
            {
                "name": name,
                "containerEdits": {
                    "deviceNodes": [{"path": f"/dev/davinci{name}", "permissions": "rw"}]
                },
            }
            for name in ("3", "12")
        ],
    }


def test_every_name_in_an_answer_is_in_the_specification() -> None:
    npus = make(TRAINING, *range(16))
    names = INJECTION.wants(npus, base_mounts=None).cdi_devices
    told = document(npus, COMMON)
    devices = told["devices"]

    assert isinstance(devices, list)
    assert [f"{told['kind']}={device['name']}" for device in devices] == list(names)


def test_common_wants_are_those_of_the_other_way_without_runtime() -> None:
    wants = cdi.common_wants(make(TRAINING, 0), base_mounts=None)

    assert "/dev/davinci_manager" in {node.host_path for node in wants.nodes}
    assert "/dev/davinci0" not in {node.host_path for node in wants.nodes}
