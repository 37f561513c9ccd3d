"""Where access is looked for, in which order, and the service account of a pod."""

import os
from pathlib import Path

import pytest

from growth.kube.access import Access, BadAccess, access_in_cluster, find_access
from growth.kube.certificates import day
from tests.kube.kubeconfigs import TODAY, YEAR, a_certificate, a_jwt, a_kubeconfig, write

AUTHORITY = a_certificate("ca")
POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", *POD):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def an_account(home: Path, content: str = "from-kubelet") -> Path:
    write(home / "account" / "token", content)
    write(home / "account" / "ca.crt", AUTHORITY.pem)
    write(home / "account" / "namespace", "growth-system")
    return home / "account"


def a_file(path: Path, server: str) -> Path:
    return write(path, a_kubeconfig(cluster={"server": f"https://{server}"}))


@pytest.mark.parametrize(
    ("present", "found"),
    [
        pytest.param({"named", "variable", "pod", "home"}, "https://named", id="a named file before everything"),
        pytest.param({"variable", "pod", "home"}, "https://variable", id="KUBECONFIG before the pod"),
        pytest.param({"pod", "home"}, "https://10.96.0.1:443", id="the pod before the home folder"),
        pytest.param({"home"}, "https://home", id="the home folder last"),
        pytest.param({"home", "host only"}, "https://home", id="a pod without an account is passed over"),
        pytest.param({"home", "pod", "context"}, "https://home", id="who asks for a context means a kubeconfig"),
    ],
)
def test_the_nearest_word_counts(home: Path, monkeypatch: pytest.MonkeyPatch, present: set[str], found: str) -> None:
    named = a_file(home / "named", "named") if "named" in present else None
    if "variable" in present:
        monkeypatch.setenv("KUBECONFIG", str(a_file(home / "variable", "variable")))
    if present & {"pod", "host only"}:
        for name, value in POD.items():
            monkeypatch.setenv(name, value)
    if "pod" in present:
        an_account(home)
    if "home" in present:
        a_file(home / ".kube" / "config", "home")
    context = "dev" if "context" in present else None
    assert find_access(named, context, home / "account").server == found


@pytest.mark.parametrize(
    ("host", "context", "pod"),
    [
        pytest.param("", None, "this is no pod (KUBERNETES_SERVICE_HOST is not set)", id="on a laptop"),
        pytest.param("10.96.0.1", None, "this pod has no account ({token} does not exist)", id="in a pod"),
        pytest.param("10.96.0.1", "dev", "a pod's own account has no contexts", id="with a context"),
    ],
)
def test_nothing_found_says_where_one_looked(
    monkeypatch: pytest.MonkeyPatch, host: str, context: str | None, pod: str
) -> None:
    account = Path("/no/account")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    with pytest.raises(BadAccess) as caught:
        find_access(None, context, account)
    assert str(caught.value) == (
        "access to a Kubernetes cluster: nothing tells where one is (--kubeconfig is not given, KUBECONFIG is not set, "
        f"{pod.format(token=account / 'token')}, ~/.kube/config does not exist); name a kubeconfig with --kubeconfig"
    )


def test_a_variable_that_names_only_missing_files_is_an_error_and_no_reason_to_look_on(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_file(home / ".kube" / "config", "home")
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join([str(home / "a"), str(home / "b")]))
    with pytest.raises(BadAccess) as caught:
        find_access(None, None)
    assert str(caught.value) == (
        "kubeconfig ~/a:~/b: none of these files exists; name another file with --kubeconfig or KUBECONFIG"
    )


def test_a_user_without_a_home_is_told_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    with pytest.raises(BadAccess, match=r"~/\.kube/config does not exist"):
        find_access(None, None, Path("/no/account"))


async def test_a_pod_uses_its_own_account(home: Path) -> None:
    access = access_in_cluster(POD, an_account(home))
    expected = Access(
        "https://10.96.0.1:443", "in-cluster service account", "growth-system", access.credentials, AUTHORITY.pem
    )
    assert access == expected
    assert (await access.credentials.current()).headers == {"Authorization": "Bearer from-kubelet"}


async def test_a_token_that_kubelet_renews_behind_a_link_is_found_at_the_next_request(home: Path) -> None:
    account = an_account(home)
    for version in ("..2026_1", "..2026_2"):
        write(account / version / "token", f"token of {version}".replace(" ", "-"))
    (account / "token").unlink()
    (account / "..data").symlink_to("..2026_1")
    (account / "token").symlink_to("..data/token")
    credentials = access_in_cluster(POD, account).credentials
    assert (await credentials.current()).headers == {"Authorization": "Bearer token-of-..2026_1"}
    (account / "..data_tmp").symlink_to("..2026_2")
    (account / "..data_tmp").rename(account / "..data")
    assert (await credentials.current()).headers == {"Authorization": "Bearer token-of-..2026_2"}


def test_an_ipv6_service_address_gets_brackets(home: Path) -> None:
    environment = POD | {"KUBERNETES_SERVICE_HOST": "fd00::1"}
    assert access_in_cluster(environment, an_account(home)).server == "https://[fd00::1]:443"


def test_a_pod_without_a_namespace_file_uses_the_default_one(home: Path) -> None:
    account = an_account(home)
    (account / "namespace").unlink()
    assert access_in_cluster(POD, account).namespace == "default"


STEP = "run in a pod with automountServiceAccountToken, or name a kubeconfig with --kubeconfig"
ENDED = TODAY - YEAR


@pytest.mark.parametrize(
    ("environment", "missing", "token", "message"),
    [
        pytest.param(
            {}, "", "x", f": KUBERNETES_SERVICE_HOST is not set, so this is no pod; {STEP}", id="no service host"
        ),
        pytest.param(
            {"KUBERNETES_SERVICE_HOST": "10.96.0.1"},
            "",
            "x",
            f": KUBERNETES_SERVICE_PORT is not set, so this is no pod; {STEP}",
            id="no service port",
        ),
        pytest.param(POD, "token", "x", f": there is no file ~/account/token; {STEP}", id="no token"),
        pytest.param(POD, "ca.crt", "x", f": there is no file ~/account/ca.crt; {STEP}", id="no authority"),
        pytest.param(
            POD,
            "",
            a_jwt(exp=ENDED.timestamp()),
            f", ~/account/token: the token expired on {day(ENDED)}; renew it, or log in again where it came from",
            id="an expired token",
        ),
    ],
)
def test_a_broken_account_is_told_in_one_sentence(
    home: Path, environment: dict[str, str], missing: str, token: str, message: str
) -> None:
    account = an_account(home, token)
    if missing:
        (account / missing).unlink()
    with pytest.raises(BadAccess) as caught:
        access_in_cluster(environment, account)
    assert str(caught.value) == f"in-cluster service account{message}"
