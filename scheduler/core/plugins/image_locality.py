"""Prefers nodes that have a pod's images already."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from scheduler.api.requests import normalized_image_name
from scheduler.core.framework.interface import MAX_NODE_SCORE, Depends, Rows, ScorePlugin
from scheduler.core.framework.types import BoolArray, IntArray, PodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.cycle_state import CycleState

_MEBIBYTE: Final = 1024 * 1024
_SMALLEST_SUM: Final = 23 * _MEBIBYTE
_LARGEST_PER_IMAGE: Final = 1000 * _MEBIBYTE


class ImageLocality(ScorePlugin):
    """Score: sizes of the images present, each scaled by the share of nodes that have it, so that no node draws all.

    sum = Σ int(size · nodes with image / nodes); score = 100 · (clamp(sum) - 23 MiB) / (1000 MiB · images - 23 MiB).
    """

    name: ClassVar[str] = "ImageLocality"
    depends: ClassVar[Depends] = Depends.NODE

    def score_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """The images, with the version of what nodes have; None if no node has any: all nodes score 0."""
        known = snapshot.nodes.images.rows
        if not known:
            return None
        names = _image_names(pod)
        if not any(name in known for name in names):
            return None
        return (*names, snapshot.nodes.images.version, snapshot.nodes.existing)

    def score(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows, feasible: BoolArray) -> IntArray:
        """0..100 a row."""
        images = snapshot.nodes.images
        names = _image_names(pod)
        sums = np.zeros(snapshot.nodes.count, np.int64)
        for name in names:
            having = images.rows.get(name)
            if having:
                spread = len(having) / snapshot.nodes.existing
                sums[np.fromiter(having, np.intp, len(having))] += int(images.size_bytes[name] * spread)
        largest = _LARGEST_PER_IMAGE * len(names)
        return (
            (np.clip(sums, _SMALLEST_SUM, largest) - _SMALLEST_SUM)[rows] * MAX_NODE_SCORE // (largest - _SMALLEST_SUM)
        )


def _image_names(pod: PodInfo) -> tuple[str, ...]:
    spec = pod.pod.spec
    containers = (*(spec.init_containers or ()), *spec.containers)
    names = [normalized_image_name(container.image or "") for container in containers]
    names.extend(
        normalized_image_name(volume.image.reference or "") for volume in spec.volumes or () if volume.image is not None
    )
    return tuple(names)
