"""Which server, whom to trust and which context: what a kubeconfig says, and every way in which it can be wrong."""

import os
from pathlib import Path

import pytest

from growth.kube.access import Access, BadAccess, access_from_kubeconfig
from growth.kube.certificates import day
from tests.kube.kubeconfigs import TODAY, YEAR, a_certificate, a_kubeconfig, b64, write

AUTHORITY = a_certificate("ca")
ENDED = TODAY - YEAR / 2
EXPIRED_AUTHORITY = a_certificate("old-ca", ends=ENDED)
ANOTHER = "name another file with --kubeconfig or KUBECONFIG"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return tmp_path


def refusal(content: dict[str, object] | str | bytes, home: Path, context: str | None = None) -> str:
    with pytest.raises(BadAccess) as caught:
        access_from_kubeconfig(write(home / "config", content), context)
    return str(caught.value)


def test_everything_a_cluster_entry_says_is_in_the_access(home: Path) -> None:
    cluster: dict[str, object] = {
        "server": "https://[fd00::1]:6443/k8s/clusters/c-1/",
        "certificate-authority-data": b64(AUTHORITY.pem),
        "tls-server-name": "cluster.test",
        "proxy-url": "http://proxy.test:3128",
    }
    context: dict[str, object] = {"cluster": "dev", "user": "alice", "namespace": "team"}
    access = access_from_kubeconfig(write(home / "config", a_kubeconfig(cluster=cluster, context=context)))
    assert access == Access(
        server="https://[fd00::1]:6443/k8s/clusters/c-1",
        origin="kubeconfig ~/config, context dev",
        namespace="team",
        credentials=access.credentials,
        ca=AUTHORITY.pem,
        verify=True,
        tls_server_name="cluster.test",
        proxy_url="http://proxy.test:3128",
    )


def test_what_is_left_out_has_defaults(home: Path) -> None:
    access = access_from_kubeconfig(write(home / "config", a_kubeconfig()))
    assert access == Access("https://10.0.0.1:6443", access.origin, "default", access.credentials)


def test_verification_is_off_only_where_the_kubeconfig_says_so(home: Path) -> None:
    cluster: dict[str, object] = {"server": "https://10.0.0.1", "insecure-skip-tls-verify": True}
    assert not access_from_kubeconfig(write(home / "config", a_kubeconfig(cluster=cluster))).verify


def test_a_relative_path_starts_at_the_kubeconfig(home: Path) -> None:
    write(home / "keys" / "ca.crt", b"# the company's CA, renewed in M\xc3\xa4rz\n" + AUTHORITY.pem)
    cluster: dict[str, object] = {"server": "https://10.0.0.1", "certificate-authority": "../keys/ca.crt"}
    assert access_from_kubeconfig(write(home / "kube" / "config", a_kubeconfig(cluster=cluster))).ca == AUTHORITY.pem


def test_a_bundle_with_one_expired_authority_still_holds(home: Path) -> None:
    data = b64(EXPIRED_AUTHORITY.pem + AUTHORITY.pem)
    cluster: dict[str, object] = {"server": "https://10.0.0.1", "certificate-authority-data": data}
    access = access_from_kubeconfig(write(home / "config", a_kubeconfig(cluster=cluster)))
    assert access.ca == EXPIRED_AUTHORITY.pem + AUTHORITY.pem


def test_the_asked_context_wins_over_the_current_one(home: Path) -> None:
    both = a_kubeconfig()
    both["contexts"] = [
        {"name": "dev", "context": {"cluster": "dev"}},
        {"name": "prod", "context": {"cluster": "dev", "namespace": "shop"}},
    ]
    assert access_from_kubeconfig(write(home / "config", both), "prod").namespace == "shop"


def test_nulls_and_unknown_fields_are_passed_over(home: Path) -> None:
    config = a_kubeconfig(preferences={"colors": True}, extensions=None)
    config["contexts"] = [{"name": "dev", "context": {"cluster": "dev", "user": None, "extensions": [{"name": "x"}]}}]
    config["users"] = None
    assert access_from_kubeconfig(write(home / "config", config)).server == "https://10.0.0.1:6443"


def test_of_several_files_the_first_to_say_something_wins(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = a_kubeconfig(cluster={"server": "https://first"})
    second = a_kubeconfig(cluster={"server": "https://second"}) | {"current-context": "prod"}
    second["contexts"] = [{"name": "prod", "context": {"cluster": "prod", "user": "alice"}}]
    second["clusters"] = [
        {"name": "dev", "cluster": {"server": "https://second"}},
        {"name": "prod", "cluster": {"server": "https://prod", "certificate-authority": "ca.crt"}},
    ]
    write(home / "b" / "ca.crt", AUTHORITY.pem)
    paths = [home / "missing", write(home / "empty", ""), write(home / "a" / "config", first)]
    paths.append(write(home / "b" / "config", second))
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, paths)) + os.pathsep)

    access = access_from_kubeconfig()
    assert (access.server, access.origin) == (
        "https://first",
        "kubeconfig ~/empty:~/a/config:~/b/config, context dev",
    )
    merged = access_from_kubeconfig(context="prod")
    assert (merged.server, merged.ca) == ("https://prod", AUTHORITY.pem)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(
            " \n",
            f"kubeconfig ~/config: the file is empty, expected clusters, users and contexts; {ANOTHER}",
            id="an empty file",
        ),
        pytest.param(
            "clusters:\n\t- x",
            "kubeconfig ~/config: this is not YAML (line 2, column 1: found character that cannot start any token); "
            "mend that line",
            id="a tab in YAML",
        ),
        pytest.param(
            b"\x7fELF\x00\x01\xff",
            f"kubeconfig ~/config: this is not YAML (it is not even text); {ANOTHER}",
            id="a binary file",
        ),
        pytest.param(
            "just words",
            f"kubeconfig ~/config: this is YAML but no kubeconfig, expected `kind: Config`; {ANOTHER}",
            id="a text that happens to be YAML",
        ),
        pytest.param(
            {"kind": "Pod", "spec": {}},
            f"kubeconfig ~/config: kind is 'Pod', expected 'Config' (a kubeconfig); {ANOTHER}",
            id="another manifest",
        ),
        pytest.param(
            {"services": {}},
            f"kubeconfig ~/config: this is YAML but no kubeconfig, it has neither clusters nor contexts; {ANOTHER}",
            id="another tool's YAML",
        ),
        pytest.param(
            a_kubeconfig(user={"token": 12345}),
            "kubeconfig ~/config, users[0].user.token: expected `str`, got `int`; mend that field",
            id="a field of the wrong type names its path",
        ),
        pytest.param(
            a_kubeconfig(clusters={"dev": {}}),
            "kubeconfig ~/config, clusters: expected `array`, got `object`; mend that field",
            id="a list that is none",
        ),
        pytest.param(
            a_kubeconfig(contexts=[{"context": {"cluster": "dev"}}]),
            "kubeconfig ~/config, contexts[0]: object missing required field `name`; mend that field",
            id="an entry without a name",
        ),
        pytest.param(
            a_kubeconfig() | {"current-context": ""},
            "kubeconfig ~/config: no current-context is set, and no context was asked for (there are: dev); choose one "
            "with --context or `kubectl config use-context`",
            id="no current context",
        ),
        pytest.param(
            a_kubeconfig() | {"current-context": "production"},
            "kubeconfig ~/config: current-context is 'production', which does not exist (there are: dev); choose one "
            "of them with --context",
            id="a current context that does not exist",
        ),
        pytest.param(
            {"kind": "Config", "current-context": "dev", "contexts": None},
            "kubeconfig ~/config: current-context is 'dev', which does not exist (there are: none); choose one of them "
            "with --context",
            id="no contexts at all",
        ),
        pytest.param(
            a_kubeconfig(context={"cluster": "gone", "user": "alice"}),
            "kubeconfig ~/config, contexts[dev].context.cluster: it names 'gone', which does not exist (there are: "
            "dev); add that cluster or correct the context",
            id="a missing cluster",
        ),
        pytest.param(
            a_kubeconfig(context={"user": "alice"}),
            "kubeconfig ~/config, contexts[dev].context.cluster: it is missing (there are: dev); add that cluster or "
            "correct the context",
            id="a context without a cluster",
        ),
        pytest.param(
            a_kubeconfig(context={"cluster": "dev", "user": "bob"}),
            "kubeconfig ~/config, contexts[dev].context.user: it names 'bob', which does not exist (there are: alice); "
            "add that user or correct the context",
            id="a missing user",
        ),
    ],
)
def test_a_wrong_file_is_told_in_one_sentence(
    home: Path, content: dict[str, object] | str | bytes, message: str
) -> None:
    assert refusal(content, home) == message


def test_a_misspelt_context_names_the_known_and_the_closest(home: Path) -> None:
    config = a_kubeconfig(
        contexts=[{"name": name, "context": {"cluster": "dev"}} for name in ("staging-eu", "prod-eu", "prod-us")]
    )
    assert refusal(config, home, "prd-eu") == (
        "kubeconfig ~/config: --context is 'prd-eu', which does not exist (there are: prod-eu, prod-us, staging-eu); "
        "did you mean 'prod-eu'?"
    )


def test_of_a_fleet_only_ten_contexts_are_listed(home: Path) -> None:
    config = a_kubeconfig(contexts=[{"name": f"c{n:03}"} for n in range(120)])
    assert refusal(config, home, "other").count("c0") == 10
    assert "c009 and 110 more" in refusal(config, home, "other")


SERVER = "kubeconfig ~/config, clusters[dev].cluster"
URL = "expected a URL such as https://10.0.0.1:6443; correct the server's URL"


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        pytest.param(
            {},
            f"{SERVER}.server: it is missing, expected a URL such as https://10.0.0.1:6443; add the server's URL",
            id="no server",
        ),
        pytest.param({"server": "10.0.0.1:6443"}, f"{SERVER}.server: it is '10.0.0.1:6443', {URL}", id="no scheme"),
        pytest.param({"server": "ftp://a"}, f"{SERVER}.server: it is 'ftp://a', {URL}", id="a foreign scheme"),
        pytest.param({"server": "https://"}, f"{SERVER}.server: it is 'https://', {URL}", id="no host"),
        pytest.param({"server": "https://a:port"}, f"{SERVER}.server: it is 'https://a:port', {URL}", id="no port"),
        pytest.param({"server": "https://[fd00"}, f"{SERVER}.server: it is 'https://[fd00', {URL}", id="half an IPv6"),
        pytest.param(
            {"server": "https://root:hunter2@a"},
            f"{SERVER}.server: it is a URL with a user in it, {URL}",
            id="a password in the URL is not shown",
        ),
        pytest.param(
            {"server": "https://a", "proxy-url": "socks5://me:pw@p:1"},
            f"{SERVER}.proxy-url: it is a socks5 proxy, expected an http or https proxy; name such a proxy or remove "
            "the field",
            id="a SOCKS proxy",
        ),
        pytest.param(
            {"server": "https://a", "proxy-url": "me:pw"},
            f"{SERVER}.proxy-url: it is no URL, expected an http or https proxy; name such a proxy or remove the field",
            id="a proxy that is no URL",
        ),
        pytest.param(
            {"server": "https://a", "certificate-authority-data": "-----BEGIN"},
            f"{SERVER}.certificate-authority-data: this is not base64 (10 characters); encode the PEM file with "
            "`base64 -w0`, or name it in certificate-authority",
            id="an authority that is not base64",
        ),
        pytest.param(
            {"server": "https://a", "certificate-authority-data": b64(b"no certificate")},
            f"{SERVER}.certificate-authority-data: this is no certificate (14 bytes), expected PEM; put the CA of "
            "cluster dev there",
            id="an authority that is no certificate",
        ),
        pytest.param(
            {"server": "https://a", "certificate-authority": "ca.crt"},
            f"{SERVER}.certificate-authority: there is no file ~/ca.crt; correct the path (relative ones start at "
            "the kubeconfig's folder)",
            id="an authority whose file is missing",
        ),
        pytest.param(
            {"server": "https://a", "certificate-authority-data": b64(EXPIRED_AUTHORITY.pem)},
            f"{SERVER}.certificate-authority-data: the certificate authority of cluster dev expired on {day(ENDED)}; "
            "take the cluster's present CA",
            id="an expired authority",
        ),
        pytest.param(
            {
                "server": "https://a",
                "certificate-authority-data": b64(AUTHORITY.pem),
                "insecure-skip-tls-verify": True,
            },
            f"{SERVER}.certificate-authority-data: a certificate authority and insecure-skip-tls-verify contradict "
            "each other; remove insecure-skip-tls-verify",
            id="trust and distrust at once",
        ),
    ],
)
def test_a_wrong_cluster_is_told_in_one_sentence(home: Path, cluster: dict[str, object], message: str) -> None:
    assert refusal(a_kubeconfig(cluster=cluster), home) == message


def test_a_missing_file_is_named(home: Path) -> None:
    with pytest.raises(BadAccess) as caught:
        access_from_kubeconfig(home / "nowhere")
    assert str(caught.value) == f"kubeconfig: there is no file ~/nowhere; {ANOTHER}"


def test_a_directory_is_no_kubeconfig(home: Path) -> None:
    (home / ".kube").mkdir()
    with pytest.raises(BadAccess) as caught:
        access_from_kubeconfig(home / ".kube")
    assert str(caught.value) == f"kubeconfig: ~/.kube is a directory, expected a file; {ANOTHER}"


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        pytest.param(PermissionError(13, "Permission denied"), "no permission to read ~/config", id="forbidden"),
        pytest.param(OSError(5, "Input/output error"), "cannot read ~/config (Input/output error)", id="broken disk"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(
    home: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, problem: str
) -> None:
    path = write(home / "config", a_kubeconfig())

    def read_bytes(_: Path) -> bytes:
        raise error  # root may read everything, so the system's refusal is played

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    with pytest.raises(BadAccess) as caught:
        access_from_kubeconfig(path)
    assert str(caught.value) == f"kubeconfig: {problem}; {ANOTHER}"


def test_a_file_outside_home_is_shown_whole(home: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = write(tmp_path_factory.mktemp("etc") / "config", a_kubeconfig())
    assert elsewhere.is_relative_to(home) is False
    assert access_from_kubeconfig(elsewhere).origin == f"kubeconfig {elsewhere}, context dev"
