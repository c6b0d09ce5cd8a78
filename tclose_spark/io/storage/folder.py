"""What a run does with a folder, wherever it is."""

from __future__ import annotations

from typing import Any, Protocol

from tclose_spark.io.storage.stores import Place


class Folder(Protocol):
    """A folder, with the operations of a run. `name` is a path inside it, with `/`."""

    def path(self, name: str = "") -> str:
        """The full path, in Spark's form."""
        ...

    def exists(self, name: str = "") -> bool:
        """Whether a file or folder of this name exists."""
        ...

    def read(self, name: str) -> str:
        """The text of a file."""
        ...

    def begin(self, name: str, size: int) -> bytes:
        """The first bytes of a file."""
        ...

    def end(self, name: str, size: int) -> bytes:
        """The last bytes of a file."""
        ...

    def size(self, name: str) -> int:
        """The bytes of a file."""
        ...

    def sizes(self, name: str = "") -> dict[str, int]:
        """The bytes of a file, or of each file below a folder, by its path in this folder; empty if
        nothing exists.

        On a local disk, a link below this folder counts as a file, and an empty folder as a file
        whose name ends with `/`.
        """
        ...

    def sha256(self, name: str) -> str:
        """The SHA-256 of a file, in hexadecimal digits. For a link or an empty folder, a hash of
        its kind and target.

        Raises:
            OSError: if it cannot be read; its `filename` is the file.
        """
        ...

    def write(self, name: str, text: str, private: bool = False) -> None:
        """Writes a file, and creates the folders above it. Only the owner can read a private
        file.
        """
        ...

    def write_new(self, name: str, text: str) -> bool:
        """Writes a new private file; False, without a change, if it exists. One of several writers
        gets True.
        """
        ...

    def remove(self, name: str = "") -> None:
        """Removes a file or a whole folder, if it exists."""
        ...

    def create(self, private: bool = False) -> None:
        """Creates the folder if necessary. A private folder is closed to others (mode 0700)."""
        ...

    def names(self, name: str = "") -> list[str]:
        """Names of the files and folders in a folder."""
        ...

    @property
    def moves_at_once(self) -> bool:
        """Whether a file or folder moves in one step, whatever its size."""
        ...

    def rename(self, name: str, other: str) -> None:
        """Renames a file in this folder. The new name is unused, and its folder exists."""
        ...

    def move_in(self, source: Any, name: str) -> None:
        """Moves `name` of another folder of the same kind to the same name here, and replaces an
        entry of this name. A move that broke off may be repeated.
        """
        ...

    def copy_in(self, source: Any, name: str, other: str) -> None:
        """Copies the file `name` of another folder of the same kind to `other` here, and creates
        the folders above.
        """
        ...

    def sibling(self, what: str) -> Any | None:
        """A folder beside this one (`replacing.sibling_name`); None if this folder cannot be
        replaced as a whole.
        """
        ...

    def replace(self, new: Any) -> None:
        """Puts a sibling in the place of this folder, in one step or in two renames, and removes
        the old content.
        """
        ...

    def restore(self) -> None:
        """Undoes a `replace` that broke off between its two renames."""
        ...


class PlaceFolder:
    """What is the same for folders on this disk and on object stores; see Folder."""

    def __init__(self, root: Place) -> None:
        self._root = root

    def path(self, name: str = "") -> str:
        return str(self._root / name)

    def exists(self, name: str = "") -> bool:
        return (self._root / name).exists()

    def read(self, name: str) -> str:
        return (self._root / name).read_text(encoding="utf-8")

    def begin(self, name: str, size: int) -> bytes:
        with (self._root / name).open("rb") as file:
            return bytes(file.read(size))

    def end(self, name: str, size: int) -> bytes:
        with (self._root / name).open("rb") as file:
            file.seek(max(self.size(name) - size, 0))
            return bytes(file.read(size))

    def size(self, name: str) -> int:
        return (self._root / name).stat().st_size
