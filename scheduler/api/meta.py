"""What every kind shares: metadata, references, label selectors, quantities.

Rules of all typed objects:
- an attribute is the snake_case of its JSON name; only fields that a scheduler reads exist, unknown ones are skipped;
- a field that the API requires has the type's zero value as default (as Go has), an optional one is `X | None = None`;
  a JSON null is as good as an absent field, wherever it stands (see `scheduler.api.decoding`);
- objects are immutable and share their parts: change one with `msgspec.structs.replace`.
"""

from datetime import datetime

from msgspec import Struct

Quantity = str | int | float
"""An amount as written (`"500m"`, `"1Gi"`; YAML by hand has bare numbers too). `scheduler.api.quantity` reads it."""

ResourceList = dict[str, Quantity]
"""Resource name (`cpu`, `memory`, `nvidia.com/gpu`…) to amount."""

MicroTime = str
"""RFC 3339 with six digits after the second, as the API server insists; kept as text, since it is only handed on."""


class ApiStruct(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Base of all typed objects. They are trees, so they need no garbage collector; absent fields are not encoded."""


class OwnerReference(ApiStruct, frozen=True):
    """The object that owns this one; `controller` marks the one that manages it."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(ApiStruct, frozen=True):
    """Identity and labels of an object. `namespace` is empty for kinds that have none.

    Of a pod's annotations only those in `scheduler.api.pod.READ_ANNOTATIONS` are kept; of a node neither annotations
    nor `generation`.
    """

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    generation: int | None = None


class ObjectReference(ApiStruct, frozen=True):
    """Names another object; used by events and by claims on volumes."""

    api_version: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    field_path: str | None = None


class LabelSelectorRequirement(ApiStruct, frozen=True):
    """One condition on a label; operators In, NotIn, Exists, DoesNotExist."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class LabelSelector(ApiStruct, frozen=True):
    """All of `match_labels` and all of `match_expressions`. Absent selects nothing, empty selects everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelSelectorRequirement, ...] | None = None
