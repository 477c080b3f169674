"""Storage classes, drivers, volumes, claims, and pods that use them."""

from tests.oracle.generator.draws import Object
from tests.oracle.generator.vocabulary import HOST, ZONE
from tests.oracle.generator.wide_storage import WideStorageDraws

_EPHEMERAL: Object = {
    "accessModes": ["ReadWriteOnce"],
    "storageClassName": "wait",
    "resources": {"requests": {"storage": "1Gi"}},
}


class StorageDraws(WideStorageDraws):
    """Draws of storage objects and of the volumes of pods."""

    def make_storage(self) -> None:
        zones = sorted({labels[ZONE] for _, labels, _ in self.nodes if ZONE in labels}) or ["z1"]
        self._make_storage_classes(zones)
        self._make_drivers(zones)
        self._make_csi_nodes()
        serial = 0
        for namespace in self.namespaces:
            self.claims[namespace] = []
            for _ in range(self.random.randint(1, 6)):
                serial += 1
                self._make_claim(namespace, serial, zones)
        self._make_free_volumes(zones)
        self._make_attachments()

    def _make_storage_classes(self, zones: list[str]) -> None:
        self._storage_class("imm", "csi.example.com", self.random.choice(["Immediate", None]), zones)
        topology = self.some(zones, 1, 2) if self.chance(0.4) else None
        self._storage_class("wait", "csi.example.com", "WaitForFirstConsumer", zones, topology)
        self._storage_class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer", zones)
        self._storage_class("cap", "cap.example.com", "WaitForFirstConsumer", zones)

    def _storage_class(
        self, name: str, provisioner: str, mode: str | None, zones: list[str], topology: list[str] | None = None
    ) -> None:
        storage_class = self.obj("storage.k8s.io/v1", "StorageClass", name)
        storage_class["provisioner"] = provisioner
        if mode:
            storage_class["volumeBindingMode"] = mode
        if topology:
            storage_class["allowedTopologies"] = [{"matchLabelExpressions": [{"key": ZONE, "values": topology}]}]
        if mode == "WaitForFirstConsumer" and self.wants("widevol") and self.chance(0.3):
            storage_class["allowedTopologies"] = self.allowed_topologies(zones)
        self.add(storage_class)

    def _make_drivers(self, zones: list[str]) -> None:
        random = self.random
        if self.chance(0.8):
            driver = self.obj("storage.k8s.io/v1", "CSIDriver", "cap.example.com")
            driver["spec"] = {"storageCapacity": self.chance(0.85)}
            self.add(driver)
        if self.chance(0.6):
            driver = self.obj("storage.k8s.io/v1", "CSIDriver", "csi.example.com")
            driver["spec"] = {"attachRequired": True}
            if self.chance(0.6):
                driver["spec"]["preventPodSchedulingIfMissing"] = self.chance(0.8)
            self.add(driver)
        for i in range(random.randint(0, 3)):
            capacity = self.obj("storage.k8s.io/v1", "CSIStorageCapacity", f"cap-{i}", "default")
            capacity["storageClassName"] = "cap"
            capacity["capacity"] = random.choice(["1Gi", "5Gi", "10Gi", "100Gi"])
            if self.chance(0.3):
                capacity["maximumVolumeSize"] = random.choice(["1Gi", "5Gi"])
            if self.chance(0.9):
                capacity["nodeTopology"] = random.choice([{}, {"matchLabels": {ZONE: random.choice(zones)}}])
            self.add(capacity)

    def _make_csi_nodes(self) -> None:
        for name in self.node_names():
            if not self.chance(0.85):
                continue
            csinode = self.obj("storage.k8s.io/v1", "CSINode", name)
            drivers = []
            for driver in ("csi.example.com", "cap.example.com", "pd.csi.storage.gke.io"):
                if not self.chance(0.85):
                    continue
                entry: Object = {"name": driver, "nodeID": name, "topologyKeys": [ZONE]}
                if self.chance(0.6):
                    entry["allocatable"] = {"count": self.random.choice([0, 1, 1, 2, 3])}
                drivers.append(entry)
            csinode["spec"] = {"drivers": drivers}
            if self.chance(0.3):
                csinode["metadata"]["annotations"] = {
                    "storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/gce-pd"
                }
            self.add(csinode)

    def _make_free_volumes(self, zones: list[str]) -> None:
        """Volumes that nobody claims yet."""
        random = self.random
        for i in range(random.randint(0, 4)):
            storage_class = random.choice(["wait", "local", "local", ""])
            size = random.choice(["1Gi", "2Gi", "5Gi", "10Gi"])
            pv = self._volume(f"pv-free-{i}", storage_class, size, zones)
            pv["status"] = {"phase": "Available"}
            self.add(pv)

    def _make_attachments(self) -> None:
        random = self.random
        for i in range(random.choice([0, 0, 1, 2])):
            attachment = self.obj("storage.k8s.io/v1", "VolumeAttachment", f"va-{i}")
            pvs = [one["metadata"]["name"] for one in self.objects if one["kind"] == "PersistentVolume"]
            if not pvs:
                break
            attachment["spec"] = {
                "attacher": "csi.example.com",
                "nodeName": random.choice(self.node_names()),
                "source": {"persistentVolumeName": random.choice(pvs)},
            }
            attachment["status"] = {"attached": True}
            self.add(attachment)

    def _volume(self, name: str, storage_class: str, size: str, zones: list[str]) -> Object:
        random = self.random
        pv = self.obj("v1", "PersistentVolume", name)
        spec: Object = {
            "capacity": {"storage": size},
            "accessModes": [random.choice(["ReadWriteOnce", "ReadWriteMany"])],
            "persistentVolumeReclaimPolicy": "Retain",
        }
        if storage_class:
            spec["storageClassName"] = storage_class
        kind = random.choice(["csi", "csi", "local", "host"])
        if storage_class == "local":
            kind = "local"
        affinity = None
        if kind == "csi":
            spec["csi"] = {"driver": "csi.example.com", "volumeHandle": f"h-{name}"}
            if self.chance(0.4):
                affinity = [{"key": ZONE, "operator": "In", "values": self.some(zones, 1, 2)}]
        elif kind == "local":
            spec["local"] = {"path": "/mnt/x"}
            affinity = [{"key": HOST, "operator": "In", "values": [random.choice(self.node_names())]}]
        else:
            spec["hostPath"] = {"path": "/mnt/y"}
        if affinity:
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": affinity}]}}
        if self.chance(0.35):
            key = random.choice([ZONE, ZONE, "failure-domain.beta.kubernetes.io/zone"])
            pv["metadata"]["labels"] = {key: random.choice([*zones, "__".join(zones)])}
        pv["spec"] = spec
        if self.wants("widevol"):
            self.widen_volume(pv, zones)
        return pv

    def _make_claim(self, namespace: str, serial: int, zones: list[str]) -> None:
        random = self.random
        pvc = self.obj("v1", "PersistentVolumeClaim", f"claim-{serial}", namespace)
        pvc["metadata"]["uid"] = f"33333333-0000-0000-0000-{serial:012d}"
        size = random.choice(["1Gi", "2Gi", "5Gi"])
        rare = self.some(["imm", "lost", "pre"], 0, 1)
        kind = random.choice(["bound"] * 6 + ["wait"] * 3 + ["local"] * 3 + ["cap"] * 3 + rare)
        mode = random.choice(["ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany"])
        spec: Object = {"accessModes": [mode], "resources": {"requests": {"storage": size}}}
        pvc["spec"] = spec
        if kind in ("bound", "pre"):
            self._bind(pvc, f"pv-{serial}", zones, completed=kind == "bound")
        elif kind == "lost":
            spec["storageClassName"] = "imm"
            spec["volumeName"] = f"pv-lost-{serial}"
            pvc["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
            pvc["status"] = {"phase": "Lost"}
        else:
            spec["storageClassName"] = kind
            pvc["status"] = {"phase": "Pending"}
            if kind in ("wait", "cap") and self.chance(0.2):
                pvc["metadata"]["annotations"] = {
                    "volume.kubernetes.io/selected-node": random.choice(self.node_names())
                }
            if self.chance(0.1):
                spec["accessModes"] = ["ReadWriteOncePod"]
            elif self.wants("widevol"):
                self.widen_claim(pvc)
        if self.chance(0.03):
            pvc["metadata"]["deletionTimestamp"] = "2026-01-03T00:00:00Z"
            pvc["metadata"]["deletionGracePeriodSeconds"] = 0
            pvc["metadata"]["finalizers"] = ["kubernetes.io/pvc-protection"]
        self.add(pvc)
        self.claims[namespace].append(pvc)

    def _bind(self, pvc: Object, volume: str, zones: list[str], *, completed: bool) -> None:
        """Give the claim a volume that names it; it may be missing."""
        spec, metadata = pvc["spec"], pvc["metadata"]
        size = spec["resources"]["requests"]["storage"]
        spec["storageClassName"] = self.random.choice(["imm", "wait", ""])
        spec["volumeName"] = volume
        pv = self._volume(volume, spec["storageClassName"], size, zones)
        if self.chance(0.35):
            spec["accessModes"] = ["ReadWriteOncePod"]
        pv["spec"]["accessModes"] = spec["accessModes"]
        reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        pv["spec"]["claimRef"] = reference | {name: metadata[name] for name in ("namespace", "name", "uid")}
        pv["status"] = {"phase": "Bound" if completed else "Available"}
        pvc["status"] = {"phase": "Pending"}
        if completed:
            metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
            pvc["status"] = {"phase": "Bound", "accessModes": spec["accessModes"], "capacity": {"storage": size}}
        if self.chance(0.94):
            self.add(pv)

    def use_volumes(self, pod: Object, *, placed: bool) -> None:
        claims = self.claims.get(pod["metadata"]["namespace"], [])
        if placed:
            # A running pod has bound claims.
            claims = [claim for claim in claims if claim["spec"].get("volumeName")]
        volumes: list[Object] = []

        def use(source: Object) -> None:
            volumes.append({"name": f"v{len(volumes)}"} | source)

        for claim in self.some(claims, 0 if placed else 1, 4 if self.wants("widevol") else 2):
            use({"persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}})
        if self.chance(0.2):
            use(self._disk())
        if not placed and self.chance(0.03):
            use({"persistentVolumeClaim": {"claimName": "missing"}})
        if self.chance(0.12):
            use({"emptyDir": {}})
        if self.chance(0.1) and not placed:
            use({"ephemeral": {"volumeClaimTemplate": {"spec": _EPHEMERAL}}})
            if self.chance(0.7):
                self._make_ephemeral_claim(pod, volumes[-1]["name"])
        if volumes:
            pod["spec"]["volumes"] = volumes

    def _disk(self) -> Object:
        """A volume that is no claim and may be refused by VolumeRestrictions."""
        random = self.random
        kind = random.choice(["gce", "aws", "iscsi", "rbd"])
        if kind == "gce":
            name = random.choice(["d1", "d2"])
            return {"gcePersistentDisk": {"pdName": name, "readOnly": self.chance(0.4)}}
        if kind == "aws":
            return {"awsElasticBlockStore": {"volumeID": random.choice(["vol-1", "vol-2"])}}
        if kind == "iscsi":
            target = {"targetPortal": "10.0.0.9:3260", "iqn": "iqn.2026-01.com.example:x", "lun": 0}
            return {"iscsi": target | {"readOnly": self.chance(0.4)}}
        monitors = [random.choice(["10.0.0.7:6789", "10.0.0.8:6789"])]
        image = random.choice(["i1", "i2"])
        return {"rbd": {"monitors": monitors, "image": image, "readOnly": self.chance(0.4)}}

    def _make_ephemeral_claim(self, pod: Object, volume: str) -> None:
        metadata = pod["metadata"]
        pvc = self.obj("v1", "PersistentVolumeClaim", f"{metadata['name']}-{volume}", metadata["namespace"])
        pvc["metadata"]["uid"] = f"44444444-0000-0000-0000-{self.serial:012d}"
        if self.chance(0.8):
            reference = {"apiVersion": "v1", "kind": "Pod", "controller": True, "blockOwnerDeletion": True}
            pvc["metadata"]["ownerReferences"] = [reference | {name: metadata[name] for name in ("name", "uid")}]
        pvc["spec"] = dict(_EPHEMERAL)
        pvc["status"] = {"phase": "Pending"}
        self.add(pvc)
