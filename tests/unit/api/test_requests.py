"""What a pod asks for. Not covered: whether it fits."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scheduler.api.pod import ContainerPort, ContainerStatus, Pod, PodCondition, ResourceRequirements
from scheduler.api.quantity import QuantityError
from scheduler.api.requests import (
    HostPort,
    assigned_pod_requests,
    host_ports,
    is_extended_resource,
    is_scalar_resource,
    normalized_image_name,
    pod_requests,
)
from scheduler.testing import make_pod

MIB = 1024 * 1024
GPU = "nvidia.com/gpu"


def asked(pod: Pod) -> dict[str, int]:
    return dict(pod_requests(pod).amounts)


def taken(pod: Pod) -> dict[str, int]:
    return dict(assigned_pod_requests(pod).amounts)


def with_status(pod: Pod, **status: Any) -> Pod:
    return replace(pod, status=replace(pod.status, **status))


def report(allocated: dict[str, Any] | None, actual: dict[str, Any] | None) -> tuple[ContainerStatus, ...]:
    return (ContainerStatus("container-0", allocated, ResourceRequirements(actual) if actual is not None else None),)


INFEASIBLE = (PodCondition("PodResizePending", "True", "Infeasible"),)
DEFERRED = (PodCondition("PodResizePending", "True", "Deferred"),)


def test_containers_add_up() -> None:
    """Requests of regular containers are added, cpu in thousandths, the rest in whole units."""
    pod = make_pod("a").req({GPU: 1}, cpu="0.1", memory="1Mi").req({GPU: 2}, cpu="200m", memory="1.5Mi").obj()
    assert asked(pod) == {"cpu": 300, "memory": 2 * MIB + MIB // 2, GPU: 3}


def test_balance_follows_the_status_of_a_pod_without_a_node() -> None:
    """Such a status comes from a pod that was on a node once; whether it fits still goes by the spec alone."""
    pod = with_status(make_pod("a").req(cpu="1").obj(), container_statuses=report({"cpu": "3"}, {"cpu": "2"}))
    requests = pod_requests(pod)
    assert requests.get("cpu") == requests.get_for_scoring("cpu") == 1000
    assert requests.get_for_balance("cpu") == 3000
    assert assigned_pod_requests(pod).get_for_balance("cpu") == assigned_pod_requests(pod).get("cpu") == 3000
    plain = pod_requests(make_pod("a").req(cpu="1").obj())
    assert plain.balanced_amounts is plain.amounts


def test_sums_are_rounded_once() -> None:
    """Two halves of a byte are one byte, two tenths of a millicpu one millicpu."""
    assert asked(make_pod("a").req(cpu="100u", memory="0.5").req(cpu="100u", memory="500m").obj()) == {
        "cpu": 1,
        "memory": 1,
    }


def test_an_init_container_raises_the_sum_to_its_own_request() -> None:
    """Init containers run before the others, one at a time: per resource the greatest counts."""
    pod = make_pod("a").init_req(cpu=3, memory="1Mi").init_req(cpu=2).req(cpu=1, memory="2Mi").obj()
    assert asked(pod) == {"cpu": 3000, "memory": 2 * MIB}


def test_a_sidecar_counts_with_all_that_run_beside_it() -> None:
    """A sidecar is added to the containers and to each init container after it, not to those before."""
    pod = make_pod("a").init_req(cpu=5).sidecar_req(cpu=1).init_req(cpu=7).sidecar_req(cpu=2).req(cpu=4).obj()
    assert asked(pod) == {"cpu": 8000}
    assert asked(make_pod("a").sidecar_req(cpu=1).sidecar_req(cpu=2).req(cpu="100m").obj()) == {"cpu": 3100}
    assert asked(make_pod("a").init_req(cpu=4).sidecar_req(cpu=1).req(cpu=1).obj()) == {"cpu": 4000}


def test_requests_of_the_pod_replace_the_sums_they_name() -> None:
    """Cpu, memory and huge pages may be asked for the pod as a whole; other names are not heard there."""
    builder = make_pod("a").req({GPU: 1, "hugepages-2Mi": "2Mi"}, cpu=3, memory="1Mi")
    assert asked(builder.pod_level_req({"hugepages-2Mi": "4Mi", GPU: 9}, cpu=1).obj()) == {
        "cpu": 1000,
        "memory": MIB,
        "hugepages-2Mi": 4 * MIB,
        GPU: 1,
    }


def test_overhead_is_added_at_last() -> None:
    """What running the pod takes comes on top, even of requests of the pod as a whole."""
    assert asked(make_pod("a").req(cpu=3).pod_level_req(cpu=1).overhead(cpu="250m", memory=5).obj()) == {
        "cpu": 1250,
        "memory": 5,
    }


def test_a_request_of_zero_is_a_request() -> None:
    """A resource named with 0 is there, one that is not named is not."""
    requests = pod_requests(make_pod("a").req({GPU: 0}, cpu=0).obj())
    assert dict(requests.amounts) == {"cpu": 0, GPU: 0}
    assert requests.get(GPU) == requests.get("memory") == 0
    assert asked(make_pod("a").obj()) == {}


def test_names_that_no_scheduler_counts_are_left_out() -> None:
    """Pods are counted by themselves, and names of quotas or without a domain are no resources of a node."""
    pod = make_pod("a").req({"pods": 1, "foo": 1, "requests.a.b/c": 1, "ephemeral-storage": 7}).obj()
    assert asked(pod) == {"ephemeral-storage": 7}


@pytest.mark.parametrize(
    ("name", "extended", "scalar"),
    [
        (GPU, True, True),
        ("hugepages-1Gi", False, True),
        ("attachable-volumes-csi-x", False, True),
        ("kubernetes.io/batteries", False, True),
        ("requests.example.com/x", False, False),
        ("cpu", False, False),
        ("storage", False, False),
    ],
)
def test_kinds_of_resource_names(name: str, extended: bool, scalar: bool) -> None:
    """Extended resources are those that somebody brings; scalar ones include huge pages and the like."""
    assert (is_extended_resource(name), is_scalar_resource(name)) == (extended, scalar)


def test_defaults_for_scoring_count_per_container() -> None:
    """A container without a request counts 100m and 200 MiB; an explicit 0 counts as given."""
    requests = pod_requests(make_pod("a").req(cpu="1").req(memory="1Mi").req({GPU: 1}, cpu=0, memory=0).obj())
    assert requests.get("cpu") == 1000
    assert (requests.non_zero_cpu_milli, requests.non_zero_memory_bytes) == (1100, 201 * MIB)
    assert dict(requests.scoring_amounts) == {"cpu": 1100, "memory": 201 * MIB, GPU: 1}
    assert requests.get_for_scoring("cpu") == 1100
    assert requests.get_for_scoring("ephemeral-storage") == 0


def test_defaults_for_scoring_of_init_containers() -> None:
    """Init containers and sidecars without requests count with the defaults too."""
    requests = pod_requests(make_pod("a").sidecar_req().init_req(cpu=1).req(cpu="50m").obj())
    assert dict(requests.scoring_amounts) == {"cpu": 1100, "memory": 400 * MIB}


def test_requests_of_the_pod_as_a_whole_do_not_take_part_in_its_own_score() -> None:
    """They count in the use of a node, which takes a default only for what is stated nowhere."""
    requests = pod_requests(make_pod("a").req(cpu="50m").req().pod_level_req(memory="1Gi").overhead(memory=5).obj())
    assert (requests.non_zero_cpu_milli, requests.non_zero_memory_bytes) == (50, 1024 * MIB + 5)
    assert dict(requests.scoring_amounts) == {"cpu": 150, "memory": 400 * MIB + 5}
    nowhere = pod_requests(make_pod("a").req().req().pod_level_req(memory="1Gi").obj())
    assert nowhere.non_zero_cpu_milli == 200


def test_overhead_is_no_statement_of_a_container() -> None:
    """Defaults are added to the overhead, unless the pod as a whole has requests."""
    assert pod_requests(make_pod("a").overhead(cpu="10m").obj()).non_zero_cpu_milli == 110
    assert pod_requests(make_pod("a").pod_level_req(memory=1).overhead(cpu="10m").obj()).non_zero_cpu_milli == 10


def test_a_pod_that_is_resized_takes_the_most_of_three() -> None:
    """Of what it states, what the node promised and what is in force, the greatest counts per resource."""
    pod = make_pod("a").req(cpu=2, memory="1Mi").obj()
    resized = with_status(pod, container_statuses=report({"cpu": 1, "memory": "3Mi"}, {"cpu": 3, "memory": "2Mi"}))
    assert taken(resized) == {"cpu": 3000, "memory": 3 * MIB}
    assert asked(resized) == {"cpu": 2000, "memory": MIB}


def test_a_resize_that_can_never_be_does_not_count() -> None:
    """When the node has refused the resize, what the pod states is not what it will get."""
    builder = make_pod("a").req(cpu=9)
    statuses = report({"cpu": 1}, {"cpu": 2})
    assert taken(with_status(builder.obj(), container_statuses=statuses, conditions=INFEASIBLE)) == {"cpu": 2000}
    assert taken(with_status(builder.obj(), container_statuses=statuses, conditions=DEFERRED)) == {"cpu": 9000}
    assert taken(with_status(builder.obj(), conditions=INFEASIBLE)) == {}


def test_what_a_node_does_not_report_is_as_promised_and_as_stated() -> None:
    """A container without a report counts as stated; one with a promise alone counts at the greater of both."""
    pod = make_pod("a").req(cpu=2).req(cpu=1).obj()
    assert taken(with_status(pod, container_statuses=report({"cpu": 5}, None))) == {"cpu": 6000}
    assert taken(with_status(pod, container_statuses=report(None, {"cpu": 4}))) == {"cpu": 5000}


def test_a_pod_level_resize_takes_the_most_of_three() -> None:
    """Requests of the pod as a whole are compared with what the node reports of the whole pod."""
    pod = make_pod("a").req(cpu=1).pod_level_req(cpu=2, memory="1Mi").obj()
    status = {"resources": ResourceRequirements({"cpu": 3}), "allocated_resources": {"cpu": "2500m", "memory": "2Mi"}}
    assert taken(with_status(pod, **status)) == {"cpu": 3000, "memory": 2 * MIB}
    smaller = {"resources": ResourceRequirements({"cpu": 1}), "allocated_resources": {"cpu": 1}}
    assert taken(with_status(pod, **smaller)) == {"cpu": 2000, "memory": MIB}
    assert taken(with_status(pod, **smaller, conditions=INFEASIBLE)) == {"cpu": 1000}


@given(requests=st.dictionaries(st.sampled_from(["cpu", "memory", GPU]), st.sampled_from(["0", "1", "500m", "1Gi"])))
def test_a_pod_that_is_not_resized_takes_what_it_asks(requests: dict[str, Any]) -> None:
    """Where all reports agree with the spec, use and request are the same."""
    pod = make_pod("a").req(requests).obj()
    assert assigned_pod_requests(pod) == pod_requests(pod)
    assert assigned_pod_requests(with_status(pod, container_statuses=report(requests, requests))) == pod_requests(pod)


def test_equal_requests_are_one_object() -> None:
    """Pods that ask the same share the answer, so that its identity may stand for it."""
    one, other = make_pod("a").req(cpu="1").obj(), make_pod("b").req(cpu="1000m").obj()
    assert pod_requests(one) is pod_requests(other)
    assert hash(pod_requests(one)) == hash(pod_requests(other))


def test_many_pods_are_counted_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are remembered by identity, and stay right when more pods come than are remembered."""
    monkeypatch.setattr("scheduler.api.requests._LARGEST_CACHE", 10)
    for number in range(200):
        assert pod_requests(make_pod("a").req(cpu=number).obj()).amounts == (("cpu", number * 1000),)


def test_a_wrong_amount_is_refused() -> None:
    """An amount that is none names itself."""
    with pytest.raises(QuantityError, match="'much' is not a quantity"):
        pod_requests(make_pod("a").req(cpu="much").obj())


def test_host_ports() -> None:
    """Ports of the node that sidecars and containers take; protocol and address have their defaults."""
    builder = make_pod("a").host_port(80).host_port(53, "UDP", "10.0.0.1")
    pod = builder.container(ports=(ContainerPort(8080), ContainerPort(8081, 0))).sidecar_req().init_req().obj()
    sidecar, init = pod.spec.init_containers or ()
    ports = (ContainerPort(443, 443),)
    pod = replace(
        pod, spec=replace(pod.spec, init_containers=(replace(sidecar, ports=ports), replace(init, ports=ports)))
    )
    assert host_ports(pod) == (
        HostPort("0.0.0.0", "TCP", 443),
        HostPort("0.0.0.0", "TCP", 80),
        HostPort("10.0.0.1", "UDP", 53),
    )
    assert host_ports(make_pod("a").obj()) == ()


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        ("shop", "shop:latest"),
        ("shop:1", "shop:1"),
        ("host:5000/shop", "host:5000/shop:latest"),
        ("host:5000/shop:1", "host:5000/shop:1"),
        ("shop@sha256:ab", "shop@sha256:ab"),
        ("", ":latest"),
    ],
)
def test_image_names(name: str, normalized: str) -> None:
    """A name without tag or digest means the tag latest; a port is no tag."""
    assert normalized_image_name(name) == normalized
