"""The checks, in the order in which people read them: from ourselves outwards.

An explicit list: a check that is not here does not run, and docs/operations.md has a section for
each that is.
"""

from typing import Final

from ascend_agent.doctor import (
    api_server,
    cdi,
    checkpoint,
    configuration,
    confinement,
    container_runtime,
    device_access,
    device_nodes,
    disk,
    driver,
    fault_rules,
    hami_config,
    hami_scheduler,
    hardware,
    host_processes,
    kubelet_directory,
    kubelet_socket,
    library,
    limits,
    node_lock,
    npu_processes,
    npus,
    other_plugins,
    own_files,
    own_node,
    pod_resources,
    rights,
    running_agent,
    surroundings,
)
from ascend_agent.doctor.check import Check

CHECKS: Final[tuple[Check, ...]] = (
    configuration.CHECK,
    fault_rules.CHECK,
    own_files.CHECK,
    rights.CHECK,
    confinement.CHECK,
    host_processes.CHECK,
    limits.CHECK,
    disk.CHECK,
    hardware.CHECK,
    library.CHECK,
    device_access.CHECK,
    driver.CHECK,
    npus.CHECK,
    hami_config.CHECK,
    npu_processes.CHECK,
    surroundings.CHECK,
    device_nodes.CHECK,
    container_runtime.CHECK,
    cdi.CHECK,
    kubelet_directory.CHECK,
    kubelet_socket.CHECK,
    pod_resources.CHECK,
    checkpoint.CHECK,
    other_plugins.CHECK,
    node_lock.CHECK,
    running_agent.CHECK,
    api_server.SERVER,
    api_server.RULES_GRANTED,
    own_node.CHECK,
    hami_scheduler.CHECK,
    api_server.CLOCK,
)
