"""Great Expectations over the class table: suites are built, run, and kept as a project to run
again.

A suite read from a file may silently lose expectations. So suites are built in code, and the
evaluated expectations are compared with the required ones. Results count the classes that break an
expectation, and have no values.

Its import takes seconds, so it begins beside other work. Two thirds of these go to libraries that
only expectations of other kinds need, and to the garbage collector, which visits thousands of new
classes.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from types import ModuleType
from typing import Any

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import belongs_here, collect, schema_of, select
from tclose_spark.errors import GuaranteeError
from tclose_spark.io.template_cache import template_cache
from tclose_spark.requirements.expectation import Expectation

# The name of the suite, the validation definition and the checkpoint in a project.
CHECKPOINT = "classes"
MOST_LOCAL = 200_000  # classes that a driver validates; Spark validates its larger tables
CURRENT = "_ProjectManager__project"  # the context of the process, which has no public reader
COUNTS_ONLY = {"result_format": "BASIC", "partial_unexpected_count": 0}
COUNTS = ("element_count", "missing_count", "unexpected_count", "unexpected_percent")
PROJECT = (
    "great_expectations.yml",
    *(
        f"{part}/{CHECKPOINT}.json"
        for part in ("expectations", "validation_definitions", "checkpoints")
    ),
)
FOREIGN = re.compile(
    r"<script\b.*?</script>|<footer\b.*?</footer>|<link\b[^>]*>|<img\b[^>]*>|\bonclick=\"[^\"]*\"|url\([^)]*\)",
    re.S,
)
STYLE = """<style>
body { font-family: sans-serif; margin: 1rem 2rem 3rem; } nav, .card { display: none; } .lead { color: #555; }
.alert { background: #eee; padding: .4rem .8rem; }
table { border-collapse: collapse; margin: .5rem 0 1.2rem; width: 100%; }
th, td { border: 1px solid #ccc; padding: .3rem .6rem; text-align: left; vertical-align: top; }
.card.collapse { display: block; }
.text-success { color: #176f2c; } .text-danger { color: #b00020; } .badge { font-weight: bold; }
.fa-check-circle::before { content: "\\2713"; }
.fa-times::before, .fa-exclamation-triangle::before { content: "\\2717"; }
</style>
</head>"""


@dataclass(frozen=True)
class Validation:
    """The result of a suite. failures: a line for each expectation that fails, with the number of
    classes that break it.
    """

    name: str
    expectations: tuple[Expectation, ...]
    results: Any
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every expectation holds."""
        return bool(self.results.success) and not self.failures

    def files(self) -> dict[str, str]:
        """The files to keep, by name: the suite, its results, Data Docs, and a project with a
        checkpoint to run again.
        """
        return {
            "suite.json": suite_json(self.name, self.expectations),
            "results.json": json.dumps(self.results.to_json_dict(), indent=1, default=str),
            **_data_docs(_suite(self.expectations, self.name), self.results),
            **_project(self.name, self.expectations),
        }


def suite_json(name: str, expectations: Sequence[Expectation]) -> str:
    """The suite as Great Expectations reads it, for other pipelines over a class table."""
    suite = _suite(expectations, name).to_json_dict()
    for part in (suite, *suite["expectations"]):
        part.pop("id", None)
    return json.dumps(suite, indent=1, default=str)


def validate(
    classes: Table,
    name: str,
    expectations: Sequence[Expectation],
    size: int,
) -> Validation:
    """The result of a suite on a class table with `size` classes. An expectation on a missing
    column fails.

    Raises:
        GuaranteeError: if the evaluated expectations are not the required ones.
    """
    local = _collect(classes, expectations) if belongs_here(classes, size, MOST_LOCAL) else None
    batches = _of_spark(_context()) if local is None else _of_pandas()
    batch = batches.get_batch(batch_parameters={"dataframe": classes if local is None else local})
    results = batch.validate(_suite(expectations, name), result_format=COUNTS_ONLY)
    _require_all_evaluated(results, expectations)
    meanings = {expectation.key: expectation.meaning for expectation in expectations}
    failures = [
        f"{meanings[_evaluated(result).key]}: {_count(result)}"
        for result in results.results
        if not result.success
    ]
    for result in results.results:
        _keep_counts(result)
    return Validation(name, tuple(expectations), results, tuple(failures))


def _collect(classes: Table, expectations: Sequence[Expectation]) -> Any:
    """The columns that a suite needs, as a pandas table."""
    about = {dict(expectation.arguments).get("column") for expectation in expectations}
    names = schema_of(classes).names
    return collect(
        select(classes, [name for name in names if name in about] or names[:1]),
    ).to_pandas()


@cache
def _context() -> Any:
    """A context of our own. It becomes that of the process if the user has none: nothing can be
    built without one.
    """
    gx = great_expectations()
    process = _contexts_of_process()
    with replaced(process, CURRENT, None):
        context = gx.get_context(mode="ephemeral")
    if getattr(process, CURRENT) is None:
        process.set_project(context)
    context.variables.progress_bars = {"globally": False}
    return context


def _not_tested(*_: Any, **__: Any) -> None:
    """The test of a connection to Spark, which would begin a session."""


def _contexts_of_process() -> Any:
    """What knows the context of this process, which each new context replaces."""
    great_expectations()
    from great_expectations.data_context.data_context.context_factory import project_manager

    return project_manager


@cache
def _of_pandas() -> Any:
    """What makes a batch of a pandas table."""
    return _whole(_context().data_sources.add_pandas(name="pandas"))


def _of_spark(context: Any) -> Any:
    """What makes a batch of a DataFrame of Spark. It is made anew, because a session may have
    ended.
    """
    return _whole(context.data_sources.add_or_update_spark(name="spark", persist=False))


def _whole(source: Any) -> Any:
    return source.add_dataframe_asset(name="classes").add_batch_definition_whole_dataframe("all")


def _suite(expectations: Sequence[Expectation], name: str) -> Any:
    """The suite. `name` goes into its metadata, since the name of a suite becomes that of a file.

    It is made with its expectations: adding one to a suite would look for a suite of that name in
    the context of the process, which may be the user's, and save into it.
    """
    _context()
    gx = great_expectations()

    def made(expectation: Expectation) -> Any:
        kind = "".join(word.capitalize() for word in expectation.type.split("_"))
        return getattr(gx.expectations, kind)(
            **dict(expectation.arguments),
            notes=expectation.meaning,
            severity="critical",
        )

    return gx.ExpectationSuite(
        name=CHECKPOINT,
        meta={"of": name},
        expectations=[made(each) for each in expectations],
    )


def _evaluated(result: Any) -> Expectation:
    """The expectation that a result is about."""
    arguments = dict(result.expectation_config.kwargs)
    arguments.pop("batch_id", None)
    return Expectation(result.expectation_config.type, tuple(arguments.items()), "")


def _require_all_evaluated(results: Any, expectations: Sequence[Expectation]) -> None:
    for result in results.results:
        if (result.exception_info or {}).get("raised_exception"):
            raise GuaranteeError(
                f"the expectation {result.expectation_config.type} could not be evaluated; nothing "
                "is published",
            )
    evaluated = sorted(_evaluated(result).key for result in results.results)
    if evaluated != sorted(expectation.key for expectation in expectations):
        raise GuaranteeError(
            f"{len(expectations)} expectations on the classes are required, but others "
            f"({len(evaluated)}) were evaluated; nothing is published",
        )


def _count(result: Any) -> str:
    """How many classes break an expectation; for one about the table, how many classes there
    are.
    """
    broken = result.result.get("unexpected_count")
    observed = result.result.get("observed_value")
    if broken is None:
        return "it could not be evaluated" if observed is None else f"there are {observed}"
    return f"{broken} {'class breaks' if broken == 1 else 'classes break'} it"


def _keep_counts(result: Any) -> None:
    """Reduces a result to its counts: no values, and no message that may contain some."""
    kept = (
        [*COUNTS, "observed_value"]
        if result.expectation_config.type.startswith("expect_table_row_count")
        else COUNTS
    )
    result.result = {key: value for key, value in result.result.items() if key in kept}
    result.exception_info = {
        "raised_exception": False,
        "exception_message": None,
        "exception_traceback": None,
    }


def _data_docs(suite: Any, results: Any) -> dict[str, str]:
    """Data Docs of the results and of the suite, as pages that load nothing from elsewhere."""
    from great_expectations.render.renderer import (
        ExpectationSuitePageRenderer,
        ValidationResultsPageRenderer,
    )

    pages = {
        "index": ValidationResultsPageRenderer().render(results),
        "suite": ExpectationSuitePageRenderer().render(suite),
    }
    view = _page_view()
    return {
        f"data_docs/{name}.html": _self_contained(view.render(page)) for name, page in pages.items()
    }


@cache
def _page_view() -> Any:
    """The renderer of Data Docs: one for each process, since compiling its templates takes half a
    second.
    """
    from great_expectations.render.view import DefaultJinjaPageView

    view = DefaultJinjaPageView()
    view.env.bytecode_cache = template_cache()
    return view


def _self_contained(page: str) -> str:
    """A page without scripts, style sheets, pictures or counters of other sites, in our own
    style.
    """
    page = FOREIGN.sub("", page).replace("</head>", STYLE, 1)
    return re.sub(
        r'href="[./]*expectations/[^"]*"',
        'href="suite.html"',
        re.sub(r'href="[./]*index\.html"', 'href="index.html"', page),
    )


def _project(name: str, expectations: Sequence[Expectation]) -> Mapping[str, str]:
    """A Great Expectations project with the suite as a checkpoint on Spark, which is not started
    here.
    """
    made = dict(_empty_project())
    suite = f"gx/expectations/{CHECKPOINT}.json"
    made[suite] = json.dumps(
        {**_suite(expectations, name).to_json_dict(), "id": json.loads(made[suite])["id"]},
        indent=2,
    )
    return made


@cache
def _empty_project() -> Mapping[str, str]:
    """A project whose suite has no expectation yet: one for each process, since its files take long
    to make.
    """
    gx = great_expectations()
    from great_expectations.datasource.fluent import SparkDatasource

    with (
        TemporaryDirectory(prefix="tclose-") as folder,
        replaced(SparkDatasource, "test_connection", _not_tested),
        replaced(_contexts_of_process(), CURRENT, None),
    ):
        context = gx.get_context(mode="file", project_root_dir=folder)
        context.variables.progress_bars = {"globally": False}
        batches = _of_spark(context)
        suite = context.suites.add(gx.ExpectationSuite(name=CHECKPOINT))
        definition = context.validation_definitions.add(
            gx.ValidationDefinition(name=CHECKPOINT, data=batches, suite=suite),
        )
        context.checkpoints.add(
            gx.Checkpoint(
                name=CHECKPOINT,
                validation_definitions=[definition],
                actions=[],
                result_format=COUNTS_ONLY,
            ),
        )
        return {
            f"gx/{file}": (Path(folder) / "gx" / file).read_text(encoding="utf-8")
            for file in PROJECT
        }


NAME = "great_expectations"
DEFERRED = ("altair", "scipy.stats")  # charts of, and tests on, distributions of raw columns
_LOCK = Lock()


class Deferred(ModuleType):
    """A module that is imported when an attribute of it is used."""

    def __getattr__(self, attribute: str) -> Any:
        _withdraw(self)
        return getattr(import_module(self.__name__), attribute)


def great_expectations() -> Any:
    """The package. Waits for an import that another thread has begun."""
    with _LOCK:
        if NAME not in sys.modules:
            _import()
        return sys.modules[NAME]


def begin_import() -> None:
    """Begins the import in a thread, unless it is there."""
    if NAME not in sys.modules:
        Thread(target=great_expectations, name=NAME).start()


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """The body with another attribute of the library, which has no setting for it."""
    own = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, own)


def _import() -> None:
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    deferred = [Deferred(name) for name in DEFERRED if name not in sys.modules]
    sys.modules.update({module.__name__: module for module in deferred})
    collects = gc.isenabled()
    gc.disable()
    try:
        import_module(NAME)
    finally:
        if collects:
            gc.enable()
        for module in deferred:
            _withdraw(module)


def _withdraw(module: ModuleType) -> None:
    """Gives the name of a deferred module back to whoever imports it next."""
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
