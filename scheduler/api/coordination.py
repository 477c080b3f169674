"""Leases, for leader election, and events, for telling people."""

from scheduler.api.meta import ApiStruct, MicroTime, ObjectMeta, ObjectReference


class LeaseSpec(ApiStruct, frozen=True):
    """Who holds the lease, since when, and for how long."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    lease_transitions: int | None = None


class Lease(ApiStruct, frozen=True):
    """A lease."""

    metadata: ObjectMeta
    spec: LeaseSpec = LeaseSpec()


class EventSeries(ApiStruct, frozen=True):
    """Repeats of the same event."""

    count: int = 0
    last_observed_time: MicroTime = ""


class Event(ApiStruct, frozen=True):
    """An event of group events.k8s.io/v1; `type` is Normal or Warning, `note` has at most 1,024 bytes."""

    metadata: ObjectMeta
    event_time: MicroTime | None = None
    series: EventSeries | None = None
    reporting_controller: str | None = None
    reporting_instance: str | None = None
    action: str | None = None
    reason: str | None = None
    regarding: ObjectReference | None = None
    related: ObjectReference | None = None
    note: str | None = None
    type: str | None = None
