"""Foreign programs: fed, read, bounded."""

import pytest

from ascend_agent.driver.dcmi import command

pytestmark = pytest.mark.peer


def test_a_program_gets_its_input_and_its_environment_alone() -> None:
    status, output = command.run(
        ("/bin/sh", "-c", "read answer; echo $answer $GREETING ${HOME:-homeless}; exit 3"),
        feed=b"Y\n",
        limit_s=10,
        environment={"GREETING": "hello"},
    )

    assert (status, output) == (3, b"Y hello homeless\n")


def test_errors_are_part_of_the_output() -> None:
    _, output = command.run(("/bin/sh", "-c", "echo denied >&2"), limit_s=10)

    assert output == b"denied\n"


def test_a_program_that_hangs_is_killed_with_its_children() -> None:
    """Peers wait for external tools without a limit (DCMI defect 17).

    The child's child holds the pipe open: killing the child alone would wait for it.
    """
    with pytest.raises(TimeoutError, match=r"/bin/sh did not end within 0\.2 s"):
        command.run(("/bin/sh", "-c", "sleep 20 & sleep 20"), limit_s=0.2)


def test_a_program_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        command.run(("/nonexistent/tool",), limit_s=1)
