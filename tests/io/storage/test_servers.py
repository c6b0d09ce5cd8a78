"""Servers and credentials of object stores, from the environment."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyarrow.fs import AzureFileSystem, GcsFileSystem

from tclose_spark.io.storage.stores import (
    AMAZON,
    AZURE,
    GOOGLE,
    AzureAccount,
    delta_options,
    open_bucket,
)

KEY = "a2V5"
PLACE = "people@acme.dfs.core.windows.net"


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*AMAZON, AZURE, GOOGLE):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("rest", "server"),
    [
        ("", "https://acme.blob.core.windows.net"),
        (";EndpointSuffix=core.chinacloudapi.cn", "https://acme.blob.core.chinacloudapi.cn"),
        (";BlobEndpoint=http://host:10000/acme", "http://host:10000/acme"),
    ],
)
def test_an_azure_account_is_that_of_the_connection_string(
    monkeypatch: pytest.MonkeyPatch,
    rest: str,
    server: str,
) -> None:
    monkeypatch.setenv(
        AZURE,
        f"DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={KEY}=={rest}",
    )
    account = AzureAccount.of(PLACE)
    assert account is not None
    assert (account.key, account.signature, account.server.geturl()) == (f"{KEY}==", None, server)
    assert KEY not in repr(account)
    assert AzureAccount.of("people@other.dfs.core.windows.net") is None
    plain = {"allow_http": "true"} if server.startswith("http:") else {}
    assert account.delta_options == {
        "azure_storage_account_name": "acme",
        "azure_storage_account_key": f"{KEY}==",
        "azure_storage_endpoint": server,
        **plain,
    }
    files, path = open_bucket(f"abfss://{PLACE}")
    assert path == "people"
    assert files.equals(account.open())
    host = f"{account.server.netloc.removeprefix('acme')}"
    assert files.equals(
        AzureFileSystem(
            "acme",
            account_key=f"{KEY}==",
            blob_storage_authority=host,
            blob_storage_scheme=account.server.scheme,
            dfs_storage_authority=host.replace("blob", "dfs"),
            dfs_storage_scheme=account.server.scheme,
        ),
    )


@pytest.mark.parametrize(
    "account_of",
    ["AccountName=acme", "BlobEndpoint=https://acme.blob.core.windows.net/"],
)
def test_an_azure_account_by_a_shared_access_signature(
    monkeypatch: pytest.MonkeyPatch,
    account_of: str,
) -> None:
    """Its signature has signs of equality; pyarrow appends it to URLs. Azure's portal names the
    server alone.
    """
    monkeypatch.setenv(AZURE, f"{account_of};SharedAccessSignature=sv=2020-08-04&sig=a%3D")
    assert AzureAccount.of("people@other.dfs.core.windows.net") is None
    account = AzureAccount.of(PLACE)
    assert account is not None
    assert (account.key, account.signature) == (None, "sv=2020-08-04&sig=a%3D")
    assert account.open().equals(AzureFileSystem("acme", sas_token="?sv=2020-08-04&sig=a%3D"))
    assert account.delta_options == {
        "azure_storage_account_name": "acme",
        "azure_storage_sas_key": "sv=2020-08-04&sig=a%3D",
        "azure_storage_endpoint": "https://acme.blob.core.windows.net",
    }


@pytest.mark.parametrize("server", ["host:4443", "http://host:4443"])
def test_a_server_in_place_of_googles_takes_requests_without_credentials(
    monkeypatch: pytest.MonkeyPatch,
    server: str,
) -> None:
    monkeypatch.setenv(GOOGLE, server)
    files, path = open_bucket("gs://people")
    assert path == "people"
    assert isinstance(files, GcsFileSystem)
    assert delta_options("gs://people/table", files) == {
        "google_base_url": "http://host:4443",
        "google_skip_signature": "true",
        "allow_http": "true",
    }
    monkeypatch.delenv(GOOGLE)
    assert delta_options("gs://people/table", files) == {}


def test_a_server_in_place_of_amazons(monkeypatch: pytest.MonkeyPatch) -> None:
    files = SimpleNamespace(type_name="s3", region="eu-central-1")
    assert delta_options("s3://people/table", files) == {"aws_region": "eu-central-1"}
    monkeypatch.setenv(AMAZON[1], "http://host:9000")
    assert delta_options("s3://people/table", files) == {
        "aws_region": "eu-central-1",
        "aws_endpoint_url": "http://host:9000",
        "allow_http": "true",
    }
