"""Moving a folder file by file, where nothing moves it as a whole: on object stores, and between
file systems.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from tclose_spark.io.storage.folder import Folder

AT_ONCE = 8  # files that are on their way together


def move_files(
    source: Folder,
    target: Folder,
    name: str,
    move_file: Callable[[str], None],
    make_folders: Callable[[Iterable[str]], None] = lambda names: None,
) -> None:
    """Moves a file or a folder file by file; a file disappears there once it is here. The list of
    files is written before the first one moves, so an interrupted move continues without mixing in
    older files.

    move_file: moves a file of this name from source to target, and replaces one there.
    make_folders: makes folders of these names in the target, where files need them.
    """
    mark = f"{name}.moving"
    left = source.sizes(name)
    if name in left:
        move_file(name)
        return
    whole = json.loads(source.read(mark)) if source.exists(mark) else {}
    arrived = {file: size for file, size in whole.items() if file not in left}
    if not (
        arrived and left.items() <= whole.items() and arrived.items() <= target.sizes(name).items()
    ):
        target.remove(name)
        source.write(mark, json.dumps(left), private=True)
    make_folders({file.rpartition("/")[0] for file in left})
    with ThreadPoolExecutor(AT_ONCE) as moving:
        list(moving.map(move_file, sorted(left)))
    source.remove(name)
    source.remove(mark)
