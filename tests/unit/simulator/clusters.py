"""Small clusters as text, read and simulated in one step."""

from textwrap import dedent

from scheduler.config.loading import LoadedConfiguration, load_configuration, parse_configuration
from scheduler.simulator.cluster_input import ClusterInput, read_cluster
from scheduler.simulator.documents import read_objects
from scheduler.simulator.places import InputError
from scheduler.simulator.results import PodResult, Simulation
from scheduler.simulator.simulation import simulate

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def node(name: str, cpu: str = "2", **more: str) -> str:
    """A node's document."""
    status = f"{{capacity: {{cpu: {cpu}, memory: 8Gi, pods: 10}}}}"
    extra = "".join(f"\n{field}: {value}" for field, value in more.items())
    return f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\nstatus: {status}{extra}\n---\n"


def pod(name: str, spec: str = "", metadata: str = "", cpu: str = "1", status: str = "{}") -> str:
    """A pod's document; `spec` and `metadata` are flow mappings' inner text."""
    container = f"containers: [{{name: c, resources: {{requests: {{cpu: {cpu}}}}}}}]"
    inner = f"{container}, {spec}" if spec else container
    names = f"name: {name}, {metadata}" if metadata else f"name: {name}"
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{{names}}}\nspec: {{{inner}}}\nstatus: {status}\n---\n"


def read(text: str, scheduler_name: str = "podium") -> ClusterInput:
    """The cluster of a text."""
    return read_cluster(read_objects(dedent(text).encode(), "input.yaml"), scheduler_name)


def faults(text: str | bytes) -> list[str]:
    """What is wrong with a text, without the name of the file."""
    data = text.encode() if isinstance(text, str) else text
    try:
        read_cluster(read_objects(data, "input.yaml"), "podium")
    except InputError as error:
        return [str(fault).removeprefix("input.yaml").removeprefix(", ") for fault in error.faults]
    return []


def simulated(text: str, config: str = "", seed: int = 0) -> Simulation:
    """The answer for a text; `config` is what follows the header of a configuration."""
    loaded: LoadedConfiguration = load_configuration(None)
    if config:
        loaded = parse_configuration(f"{HEADER}{config}".encode(), source="config", simulated=True)
    return simulate(read(text, next(iter(loaded.plugins))), loaded, seed)


def by_name(simulation: Simulation) -> dict[str, PodResult]:
    """The pods' results by their names alone."""
    return {result.name: result for result in simulation.pods}
