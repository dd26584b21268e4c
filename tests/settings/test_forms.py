import pytest
from pydantic import ValidationError

from ascend_agent.settings import HttpAddress, Settings


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9100", HttpAddress(host="127.0.0.1", port=9100)),
        (":9100", HttpAddress(host=None, port=9100)),
        ("localhost:9100", HttpAddress(host="localhost", port=9100)),
        ("[::1]:9100", HttpAddress(host="::1", port=9100)),
        ("[::]:0", HttpAddress(host="::", port=0)),
    ],
)
def test_an_http_address_is_an_address_and_a_port(text: str, address: HttpAddress) -> None:
    assert Settings.model_validate({"http": text}).http == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "9100",
        "127.0.0.1",
        "127.0.0.1:",
        ":65536",
        "host:1",
        "::1:9100",
        "[::1]",
        "1.2.3:80",
        "a:b",
    ],
)
def test_what_is_no_http_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValidationError, match=r"such as 127\.0\.0\.1:9100 or :9100"):
        Settings.model_validate({"http": text})


@pytest.mark.parametrize("text", ["kube-system/mindx-dl-fault-config", "a/b.c"])
def test_a_config_map_is_named_with_its_namespace(text: str) -> None:
    assert Settings.model_validate({"fault_config_map": text}).fault_config_map == text


@pytest.mark.parametrize("text", ["", "mindx-dl-fault-config", "a/b/c", "A/b", "a/", "/b", "a/.b"])
def test_what_is_no_config_map_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValidationError, match="kube-system/mindx-dl-fault-config"):
        Settings.model_validate({"fault_config_map": text})
