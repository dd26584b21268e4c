from ascend_agent.injection import find_injections
from tests.test_chips import files


def test_every_way_is_found_and_no_name_is_there_twice() -> None:
    """A new way is a new file: nothing else lists them. Three files serve the ways."""
    ways = find_injections()

    assert {"runtime", "devices", "cdi"} <= ways.keys()
    assert len(ways) == len(files("injection") - {"driver_access", "logical", "resolve"})
    assert all(way.name == name for name, way in ways.items())
