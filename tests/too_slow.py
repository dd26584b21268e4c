"""The failure of a test that its own time alone speaks against."""


class TooSlowError(AssertionError):
    """A test took longer than its kind may, measured by real time."""
