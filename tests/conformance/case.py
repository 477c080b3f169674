"""The cases: a cluster, pods to be scheduled one after another, and what kube-scheduler's framework answers to each.

One JSON object a line, in files of profiles (`goldens/basic.jsonl.gz`). A field that is not known here is an error, so
that nothing that was written down goes uncompared.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec


class CaseStruct(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Base of all parts of a case."""


class Verdict(CaseStruct, kw_only=True):
    """A status: its code by name, who gave it (empty for success), and its reasons in order."""

    code: str
    plugin: str
    reasons: tuple[str, ...]


class NodeAnswer(Verdict, kw_only=True):
    """A node's verdict; of a feasible node also raw scores, normalised scores times weight, and their total."""

    raw: dict[str, int] = {}
    scores: dict[str, int] = {}
    total: int | None = None


class Candidate(CaseStruct, kw_only=True):
    """Whom preemption would evict from a node, in order, and how many of them against a PodDisruptionBudget."""

    victims: tuple[str, ...]
    pdb_violations: int


class Preemption(CaseStruct, kw_only=True):
    """What preemption found.

    Attributes:
        not_run: what PostFilter returned where preemption was not reached.
        rejected: nodes whose dry run failed, and why.
        tied: all nodes that may be chosen, when there are several; `chosen` is the first of them.
    """

    not_run: Verdict | None = None
    eligible: bool
    ineligible_reason: str
    candidates: dict[str, Candidate]
    rejected: dict[str, Verdict] = {}
    chosen: str
    tied: tuple[str, ...] = ()
    victims: tuple[str, ...]
    message: str


class Step(CaseStruct, kw_only=True):
    """One pod's attempt.

    Attributes:
        skipped: why there was none.
        pre_filter: the rejection before any node was looked at; every node then shows it.
        pre_filter_nodes: the only nodes looked at, where PreFilter narrowed them.
        nominated_fast_path: the nominated node fits, so it is the only feasible one.
        best: the feasible nodes with the highest total, by name.
        assumed: where the pod counts from now on.
        reserve: why Reserve failed.
        message: the text of the pod's condition when it fits nowhere.
    """

    pod: str
    skipped: str = ""
    pre_enqueue: Verdict | None = None
    pre_filter: Verdict | None = None
    pre_filter_nodes: tuple[str, ...] = ()
    nodes: dict[str, NodeAnswer] = {}
    nominated_fast_path: bool = False
    feasible: tuple[str, ...] = ()
    best: tuple[str, ...] = ()
    assumed: str = ""
    reserve: Verdict | None = None
    error: str = ""
    message: str = ""
    preemption: Preemption | None = None


class Case(CaseStruct, kw_only=True):
    """A cluster and its pending pods.

    Attributes:
        config: a KubeSchedulerConfiguration without apiVersion and kind; None for the defaults.
        objects: as the API server stores them.
        pods: namespace/name of those to be scheduled, in that order.
        apply_preemption: whether victims vanish and the pod is nominated.
    """

    name: str
    profile: str
    config: dict[str, Any] | None = None
    objects: tuple[msgspec.Raw, ...]
    pods: tuple[str, ...]
    apply_preemption: bool = False
    steps: tuple[Step, ...]


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of a file, gzipped or not.

    Raises:
        OSError: the file can't be read.
        msgspec.DecodeError: a line is not a case.
    """
    decode = msgspec.json.Decoder(Case).decode
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as lines:
        for line in lines:
            if line.strip():
                yield decode(line)
