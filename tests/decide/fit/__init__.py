"""Fit, sentence by sentence: what the issue asks for, and which tests show it.

Beside these, ``tests/fidelity`` draws cases with every one of the constraints below (one theme each) and compares the
answers with those of a real kube-scheduler, filter by filter.

| the issue says | shown by | theme of tests/fidelity |
|---|---|---|
| init containers, sidecars in order | tests/observe/test_pod_requests.py, test_resources | init_containers |
| pod overhead, pod-level resources | tests/observe/test_pod_requests.py, test_resources | overhead, pod_level |
| ephemeral storage, extended resources, pod count | test_resources | resources, extended |
| zero quantities of unknown resources | test_resources | extended |
| host ports (IP and protocol) | test_ports | ports |
| nodeName, nodeSelector | test_node_affinity | node_selector |
| required node affinity, every operator, matchFields | test_node_affinity | node_affinity |
| taints and tolerations, all operators | test_taints | taints |
| DoNotSchedule: maxSkew, minDomains, policies, matchLabelKeys | test_spread | spread |
| affinity and anti-affinity: namespaces, namespaceSelector | test_interpod | affinity, anti_affinity |
| matchLabelKeys, mismatchLabelKeys (merged by the API server) | only there | affinity, anti_affinity |
| the symmetry | test_interpod | symmetry |
| the first pod of a self-affine group | test_interpod | affinity |
| bound volumes' node affinity | test_volumes | bound_claim, zones |
| WaitForFirstConsumer with allowedTopologies | test_volumes | waiting_claim, capacity, ephemeral |
| ReadWriteOncePod | test_claims | one_pod |
| attach limits, a shared volume counts once | test_volume_limits | limits |
| unbound Immediate and missing claims: say so | test_claims | bad_claim |
| new nodes: labels, taints, start-up taints, reserved | test_new_node | |
| new nodes: DaemonSet pods | test_daemons | |
| preferences never block | test_taints, test_spread, test_interpod | wishes |
| preferences are honoured where it costs nothing | test_wishes (for the planner to choose by) | |
| not demand: gated, other scheduler, terminating, ... | test_demand | |
| nominated pods, while their node exists or is coming and fits | test_demand, test_stage | nominated |
| pods that are being resized | tests/observe/test_pod_requests.py | resized |
| disks named in the pod | test_volume_limits | disks |
| features that a node must declare | test_node_affinity | features |
"""
