"""Servers on this machine that speak as object stores do: S3, Azure's blobs and Google's."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyspark
import pytest
from pyarrow.fs import AzureFileSystem, FileSelector, GcsFileSystem, S3FileSystem
from servers import serving, set_by_conf
from standalone import HOST, free_port

ROOT = Path(__file__).resolve().parents[2]
RAW, RELEASES, INSIDE = BUCKETS = ("raw", "releases", "inside")
AZURE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
"""The published key of the account that every Azurite has."""


def hadoop() -> str:
    """The version of Spark's Hadoop, which its connectors must have."""
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    return jar.stem.removeprefix("hadoop-client-api-")


@dataclass(frozen=True)
class ServedStore:
    """A server of a store, or a proxy in front of it."""

    port: int
    name: ClassVar[str]
    program: ClassVar[Path]

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def command(self) -> list[str]:
        """The options of the server."""
        raise NotImplementedError

    def files(self) -> Any:
        """Its file system, for pyarrow."""
        raise NotImplementedError

    def uri(self, bucket: str, key: str) -> str:
        raise NotImplementedError

    def settings(self) -> dict[str, str]:
        """Those of Hadoop."""
        raise NotImplementedError

    def connector(self) -> list[str]:
        """Hadoop's connector, as options of spark-submit."""
        raise NotImplementedError

    def variables(self) -> dict[str, str]:
        """Those that a process without Spark knows the server by."""
        raise NotImplementedError

    def put(self, bucket: str, key: str, body: bytes) -> None:
        with self.files().open_output_stream(f"{bucket}/{key}", compression=None) as stream:
            stream.write(body)

    def get(self, bucket: str, key: str) -> bytes:
        with self.files().open_input_file(f"{bucket}/{key}") as stream:
            found: bytes = stream.read()
        return found

    def keys(self, bucket: str, prefix: str) -> list[str]:
        """The objects below a folder, without those that mark folders."""
        below = FileSelector(f"{bucket}/{prefix}", allow_not_found=True, recursive=True)
        files = [
            found.path.removeprefix(f"{bucket}/")
            for found in self.files().get_file_info(below)
            if found.is_file
        ]
        return [file for file in files if not any(other.startswith(f"{file}/") for other in files)]

    def environment(self, by_spark: bool) -> dict[str, str]:
        """Of a process whose Spark knows this server, or that knows it itself."""
        settings = set_by_conf(
            {f"spark.hadoop.{key}": value for key, value in self.settings().items()},
        )
        on_spark = {
            "PYSPARK_SUBMIT_ARGS": " ".join([*self.connector(), *settings, "pyspark-shell"]),
        }
        return {
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
            **(on_spark if by_spark else self.variables()),
        }


class S3(ServedStore):
    """Moto's server."""

    name = "s3"
    program = ROOT / ".venv-s3/bin/moto_server"

    def command(self) -> list[str]:
        return ["-H", HOST, "-p", str(self.port)]

    def files(self) -> Any:
        return S3FileSystem(
            access_key="tests",
            secret_key="tests",
            region="us-east-1",
            endpoint_override=self.url,
            allow_bucket_creation=True,
        )

    def uri(self, bucket: str, key: str) -> str:
        return f"s3a://{bucket}/{key}"

    def connector(self) -> list[str]:
        """With those parts of the SDK that it uses, in place of all of it (600 MB)."""
        parts = [
            f"software.amazon.awssdk:{part}:2.29.52"
            for part in ("s3", "s3-transfer-manager", "sts")
        ]
        return [
            "--packages",
            ",".join([f"org.apache.hadoop:hadoop-aws:{hadoop()}", *parts]),
            "--exclude-packages",
            "software.amazon.awssdk:bundle,io.netty:*,org.slf4j:*",
        ]

    def settings(self) -> dict[str, str]:
        return {
            "fs.s3a.endpoint": self.url,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.attempts.maximum": "2",
            "fs.s3a.retry.limit": "2",
        }

    def environment(self, by_spark: bool) -> dict[str, str]:
        """The connector for Spark takes credentials from the environment too."""
        return {
            **super().environment(by_spark),
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "tests",
        }

    def variables(self) -> dict[str, str]:
        return {"AWS_ENDPOINT_URL": self.url}


class Azure(ServedStore):
    """Azurite. Its account has no hierarchical namespace, so that Hadoop's connector sends requests
    about blobs.
    """

    name = "azure"
    program = ROOT / ".venv-azure/node_modules/.bin/azurite-blob"
    account = "devstoreaccount1"

    def command(self) -> list[str]:
        where = ["--blobHost", HOST, "--blobPort", str(self.port), "--inMemoryPersistence"]
        return [*where, "--skipApiVersionCheck", "--disableTelemetry", "--silent"]

    def files(self) -> Any:
        here = f"{HOST}:{self.port}"
        servers = {f"{service}_storage_authority": here for service in ("blob", "dfs")}
        schemes = {f"{service}_storage_scheme": "http" for service in ("blob", "dfs")}
        return AzureFileSystem(self.account, account_key=AZURE_KEY, **servers, **schemes)

    def uri(self, bucket: str, key: str) -> str:
        return f"abfs://{bucket}@{self.account}.dfs.core.windows.net/{key}"

    def connector(self) -> list[str]:
        return ["--packages", f"org.apache.hadoop:hadoop-azure:{hadoop()}"]

    def settings(self) -> dict[str, str]:
        keys = {
            f"fs.azure.account.key.{self.account}.{service}.core.windows.net": AZURE_KEY
            for service in ("blob", "dfs")
        }
        return {
            **keys,
            "fs.azure.fns.account.service.type": "BLOB",
            "fs.azure.account.hns.enabled": "false",
            "fs.azure.abfs.endpoint": f"{HOST}:{self.port}",
            "fs.azure.always.use.https": "false",
        }

    def variables(self) -> dict[str, str]:
        server = f"BlobEndpoint={self.url}/{self.account}"
        return {
            "AZURE_STORAGE_CONNECTION_STRING": f"AccountName={self.account};AccountKey={AZURE_KEY};{server}",
        }


class Google(ServedStore):
    """fake-gcs-server. It lacks the request that moves an object, so that Hadoop's connector copies
    and deletes.
    """

    name = "gcs"
    program = ROOT / ".venv-go/bin/fake-gcs-server"

    def command(self) -> list[str]:
        served = ["-public-host", f"{HOST}:{self.port}", "-external-url", self.url]
        return [
            "-scheme",
            "http",
            "-host",
            HOST,
            "-port",
            str(self.port),
            "-backend",
            "memory",
            *served,
        ]

    def files(self) -> Any:
        return GcsFileSystem(
            anonymous=True,
            scheme="http",
            endpoint_override=f"{HOST}:{self.port}",
            project_id="tests",
        )

    def uri(self, bucket: str, key: str) -> str:
        return f"gs://{bucket}/{key}"

    def connector(self) -> list[str]:
        (jar,) = (ROOT / ".venv-gcs").glob("gcs-connector-*-shaded.jar")
        return ["--driver-class-path", str(jar)]

    def settings(self) -> dict[str, str]:
        return {
            "fs.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
            "fs.gs.project.id": "tests",
            "fs.gs.storage.root.url": self.url,
            "fs.gs.auth.type": "UNAUTHENTICATED",
            "fs.gs.operation.move.enable": "false",
        }

    def variables(self) -> dict[str, str]:
        return {"STORAGE_EMULATOR_HOST": self.url}


@contextmanager
def serving_store(kind: type[ServedStore], folder: Path) -> Iterator[ServedStore]:
    """A store with its buckets, which ends with the body."""
    if not kind.program.is_file():
        pytest.skip(f"made by make test-{kind.name}")
    store = kind(free_port())
    with serving([kind.program, *store.command()], folder, store.port):
        for bucket in BUCKETS:
            store.files().create_dir(bucket)
        yield store
