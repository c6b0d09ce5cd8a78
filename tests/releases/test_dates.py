"""Dates and times: as quasi-identifiers, in days and microseconds, and as ordered sensitive
attributes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import content, drawn, make_problem

from tclose_spark import pipeline
from tclose_spark.checks.labels.coverage import Coverage
from tclose_spark.comparing.trial import plan_trial
from tclose_spark.engine.tables import collect, read_delta
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.in_memory.release import PublishedClasses, apply_plan, measure
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.io.run import Run
from tclose_spark.measures.loss.information_loss import Coarsest, LabelLoss, interval_ends
from tclose_spark.methods.t_incognito.levels import widths
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.quantities import (
    CODES_A_DAY,
    EPOCH,
    parse_moment,
    parse_quantity,
    write_moment,
)
from tclose_spark.runfile.registry import MODULES
from tclose_spark.table.columns.preparing import judged_values, not_of_type
from tclose_spark.table.dictionaries import decoded
from tclose_spark.table.domains import QuasiDomain, sensitive_domain
from tclose_spark.table.labels import NumericLabels, make_labeller
from tclose_spark.table.rows import Codec
from tclose_spark.usefulness.queries import spread_labels

DAY = CODES_A_DAY["timestamp"]
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999))


@given(MOMENTS)
@drawn(100)
def test_moments_are_read_as_they_are_written(moment: datetime) -> None:
    micros = (moment - EPOCH) // timedelta(microseconds=1)
    assert write_moment(micros, "timestamp") == moment.isoformat()
    assert parse_moment(moment.isoformat()) * DAY == micros
    assert write_moment(micros // DAY, "date") == moment.date().isoformat()
    assert parse_quantity(moment.date().isoformat()) == micros // DAY


def test_moments_beyond_the_calendar_are_its_ends() -> None:
    assert [write_moment(code, "date") for code in (-(10**7), 10**7)] == [
        "0001-01-01",
        "9999-12-31",
    ]


@pytest.mark.parametrize("text", ["soon", "2024-02-30", "", "12:00", "2024-13-01"])
def test_what_is_no_moment_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match=r"isoformat|out of range|day|month"):
        parse_quantity(text)


def labels(
    calendar: Any,
    codes: Sequence[int],
    starts: Sequence[int],
    **settings: Any,
) -> list[str | None]:
    quasi = QuasiIdentifier.model_validate({"type": calendar, **settings})
    domain = QuasiDomain(name="d", kind="integer", missing=0, calendar=calendar)
    labeller = make_labeller(domain, quasi, None)
    assert isinstance(labeller, NumericLabels)
    index, texts = labeller.label(np.array(codes), np.array(starts))
    return [texts[i] for i in index.tolist()]


def test_labels_are_iso_dates_and_times_and_their_intervals() -> None:
    assert labels("date", [10, 12, 40], [0, 2]) == ["[1970-01-11, 1970-01-13]", "1970-02-10"]
    assert labels("timestamp", [0, DAY // 2 + 1], [0]) == [
        "[1970-01-01T00:00:00, 1970-01-01T12:00:00.000001]",
    ]


def test_ends_are_rounded_outward_to_days() -> None:
    assert labels("date", [10, 12], [0], round_to=7) == ["[1970-01-08, 1970-01-15]"]
    assert labels("timestamp", [1, DAY], [0], round_to="1/24") == [
        "[1970-01-01T00:00:00, 1970-01-02T00:00:00]",
    ]
    assert labels("date", [2932896], [0], round_to=1000) == ["[9997-07-18, 9999-12-31]"]


def test_losses_limits_and_lengths_are_in_days() -> None:
    assert interval_ends("[1970-01-02, 1970-01-11T12:00:00]") == (1, Fraction(21, 2))
    loss = LabelLoss(numeric=True, span=Fraction(100))
    assert loss.of("[1970-01-01, 1970-01-11]") == Fraction(1, 10)
    assert loss.of_bounds("1970-01-01", "1970-01-11 00:00:00") == Fraction(1, 10)
    ten = Coarsest(limit=Fraction(10), numeric=True)
    assert [ten.broken_by(f"[1970-01-01, 1970-01-{day}]") for day in (11, 12)] == [False, True]
    assert ten.broken_by(date(1970, 1, 1), date(1970, 1, 12))
    assert not ten.broken_by(datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 11, tzinfo=UTC))


def test_labels_are_held_to_raw_codes() -> None:
    covers = Coverage(numeric=True, scale=DAY)
    raw = pa.array([0, DAY // 2, DAY, None])
    label = "[1970-01-01, 1970-01-01T12:00:00]"
    assert covers.covered(raw, pa.array([label] * 3 + [None])).tolist() == [True, True, False, True]
    assert Coverage(numeric=True).covered(
        pa.array([9, 10]),
        pa.array(["1970-01-11"] * 2),
    ).tolist() == [False, True]
    ends = [pa.array([date(1970, 1, day)] * 2) for day in (11, 12)]
    assert Coverage.between(pa.array([10, 12]), *ends).tolist() == [True, False]
    ends = [pa.array([code] * 2, pa.timestamp("us", "UTC")) for code in (0, 5)]
    assert Coverage.between(pa.array([5, 6]), *ends).tolist() == [True, False]


def test_levels_of_times_are_days_hours_minutes_or_seconds() -> None:
    def first(span: int, calendar: Any = "timestamp") -> Fraction:
        domain = QuasiDomain(
            name="d",
            kind="integer",
            missing=0,
            low=0,
            high=span,
            calendar=calendar,
        )
        return next(widths(domain))

    assert first(100 * DAY) == 5 * DAY
    assert first(3 * DAY) == 5 * DAY // 24
    assert first(1000, "date") == 50


def ordered(values: Sequence[str]) -> list[str | None]:
    attribute = SensitiveAttribute.model_validate({"distance": "ordered", "t": "0.5"})
    return list(
        sensitive_domain("seen", dict.fromkeys(values, 1), attribute, None, is_text=True).values,
    )


def test_dates_of_a_csv_have_an_order() -> None:
    assert ordered(["2024-02-29", "1999-12-31", "2024-01-01"]) == [
        "1999-12-31",
        "2024-01-01",
        "2024-02-29",
    ]
    assert ordered(["2024-02-29T07:00:00", "2024-02-28T23:00:00"])[0] == "2024-02-28T23:00:00"


@pytest.mark.parametrize("other", ["2024-02-28T23:00:00", "2024-02-28 23:00:00", "soon"])
def test_texts_that_are_not_all_dates_of_one_form_have_none(other: str) -> None:
    with pytest.raises(InputError, match=r"correct what is not a number|have no number"):
        ordered(["2024-02-29", "2024-02-28T12:00:00" if "T" not in other else "2024-02-29", other])


FEW = {
    "born": {"type": "date", "round_to": 7, "coarsest": 20000},
    "at": {"type": "timestamp"},
    "since": {"type": "date", "numeric_output": "bounds"},
}


@pytest.mark.parametrize("method", sorted(MODULES))
def test_every_method_takes_dates_and_times(method: str) -> None:
    records = [
        {
            "born": i * 97 % 900,
            "at": i * 7919 % 500 * DAY // 10,
            "since": i * 31 % 300,
            "disease": "abc"[i % 3],
        }
        for i in range(90 if method != "exact" else 12)
    ]
    quasi = FEW if method != "t_incognito" else {"born": FEW["born"]}
    chosen = [{key: row[key] for key in (*quasi, "disease")} for row in records]
    problem, rows = make_problem(chosen, {"disease": {"t": "0.6"}}, quasi, {}, k=4, name=method)
    table = ComparedTable(profile=problem.profile, rows=rows, whole=len(rows))
    made = apply_plan(
        plan_trial(problem.spec, problem.attributes, table),
        problem.attributes,
        rows,
        problem.spec,
    )
    labels, columns = [decoded(column) for column in made.labels], iter(made.labels)
    assert content(made.rows) == content(rows)
    codec = Codec.of(problem.profile)
    for q, raw in zip(problem.attributes.quasi_identifiers, codec.decode(made.rows), strict=True):
        covers = Coverage(numeric=True, scale=q.domain.scale)
        column = decoded(next(columns))
        seen = (
            covers.between(raw, column, decoded(next(columns)))
            if q.bounds
            else covers.covered(raw, column)
        )
        assert seen.all(), q.name
    classes = PublishedClasses.of(made, problem.spec)
    figures = measure(made, classes, problem.attributes, problem.spec, {})
    assert (figures.holds, 0 <= figures.ncp <= 1, len(labels) >= 1) == (True, True, True)
    for q in problem.attributes.quasi_identifiers:
        spread, _ = spread_labels(q, classes.labels[q.name])
        assert spread.shares(q.domain.low - 7, q.domain.high + 7) == pytest.approx(
            1,
        )  # ends are rounded to 7


N = 240
START = date(1950, 1, 1)
PEOPLE = pa.table(
    {
        "born": pa.array(
            [None if i % 80 == 0 else START + timedelta(days=i * 97 % 9000) for i in range(N)],
            pa.date32(),
        ),
        "seen": pa.array(
            [
                datetime(2024, 1, 1, tzinfo=UTC)
                + timedelta(seconds=i * 7919 % 10**6, microseconds=i % 3)
                for i in range(N)
            ],
            pa.timestamp("us", "UTC"),
        ),
        "since": [f"{2000 + i * 3 % 20}-{1 + i % 12:02d}-{1 + i * 5 % 28:02d}" for i in range(N)],
        "sent": [f"2024-03-{1 + i % 28:02d}T{i % 24:02d}:15:00" for i in range(N)],
        "died": pa.array([START + timedelta(days=20000 + i * 31 % 12) for i in range(N)]),
        "id": [f"p{i}" for i in range(N)],
    },
)
QUASI: dict[str, Any] = {
    "born": {"type": "date", "range": ["1900-01-01", "2000-01-01"], "round_to": 7},
    "seen": {"type": "timestamp"},
    "since": {"type": "date", "numeric_output": "bounds"},
    "sent": {"type": "timestamp", "hierarchy": {"dates": ["hour", "day", "month"]}},
}
METHODS = {
    "closeness_tree": {"name": "closeness_tree", "effort": "fast"},
    "t_incognito": {"name": "t_incognito"},
}


@pytest.fixture(scope="module")
def conf(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over dates and times of all kinds."""
    return write_run(
        tmp_path_factory.mktemp("dates"),
        PEOPLE,
        quasi=QUASI,
        sensitive={"died": {"distance": "ordered", "t": "0.4"}},
        insensitive_attributes=["id"],
        allow_unique=["id"],
        output={"keep_linked": True},
    )


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%Y%m%d", "%d-%b-%Y"])
def test_texts_in_a_form_make_the_release_of_their_iso_texts(
    write_run: Any,
    open_run: Any,
    tmp_path: Path,
    form: str,
) -> None:
    def written(name: str, form: str) -> pa.Array:
        texts = [datetime.fromisoformat(text).strftime(form) for text in PEOPLE[name].to_pylist()]
        return pa.array([int(text) for text in texts] if form == "%Y%m%d" else texts)

    forms = {"since": form, "sent": "%m/%d/%Y %H:%M"}
    table = PEOPLE
    for name, form in forms.items():
        table = table.set_column(table.schema.get_field_index(name), name, written(name, form))
    quasi = {name: {**QUASI[name], "date_format": form} for name, form in forms.items()}
    fingerprints = []
    for place, (people, settings) in enumerate(
        [(PEOPLE, {name: QUASI[name] for name in forms}), (table, quasi)],
    ):
        conf = write_run(
            tmp_path / str(place),
            people.select([*forms, "died"]),
            quasi=settings,
            sensitive={"died": {"distance": "ordered", "t": "0.4"}},
        )
        certificate = pipeline.release(
            open_run(conf, f"method={json.dumps(METHODS['t_incognito'])}"),
        )
        fingerprints.append(certificate["release"]["fingerprint"])
    assert fingerprints[0] == fingerprints[1]


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (("31.12.2024", "1.2.2023"), '%d.%m.%Y", or'),
        (("01/02/2024", "03/04/2024"), "give the right date_format"),
    ],
)
def test_the_form_of_dates_is_named_if_there_is_one(
    write_run: Any,
    open_run: Any,
    tmp_path: Path,
    texts: tuple[str, ...],
    told: str,
) -> None:
    table = pa.table({"at": [*texts] * 9, "died": ["no", "yes"] * 9})
    conf = write_run(tmp_path, table, quasi={"at": {"type": "date"}}, sensitive={"died": {"t": 1}})
    with pytest.raises(InputError, match=told):
        pipeline.profile(open_run(conf))


@pytest.mark.parametrize(
    ("text", "days"),
    [("29.02.2024", 19782), ("30.02.2024", None), ("2024-02-29", None)],
)
def test_a_text_has_the_declared_form_or_none(text: str, days: int | None) -> None:
    settings = QuasiIdentifier(type="date", date_format="%d.%m.%Y")
    values = pa.array([text, None])
    assert judged_values(values, settings).to_pylist() == [days, None]
    assert not_of_type(values, settings).tolist() == [days is None, False]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("%d %B %Y", "%B is none"),
        ("%d.%m.%y", "%y is none"),
        ("%d.%m", "year and month"),
        ("%Y-%m-%", "%"),
        ("", "year"),
    ],
)
def test_a_form_names_a_whole_day_in_numbers(form: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^QuasiIdentifier.date_format: .*{message}"):
        QuasiIdentifier(type="date", date_format=form)


def test_a_form_is_of_dates() -> None:
    with pytest.raises(ConfigurationError, match="date_format: it is for type: date or timestamp"):
        QuasiIdentifier(date_format="%d.%m.%Y")


@pytest.mark.parametrize("method", METHODS)
def test_every_label_covers_its_moment(
    conf: Path,
    open_run: Callable[..., Run],
    tmp_path: Path,
    method: str,
) -> None:
    run = open_run(conf, f"method={json.dumps(METHODS[method])}", f"output.path={tmp_path}")
    certificate = pipeline.release(run)
    rows = collect(read_delta(run.session, run.internal.path("linked"))).to_pylist()
    people = {row["id"]: row for row in PEOPLE.to_pylist()}
    assert len(rows) == N
    spans = dict.fromkeys(("born", "seen", "since"), Fraction(0))
    for row in rows:
        person = people[row["id"]]
        assert (row["born_raw"], row["seen_raw"]) == (person["born"], person["seen"])
        assert row["since_min"].isoformat() <= person["since"] <= row["since_max"].isoformat()
        for name in ("born", "seen"):
            if row[name] in (None, "*"):
                assert row[name] == "*" or person[name] is None
                spans[name] += row[name] == "*"
                continue
            low, high = interval_ends(row[name])
            assert low <= parse_moment(person[name].isoformat()) <= high
            spans[name] += min(Fraction(1), (high - low) / (36524 if name == "born" else 1))
            assert name != "born" or (low % 7, high % 7) == (0, 0)
        assert row["sent"] in (
            person["sent"],
            "*",
            *(person["sent"][:length] for length in (13, 10, 7)),
        )
    losses = certificate["utility"]["ncp_by_quasi_identifier"]
    assert losses["born"] == pytest.approx(float(spans["born"] / N))
    assert certificate["attributes"]["quasi_identifiers"]["born"]["range"] == [
        "1900-01-01",
        "2000-01-01",
    ]
    assert certificate["attributes"]["sensitive"]["died"]["domain"]["values"] == sorted(
        {str(p["died"]) for p in people.values()},
    )


WRONG = {
    "a date that is none": (
        "since",
        {"type": "date"},
        ["2024-02-30", "2024-2-1", "2024"],
        "hold no date",
    ),
    "a time that is none": (
        "sent",
        {"type": "timestamp"},
        ["2024-02-30T00:00:00", "12:00", "2024-02-01"],
        "hold no time",
    ),
}


@pytest.mark.parametrize(("name", "quasi", "values", "message"), WRONG.values(), ids=WRONG)
def test_texts_that_are_none_are_counted(
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
    tmp_path: Path,
    name: str,
    quasi: dict[str, str],
    values: list[str],
    message: str,
) -> None:
    good = PEOPLE[name].to_pylist()[:9]
    table = {name: [*values, *good], "disease": ["flu", "gout"] * 6}
    with pytest.raises(InputError, match=rf"3 of 12 rows {message} \(such as 2024-02-29"):
        pipeline.profile(open_run(write_run(tmp_path, table, quasi={name: quasi})))


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("born", "timestamp", "'born' is of type date; expected timestamps"),
        ("seen", "date", "'seen' is of type timestamp; expected dates, or type: timestamp"),
        ("born", "numeric", "'born' is of type date; expected numbers"),
    ],
)
def test_a_column_of_another_type_is_reported(
    conf: Path,
    open_run: Callable[..., Run],
    tmp_path: Path,
    name: str,
    kind: str,
    message: str,
) -> None:
    quasi = json.dumps({name: {"type": kind}})
    run = open_run(
        conf,
        f"attributes.quasi_identifiers={quasi}",
        f"output.path={tmp_path}",
        "attributes.drop_others=true",
    )
    with pytest.raises(InputError, match=message):
        pipeline.profile(run)


def test_dates_outside_of_the_range_are_counted(
    conf: Path,
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    quasi = json.dumps({"born": {"type": "date", "range": ["1950-01-01", "1951-01-01"]}})
    run = open_run(
        conf,
        f"attributes.quasi_identifiers={quasi}",
        f"output.path={tmp_path}",
        "attributes.drop_others=true",
    )
    with pytest.raises(
        InputError,
        match=r"born\.range: 2\d\d values in 2\d\d rows are outside of 1950-01-01 to 1951-01-01",
    ):
        pipeline.profile(run)
