"""Files on object stores, through pyarrow, with those operations of `pathlib.Path` that tables
need. The server and the credentials of a store are those that its own tools take from the
environment.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from io import BufferedReader
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import SplitResult, quote, urlsplit

from tclose_spark.errors import ConfigurationError

SCHEMES = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfs", "abfss": "abfss"}
"""The schemes of URIs that pyarrow opens, and its own names of them."""
PARTS = re.compile(r"\w+://([\w.-]+|[\w$-]+@[\w.-]+)(/.*)?", re.DOTALL)
MARK = "Not a regular file"
"""In pyarrow's error for the object by which Hadoop marks a folder on Azure."""
BUFFER = 1 << 22  # bytes of a request
WHY = re.compile(
    r"AWS Error (\w+)|google::cloud::Status\((\w+)|Azure Error: \[(\w+)\]|Azure\S*(Authentication)Exception",
)


class StoreError(OSError):
    """An object store refuses a request, or does not answer. Its own text may show what a request
    was signed with, so that this error has the URI and the name of the problem only.
    """


class Stat(NamedTuple):
    """The bytes of a file, and when it was written: as `os.stat_result` has them."""

    st_size: int
    st_mtime_ns: int


@dataclass(frozen=True)
class StorePath:
    """A file or folder on an object store. A store has no folders of its own: there is one where
    files lie below.

    uri: as the user wrote it. files, path: pyarrow's file system, and the path there.
    """

    uri: str
    files: Any = field(compare=False, repr=False)
    path: str = field(compare=False)

    @staticmethod
    def of(uri: str) -> StorePath:
        """The file or folder at a URI of a store.

        Raises:
            ConfigurationError: if it is no such URI, or holds credentials.
            StoreError: if the store does not say where it is.
        """
        if not is_on_store(uri):
            raise ConfigurationError(
                f"{uri}: only Spark reaches files behind such a URI; set engine: spark, or give a "
                "path",
            )
        found = PARTS.fullmatch(uri)
        scheme = SCHEMES[uri.partition(":")[0].lower()]
        if found is None or ("@" in found[1]) != scheme.startswith("abfs"):
            raise ConfigurationError(
                f"a URI of {uri.partition(':')[0]} is not as expected: s3://BUCKET/PATH, "
                "gs://BUCKET/PATH or abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH, without "
                "credentials or options",
            )
        with named(uri):
            files, bucket = _opened(f"{scheme}://{found[1]}")
        return StorePath(uri.rstrip("/"), files, bucket + (found[2] or "").rstrip("/"))

    def __str__(self) -> str:
        return self.uri

    def __truediv__(self, name: str) -> StorePath:
        return StorePath(f"{self.uri}/{name}", self.files, f"{self.path}/{name}") if name else self

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> StorePath:
        """The folder that it is in."""
        return StorePath(self.uri.rpartition("/")[0], self.files, self.path.rpartition("/")[0])

    @property
    def parents(self) -> list[StorePath]:
        """The folders that it is in, from the innermost to the whole bucket."""
        return [self.parent, *self.parent.parents] if "/" in self.path else []

    def exists(self) -> bool:
        """Whether there is a file or a folder."""
        return self._kind() != "NotFound"

    def is_dir(self) -> bool:
        """Whether there is a folder."""
        return self._kind() == "Directory"

    def _kind(self) -> str:
        return str(self._info().type.name)

    def _info(self) -> Any:
        with named(self.uri):
            return self._recognized(self.files.get_file_info(self.path))

    def _recognized(self, found: Any) -> Any:
        """What pyarrow found; a folder, if Hadoop marked it as one: on Azure, by an empty object of
        its name. pyarrow lists that as a file, which it refuses to open.
        """
        from pyarrow.fs import FileInfo, FileType

        if self.files.type_name != "abfs" or not found.is_file or found.size:
            return found
        try:
            self.files.open_input_file(found.path).close()
        except FileNotFoundError:  # it is gone meanwhile
            return found
        except OSError as error:
            if MARK not in str(error):
                raise
            return FileInfo(found.path, FileType.Directory)
        return found

    def stat(self) -> Stat:
        """The size and time of a file."""
        found = self._info()
        if not found.is_file:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.uri)
        return Stat(found.size, found.mtime_ns)

    def walk(self, recursive: bool = True) -> Iterator[tuple[StorePath, Stat]]:
        """The files below, or the file itself, with their sizes and times. recursive: also those in
        folders below.
        """
        found = self._info()
        for one in [found] if found.is_file else self._listed(recursive):
            if one.is_file:
                yield self / one.path[len(self.path) + 1 :], Stat(one.size, one.mtime_ns)

    def iterdir(self) -> Iterator[StorePath]:
        """The files and folders in a folder."""
        return self.glob("*")

    def glob(self, pattern: str) -> Iterator[StorePath]:
        """Those in a folder with a name of this pattern."""
        # Where pyarrow lists files alone.
        begin = len(self.path) + 1
        all_below = self.files.type_name == "gcs"
        names = dict.fromkeys(one.path[begin:].partition("/")[0] for one in self._listed(all_below))
        return (self / name for name in names if fnmatchcase(name, pattern))

    def _listed(self, recursive: bool) -> list[Any]:
        from pyarrow.fs import FileSelector

        with named(self.uri):
            found = self.files.get_file_info(
                FileSelector(self.path, allow_not_found=True, recursive=recursive),
            )
            return [self._recognized(one) for one in found]

    def open(self, mode: Literal["rb", "wb"]) -> Any:
        """The content, as a file. What is written is there as a whole when the file is closed."""
        with named(self.uri):
            if mode == "wb":
                return self.files.open_output_stream(self.path, compression=None)
            return BufferedReader(self.files.open_input_file(self.path), BUFFER)

    def read_bytes(self) -> bytes:
        """The content of a file."""
        with named(self.uri), self.files.open_input_file(self.path) as file:
            content: bytes = file.read()
        return content

    def read_text(self, encoding: str) -> str:
        """The text of a file."""
        return self.read_bytes().decode(encoding)

    def write_bytes(self, content: Any) -> None:
        """Writes a file, as a whole or not at all."""
        with named(self.uri), self.open("wb") as file:
            file.write(content)

    def copy_of(self, other: Place) -> None:
        """Writes a copy of a file. Within a bucket, the store makes it."""
        if isinstance(other, StorePath) and other.files.equals(self.files):
            with named(self.uri), suppress(NotADirectoryError):  # into a folder that Hadoop marked
                self.files.copy_file(other.path, self.path)
                return
        # First all is read: what is written in part would count as a whole.
        self.write_bytes(other.read_bytes())

    def remove(self) -> None:
        """Removes a file or a folder, if it exists."""
        kind = self._kind()
        with named(self.uri):
            if kind == "Directory":
                with suppress(
                    FileNotFoundError,
                ):  # on Google's: its files are gone, and it had no object of its own
                    self.files.delete_dir(self.path)
                kind = self.files.get_file_info(self.path).type.name  # the mark of a folder stays
            if kind == "File":
                self.files.delete_file(self.path)

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Files make their folders."""


Place = Path | StorePath
"""A file or folder, on this disk or on an object store."""


def is_on_store(path: str) -> bool:
    """Whether this is a URI of an object store that pyarrow opens.

    >>> is_on_store("s3a://bucket/people"), is_on_store("hdfs://host/people"), is_on_store("/people")
    (True, False, False)
    """
    return "://" in path and path.partition(":")[0].lower() in SCHEMES


def sorted_places(places: Iterable[Any]) -> list[Place]:
    """The files or folders of a folder by their names."""
    return sorted(places, key=str)


def opened(place: Place) -> Any:
    """What pyarrow reads a file from."""
    if isinstance(place, Path):
        return place
    with named(place.uri):
        return place.files.open_input_file(place.path)


def on_arrow(place: Place) -> tuple[Any, Any]:
    """(the path, the file system) of a file, for pyarrow. It has no file system if it is on this
    disk.
    """
    return (place, None) if isinstance(place, Path) else (place.path, place.files)


def require_answer(error: Exception, place: Place) -> None:
    """Raises a StoreError if this error is that of a store, not of what a file holds."""
    if isinstance(error, StoreError):
        raise error
    if isinstance(place, StorePath) and WHY.search(str(error)):
        raise StoreError(errno.EIO, reason_of(error), place.uri) from None


@contextmanager
def named(uri: str) -> Iterator[None]:
    """Errors of pyarrow in the body become OSErrors that name the file and the problem."""
    from pyarrow import ArrowException

    try:
        yield
    except StoreError:
        raise
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), uri) from None
    except (OSError, ArrowException) as error:
        raise StoreError(errno.EIO, reason_of(error), uri) from None


def reason_of(error: Exception) -> str:
    """The name of a store's problem with a request, in words.

    >>> reason_of(OSError("AWS Error ACCESS_DENIED during HeadObject operation: No response body."))
    'access denied'
    """
    found = WHY.search(str(error))
    return (
        next(filter(None, found.groups())).replace("_", " ").lower()
        if found
        else "its store refuses"
    )


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
            name,
            server,
            found.get("AccountKey"),
            found.get("SharedAccessSignature"),
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


_opened = cache(open_bucket)


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
