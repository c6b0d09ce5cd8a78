"""The server and the credentials of an object store, as its own tools take them from the
environment.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

AMAZON = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
"""Variables that name a server in place of Amazon's."""
AZURE = "AZURE_STORAGE_CONNECTION_STRING"
"""The variable with the server of an Azure account, and with its key or a shared access
signature.
"""
GOOGLE = "STORAGE_EMULATOR_HOST"
"""The variable that names a server in place of Google's, which takes requests without
credentials.
"""
GOOGLE_OPTIONS = "retry_limit_seconds=20"  # by default pyarrow tries for a quarter of an hour


@dataclass(frozen=True)
class AzureAccount:
    """A storage account that the connection string of the environment describes.

    server: that of its blobs. Either key or signature is set.
    """

    name: str
    server: SplitResult
    key: str | None = field(default=None, repr=False)
    signature: str | None = field(default=None, repr=False)

    @staticmethod
    def of(place: str) -> AzureAccount | None:
        """The account of CONTAINER@ACCOUNT.HOST; None if the environment does not describe it."""
        name = place.partition("@")[2].partition(".")[0]
        found = dict(part.partition("=")[::2] for part in os.environ.get(AZURE, "").split(";"))
        endpoint = found.get("BlobEndpoint", "").rstrip("/")
        if (
            found.get("AccountName") or urlsplit(endpoint).netloc.partition(".")[0] or None
        ) != name:
            return None
        scheme = found.get("DefaultEndpointsProtocol", "https")
        suffix = found.get("EndpointSuffix", "core.windows.net")
        server = urlsplit(endpoint or f"{scheme}://{name}.blob.{suffix}")
        return AzureAccount(
            name, server, found.get("AccountKey"), found.get("SharedAccessSignature")
        )

    def open(self) -> Any:
        """Its file system, for pyarrow."""
        from pyarrow.fs import AzureFileSystem

        # Pyarrow puts the name before a dot, else into the path.
        blobs = self.server.netloc.removeprefix(self.name)
        return AzureFileSystem(
            self.name,
            account_key=self.key,
            sas_token=f"?{self.signature}" if self.signature else None,
            blob_storage_authority=blobs,
            blob_storage_scheme=self.server.scheme,
            dfs_storage_authority=blobs.replace(".blob.", ".dfs."),
            dfs_storage_scheme=self.server.scheme,
        )

    @property
    def delta_options(self) -> dict[str, str]:
        """The same for deltalake."""
        options = {
            "azure_storage_account_name": self.name,
            "azure_storage_account_key": self.key,
            "azure_storage_sas_key": self.signature,
            "azure_storage_endpoint": self.server.geturl(),
        }
        return {
            **{key: value for key, value in options.items() if value},
            **_plain(self.server.scheme),
        }


def open_bucket(root: str) -> tuple[Any, str]:
    """(the file system of a bucket, for pyarrow; the path of the bucket there). root:
    SCHEME://BUCKET.
    """
    from pyarrow.fs import FileSystem

    scheme, _, bucket = root.partition("://")
    account = AzureAccount.of(bucket) if scheme.startswith("abfs") else None
    if account is not None:
        return account.open(), bucket.partition("@")[0]
    if scheme == "gs":
        server = _google_server()
        there = (
            f"&scheme={server.scheme}&endpoint_override={quote(server.netloc, safe='')}"
            if server
            else ""
        )
        root = f"gs://{'anonymous@' if server else ''}{bucket}?{GOOGLE_OPTIONS}{there}"
    files, path = FileSystem.from_uri(root)
    return files, path.rstrip("/")


def delta_options(uri: str, files: Any) -> dict[str, str]:
    """What deltalake does not find as pyarrow does: the region of a bucket on S3, and servers that
    are not the store's own.
    """
    if files.type_name == "s3":
        url = next(filter(None, map(os.environ.get, AMAZON)), "")
        return {
            "aws_region": files.region,
            **({"aws_endpoint_url": url, **_plain("http")} if url else {}),
        }
    if files.type_name == "gcs" and (server := _google_server()):
        return {
            "google_base_url": server.geturl(),
            "google_skip_signature": "true",
            **_plain(server.scheme),
        }
    account = AzureAccount.of(uri.partition("://")[2]) if files.type_name == "abfs" else None
    return account.delta_options if account else {}


def _google_server() -> SplitResult | None:
    server = os.environ.get(GOOGLE, "")
    return urlsplit(server if "://" in server else f"http://{server}") if server else None


def _plain(scheme: str) -> dict[str, str]:
    """Lets deltalake send requests over HTTP."""
    return {"allow_http": "true"} if scheme == "http" else {}
