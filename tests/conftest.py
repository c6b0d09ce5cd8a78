"""What the tests share: one Spark session, runs on small tables, and the real tables where they
are.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from left_out_people import dealt_in_turn, left_out, with_every_k  # noqa: F401 - fixtures
from oracle.judged_runs import all_judged
from parts import is_in_part
from people import PEOPLE, ROLES
from promise_releases import make_finished  # noqa: F401 - a fixture
from py4j.java_gateway import JavaClass, JavaPackage, JVMView
from pyspark.sql import SparkSession
from spark_traces import traces  # noqa: F401 - a fixture
from strategies import CITIES

from tclose_spark import cli, pipeline
from tclose_spark.api import engine_choice
from tclose_spark.api import session as api_session
from tclose_spark.engine.tables import of_arrow
from tclose_spark.io.interrupts import SIGNALS
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.io.spark.session import get_session
from tclose_spark.runfile import registry
from tclose_spark.runfile.loading import load_spec

ROOT = Path(__file__).resolve().parent.parent
collect_ignore_glob = [] if "CHAOS_TRIALS" in os.environ else ["chaos/*"]

os.environ.pop("COLUMNS", None)  # which processes that run tests set
os.environ["TCLOSE_SECRET"] = "tests"  # so that fingerprints of different runs can be compared
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("TCLOSE_DRIVER_MEMORY", "2g")

QUASI = {"age": {"type": "numeric"}, "sex": {}}
SENSITIVE = {"disease": {"t": "0.5"}}


@pytest.fixture(autouse=True)
def handlers_of_signals() -> Iterator[None]:
    """A command that is called here as a process's own leaves signals as they were."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


QUICK_ON_SPARK = {
    f"tests/{name}.py"
    for name in ("engine/test_one_release", "releases/test_pipeline", "test_fingerprints")
}
"""The files whose tests on Spark are part of `make test`: whole releases, which must be those of
the local engine.
"""


PART = os.environ.get("TCLOSE_TESTS_PART", "1/1")
"""The part of the test files that runs (see `is_in_part`)."""


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests of other parts. Marks the other tests on Spark with `more`."""
    kept = list[pytest.Item]()
    others = list[pytest.Item]()
    for item in items:
        file = str(item.path.relative_to(ROOT))
        (kept if is_in_part(file, PART) else others).append(item)
        if needs_spark(item) and file not in QUICK_ON_SPARK:
            item.add_marker("more")
    config.hook.pytest_deselected(items=others)
    items[:] = kept


def needs_spark(item: pytest.Item) -> bool:
    """Whether a test starts a session of Spark."""
    return item.get_closest_marker("on_spark") is not None or not {"spark", "traces"}.isdisjoint(
        getattr(item, "fixturenames", ()),
    )


gc.disable()  # nearly all that is imported and collected stays


def pytest_collection_finish() -> None:
    """Exempts all that was imported and collected from garbage collection."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def remember_java_names() -> None:
    """Makes py4j remember what each of Java's names is: it searches some 300 jars at every use of
    one.
    """
    for view in (JVMView, JavaPackage):
        view.__getattr__ = remembering(view.__getattr__)


def remembering(look_up: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    def look_up_once(view: Any, name: str) -> Any:
        found = look_up(view, name)
        if isinstance(found, JavaClass | JavaPackage):
            vars(view)[name] = found
        return found

    return look_up_once


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session of all tests."""
    session = get_session("tests")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the real tables: TCLOSE_DATA, else shared/data beside the repository (paths as
    in conf/).
    """
    folder = (ROOT / "conf" / os.environ.get("TCLOSE_DATA", "../../shared/data")).resolve()
    if not folder.is_dir():
        pytest.skip(f"the real tables are not in {folder}; set TCLOSE_DATA to their folder")
    return folder


def write_run_file(
    folder: Path,
    table: pa.Table | Mapping[str, Sequence[Any]] | None,
    *,
    quasi: Mapping[str, Any] = QUASI,
    sensitive: Mapping[str, Any] = SENSITIVE,
    k: int = 3,
    output: Mapping[str, Any] | None = None,
    privacy: Mapping[str, Any] | None = None,
    method: Mapping[str, Any] | None = None,
    source: Mapping[str, Any] | None = None,
    **attributes: Any,
) -> Path:
    """A run file in `folder`, beside it the table as people.parquet (none: `source` says where it
    is) and cities.csv.

    A sensitive attribute without a t is measured.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cities.csv").write_text("".join(";".join(path) + "\n" for path in CITIES.paths))
    if table is not None:
        pq.write_table(
            table if isinstance(table, pa.Table) else pa.table(dict(table)),
            folder / "people.parquet",
        )
    asked = {name: {"t": "measure", **(settings or {})} for name, settings in sensitive.items()}
    tree = {
        "name": "small",
        "input": dict(source or {"path": "people.parquet"}),
        "output": {**({} if output and "public" in output else {"path": "out"}), **(output or {})},
        "attributes": {
            "quasi_identifiers": dict(quasi),
            "sensitive_attributes": asked,
            **attributes,
        },
        "privacy": {"k": k, **(privacy or {})},
        "method": {"name": "stack_and_deal", **(method or {})},
    }
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(tree, sort_keys=False))
    return path


@pytest.fixture(scope="session")
def write_run() -> Callable[..., Path]:
    """`write_run(folder, table, quasi=..., sensitive=..., k=...)`; see `write_run_file`."""
    return write_run_file


SESSIONS: list[Any] = [LocalSession()]
"""The last one is that of runs that are opened: this process, or Spark in tests that are marked
with `on_spark`.
"""


ALL_ON_SPARK = os.environ.get("TCLOSE_TESTS_ON") == "spark"
"""Whether every test works on Spark: `make test-spark`."""


def hide_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the choice of an engine see no session of Spark."""
    monkeypatch.setattr(engine_choice, "spark_present", lambda: "")
    monkeypatch.setattr(api_session, "spark_present", lambda: "")


@pytest.fixture(autouse=True)
def engine_of_the_test(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[None]:
    """Tests work on the local engine, as a user without Spark does, unless they are marked with
    `on_spark`.
    """
    if request.node.get_closest_marker("on_spark") is None and not ALL_ON_SPARK:
        hide_spark(monkeypatch)
        yield
    else:
        SESSIONS.append(request.getfixturevalue("spark"))
        yield
        SESSIONS.pop()


@pytest.fixture
def session(engine_of_the_test: None) -> Any:
    """The session of the test's engine."""
    return SESSIONS[-1]


@pytest.fixture
def table_of(session: Any) -> Callable[..., Any]:
    """`table_of(rows, age="int32", sex="string")`: a table of the test's engine; the columns by
    their types.
    """

    def made(rows: Sequence[Sequence[Any]], **kinds: Any) -> Any:
        columns = {
            name: pa.array([row[i] for row in rows], kind)
            for i, (name, kind) in enumerate(kinds.items())
        }
        return of_arrow(session, pa.table(columns))

    return made


@pytest.fixture(scope="session")
def open_run(request: pytest.FixtureRequest) -> Callable[..., Run]:
    """`open_run(path, "key=value", ..., overwrite=False)`: the run of a run file."""
    if ALL_ON_SPARK:
        SESSIONS.append(request.getfixturevalue("spark"))
    return lambda path, *sets, overwrite=False: Run(
        load_spec(path, sets),
        SESSIONS[-1],
        lambda line: None,
        overwrite,
    )


@pytest.fixture
def run_file(tmp_path: Path) -> Callable[..., Path]:
    """`run_file(table, quasi=..., sensitive=..., k=...)` writes a run file and its table into the
    test's folder.
    """
    return lambda table, **settings: write_run_file(tmp_path, table, **settings)


@pytest.fixture
def make_run(run_file: Callable[..., Path], open_run: Callable[..., Run]) -> Callable[..., Run]:
    """`make_run(table, quasi=..., sensitive=..., k=...)`: the run of a small table."""
    return lambda table, **settings: open_run(run_file(table, **settings))


@pytest.fixture(scope="session")
def conf(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run file of the small table in people.py."""
    return write_run(
        tmp_path_factory.mktemp("people"),
        PEOPLE,
        output={"keep_linked": True},
        **ROLES,
    )


@pytest.fixture(scope="session")
def finished(conf: Path, open_run: Callable[..., Run]) -> Path:
    """The output of a whole run. Not to be changed: see `output`."""
    pipeline.release(open_run(conf))
    return conf.parent / "out"


@pytest.fixture(scope="session")
def reported(
    conf: Path,
    open_run: Callable[..., Run],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The output of a run that is ready to be published, the stages one by one. Not to be
    changed.
    """
    folder = tmp_path_factory.mktemp("reported") / "out"
    for stage in ("profile", "plan", "anonymize", "verify", "report"):
        getattr(pipeline, stage)(open_run(conf, f"output.path={folder}"))
    return folder


@pytest.fixture
def output(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished output."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


@pytest.fixture
def certificate(finished: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((finished / "public/certificate.json").read_text())
    return found


@pytest.fixture(scope="session")
def site_of_every_k(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package every_k and its entry point; workers have it already."""
    folder, source = tmp_path_factory.mktemp("site"), ROOT / "tests/methods/every_k/every_k.py"
    shutil.copy(source, folder)
    made = folder / "every_k-1.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: every_k\nVersion: 1\n")
    (made / "entry_points.txt").write_text("[tclose_spark.methods]\nevery_k = every_k\n")
    with zipfile.ZipFile(folder / "every_k.zip", "w") as archive:
        archive.write(source, "every_k.py")
    spark.sparkContext.addPyFile(str(folder / "every_k.zip"))
    return folder


@pytest.fixture(scope="module")
def every_k_installed(site_of_every_k: Path) -> Iterator[None]:
    """The method every_k, brought by another package, as long as the module's tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site_of_every_k)
        registry.modules.cache_clear()
        yield
    registry.modules.cache_clear()


def draw_people(seed: int, rows: int = 90) -> pa.Table:
    """Records with columns of all kinds, a third of them alike in all but `id`; quasi-identifiers,
    `disease` and `note` may be missing.
    """
    draw = np.random.default_rng(seed)

    def pick(values: Sequence[Any], kind: pa.DataType | None = None) -> pa.Array:
        return pa.array([values[i] for i in draw.integers(len(values), size=rows)], kind)

    columns = {
        "age": pick([None, *range(20, 50)]),
        "weight": pick([None, float("nan"), 0.0, -0.0, 0.1, 61.5, 70.25, 1e6]),
        "hours": pick(["7", "08", "12.5", "1e2", None]),
        "sex": pick(["f", "m", "f, m", None]),
        "city": pick([None, *CITIES.leaves]),
        "disease": pick(["flu", "flu", "flu", "gout", "ulcer", None]),
        "grade": pick([1, 2, 2, 3, 5]),
        "site": pick(["Pisa", "Siena", "Lyon", "Lyon"]),
        "note": pick(["a", "b, c", "", None]),
        "score": pick([1.5, float("nan"), None, -0.0]),
        "at": pick([0, 86_400_000_001, None], pa.timestamp("us", "UTC")),
    }
    first = pa.array(np.where(draw.random(rows) < 1 / 3, 0, np.arange(rows)))
    return pa.table(columns).take(first).append_column("id", pa.array(range(rows)))


@pytest.fixture
def drawn_people() -> Callable[..., pa.Table]:
    """`drawn_people(seed, rows)`; see `draw_people`."""
    return draw_people


@pytest.fixture
def settings(spark: SparkSession) -> Callable[[Mapping[str, str]], AbstractContextManager[None]]:
    """`with settings({key: value}):` runs with these Spark settings, and puts back the old ones."""

    @contextmanager
    def changed(values: Mapping[str, str]) -> Iterator[None]:
        before = {key: spark.conf.get(key) for key in values}
        for key, value in values.items():
            spark.conf.set(key, value)
        yield
        for key, value in before.items():
            spark.conf.set(key, value)

    return changed


@pytest.fixture
def tclose(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """`tclose("release", path, ...)`: exit code, stdout and stderr of the command, in this
    process.
    """

    def command(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        code = cli.main([str(argument) for argument in arguments])
        return code, *capfd.readouterr()

    return command


@pytest.fixture(scope="module", autouse=True)
def judged_by_the_oracle(request: pytest.FixtureRequest) -> Iterator[None]:
    """In tests/releases, the second implementation judges every release that is published."""
    with all_judged() if request.path.parent.name == "releases" else nullcontext():
        yield


def undated(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """A certificate without its date: what two releases of the same input have in common."""
    return {**certificate, "issued": None}


def of_any_version(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """A certificate without its date and the version of the input, which only some formats have."""
    return {**undated(certificate), "input": {**certificate["input"], "version": None}}


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built once as a site."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    return folder
