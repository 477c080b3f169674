"""Owners of pods and the services before them: they tell which pods belong together for the default spreading."""

from scheduler.api.meta import ApiStruct, LabelSelector, ObjectMeta


class ServiceSpec(ApiStruct, frozen=True):
    """The pods behind the service, by label."""

    selector: dict[str, str] | None = None


class Service(ApiStruct, frozen=True):
    """A service."""

    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(ApiStruct, frozen=True):
    """The pods of the controller, by label."""

    selector: dict[str, str] | None = None


class ReplicationController(ApiStruct, frozen=True):
    """A replication controller."""

    metadata: ObjectMeta
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class ReplicaSetSpec(ApiStruct, frozen=True):
    """The pods of the set."""

    selector: LabelSelector | None = None


class ReplicaSet(ApiStruct, frozen=True):
    """A replica set."""

    metadata: ObjectMeta
    spec: ReplicaSetSpec = ReplicaSetSpec()


class StatefulSetSpec(ApiStruct, frozen=True):
    """The pods of the set."""

    selector: LabelSelector | None = None


class StatefulSet(ApiStruct, frozen=True):
    """A stateful set."""

    metadata: ObjectMeta
    spec: StatefulSetSpec = StatefulSetSpec()
