from ascend_agent.model.cluster import ConfigMapKey


def test_a_config_map_is_named_to_people_with_its_namespace() -> None:
    key = ConfigMapKey(namespace="kube-system", name="mindx-dl-fault-config")

    assert str(key) == "kube-system/mindx-dl-fault-config"
