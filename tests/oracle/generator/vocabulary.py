"""The words that random clusters are made of: few, so that ties, near fits and conflicts are common."""

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
HOST = "kubernetes.io/hostname"
GPU = "example.com/gpu"
FOO = "example.com/foo"
HUGE = "hugepages-2Mi"

PROFILES = ["basic", "affinity", "spread", "taints", "preempt", "pdb", "nominated", "volumes", "mixed"]

# Quantities in thousandths of a core and in bytes, each in several notations.
CPU = {
    0: ["0", "0m"],
    100: ["100m", "0.1", "1e-1"],
    250: ["250m", "0.25", ".25"],
    500: ["500m", "0.5", "5e-1"],
    1000: ["1", "1000m", "1.0"],
    1500: ["1500m", "1.5"],
    2000: ["2", "2000m", "2e0"],
    3000: ["3", "3000m"],
    4000: ["4", "4e0"],
    8000: ["8", "8000m"],
    16000: ["16", "0.016k"],
}
MEM = {
    0: ["0", "0Mi"],
    64 << 20: ["64Mi", "65536Ki", "67108864"],
    128 * 10**6: ["128M", "128000k", "128e6"],
    200 << 20: ["200Mi", "209715200"],
    512 << 20: ["512Mi", "0.5Gi", "536870912", "536870912000m"],
    10**9: ["1G", "1e9", "1000M", "1000000000", "1E9"],
    1 << 30: ["1Gi", "1024Mi", "1073741824"],
    1536 << 20: ["1.5Gi", "1536Mi"],
    2 << 30: ["2Gi", "2048Mi"],
    4 << 30: ["4Gi", "4294967296"],
    16 << 30: ["16Gi", "16384Mi"],
    32 * 10**9: ["32G", "32e9"],
}
DISK = {
    500 * 10**6: ["500M", "0.5G", "5e8"],
    1 << 30: ["1Gi", "1024Mi"],
    2 * 10**9: ["2G", "2e9"],
    5 << 30: ["5Gi"],
    10 << 30: ["10Gi"],
}
IMAGES = {  # name: size
    "registry.example.com/app:v1": 300 * 10**6,
    "registry.example.com/app:v2": 310 * 10**6,
    "docker.io/library/big:latest": 2 * 10**9,
    "docker.io/library/small:latest": 10 * 10**6,
    "huge:latest": 3 * 10**9,
    "mid:1.0": 90 * 10**6,
}
POD_IMAGES = [
    "registry.example.com/app:v1",
    "registry.example.com/app:v2",
    "docker.io/library/big",
    "docker.io/library/small:latest",
    "huge",
    "mid:1.0",
    "absent:v1",
    "k8s.gcr.io/pause",
]
APPS = ["web", "db", "cache"]
VERSIONS = ["v1", "v2"]
TEAMS = ["red", "blue"]
PRIORITIES = [-2147483648, -1000000, -10, -1, 0, 0, 1, 10, 100, 1000, 1000000000, 2000000000, 2147483647]
TIMES = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-01-01T01:00:00Z", "2026-01-02T00:00:00Z"]
