from ascend_agent.model.allocation import NodeWant, mandatory_node, optional_nodes


def test_a_mandatory_node_keeps_its_name_in_the_container() -> None:
    assert mandatory_node("/dev/a", alternative="/dev/b") == NodeWant(
        host_path="/dev/a",
        container_path="/dev/a",
        mandatory=True,
        permissions="rw",
        alternative="/dev/b",
    )


def test_optional_nodes_keep_their_names_and_order() -> None:
    first, second = optional_nodes("/dev/b", "/dev/a")

    assert (first.host_path, second.container_path) == ("/dev/b", "/dev/a")
    assert not first.mandatory
    assert first.alternative is None
