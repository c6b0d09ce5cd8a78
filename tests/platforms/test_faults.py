"""Releases on an S3 server that keeps old versions, that is slow, that drops connections, or that
goes away.

Such a run makes the release that it makes without faults, or it fails with nothing public and the
same command then makes that release. `make test-s3` makes the servers.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from served_stores import INSIDE, RELEASES, ROOT, S3, ServedStore, serving_store
from servers import serving
from standalone import HOST, free_port
from store_releases import (
    Command,
    StoredPeople,
    certificate_in,
    command_in,
    in_two_buckets,
    put_people,
)

TOXIPROXY = ROOT / ".venv-go/bin/server"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not TOXIPROXY.is_file(), reason="made by make test-s3"),
]


def request(url: str, method: str = "GET", body: Any = None) -> bytes:
    """The answer to a request that is signed in form only, which moto and toxiproxy accept."""
    signed = (
        "AWS4-HMAC-SHA256 Credential=tests/20260101/us-east-1/s3/aws4_request, "
        "SignedHeaders=host, Signature=none"
    )
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    with urlopen(
        Request(
            url,
            data,
            {"Authorization": signed, "Content-Type": "application/octet-stream"},
            method=method,
        ),
        timeout=30,
    ) as answer:
        found: bytes = answer.read()
        return found


class Proxy:
    """A proxy in front of a store. toxics: what it does to connections, as toxiproxy names them."""

    def __init__(self, api: str, store: ServedStore) -> None:
        self._api = f"{api}/proxies"
        self.store = type(store)(free_port())
        places = {"listen": f"{HOST}:{self.store.port}", "upstream": f"{HOST}:{store.port}"}
        request(self._api, "POST", {"name": "store", "enabled": True, **places})

    def add(self, kind: str, toxicity: float = 1.0, **attributes: int) -> None:
        toxic = {"name": kind, "type": kind, "toxicity": toxicity, "attributes": attributes}
        request(f"{self._api}/store/toxics", "POST", toxic)

    def enable(self, enabled: bool) -> None:
        request(f"{self._api}/store", "POST", {"enabled": enabled})

    def mend(self) -> None:
        request(self._api.replace("/proxies", "/reset"), "POST")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedStore]:
    with serving_store(S3, tmp_path_factory.mktemp("server")) as made:
        yield made


@pytest.fixture(scope="module")
def proxies(store: ServedStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    port = free_port()
    command = [str(TOXIPROXY), "-host", HOST, "-port", str(port)]
    with serving(command, tmp_path_factory.mktemp("proxy"), port):
        yield Proxy(f"http://{HOST}:{port}", store)


@pytest.fixture
def proxy(proxies: Proxy) -> Iterator[Proxy]:
    yield proxies
    proxies.mend()


@pytest.fixture(scope="module")
def people(store: ServedStore, tmp_path_factory: pytest.TempPathFactory) -> StoredPeople:
    return put_people(store, tmp_path_factory.mktemp("people"))


@pytest.fixture(params=["spark", "local"])
def tclose(request: pytest.FixtureRequest, proxies: Proxy) -> Command:
    """Reaches the store through the proxy, by Spark or in its own process."""
    return command_in(proxies.store.environment(by_spark=request.param == "spark"))


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """The folder of this test in both buckets."""
    return "".join(sign if sign.isalnum() else "_" for sign in request.node.name)


@pytest.fixture
def arguments(store: ServedStore, people: StoredPeople, name: str) -> list[Any]:
    return ["release", people.run_file, *people.inputs["parquet"], *in_two_buckets(store, name)]


def require_clear_failure(said: str) -> None:
    """The last line says what is wrong."""
    assert "Traceback" not in said
    assert "error: " in said


def test_a_slow_store(
    store: ServedStore,
    proxy: Proxy,
    tclose: Command,
    arguments: list[Any],
    name: str,
    people: StoredPeople,
) -> None:
    """Each answer takes 100 to 200 ms, at 200 kB/s."""
    proxy.add("latency", latency=150, jitter=50)
    proxy.add("bandwidth", rate=200)
    tclose(*arguments)
    assert certificate_in(store, RELEASES, name) == people.expected["parquet"]


def test_dropped_connections(
    store: ServedStore,
    proxy: Proxy,
    tclose: Command,
    arguments: list[Any],
    name: str,
    people: StoredPeople,
) -> None:
    """Of ten connections, three end within an answer, after 3 kB."""
    proxy.add("limit_data", toxicity=0.3, bytes=3000)
    said = tclose(*arguments, code=None)
    if f"{name}/certificate.json" not in store.keys(RELEASES, name):
        require_clear_failure(said)
        proxy.mend()
        tclose(*arguments)
    assert certificate_in(store, RELEASES, name) == people.expected["parquet"]


def test_a_store_that_goes_away_during_publication(
    store: ServedStore,
    proxy: Proxy,
    tclose: Command,
    arguments: list[Any],
    name: str,
    people: StoredPeople,
) -> None:
    """When the first object is public. It comes back when the run has failed."""
    proxy.add("latency", latency=300)

    def cut() -> None:
        end = time.monotonic() + 300
        while time.monotonic() < end and not any(
            "/release/" in key for key in store.keys(RELEASES, name)
        ):
            time.sleep(0.01)
        proxy.enable(False)

    cutting = Thread(target=cut)
    cutting.start()
    said = tclose(*arguments, code=None)
    cutting.join()
    assert f"{name}/certificate.json" not in store.keys(RELEASES, name)
    require_clear_failure(said)
    proxy.mend()
    tclose(*arguments)
    assert certificate_in(store, RELEASES, name) == people.expected["parquet"]


def versions(store: ServedStore, bucket: str, folder: str) -> dict[tuple[str, str], bool]:
    """Whether each version of an object below a folder is the current one, by the key and the
    version.
    """
    listed = ElementTree.fromstring(
        request(f"{store.url}/{bucket}?versions&prefix={folder}/&max-keys=1000"),
    )
    space = listed.tag.removesuffix("ListVersionsResult")
    return {
        (str(one.findtext(f"{space}Key")), str(one.findtext(f"{space}VersionId"))): one.findtext(
            f"{space}IsLatest",
        )
        == "true"
        for one in listed.iter(f"{space}Version")
    }


def test_a_bucket_with_versioning_keeps_staged_rows(
    store: ServedStore,
    tclose: Command,
    arguments: list[Any],
    name: str,
    people: StoredPeople,
) -> None:
    """The internal one alone, as old versions that can still be read. The release is as without
    versioning.
    """
    enabled = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
    for bucket in (RELEASES, INSIDE):
        request(f"{store.url}/{bucket}?versioning", "PUT", enabled)
    tclose(*arguments)
    assert certificate_in(store, RELEASES, name) == people.expected["parquet"]
    assert not any("staging" in key for key, _ in versions(store, RELEASES, name))
    kept = versions(store, INSIDE, name)
    assert not any("/staging/" in key for (key, _), is_current in kept.items() if is_current)
    rows = [
        version
        for version in kept
        if "/staging/rows/" in version[0] and version[0].endswith(".parquet")
    ]
    assert rows
    for key, version in rows:
        content = request(f"{store.url}/{INSIDE}/{key}?versionId={version}")
        assert pq.read_table(io.BytesIO(content)).num_rows
