"""Themes without volumes: each makes one kind of constraint matter, so that about half of the pods find a node."""

from tests.fidelity.draft import APPS, Draft, Json

GPU = "example.com/gpu"
RUNTIME_CLASS = "fidelity-overhead"
OVERHEAD = {"cpu": "250m", "memory": "128Mi"}


def plain(draft: Draft) -> None:
    """A pod that asks for little, or for nothing at all."""
    draft.main["resources"]["requests"] = draft.rng.choice(({}, {"cpu": "100m"}, {"memory": "64Mi"}))


def resources(draft: Draft) -> None:
    """CPU, memory, disk and pod slots, down to the last thousandth."""
    rng = draft.rng
    for node in draft.nodes:
        room = node["status"]["allocatable"]
        room["pods"] = rng.choice(("0", "2", "3", "4", "110", "110", "110"))
        if draft.chance(0.6):
            room["ephemeral-storage"] = rng.choice(("1Gi", "10Gi", "1.5Gi"))
        node["status"]["capacity"] = dict(room)
        for _ in range(rng.choice((0, 1, 2))):
            wanted = {
                "cpu": rng.choice(("1", "999m", "500m", "1500m", "0.0005")),
                "memory": rng.choice(("1Gi", "0", "0")),
            }
            draft.add_existing(100 + draft.number(), draft.name_of(node), **wanted)
    wanted = {"cpu": rng.choice(("0", "1m", "500m", "1", "1001m", "1", "2500m", "0.0001"))}
    if draft.chance(0.6):
        wanted["memory"] = rng.choice(("0", "512Mi", "1Gi", "2Gi", "2147483648", "2147483649", "3Gi", "4G"))
    if draft.chance(0.35):
        wanted["ephemeral-storage"] = rng.choice(("0", "1Gi", "5Gi", "1.4Gi"))
    draft.main["resources"]["requests"] = wanted


def extended(draft: Draft) -> None:
    """Devices, huge pages, and zero of a resource that nobody has."""
    rng = draft.rng
    for node in draft.nodes:
        room = node["status"]["allocatable"]
        if draft.chance(0.6):
            room[GPU] = rng.choice(("0", "1", "2", "4"))
        if draft.chance(0.4):
            room["hugepages-2Mi"] = rng.choice(("4Mi", "8Mi"))
        node["status"]["capacity"] = dict(room)
        if draft.chance(0.4) and GPU in room:
            there = draft.add_existing(200 + draft.number(), draft.name_of(node))
            amounts = {GPU: "1"}
            there.manifest["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    choice = rng.random()
    amounts: Json = {GPU: rng.choice(("0", "1", "1", "2", "3"))}
    if choice < 0.2:
        amounts = {"example.com/nobody-has-it": rng.choice(("0", "1"))}
    elif choice < 0.4:
        amounts = {"hugepages-2Mi": rng.choice(("2Mi", "4Mi", "6Mi")), "cpu": "100m", "memory": "64Mi"}
    draft.main["resources"] = {"requests": amounts, "limits": dict(amounts)}


def init_containers(draft: Draft) -> None:
    """Init containers and sidecars, whose order decides what is needed at once."""
    rng = draft.rng
    containers: list[Json] = []
    for number in range(rng.choice((1, 2, 3, 4))):
        wanted = {"cpu": rng.choice(("100m", "500m", "900m", "1500m")), "memory": rng.choice(("256Mi", "1Gi"))}
        sidecar = {"restartPolicy": "Always"} if draft.chance(0.5) else {}
        containers.append({"name": f"i{number}", "image": "main", "resources": {"requests": wanted}, **sidecar})
    draft.spec["initContainers"] = containers
    draft.main["resources"]["requests"] = {"cpu": rng.choice(("100m", "1", "1500m"))}
    for there in rng.sample(draft.existing, min(2, len(draft.existing))):
        there.manifest["spec"]["initContainers"] = [
            {"name": "i", "image": "main", "restartPolicy": "Always", "resources": {"requests": {"cpu": "700m"}}}
        ]


def pod_level(draft: Draft) -> None:
    """Requests of the pod as a whole, which replace those of its containers."""
    rng = draft.rng
    draft.main["resources"]["requests"] = {"cpu": rng.choice(("100m", "500m"))}
    pod: Json = {"requests": {"cpu": rng.choice(("500m", "1", "1500m", "3"))}}
    if draft.chance(0.5):
        pod["requests"]["memory"] = rng.choice(("1Gi", "3Gi", "5Gi"))
    if draft.chance(0.3):
        pod = {"limits": {"cpu": rng.choice(("500m", "2", "5")), "memory": rng.choice(("1Gi", "3Gi", "5Gi"))}}
    draft.spec["resources"] = pod
    for there in rng.sample(draft.existing, min(2, len(draft.existing))):
        there.manifest["spec"]["resources"] = {"requests": {"cpu": rng.choice(("1", "1500m"))}}


def overhead(draft: Draft) -> None:
    """What the pod's sandbox needs on top, set through a RuntimeClass."""
    for there in draft.rng.sample(draft.existing, min(3, len(draft.existing))):
        there.manifest["spec"]["runtimeClassName"] = RUNTIME_CLASS
    draft.spec["runtimeClassName"] = RUNTIME_CLASS
    draft.main["resources"] = {
        "requests": {"cpu": draft.rng.choice(("0", "750m", "751m", "1750m", "1800m", "3750m"))},
    }


def resized(draft: Draft) -> None:
    """Pods that hold more or less than their spec says, because they are being resized."""
    rng = draft.rng
    for node in draft.nodes:
        there = draft.add_existing(300 + draft.number(), draft.name_of(node), cpu=rng.choice(("200m", "800m")))
        there.fate = ""
        held = {"name": "main", "image": "main", "imageID": "", "ready": True, "restartCount": 0}
        requests = {"cpu": rng.choice(("100m", "500m", "900m"))}
        there.status = {
            "containerStatuses": [
                {
                    **held,
                    **({"resources": {"requests": requests}} if draft.chance(0.8) else {}),
                    **({"allocatedResources": {"cpu": rng.choice(("100m", "700m"))}} if draft.chance(0.6) else {}),
                }
            ],
        }
        if draft.chance(0.3):
            there.status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
    draft.main["resources"]["requests"] = {"cpu": rng.choice(("100m", "300m", "500m", "1200m", "3200m"))}


def ports(draft: Draft) -> None:
    """Host ports by number, protocol and address."""
    rng = draft.rng

    def some(count: int) -> list[Json]:
        found: dict[tuple[object, ...], Json] = {}
        for _ in range(count):
            port: Json = {"containerPort": rng.choice((80, 443)), "hostPort": rng.choice((8080, 8443))}
            port["protocol"] = rng.choice(("TCP", "TCP", "UDP"))
            address = rng.choice(("", "", "127.0.0.1", "0.0.0.0", "10.0.0.1", "::"))  # noqa: S104
            if address:
                port["hostIP"] = address
            found[port["hostPort"], port["protocol"], address] = port
        return list(found.values())

    for node in draft.nodes:
        if draft.chance(0.8):
            there = draft.add_existing(400 + draft.number(), draft.name_of(node))
            there.manifest["spec"]["containers"][0]["ports"] = some(rng.choice((1, 2)))
    draft.main["ports"] = some(rng.choice((1, 2)))
    if draft.chance(0.3):
        sidecar = {"restartPolicy": "Always"} if draft.chance(0.5) else {}
        containers = draft.spec.setdefault("initContainers", [])
        containers.append({"name": "listener", "image": "main", "ports": some(1), **sidecar})
    if draft.chance(0.2):
        draft.spec["hostNetwork"] = True
        for port in draft.main["ports"]:
            port["containerPort"] = port["hostPort"]
        for container in draft.spec.get("initContainers", ()):
            for port in container.get("ports", ()):
                port["containerPort"] = port["hostPort"]


def node_selector(draft: Draft) -> None:
    """Labels that the node must have; mostly such that some node has them."""
    rng = draft.rng
    wanted = {draft.key("disk"): "ssd", draft.key("zone"): rng.choice(("a", "b")), draft.key("size"): "5"}
    if draft.chance(0.6):
        has: dict[str, str] = rng.choice(draft.nodes)["metadata"]["labels"]
        wanted = {key: value for key, value in has.items() if key.startswith(draft.prefix)}
    keys = rng.sample(list(wanted), rng.choice((1, 1, 2)))
    draft.spec["nodeSelector"] = {key: wanted[key] for key in keys}


def node_affinity(draft: Draft) -> None:
    """Required affinity: alternatives of conditions with every operator, on labels and on the name."""
    rng = draft.rng

    def expression() -> Json:
        name = rng.choice(("disk", "zone", "zone", "size", "none"))
        key, values = draft.key(name), {"disk": ("ssd", "hdd"), "zone": ("a", "b", "c")}.get(name, ("1", "5", "x"))
        operator = rng.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
        if operator in ("Gt", "Lt"):
            return {"key": draft.key("size"), "operator": operator, "values": [rng.choice(("0", "1", "4", "5"))]}
        if operator in ("Exists", "DoesNotExist"):
            return {"key": key, "operator": operator}
        return {"key": key, "operator": operator, "values": rng.sample(values, rng.choice((1, 2)))}

    def term() -> Json:
        found: Json = {}
        if draft.chance(0.85):
            found["matchExpressions"] = [expression() for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        if not found or draft.chance(0.25):
            name = rng.choice([*map(draft.name_of, draft.nodes), "nobody"])
            operator = rng.choice(("In", "In", "NotIn"))
            found["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": [name]}]
        if draft.chance(0.05):
            found = {}
        return found

    terms = [term() for _ in range(rng.choice((1, 1, 2, 3)))]
    affinity = draft.spec.setdefault("affinity", {})
    affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    if draft.chance(0.2):
        node_selector(draft)


def taints(draft: Draft) -> None:
    """Taints of every effect and tolerations of every form; cordoned nodes."""
    rng = draft.rng
    for node in draft.nodes:
        for key in rng.sample(("dedicated", "gpu", "spot"), rng.choice((0, 1, 1, 2))):
            effect = rng.choice(("NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule"))
            node["spec"]["taints"].append(
                {"key": draft.key(key), "effect": effect, **({"value": rng.choice("xy")} if draft.chance(0.7) else {})}
            )
        if draft.chance(0.15):
            node["spec"]["unschedulable"] = True
    for _ in range(rng.choice((0, 1, 1, 2))):
        toleration: Json = {"key": draft.key(rng.choice(("dedicated", "gpu", "spot")))}
        form = rng.random()
        if form < 0.5:
            toleration |= {"operator": "Exists"}
        elif form < 0.9:
            toleration |= {"value": rng.choice("xy")} | ({"operator": "Equal"} if draft.chance(0.5) else {})
        if draft.chance(0.6):
            toleration["effect"] = rng.choice(("NoSchedule", "NoExecute"))
        if toleration.get("effect") == "NoExecute" and draft.chance(0.5):
            toleration["tolerationSeconds"] = 5
        draft.spec["tolerations"].append(toleration)
    if draft.chance(0.1):
        # Tolerates everything, so the nodes of other cases must be kept out in another way.
        draft.spec["tolerations"] = [{"operator": "Exists"}]
        draft.spec.setdefault("nodeSelector", {})
        for node in draft.nodes:
            node["metadata"]["labels"][draft.key("case")] = "yes"
        draft.spec["nodeSelector"][draft.key("case")] = "yes"
    if draft.chance(0.2):
        draft.spec["tolerations"].append({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"})


def spread(draft: Draft) -> None:
    """Topology spread with all its fields."""
    rng = draft.rng
    constraints: dict[str, Json] = {}
    for _ in range(rng.choice((1, 1, 2, 2))):
        constraint: Json = {
            "maxSkew": rng.choice((1, 1, 1, 2)),
            "topologyKey": draft.topology_key(),
            "whenUnsatisfiable": "DoNotSchedule" if draft.chance(0.92) else "ScheduleAnyway",
        }
        if draft.chance(0.97):
            app = draft.key("app")
            own = {"matchLabels": {app: draft.pod["metadata"]["labels"][app]}}
            constraint["labelSelector"] = own if draft.chance(0.6) else draft.a_selector()
        if constraint["whenUnsatisfiable"] == "DoNotSchedule" and draft.chance(0.3):
            constraint["minDomains"] = rng.choice((1, 2, 3, 4, 5))
        if draft.chance(0.5):
            constraint["nodeAffinityPolicy"] = rng.choice(("Honor", "Ignore"))
        if draft.chance(0.5):
            constraint["nodeTaintsPolicy"] = rng.choice(("Honor", "Ignore"))
        if "labelSelector" in constraint and draft.chance(0.25):
            used = str(constraint["labelSelector"])
            keys = [draft.key(name) for name in ("version", "none") if draft.key(name) not in used]
            if keys:
                constraint["matchLabelKeys"] = keys
        constraints[constraint["topologyKey"] + constraint["whenUnsatisfiable"]] = constraint
    draft.spec["topologySpreadConstraints"] = list(constraints.values())
    if draft.chance(0.6):
        # Mostly even, or half empty, so that one domain more or one pod less decides.
        share = rng.choice((0.5, 0.85))
        for node in draft.nodes:
            if draft.chance(share):
                _twin(draft, draft.name_of(node))
    else:
        _crowd(draft)
    if draft.chance(0.45):
        node_selector(draft)


def _twin(draft: Draft, node: str) -> None:
    """A pod with the labels of the one in question; some of them are leaving, or live elsewhere."""
    there = draft.add_existing(650 + draft.number(), node)
    meta = there.manifest["metadata"]
    meta["labels"] = dict(draft.pod["metadata"]["labels"])
    meta["namespace"] = draft.home if draft.chance(0.85) else draft.other
    there.fate = "terminating" if draft.chance(0.1) else ""


def affinity(draft: Draft) -> None:
    """Pods to be near to, the first of a group, and namespaces of every form."""
    _crowd(draft)
    terms = [_term(draft) for _ in range(draft.rng.choice((1, 1, 1, 2)))]
    wanted = draft.spec.setdefault("affinity", {})
    wanted["podAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}


def anti_affinity(draft: Draft) -> None:
    """Pods to be far from."""
    _crowd(draft)
    terms = [_term(draft) for _ in range(draft.rng.choice((1, 1, 2)))]
    wanted = draft.spec.setdefault("affinity", {})
    wanted["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}


def symmetry(draft: Draft) -> None:
    """Pods that are there and keep others away; wishes that must not matter."""
    _crowd(draft)
    for there in draft.existing:
        if draft.chance(0.4):
            terms = [_term(draft)]
            there.manifest["spec"]["affinity"] = {
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}
            }
        elif draft.chance(0.1):
            terms = [{"weight": 50, "podAffinityTerm": _term(draft)}]
            there.manifest["spec"]["affinity"] = {
                "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}
            }


def nominated(draft: Draft) -> None:
    """Room that is kept for pods which were nominated: for our equals and betters, not for lesser ones."""
    rng = draft.rng
    for node in rng.sample(draft.nodes, (len(draft.nodes) + 1) // 2):
        there = draft.add_existing(500 + draft.number())
        there.fate, there.node = "nominated", draft.name_of(node)
        spec = there.manifest["spec"]
        spec.pop("nodeName")
        spec["containers"][0]["resources"]["requests"] = {"cpu": rng.choice(("1", "2"))}
        # It finds no node by itself and, because its class never preempts, keeps its nomination.
        spec["nodeSelector"] = {draft.key("nowhere"): "yes"}
        spec["priorityClassName"] = rng.choice(("fidelity-high", "fidelity-low"))
    draft.main["resources"]["requests"] = {"cpu": rng.choice(("500m", "1", "1500m", "3"))}


def features(draft: Draft) -> None:
    """Things that only some kubelets can do."""
    for node in draft.nodes:
        if draft.chance(0.5):
            node["status"]["declaredFeatures"] = ["RestartAllContainersOnContainerExits"]
    draft.main["restartPolicy"] = "Never"
    draft.main["restartPolicyRules"] = [
        {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    ]


def wishes(draft: Draft) -> None:
    """Preferences of every kind, which never keep a pod from a node."""
    weighted = {"weight": 100, "podAffinityTerm": _term(draft)}
    preference = {"matchExpressions": [{"key": draft.key("none"), "operator": "Exists"}]}
    wanted = draft.spec.setdefault("affinity", {})
    for kind, wish in (
        ("podAffinity", weighted),
        ("podAntiAffinity", weighted),
        ("nodeAffinity", {"weight": 100, "preference": preference}),
    ):
        wanted.setdefault(kind, {})["preferredDuringSchedulingIgnoredDuringExecution"] = [wish]


def _crowd(draft: Draft) -> None:
    """A few more pods, so that there is somebody to be near to or far from."""
    for _ in range(draft.rng.choice((0, 0, 2, 4))):
        there = draft.add_existing(600 + draft.number())
        there.manifest["metadata"]["labels"][draft.key("app")] = draft.rng.choice(APPS[:2])


def _term(draft: Draft) -> Json:
    rng = draft.rng
    term: Json = {"topologyKey": draft.topology_key()}
    if draft.chance(0.96):
        term["labelSelector"] = draft.a_selector()
    choice = rng.random()
    if choice < 0.2:
        term["namespaces"] = rng.sample((draft.home, draft.other, f"{draft.prefix}-gone"), rng.choice((1, 2)))
    if 0.1 < choice < 0.4:
        team = draft.key("team")
        term["namespaceSelector"] = rng.choice(
            (
                {},
                {"matchLabels": {team: rng.choice("xy")}},
                {"matchExpressions": [{"key": team, "operator": "NotIn", "values": [rng.choice("xy")]}]},
                {"matchExpressions": [{"key": team, "operator": "Exists"}]},
                {"matchExpressions": [{"key": team, "operator": "DoesNotExist"}]},
            )
        )
    if "labelSelector" in term and draft.chance(0.2):
        version = draft.key("version")
        if version not in str(term["labelSelector"]):
            term[rng.choice(("matchLabelKeys", "mismatchLabelKeys"))] = [version]
    return term


THEMES = {
    theme.__name__: theme
    for theme in (
        plain,
        resources,
        extended,
        init_containers,
        pod_level,
        overhead,
        resized,
        ports,
        node_selector,
        node_affinity,
        taints,
        spread,
        affinity,
        anti_affinity,
        symmetry,
        nominated,
        features,
        wishes,
    )
}
