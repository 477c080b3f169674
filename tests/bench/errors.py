"""What stops a benchmark."""


class BenchError(Exception):
    """A run is worth nothing: the message says which, why, and shows the log of the scheduler where that helps."""
