"""What the clusters of each profile have, and how often."""

RATES: dict[str, dict[str, float]] = {
    "basic": {
        "res": 1, "init": 0.3, "over": 0.15, "podres": 0.15, "ports": 0.3, "nodesel": 0.15, "nodeaff": 0.3,
        "images": 0.7, "unsched": 0.08, "ext": 0.3, "nodename": 0.03, "roomy": 0.4, "uniform": 0.1,
    },
    "affinity": {
        "res": 0.6, "podaff": 0.8, "nodeaff": 0.08, "ext": 0.05, "images": 0.1, "roomy": 0.8, "uniform": 0.3,
    },
    "spread": {
        "res": 0.5, "spread": 0.85, "nodeaff": 0.15, "nodesel": 0.08, "taints": 0.15, "tol": 0.3, "owner": 0.5,
        "images": 0.1, "unsched": 0.05, "roomy": 0.9, "uniform": 0.4,
    },
    "taints": {
        "res": 0.5, "taints": 0.5, "tol": 0.85, "unsched": 0.12, "nodeaff": 0.1, "roomy": 0.7, "uniform": 0.3,
    },
    "preempt": {
        "res": 1, "prio": 1, "full": 1, "ports": 0.15, "ext": 0.25, "podaff": 0.12, "spread": 0.08, "term": 0.12,
        "init": 0.1, "nodeaff": 0.1, "classes": 0.3, "taints": 0.1, "uniform": 0.35,
    },
    "pdb": {
        "res": 1, "prio": 1, "full": 1, "pdb": 1, "term": 0.1, "ext": 0.1, "podaff": 0.05, "uniform": 0.35,
    },
    "nominated": {
        "res": 1, "prio": 1, "full": 0.8, "nominated": 0.7, "ports": 0.2, "podaff": 0.25, "spread": 0.15, "term": 0.2,
        "pdb": 0.2, "uniform": 0.2,
    },
    "volumes": {
        "res": 0.4, "vol": 0.9, "prio": 0.3, "nodeaff": 0.08, "term": 0.1, "full": 0.2, "roomy": 0.8,
    },
    "mixed": {
        "res": 0.9, "init": 0.15, "over": 0.1, "podres": 0.1, "ports": 0.12, "nodesel": 0.06, "nodeaff": 0.15,
        "images": 0.3, "unsched": 0.05, "ext": 0.15, "podaff": 0.3, "spread": 0.3, "taints": 0.12, "tol": 0.4,
        "prio": 0.6, "full": 0.4, "pdb": 0.4, "nominated": 0.2, "vol": 0.15, "term": 0.08, "owner": 0.25,
        "classes": 0.3, "config": 0.4, "gates": 0.03, "nodename": 0.02, "sched": 0.1, "roomy": 0.5, "uniform": 0.2,
    },
    "selectors": {
        "res": 0.4, "podaff": 0.6, "spread": 0.5, "wide": 0.75, "term": 0.15, "owner": 0.2, "taints": 0.15, "tol": 0.3,
        "nodeaff": 0.15, "dying": 0.03, "roomy": 0.9, "uniform": 0.3,
    },
    "requests": {
        "res": 1, "init": 0.4, "over": 0.3, "podres": 0.4, "ext": 0.5, "ports": 0.1, "images": 0.2, "resize": 0.5,
        "reported": 0.15, "declared": 0.3, "odd": 0.2, "full": 0.3, "config": 0.2, "roomy": 0.4, "uniform": 0.1,
    },
    "configs": {
        "res": 0.8, "images": 0.4, "nodeaff": 0.3, "nodesel": 0.1, "podaff": 0.25, "spread": 0.3, "taints": 0.3,
        "tol": 0.4, "unsched": 0.05, "ext": 0.2, "ports": 0.1, "owner": 0.4, "config": 1, "configs": 0.9, "sched": 0.6,
        "roomy": 0.7, "uniform": 0.2,
    },
    "storage": {
        "res": 0.4, "vol": 1, "widevol": 0.8, "prio": 0.3, "nodeaff": 0.08, "term": 0.1, "full": 0.2, "roomy": 0.8,
    },
    "crowded": {
        "res": 1, "prio": 1, "full": 1, "ports": 0.1, "podaff": 0.3, "spread": 0.3, "wide": 0.5, "vol": 0.2,
        "term": 0.08, "taints": 0.1, "tol": 0.2, "nominated": 0.3, "nodeaff": 0.1, "owner": 0.2, "resize": 0.1,
        "declared": 0.1, "odd": 0.05, "uniform": 0.2,
    },
}  # fmt: skip
PROFILES = tuple(RATES)
