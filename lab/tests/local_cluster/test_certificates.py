"""The cluster's authority and all it signs, judged by an independent verifier."""

import datetime as dt
import ipaddress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from growth_lab.local_cluster.certificates import SERVICE_IP, USERS, write_certificates
from growth_lab.local_cluster.layout import Layout


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    made = Layout(tmp_path_factory.mktemp("cluster"))
    write_certificates(made)
    return made


def certificate(layout: Layout, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(layout.certificate(name).read_bytes())


def policy(layout: Layout) -> PolicyBuilder:
    return PolicyBuilder().store(Store([certificate(layout, "ca")])).time(dt.datetime.now(dt.UTC))


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", SERVICE_IP])
def test_servers_prove_every_address_they_are_reached_by(layout: Layout, address: str) -> None:
    verifier = policy(layout).build_server_verifier(x509.IPAddress(ipaddress.ip_address(address)))
    assert len(verifier.verify(certificate(layout, "server"), [])) == 2


@pytest.mark.parametrize("name", ["localhost", "kubernetes.default.svc"])
def test_servers_prove_every_name_they_are_reached_by(layout: Layout, name: str) -> None:
    assert policy(layout).build_server_verifier(x509.DNSName(name)).verify(certificate(layout, "server"), [])


def test_a_client_certificate_proves_its_user_and_groups(layout: Layout) -> None:
    for name, (user, groups) in USERS.items():
        subject = certificate(layout, name).subject
        assert [part.value for part in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == [user]
        assert [part.value for part in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == list(groups)
        certificate(layout, name).verify_directly_issued_by(certificate(layout, "ca"))


def test_a_client_certificate_cannot_serve(layout: Layout) -> None:
    verifier = policy(layout).build_server_verifier(x509.DNSName("localhost"))
    with pytest.raises(VerificationError):
        verifier.verify(certificate(layout, "admin"), [])


def test_two_clusters_do_not_trust_each_other(layout: Layout, tmp_path: Path) -> None:
    other = Layout(tmp_path / "other")
    write_certificates(other)
    verifier = policy(layout).build_server_verifier(x509.DNSName("localhost"))
    with pytest.raises(VerificationError):
        verifier.verify(certificate(other, "server"), [])


def test_only_the_owner_can_read_keys(layout: Layout) -> None:
    assert {path.stat().st_mode & 0o777 for path in layout.key("ca").parent.iterdir()} == {0o600}
    assert layout.key("ca").parent.stat().st_mode & 0o777 == 0o700
