"""The agent's messages and Google's say the same, field by field, for every API we have."""

import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor

MODULES = (
    "deviceplugin.v1beta1",
    "podresources.v1",
    "podresources.v1alpha1",
)


def ours(name: str) -> ModuleType:
    return importlib.import_module(f"ascend_agent._generated.{name}")


def google(name: str) -> ModuleType:
    return importlib.import_module(f"tests.peer._generated.{name}.api_pb2")


def messages(name: str) -> Iterator[Descriptor]:
    yield from google(name).DESCRIPTOR.message_types_by_name.values()


def fill(message: Any, depth: int) -> None:
    """Set every field of a Google message, repeated ones twice, down to *depth*."""
    for field in message.DESCRIPTOR.fields:
        value = scalar(field)
        if field.message_type is None:
            if field.is_repeated:
                getattr(message, field.name).extend([value, value])
            else:
                setattr(message, field.name, value)
        elif field.message_type.GetOptions().map_entry:
            getattr(message, field.name)["key"] = "value"
        elif depth:
            parts = getattr(message, field.name)
            for part in [parts.add(), parts.add()] if field.is_repeated else [parts]:
                part.SetInParent()
                fill(part, depth - 1)


def scalar(field: FieldDescriptor) -> object:
    """Return a value that shows whether the field kept its number and its type."""
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_STRING:
            return f"{field.name} ä"
        case FieldDescriptor.CPPTYPE_BOOL:
            return True
        case _:
            return 1_000 + field.number


@pytest.mark.parametrize("name", MODULES)
def test_every_message_survives_the_agents_classes_bit_for_bit(name: str) -> None:
    """Both older generators lost empty messages: NUMA node 0 vanished from the list."""
    for descriptor in messages(name):
        for depth in range(4):
            full = getattr(google(name), descriptor.name)()
            fill(full, depth)
            data = full.SerializeToString(deterministic=True)
            spelled = descriptor.name.replace("NUMA", "Numa").replace("CDI", "Cdi")

            again = bytes(getattr(ours(name), spelled).parse(data))

            assert again == data, descriptor.full_name


@pytest.mark.parametrize("name", MODULES)
def test_every_method_has_the_path_that_google_gives_it(name: str) -> None:
    for service in google(name).DESCRIPTOR.services_by_name.values():
        base = getattr(ours(name), f"{service.name}Base")

        assert set(base().__mapping__()) == {
            f"/{service.full_name}/{method.name}" for method in service.methods
        }
