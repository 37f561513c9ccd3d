"""For all tests of commands: a server that cannot be reached is asked again at once, as often as ever."""

import pytest

from growth.kube import retry


@pytest.fixture(autouse=True)
def asked_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_FIRST_SECONDS", 0.001)
