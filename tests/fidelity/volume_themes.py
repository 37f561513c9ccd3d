"""Themes with volumes: claims bound and unbound, limits, zones, disks."""

from tests.fidelity.draft import Draft, Json

ZONE = "topology.kubernetes.io/zone"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def bound_claim(draft: Draft) -> None:
    """A volume that is reachable from some nodes only; now and then one that is gone."""
    for _ in range(draft.rng.choice((1, 1, 2))):
        claim = _claim(draft, volume=True)
        use(draft.spec, claim)


def zones(draft: Draft) -> None:
    """Volumes that say by label where they are, on nodes that say it, too, or do not."""
    rng = draft.rng
    for node in draft.nodes:
        if draft.chance(0.8):
            node["metadata"]["labels"][rng.choice((ZONE, ZONE, ZONE, OLD_ZONE))] = rng.choice(("z1", "z2", "z3"))
    labels = {rng.choice((ZONE, ZONE, OLD_ZONE)): rng.choice(("z1", "z1__z2", "z2", "z3____z1", "z1__z2__z3"))}
    use(draft.spec, _claim(draft, volume=True, volume_labels=labels, affinity=False))


def waiting_claim(draft: Draft) -> None:
    """A claim that gets its volume where the pod goes: a free one, or one made in an allowed place."""
    rng = draft.rng
    name = f"{draft.prefix}-wait"
    storage: Json = {
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": rng.choice(("driver.example.com", "kubernetes.io/no-provisioner")),
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    if draft.chance(0.6):
        zones = rng.sample(("a", "b", "c"), rng.choice((1, 2)))
        storage["allowedTopologies"] = [{"matchLabelExpressions": [{"key": draft.key("zone"), "values": zones}]}]
    draft.objects.append(storage)
    if draft.chance(0.3):
        # A small and a large claim for a middling and a large volume: the small one must not take the large one.
        for size in rng.sample(("2Gi", "10Gi"), 2):
            _free_volume(draft, name, size=size, is_sound=True)
        for size in rng.sample(("1Gi", "5Gi"), 2):
            use(draft.spec, _claim(draft, storage_class=name, size=size))
        return
    for _ in range(rng.choice((0, 1, 1, 2))):
        _free_volume(draft, name, size=rng.choice(("1Gi", "2Gi", "10Gi")))
    for _ in range(rng.choice((1, 1, 2))):
        claim = _claim(draft, storage_class=name, size=rng.choice(("1Gi", "1Gi", "2Gi", "5Gi")))
        if draft.chance(0.15):
            draft.objects[-1]["metadata"]["annotations"] = {
                "volume.kubernetes.io/selected-node": draft.name_of(rng.choice(draft.nodes))
            }
        if draft.chance(0.2):
            draft.objects[-1]["spec"]["selector"] = {"matchLabels": {draft.key("tier"): rng.choice(("fast", "slow"))}}
        use(draft.spec, claim)


def capacity(draft: Draft) -> None:
    """A driver that says how much room it has where."""
    rng = draft.rng
    driver, name = f"{draft.prefix}.example.com", f"{draft.prefix}-local"
    draft.objects.append(
        {
            "kind": "CSIDriver",
            "metadata": {"name": driver},
            "spec": {"storageCapacity": draft.chance(0.85), "attachRequired": False},
        }
    )
    draft.objects.append(
        {
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": driver,
            "volumeBindingMode": "WaitForFirstConsumer",
        }
    )
    for number in range(rng.choice((0, 1, 2, 3, 4))):
        selector: Json = {"matchLabels": {draft.key("zone"): rng.choice("abc")}}
        draft.objects.append(
            {
                "kind": "CSIStorageCapacity",
                "metadata": {"name": f"room-{number}", "namespace": draft.home},
                "storageClassName": name if draft.chance(0.9) else f"{name}-other",
                **({"nodeTopology": selector} if draft.chance(0.9) else {}),
                **({"capacity": rng.choice(("1Gi", "10Gi", "10Gi"))} if draft.chance(0.9) else {}),
                **({"maximumVolumeSize": rng.choice(("1Gi", "4Gi"))} if draft.chance(0.3) else {}),
            }
        )
    for _ in range(rng.choice((1, 1, 2))):
        use(draft.spec, _claim(draft, storage_class=name, size=rng.choice(("1Gi", "3Gi", "8Gi"))))


def bad_claim(draft: Draft) -> None:
    """Claims that no node can help: missing, lost, going, not bound by themselves; beside good ones."""
    rng = draft.rng
    trouble = rng.choice(
        ("missing", "lost", "immediate", "no class", "unknown class", "prebound", "no volume", *("none",) * 9)
    )
    name = f"{draft.prefix}-now"
    if trouble == "missing":
        use(draft.spec, "nobody")
    elif trouble == "lost":
        claim = _claim(draft, volume=True)
        draft.object_status[claim] = {"phase": "Lost"}
        use(draft.spec, claim)
    elif trouble == "immediate":
        draft.objects.append({"kind": "StorageClass", "metadata": {"name": name}, "provisioner": "driver.example.com"})
        use(draft.spec, _claim(draft, storage_class=name))
    elif trouble in ("no class", "unknown class"):
        use(draft.spec, _claim(draft, storage_class="" if trouble == "no class" else "nobody"))
    elif trouble in ("prebound", "no volume"):
        claim = _claim(draft, volume=True, affinity=False)
        if trouble == "prebound":
            draft.objects[-1]["metadata"].pop("annotations")
        else:
            draft.objects[-1]["spec"]["volumeName"] += "-gone"
        use(draft.spec, claim)
    if draft.chance(0.5) or trouble == "none":
        use(draft.spec, _claim(draft, volume=True, affinity=draft.chance(0.5)))


def one_pod(draft: Draft) -> None:
    """A claim that only one pod may use."""
    claim = _claim(draft, volume=True, affinity=draft.chance(0.3), modes=["ReadWriteOncePod"])
    use(draft.spec, claim)
    if draft.chance(0.5):
        there = draft.add_existing(700 + draft.number())
        use(there.manifest["spec"], claim)


def limits(draft: Draft) -> None:
    """How many volumes of a driver a node holds: shared ones once, unbound ones for their class, attachments too."""
    rng = draft.rng
    driver = "attach.example.com"
    name = f"{draft.prefix}-attach"
    draft.objects.append(
        {
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": driver,
            "volumeBindingMode": "WaitForFirstConsumer",
        }
    )
    shared = [_claim(draft, volume=True, affinity=False, driver=driver) for _ in range(2)]
    for node in draft.nodes:
        if draft.chance(0.9):
            entry: Json = {"name": driver, "nodeID": draft.name_of(node), "topologyKeys": None}
            if draft.chance(0.9):
                entry["allocatable"] = {"count": rng.choice((0, 1, 1, 2, 2, 3))}
            draft.objects.append(
                {"kind": "CSINode", "metadata": {"name": draft.name_of(node)}, "spec": {"drivers": [entry]}}
            )
        used: list[str] = []
        for _ in range(rng.choice((0, 1, 1, 2))):
            there = draft.add_existing(800 + draft.number(), draft.name_of(node))
            there.manifest["metadata"]["namespace"] = draft.home
            claim = (
                rng.choice(shared) if draft.chance(0.5) else _claim(draft, volume=True, affinity=False, driver=driver)
            )
            use(there.manifest["spec"], claim)
            used.append(claim)
        if draft.chance(0.6):
            volume = f"{draft.prefix}-{rng.choice([*used, *used, *shared])}"
            draft.objects.append(
                {
                    "kind": "VolumeAttachment",
                    "metadata": {"name": f"{draft.name_of(node)}-{draft.number()}"},
                    "spec": {
                        "attacher": driver,
                        "nodeName": draft.name_of(node),
                        "source": {"persistentVolumeName": volume},
                    },
                }
            )
    for _ in range(rng.choice((1, 1, 2))):
        choice = rng.random()
        if choice < 0.35:
            claim = rng.choice(shared)
        elif choice < 0.6:
            claim = _claim(draft, storage_class=name)
        else:
            claim = _claim(draft, volume=True, affinity=False, driver=driver)
        use(draft.spec, claim)


def disks(draft: Draft) -> None:
    """Disks named in the pod itself, which pods of one node cannot share as they like."""
    rng = draft.rng

    def disk() -> Json:
        read_only = draft.chance(0.35)
        rbd: Json = {
            "rbd": {
                "monitors": rng.sample(("m1", "m2", "m3"), 2),
                "image": rng.choice(("i1", "i2")),
                "readOnly": read_only,
                **({"pool": "p2"} if draft.chance(0.2) else {}),
            }
        }
        return rng.choice(
            (
                rbd,
                rbd,
                {"gcePersistentDisk": {"pdName": rng.choice(("d1", "d2")), "readOnly": read_only}},
                {"awsElasticBlockStore": {"volumeID": rng.choice(("v1", "v2"))}},
                {
                    "iscsi": {
                        "targetPortal": "10.0.0.1:3260",
                        "iqn": f"iqn.2026-03.com.example:{rng.choice(('s1', 's2'))}",
                        "lun": 0,
                        "readOnly": read_only,
                    }
                },
            )
        )

    def like(one: Json) -> Json:
        """The same disk, but perhaps for one thing."""
        ((kind, fields),) = one.items()
        copy = dict(fields)
        change = rng.choice(("nothing", "reading", "place", "place"))
        if change == "reading" and "readOnly" in copy:
            copy["readOnly"] = not copy["readOnly"]
        if change == "place" and kind == "rbd":
            copy |= rng.choice(({"monitors": ["m4"]}, {"pool": "p3"}, {"image": "i3"}))
        return {kind: copy}

    mine = [disk() for _ in range(rng.choice((1, 1, 2)))]
    draft.spec["volumes"] = [{"name": f"disk-{number}", **one} for number, one in enumerate(mine)]
    for node in draft.nodes:
        if draft.chance(0.7):
            there = draft.add_existing(900 + draft.number(), draft.name_of(node))
            there.manifest["spec"]["volumes"] = [{"name": "disk", **like(rng.choice(mine))}]


def ephemeral(draft: Draft) -> None:
    """A claim that is made for the pod, by its name, and must be its own."""
    rng = draft.rng
    name = f"{draft.prefix}-short"
    draft.objects.append(
        {
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": "driver.example.com",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowedTopologies": [
                {"matchLabelExpressions": [{"key": draft.key("zone"), "values": [rng.choice("ab")]}]}
            ],
        }
    )
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": name,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    draft.spec["volumes"] = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]
    draft.spec["schedulingGates"] = [{"name": "example.com/wait"}]
    if draft.chance(0.9):
        owner = "pod" if draft.chance(0.9) else "stranger"
        claim_name = f"{draft.pod['metadata']['name']}-scratch"
        draft.late.append(
            {
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": claim_name, "namespace": draft.home, "owner": owner},
                "spec": spec,
            }
        )


def use(spec: Json, claim: str) -> None:
    """Give a pod a volume that is this claim."""
    volumes = spec.setdefault("volumes", [])
    volumes.append({"name": f"v{len(volumes)}", "persistentVolumeClaim": {"claimName": claim}})


def _claim(
    draft: Draft,
    *,
    volume: bool = False,
    storage_class: str = "",
    size: str = "1Gi",
    modes: list[str] | None = None,
    volume_labels: dict[str, str] | None = None,
    affinity: bool = True,
    driver: str = "driver.example.com",
) -> str:
    """A claim in the pod's namespace, with its volume if it is bound; the claim is the last object added."""
    name = f"claim-{draft.number()}"
    volume_name = f"{draft.prefix}-{name}"
    modes = modes or ["ReadWriteOnce"]
    if volume:
        zones = draft.rng.sample(("a", "b", "c"), draft.rng.choice((1, 2)))
        where = {"matchExpressions": [{"key": draft.key("zone"), "operator": "In", "values": zones}]}
        draft.objects.append(
            {
                "kind": "PersistentVolume",
                "metadata": {"name": volume_name, "labels": volume_labels or {}},
                "spec": {
                    "capacity": {"storage": size},
                    "accessModes": modes,
                    "csi": {"driver": driver, "volumeHandle": volume_name},
                    "claimRef": {"namespace": draft.home, "name": name},
                    "storageClassName": storage_class,
                    **({"nodeAffinity": {"required": {"nodeSelectorTerms": [where]}}} if affinity else {}),
                },
            }
        )
    draft.objects.append(
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name,
                "namespace": draft.home,
                **({"annotations": dict(BOUND)} if volume else {}),
            },
            "spec": {
                "accessModes": modes,
                "resources": {"requests": {"storage": size}},
                "storageClassName": storage_class,
                **({"volumeName": volume_name} if volume else {}),
            },
        }
    )
    return name


def _free_volume(draft: Draft, storage_class: str, *, size: str, is_sound: bool = False) -> None:
    """A volume that nobody has, with at most one defect."""
    rng = draft.rng
    name = f"{draft.prefix}-free-{draft.number()}"
    defect = "" if is_sound else rng.choice(("", "", "place", "place", "phase", "mode", "access", "class"))
    zones = rng.sample(("a", "b", "c"), rng.choice((1, 2)))
    where = {"matchExpressions": [{"key": draft.key("zone"), "operator": "In", "values": zones}]}
    draft.objects.append(
        {
            "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": {draft.key("tier"): rng.choice(("fast", "slow"))}},
            "spec": {
                "capacity": {"storage": size},
                "accessModes": ["ReadOnlyMany"] if defect == "access" else ["ReadWriteOnce", "ReadOnlyMany"],
                "csi": {"driver": "driver.example.com", "volumeHandle": name},
                "storageClassName": f"{storage_class}-other" if defect == "class" else storage_class,
                "volumeMode": "Block" if defect == "mode" else "Filesystem",
                **({"nodeAffinity": {"required": {"nodeSelectorTerms": [where]}}} if defect == "place" else {}),
            },
        }
    )
    draft.object_status[name] = {"phase": "Released" if defect == "phase" else "Available"}


VOLUME_THEMES = {
    theme.__name__: theme
    for theme in (
        bound_claim,
        zones,
        waiting_claim,
        capacity,
        bad_claim,
        one_pod,
        limits,
        disks,
        ephemeral,
    )
}
