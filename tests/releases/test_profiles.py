"""Releases with a profile: of each rule, one that holds and one that breaks it. What is found is
counted here from the written rows and the run file.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
import yaml
from people import read

from tclose_spark import pipeline
from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.options.profiles.columns import PublishedColumns
from tclose_spark.options.profiles.profiled_release import ProfiledRelease
from tclose_spark.options.profiles.rules import CHECKS
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.console import certificate_lines
from tclose_spark.report.html import render_report
from tclose_spark.requirements.figures import Figures
from tclose_spark.runfile.loading import load_spec
from tclose_spark.runfile.profiles.settings import PROFILES

ROWS = 240
PHONES = ["+41 44 123 45 67", "+41 44 123 45 68", "+41 44 123 45 69"]
QUASI = {"age": {"type": "numeric"}, "sex": {}}
SCHEMA = json.loads(
    resources.files("tclose_spark.report").joinpath("certificate.schema.json").read_text("utf-8"),
)


def people(top: int = 90, **more: Any) -> pa.Table:
    draw = np.random.default_rng(3)
    columns = {
        "name": [f"person {i}" for i in range(ROWS)],
        "age": np.minimum(draw.integers(40, 100, ROWS), top).tolist(),
        "sex": [["f", "m"][i] for i in draw.integers(2, size=ROWS)],
        "disease": [["flu", "flu", "gout", "ulcer"][i % 4] for i in range(ROWS)],
    }
    return pa.table(
        columns
        | {name: [values[i % len(values)] for i in range(ROWS)] for name, values in more.items()},
    )


@pytest.fixture
def make(run_file: Callable[..., Path], open_run: Callable[..., Any]) -> Callable[..., Any]:
    """`make(table, profile, k=None, quasi=.., ...)`: the run with this profile; no k if it is
    None.
    """

    def made(table: pa.Table, profile: Any, k: int | None = None, **settings: Any) -> Any:
        given: dict[str, Any] = {
            "quasi": QUASI,
            "sensitive": {"disease": {"t": "0.6"}},
            "direct_identifiers": ["name"],
            "method": {"name": "closeness_tree", "effort": "fast"},
            **settings,
        }
        path = run_file(table, k=k or 2, privacy={"profile": profile}, **given)
        if k is None:
            tree = yaml.safe_load(path.read_text())
            del tree["privacy"]["k"]
            path.write_text(yaml.safe_dump(tree))
        return open_run(path)

    return made


def release(run: Any) -> Mapping[str, Any]:
    certificate = pipeline.release(run)
    jsonschema.Draft202012Validator(SCHEMA).validate(certificate)
    assert certificate["profile"]["statement"].startswith(
        "This says which rules were checked, and how.",
    )
    return certificate


def broken(run: Any) -> tuple[str, list[dict[str, Any]]]:
    """(the error, the staged rows) of a release that breaks a rule. Nothing is public."""
    for stage in ("profile", "plan", "anonymize"):
        getattr(pipeline, stage)(run)
    with pytest.raises(GuaranteeError) as error:
        pipeline.verify(run)
    assert error.value.exit_code == 1
    with pytest.raises(GuaranteeError):
        pipeline.report(run)
    assert not run.public.exists("release")
    assert not run.public.exists("certificate.json")
    return str(error.value), read(Path(run.staging.path("release"))).to_dict("records")


def states(certificate: Mapping[str, Any]) -> dict[str, str]:
    return {rule["rule"]: rule["state"] for rule in certificate["profile"]["rules"]}


def rule(certificate: Mapping[str, Any], words: str) -> Mapping[str, str]:
    (found,) = [rule for rule in certificate["profile"]["rules"] if words in rule["rule"]]
    return found


def released(run: Any) -> list[dict[str, Any]]:
    return read(Path(run.public.path("release"))).to_dict("records")


def ends(label: str) -> tuple[int, int]:
    numbers = [int(n) for n in re.findall(r"\d+", label)]
    return numbers[0], numbers[-1]


# --- risk


@pytest.mark.parametrize(
    ("profile", "k"),
    [("ema_0070", 12), ("ipc_ontario", 20), ("public_use", 20)],
)
def test_the_profile_fills_in_k_and_every_class_has_it(make, profile, k):
    run = make(people(), profile)
    certificate = release(run)
    smallest = min(Counter((row["age"], row["sex"]) for row in released(run)).values())
    assert smallest >= k
    assert certificate["guarantees"]["k"]["required"] == k
    assert certificate["profile"]["k"] == {"required": k, "set_by": "profile"}
    assert f"class of {smallest}: {1 / smallest:.4f}" in rule(certificate, "maximum risk")["how"]
    assert states(certificate)["the maximum risk is at most the threshold"] == "holds"


def test_eleven_is_ninepercent_by_custom_if_the_run_file_names_it(make):
    certificate = release(make(people(), "ema_0070", k=11))
    assert certificate["profile"]["k"] == {"required": 11, "set_by": "run file"}
    assert (
        "1/11 stands for it by custom, as the run file's k asks"
        in rule(certificate, "maximum risk")["how"]
    )


@pytest.mark.parametrize(
    ("k", "smallest", "state"),
    [(12, 12, "holds"), (12, 11, "broken"), (11, 11, "holds"), (11, 10, "broken")],
)
def test_the_maximum_risk_is_that_of_the_smallest_class(make, k, smallest, state):
    """Whatever k was required: a class that is too small breaks the rule by itself."""
    spec = make(people(), "ema_0070", k=k).spec
    release = ProfiledRelease(
        spec=spec,
        profile=spec.privacy.profile,
        found=PublishedColumns({}, {}, {}),
        hierarchies={},
        populations={},
        smallest=smallest,
        mean_risk=Fraction(1, smallest),
        ncp=None,
        roles={},
    )
    judged = CHECKS["maximum_risk"](release)
    assert judged.state == state
    assert bool(judged.problems) == (state == "broken")


NON_PUBLIC = {"name": "ipc_ontario", "release_model": "non_public"}


def test_the_mean_risk_of_a_release_that_is_not_public(make):
    run = make(people(), NON_PUBLIC, k=25)
    certificate = release(run)
    sizes = Counter((row["age"], row["sex"]) for row in released(run))
    mean = sum(Fraction(1, sizes[row["age"], row["sex"]]) for row in released(run)) / ROWS
    assert mean <= Fraction("0.05")
    assert f"{float(mean):.4f}, at most 0.05" in rule(certificate, "mean risk")["how"]


def test_a_mean_risk_that_is_too_large(make):
    message, rows = broken(make(people(), NON_PUBLIC, k=3))
    sizes = Counter((row["age"], row["sex"]) for row in rows)
    mean = Fraction(len(sizes), len(rows))
    assert mean > Fraction("0.05")
    assert f"the mean risk is {float(mean):.4f}, above 0.05; raise privacy.k" in message


# --- ages


def test_ages_above_89_that_are_one_category(make):
    run = make(people(), "hipaa_safe_harbor")
    assert states(release(run))["ages above 89 are one category of 90 and older"] == "holds"
    oldest = max(ends(row["age"])[1] for row in released(run))
    assert oldest == 90


def test_ages_above_89_that_labels_divide(make):
    message, rows = broken(make(people(top=99), "hipaa_safe_harbor"))
    oldest = max(ends(row["age"])[1] for row in rows)
    wrong = [
        row["age"]
        for row in rows
        if (e := ends(row["age"]))[1] > 89 and not (e[0] <= 90 and e[1] >= oldest)
    ]
    assert wrong
    assert (
        f"column 'age': {len(set(wrong))} labels of {len(wrong)} rows divide the ages from 90 up; "
        "top-code" in message
    )


def test_ages_as_bounds_and_with_a_range(make):
    quasi = {**QUASI, "age": {"type": "numeric", "numeric_output": "bounds", "range": [0, 90]}}
    assert (
        states(release(make(people(), "hipaa_safe_harbor", quasi=quasi)))[
            "ages above 89 are one category of 90 and older"
        ]
        == "holds"
    )


def test_a_sensitive_age_is_an_age(make):
    table = people(stay=[1, 2, 93])
    message, _ = broken(
        make(
            table,
            {"name": "hipaa_safe_harbor", "ages": ["stay"]},
            insensitive_attributes=["stay"],
        ),
    )
    assert f"column 'stay': 1 labels of {ROWS // 3} rows divide" in message


# --- dates


@pytest.mark.parametrize(
    "values",
    [
        pa.array([0, 86_400_000_000], pa.timestamp("us")),
        pa.array([0, 1], pa.date32()),
        ["2024-02-29", "2023"],
        ["2024-Q1"],
    ],
    ids=str,
)
def test_a_date_finer_than_a_year_in_a_column_that_is_published_unchanged(make, values):
    values = values.to_pylist() if isinstance(values, pa.Array) else values
    table = people(seen=values)
    message, rows = broken(make(table, "hipaa_safe_harbor", insensitive_attributes=["seen"]))
    finer = sum(len(str(row["seen"])) > 4 for row in rows)
    assert f"column 'seen': {finer} rows have a date or time finer than a year" in message


def test_a_date_as_intervals_of_days(make):
    days = pa.array(np.random.default_rng(5).integers(18_000, 20_000, ROWS).astype(np.int32)).cast(
        pa.date32(),
    )
    table = people().append_column("born", days)
    message, rows = broken(
        make(table, "hipaa_safe_harbor", quasi={**QUASI, "born": {"type": "date"}}),
    )
    finer = sum(row["born"] != "*" for row in rows)
    assert f"column 'born': {finer} rows have a date" in message


def test_years_are_dates_that_may_be_published(make):
    table = people(year=["2021", "2022"], since=[2001, 2002])
    certificate = release(
        make(table, "hipaa_safe_harbor", insensitive_attributes=["year", "since"]),
    )
    assert states(certificate)["dates are no finer than a year"] == "holds"
    assert rule(certificate, "no year")["state"] == "not checked"


FINER = [
    *(
        "20240305",
        "05032024",
        "5 March 2024",
        "March 5, 2024",
        "05MAR2024",
        "Tue, 5 Mar 2024 10:15",
        "5. Mai 2024",
    ),
    *(
        "2024W10",
        "2024-W10-2",
        "week 10 2024",
        "2024-065",
        "Q1 2024",
        "2Q24",
        "2024H1",
        "spring 2024",
        "03/2024",
    ),
    *(
        "1709596800",
        "1709596800000",
        "20240305T1015",
        "5.III.2024",
        "2024年3月5日",
        "\uff12024-03-05",
        "202403**",
    ),
    *("10:15:00", "10:15 am", "{2024-03-05, 2024-03-06}", "2024/3", " 2024-03-05 ", "March"),
]
UNREAD = ["day 45356", "2024.x", "E11.9", "202403", "240305", "grade 3", "xx-03-05"]
NO_DATES = [7, 7.5, 1999, 94110, "20-29", "<5", "1990s", "7%", "flu", "Mayer", "Decline"]
LONG = [123456789, 123456789.0, "123 45 6789", "123.45.6789", "41791234567"]
OLD = [
    "93 years",
    "93 yrs",
    "93y",
    "93 Jahre",
    "aged 93",
    "93 years old",
    "91-95",
    "91 to 95",
    "1116 months",
]
OLDEST = ["90+", "90 and older", ">= 90", "≥90 years", "over 89"]
ZIPS = ["94110", "94110-1234", "9411*", "02139", "{94110, 94112}"]


def columns_of(values: list[Any], beside: Any, name: str = "seen") -> dict[str, list[Any]]:
    """A column for each value, beside another one."""
    return {f"{name}_{place}x": [value, beside] for place, value in enumerate(values)}


def broken_with(make: Callable[..., Any], columns: dict[str, list[Any]]) -> str:
    return broken(
        make(people(**columns), "hipaa_safe_harbor", insensitive_attributes=list(columns)),
    )[0]


def test_forms_of_dates_that_are_read(make):
    columns = columns_of(FINER, "2023")
    message = broken_with(make, columns)
    for column, (value, _) in columns.items():
        assert (
            f"column {column!r}: {ROWS // 2} rows have a date or time finer than a year" in message
        ), value


def test_long_numbers_zip_codes_and_forms_of_ages_that_are_read(make):
    numbers, ages = columns_of(LONG, None), columns_of(OLD, "95+", "age")
    zips = columns_of(ZIPS, "941", "zip")
    message = broken_with(make, {**numbers, **ages, **zips})
    for column in numbers:
        assert (
            f"column {column!r}: {ROWS // 2} rows look like numbers of nine digits or more"
            in message
        )
    for column in ages:
        assert f"column {column!r}: 2 labels of {ROWS} rows divide the ages from 90 up" in message
    for column in zips:
        assert (
            f"column {column!r}: {ROWS // 2} rows have a ZIP code of more than three digits"
            in message
        )


def test_columns_that_cannot_be_read_are_named_everywhere(make):
    columns = columns_of(UNREAD, "none")
    run = make(people(**columns), "hipaa_safe_harbor", insensitive_attributes=list(columns))
    certificate = release(run)
    found = rule(certificate, "dates are no finer")
    assert (found["state"], found["unread"]) == ("not checked", list(columns))
    assert f"not known in seen_0x ({ROWS // 2} rows)" in found["how"]
    assert found["how"] in run.public.read("report.html")
    (line,) = (
        one
        for one in certificate_lines(Certificate.read(certificate), "a", "b")
        if one.strip().startswith("columns not read")
    )
    assert line.endswith("seen_6x: dates are no finer than a year")


def test_forms_that_break_no_rule_and_columns_that_the_run_file_knows(make):
    known = columns_of(UNREAD, "none", "known")
    columns = {**columns_of(NO_DATES, None), **columns_of(OLDEST, "12 years", "age"), **known}
    profile = {
        "name": "hipaa_safe_harbor",
        "not_identifiers": [*known, *columns_of(OLDEST, None, "age")],
    }
    certificate = release(make(people(**columns), profile, insensitive_attributes=list(columns)))
    assert rule(certificate, "dates are no finer")["state"] == "holds"
    assert rule(certificate, "ages above 89")["state"] == "holds"


# --- areas


def with_areas(
    make: Callable[..., Any],
    folder: Path,
    profile: str,
    table: str,
    zips: list[str],
) -> Any:
    (folder / "areas.csv").write_text(table)
    quasi = {**QUASI, "zip": {"hierarchy": {"prefix": 1}}}
    return make(
        people(zip=zips),
        {"name": profile, "populations": {"zip": "areas.csv"}},
        quasi=quasi,
    )


AREAS = [
    ("hipaa_safe_harbor", "941,800000\n101,20001\n", ["941", "101"], None),
    ("hipaa_safe_harbor", "941,800000\n101,20000\n", ["941", "101"], ["101"]),
    ("hipaa_safe_harbor", "941,800000\n", ["941", "000"], None),
    ("hipaa_safe_harbor", "941,800000\n", ["94107", "94108"], ["94107", "94108"]),
    ("public_use", "a,100000\nb,250000\n", ["a", "b"], None),
    ("public_use", "a,99999\nb,250000\n", ["a", "b"], ["a"]),
]


@pytest.mark.parametrize(("profile", "table", "zips", "small"), AREAS, ids=str)
def test_areas_have_people_enough(make, tmp_path, profile, table, zips, small):
    run = with_areas(make, tmp_path, profile, table, zips)
    if small is None:
        certificate = release(run)
        (areas,) = [s for name, s in states(certificate).items() if name.startswith("areas")]
        assert areas == "holds"
        assert "areas.csv" not in json.dumps(
            certificate["profile"],
        )  # the path of a file is nobody's business
        return
    message, rows = broken(run)
    wrong = [row["zip"] for row in rows if row["zip"] in small]
    assert f"column 'zip': {len(set(wrong))} labels of {len(wrong)} rows have fewer than" in message
    assert "107" not in message


def test_a_place_without_a_table_of_populations_is_not_checked(make):
    certificate = release(
        make(people(city=["Pisa", "Bari"]), "hipaa_safe_harbor", quasi={**QUASI, "city": {}}),
    )
    assert rule(certificate, "areas are")["state"] == "not checked"
    assert rule(certificate, "areas are")["how"].startswith("city without a table of populations")


def test_a_country_is_no_area_smaller_than_a_state(make):
    certificate = release(
        make(people(country=["IT", "FR"]), "hipaa_safe_harbor", quasi={**QUASI, "country": {}}),
    )
    assert "country" not in rule(certificate, "areas are")["how"]


@pytest.mark.parametrize("text", [None, "94107,5\n"])
def test_a_table_of_populations_is_checked_before_anything_runs(make, tmp_path, tclose, text):
    with_areas(make, tmp_path, "hipaa_safe_harbor", text or "", ["941", "101"])
    if text is None:
        (tmp_path / "areas.csv").unlink()
    code, _, errors = tclose("release", tmp_path / "run.yaml")
    assert code == 2
    assert "privacy.profile.populations.zip" in errors


def test_another_table_of_populations_is_another_configuration(make, tmp_path, open_run):
    run = with_areas(make, tmp_path, *AREAS[0][:3])
    release(run)
    pipeline.verify(open_run(tmp_path / "run.yaml"), finished=True)
    (tmp_path / "areas.csv").write_text("941,800000\n101,20002\n")
    with pytest.raises(ConfigurationError, match="made with another configuration"):
        pipeline.verify(open_run(tmp_path / "run.yaml"), finished=True)


# --- identifiers


def test_a_column_with_the_name_of_an_identifier(make):
    message, _ = broken(make(people(fax=["a", "b"]), "ema_0070", insensitive_attributes=["fax"]))
    assert "column 'fax' has the name of an identifier (E: fax numbers) and is published" in message


def test_names_of_identifiers_are_noted_before_the_release_is_made(make):
    lines = list[str]()
    run = make(people(fax=["a", "b"]), "ema_0070", insensitive_attributes=["fax"])
    run.announce = lines.append
    pipeline.profile(run)
    assert any(
        line.startswith("note: column 'fax' has the name of an identifier") for line in lines
    )


@pytest.mark.parametrize("profile", [*PROFILES])
def test_values_that_look_like_identifiers(make, profile):
    message, rows = broken(
        make(people(note=[*PHONES, "none"]), profile, insensitive_attributes=["note"]),
    )
    called = sum(row["note"] in PHONES for row in rows)
    assert f"column 'note': {called} rows look like phone numbers" in message
    assert not any(phone in message for phone in PHONES)


@pytest.mark.parametrize("quasi", [{"generalization": "set"}, {"hierarchy": {"order": 8}}])
def test_identifiers_in_labels_of_several_values(make, quasi):
    """Sets, and groups by their ends, show values as single labels do."""
    numbers = [f"123-45-{i:04d}" for i in range(30)]
    message, rows = broken(
        make(people(code=numbers), "public_use", quasi={"code": quasi}, drop_others=True),
    )
    shown = sum("123-45-" in row["code"] for row in rows)
    assert f"column 'code': {shown} rows look like social security numbers" in message
    assert any(row["code"][0] in "{[" or ".." in row["code"] for row in rows)


def test_identifiers_with_blanks_at_their_ends(make):
    message, _ = broken(
        make(people(note=[" a@b.org", "none"]), "ema_0070", insensitive_attributes=["note"]),
    )
    assert f"column 'note': {ROWS // 2} rows look like e-mail addresses" in message


def test_the_run_file_may_say_that_a_column_is_no_identifier(make):
    profile = {"name": "ema_0070", "not_identifiers": ["note", "fax"]}
    run = make(people(note=PHONES, fax=["a", "b"]), profile, insensitive_attributes=["note", "fax"])
    certificate = release(run)
    assert (
        "named as no identifiers by the run file: note, fax"
        in rule(certificate, "direct identifiers are removed")["how"]
    )
    by_letter = {one["letter"]: one for one in certificate["profile"]["identifiers"]}
    assert by_letter["A"]["found"] == [{"column": "name", "role": "direct identifier"}]
    assert by_letter["E"]["found"] == [{"column": "fax", "role": "insensitive attribute"}]
    assert by_letter["D"]["values"] == [{"column": "note", "rows": ROWS}]
    assert len(by_letter) == 18


# --- what is shown


@pytest.mark.parametrize("profile", [*PROFILES])
def test_the_certificate_and_the_report_list_every_rule_in_order(make, profile):
    run = make(people(), profile)
    certificate = release(run)
    rules = certificate["profile"]["rules"]
    assert {rule["state"] for rule in rules} <= {"holds", "not checked", "stated"}
    assert all(rule["how"] for rule in rules)
    page = run.public.read("report.html")
    places = [
        page.index(f'<th scope="row">{rule["rule"]}</th>')
        for rule in rules
        if "'" not in rule["rule"]
    ]
    assert places == sorted(places)
    assert page.count("<td>not checked</td>") == sum(
        rule["state"] == "not checked" for rule in rules
    )
    assert certificate["profile"]["statement"] in page
    assert not re.search(r"(is|are) compliant|complies with (HIPAA|EMA)", page)
    counted = Counter(rule["state"] for rule in rules)
    (line,) = [
        line
        for line in certificate_lines(Certificate.read(certificate), "a", "b")
        if "profile" in line
    ]
    assert line.endswith(
        f"{counted['holds']} rule{'s' * (counted['holds'] > 1)} checked, {counted['not checked']} "
        "not checked",
    )


def test_what_nist_asks_for_is_stated_from_the_release(make):
    certificate = release(make(people(), "nist_sp_800_188"))
    smallest, of = certificate["utility"]["smallest_class"], certificate["release"]
    risks = rule(certificate, "the probability of re-identification is stated")
    assert risks["state"] == "stated"
    mean = of["classes"] / of["rows"]
    assert (
        risks["how"]
        == f"1 / smallest class: {1 / smallest:.4f}; mean of 1 / size of the class: {mean:.4f}"
    )
    hashed = rule(certificate, "hashed or encrypted identifiers are stated")
    assert (hashed["state"], hashed["how"]) == (
        "stated",
        "the run file publishes none as a pseudonym",
    )


def test_without_a_profile_nothing_of_it_is_said(certificate, finished):
    assert "profile" not in certificate
    assert "Rules of profile" not in render_report(
        Certificate.read(certificate),
        Figures.read(json.loads((finished / "internal/verification.json").read_text()), []),
    )
    assert not any(
        "profile" in line for line in certificate_lines(Certificate.read(certificate), "a", "b")
    )


def test_people_are_counted_for_risks(make):
    """Two rows a person: a class of 24 rows has 12 people, or 12 classes of the rows' number have
    too few.
    """
    table = people().set_column(0, "name", [[f"person {i // 2}" for i in range(ROWS)]])
    given = {"direct_identifiers": [], "person": "name"}
    certificate = release(make(table, "ema_0070", **given))
    smallest = certificate["people"]["smallest_class"]
    assert smallest >= 12
    assert f"class of {smallest}:" in rule(certificate, "maximum risk")["how"]


@pytest.mark.on_spark
def test_spark_finds_the_same(make, tmp_path):
    run = with_areas(make, tmp_path, *AREAS[0][:3])
    local = Run(
        load_spec(tmp_path / "run.yaml", ["output.path=local"]),
        LocalSession(),
        lambda line: None,
    )
    assert release(run)["profile"] == release(local)["profile"]
