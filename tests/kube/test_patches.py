import json
from typing import Any

import pytest

from growth.kube.patches import ApplyPatch, JsonPatch, MergePatch, Patch

NOTE = {"metadata": {"uid": "u1", "annotations": {"growth.dev/backoff": None}}}
STEPS = [{"op": "test", "path": "/spec/x", "value": 1}, {"op": "remove", "path": "/spec/x"}]


@pytest.mark.parametrize(
    ("patch", "content_type", "query", "body"),
    [
        pytest.param(
            MergePatch(NOTE), "application/merge-patch+json", (), NOTE, id="a merge patch keeps the null that removes"
        ),
        pytest.param(JsonPatch(STEPS), "application/json-patch+json", (), STEPS, id="a JSON patch keeps its order"),
        pytest.param(
            ApplyPatch({"spec": {}}),
            "application/apply-patch+yaml",
            (("fieldManager", "growth"), ("force", "true")),
            {"spec": {}},
            id="an apply names its manager and takes fields from others",
        ),
        pytest.param(
            ApplyPatch({"spec": {}}, force=False),
            "application/apply-patch+yaml",
            (("fieldManager", "growth"), ("force", "false")),
            {"spec": {}},
            id="or leaves them where they are",
        ),
    ],
)
def test_on_the_wire(patch: Patch, content_type: str, query: object, body: Any) -> None:  # noqa: ANN401
    assert (patch.content_type, patch.query, json.loads(patch.encode())) == (content_type, query, body)
