"""Counts what goes back and forth between the agent and the API server."""

from ascend_agent.model.cluster import ApiCounts


class Tally:
    """The counters of one agent, from its start on; ``ApiCounts`` says what each one means."""

    def __init__(self) -> None:
        self.lists = 0
        self.watches = 0
        self.reads = 0
        self.patches = 0
        self.errors = 0
        self.throttled = 0
        self.expired = 0
        self.broken_streams = 0
        self.skipped_objects = 0
        self.unknown_events = 0
        self.foreign_edits = 0
        self.events_posted = 0
        self.events_lost = 0

    def snapshot(self) -> ApiCounts:
        """Return the counts of this moment."""
        return ApiCounts(
            lists=self.lists,
            watches=self.watches,
            reads=self.reads,
            patches=self.patches,
            errors=self.errors,
            throttled=self.throttled,
            expired=self.expired,
            broken_streams=self.broken_streams,
            skipped_objects=self.skipped_objects,
            unknown_events=self.unknown_events,
            foreign_edits=self.foreign_edits,
            events_posted=self.events_posted,
            events_lost=self.events_lost,
        )
