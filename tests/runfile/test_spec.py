"""The run file: what it may hold, what it becomes, and messages that name the key and the value."""

from fractions import Fraction
from pathlib import Path

import pytest

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.loading import expand, load_spec, resolve
from tclose_spark.runfile.spec import Input, ReleaseSpec

RUN = """
name: people
input: {path: people.csv, format: csv}
output: {path: build}
attributes:
  direct_identifiers: [ssn]
  quasi_identifiers:
    age: {type: numeric}
    zip: {hierarchy: trees/zip.csv}
    sex:
    job.title: {type: categorical}
  sensitive_attributes:
    disease: {distance: equal, t: 0.1}
    salary: {distance: ordered, t: measure}
  insensitive_attributes: [region]
privacy: {k: 5}
"""
DISEASE = "attributes.sensitive_attributes.disease"
SALARY = "attributes.sensitive_attributes.salary"
QUASI = "attributes.quasi_identifiers"


@pytest.fixture
def load(tmp_path: Path):
    """Loads RUN, or another text, with overrides."""

    def load_text(*overrides: str, text: str = RUN) -> ReleaseSpec:
        file = tmp_path / "run.yaml"
        file.write_text(text, encoding="utf-8")
        return load_spec(file, overrides)

    return load_text


def test_the_share_of_rows_that_may_be_left_out_is_exact(load):
    assert (
        load().privacy.suppression_limit,
        load().privacy.of,
        load().privacy.most_suppressed(10**9),
    ) == (
        0,
        "input",
        0,
    )
    privacy = load("privacy.suppression_limit=0.29", "privacy.of=released").privacy
    assert (privacy.suppression_limit, privacy.of) == (Fraction(29, 100), "released")
    assert [privacy.most_suppressed(rows) for rows in (3, 4, 100, 10**18 + 1)] == [
        0,
        1,
        29,
        29 * 10**16,
    ]


def test_n_of_a_superset_changes_what_is_asked_and_is_none_where_it_is_not_said(load):
    assert (load().privacy.n, load("privacy.nt.n=1000").privacy.n) == (None, 1000)
    assert (
        load("privacy.nt.n=1000").fingerprint
        != load().fingerprint
        == load("privacy.nt=null").fingerprint
    )


def test_a_short_run_file_has_the_defaults(load):
    spec = load()
    disease, sex = (
        spec.attributes.sensitive_attributes["disease"],
        spec.attributes.quasi_identifiers["sex"],
    )
    assert (spec.method.name, spec.method.effort) == ("closeness_tree", "balanced")
    dealt = load("method.name=stack_and_deal").method
    assert (dealt.stack_order, dealt.deal, dealt.class_size) == (None, "local", "auto")
    assert (sex.type, sex.hierarchy, sex.numeric_output, sex.generalization) == (
        "categorical",
        None,
        "interval",
        "suppress",
    )
    assert (disease.order, disease.missing, disease.l.distinct) == ("value", "error", None)
    assert (spec.attributes.drop_others, spec.attributes.allow_unique, spec.output.keep_linked) == (
        False,
        (),
        False,
    )
    assert spec.attributes.published == (
        "age",
        "zip",
        "sex",
        "job.title",
        "disease",
        "salary",
        "region",
    )


WRONG = [
    ("privacy.nt=1000", "privacy.nt: found 1000; expected a section"),
    ("privacy.nt.n=0", "privacy.nt.n: found 0; expected 1 or more"),
    ("privacy.nt.n=2", "privacy.nt.n is 2, and k is .*expected an n above k"),
    # what is set, what the message holds: the key first, then the value and what was expected
    ("privacy.k=1", "privacy.k: found 1; expected 2 or more"),
    ("privacy.k='5'", "privacy.k: found '5'; expected 5 without quotes"),
    ("privacy.k=true", "privacy.k: found true; expected a whole number"),
    ("privacy.k=5.5", r"privacy.k: found 5\.5; expected a whole number"),
    (
        "privacy.suppression_limit=1",
        "privacy.suppression_limit: found 1; expected a number that is at least 0 and below 1",
    ),
    (
        "privacy.suppression_limit=-0.01",
        "privacy.suppression_limit: found -0.01; expected a number that is at least 0",
    ),
    ("privacy.suppression_limit=5%", "privacy.suppression_limit: found '5%'; expected a number"),
    ("privacy.of=all", "privacy.of: found 'all'; expected 'input' or 'released'"),
    ("privacy.kk=3", "privacy.kk: unknown key; did you mean 'k'"),
    ("privcy={k: 2}", "privcy: unknown key; did you mean 'privacy'"),
    ("input.zzzz=1", "input.zzzz: unknown key"),
    ("name=3", "name: found 3; expected a text"),
    ("name=''", "name: found ''; expected a text that is not empty"),
    (
        "input.format=avro",
        "input.format: found 'avro'; expected 'csv', 'parquet', 'delta', 'table', 'excel', 'stata'",
    ),
    ("input.path=", "input.path: found null; expected a text"),
    ("input.options={sep: [1]}", r"input.options.sep: found \[1\]; expected a text"),
    ("input.options={sep: null}", "input.options.sep: found null; expected a text"),
    ("output.keep_linked=1", "output.keep_linked: found 1; expected true or false"),
    (f"{DISEASE}.t=20%", f"{DISEASE}.t: found '20%'; expected a number"),
    (
        f"{DISEASE}.t=1e-400",
        f"{DISEASE}.t: found '1e-400'; expected a number from 0 to 1, and either 0 or not below",
    ),
    (f"{DISEASE}.t=-0.1", f"{DISEASE}.t: found -0.1; expected a number from 0 to 1"),
    (f"{DISEASE}.t=1.01", f"{DISEASE}.t: found 1.01; expected a number from 0 to 1"),
    (f"{DISEASE}.beta=0", f"{DISEASE}.beta: found 0; expected a number above 0"),
    (
        f"{DISEASE}.l={{frequency: 0.5}}",
        f"{DISEASE}.l.frequency: found 0.5; expected a number of at least 1",
    ),
    (f"{DISEASE}.t=meassure", f"{DISEASE}.t: found 'meassure'; expected a number"),
    (
        f"{DISEASE}.t=null",
        f"{DISEASE}: it has no requirement; expected a t .*, an l .*, or t: measure",
    ),
    (f"{DISEASE}={{}}", f"{DISEASE}: it has no requirement"),
    (f"{DISEASE}=", f"{DISEASE}: it has no requirement"),
    (f"{DISEASE}={{l: {{}}}}", f"{DISEASE}: it has no requirement"),
    (
        f"{SALARY}.order=[low, null, high]",
        rf"{SALARY}: order holds null \(place 2\), which is not a value; use missing: lowest or highest",
    ),
    (
        f"{SALARY}.order=[low, high, low]",
        f"{SALARY}: order holds 'low' 2 times; expected every value once",
    ),
    (f"{SALARY}.order=[1, '1']", f"{SALARY}: order holds '1' 2 times"),
    (
        f"{SALARY}.order=[[low], high]",
        rf"{SALARY}: order holds \['low'\] \(place 1\); expected values only",
    ),
    (f"{SALARY}.order=[]", f"{SALARY}: order is an empty list"),
    (f"{DISEASE}.t=true", f"{DISEASE}.t: found true; expected a number"),
    (f"{DISEASE}.t=.inf", f"{DISEASE}.t: found .inf; expected a number"),
    (f"{DISEASE}.t=.nan", f"{DISEASE}.t: found .nan; expected a number"),
    (f"{DISEASE}.t=1/0", f"{DISEASE}.t: found '1/0'; expected a number"),
    (
        f"{DISEASE}.distance=cosine",
        f"{DISEASE}.distance: found 'cosine'; expected 'equal', 'ordered' or 'hierarchical'",
    ),
    (
        f"{DISEASE}.distance=hierarchical",
        f"{DISEASE}.distance: it needs a hierarchy; expected hierarchy",
    ),
    (f"{DISEASE}.hierarchy=a.csv", f"{DISEASE}.hierarchy: it is for a hierarchical distance"),
    (
        f"{DISEASE}.order=frequency",
        f"{DISEASE}.order: it is for an ordered distance, such as distance: ordered",
    ),
    (
        f"{DISEASE}.missing=lowest",
        f"{DISEASE}: .*missing is lowest; expected error or uninformative for distance: equal, "
        "error, lowest",
    ),
    (
        f"{DISEASE}.missing=leaf",
        f"{DISEASE}: .*missing is leaf; expected error or uninformative for distance: equal, "
        "error, lowest",
    ),
    (
        f"{DISEASE}={{distance: ordered, missing: leaf}}",
        f"{DISEASE}: .*missing is leaf; expected .* error, lowest or highest for ordered",
    ),
    (
        f"{DISEASE}={{distance: hierarchical, hierarchy: a.csv, missing: lowest}}",
        f"{DISEASE}: .*missing is lowest; expected error",
    ),
    (f"{QUASI}.zip.hierarchy=3", f"{QUASI}.zip.hierarchy: found 3; expected a text"),
    (
        f"{QUASI}.zip.hierarchy={{}}",
        f"{QUASI}.zip.hierarchy: found {{}}; expected the path of a CSV, or one of intervals: ",
    ),
    (
        f"{QUASI}.zip.hierarchy={{prefix: 1, order: 2}}",
        f"{QUASI}.zip.hierarchy: .*expected the path of a CSV, or one of",
    ),
    (
        f"{QUASI}.zip.hierarchy={{prefx: 1}}",
        f"{QUASI}.zip.hierarchy.prefx: unknown key; did you mean 'prefix'",
    ),
    (
        f"{QUASI}.zip.hierarchy={{ranges: {{a: 1-x}}}}",
        f"{QUASI}.zip.hierarchy: '1-x' is no range of codes; expected",
    ),
    (
        f"{QUASI}.zip.hierarchy={{ranges: {{a: 9-1}}}}",
        f"{QUASI}.zip.hierarchy: '9-1' is no range of codes",
    ),
    (
        f"{QUASI}.zip.hierarchy={{ranges: {{a: null}}}}",
        f"{QUASI}.zip.hierarchy: a table of ranges is empty",
    ),
    (
        f"{QUASI}.zip.hierarchy={{ranges: {{a: 1-5}}, other: a}}",
        f"{QUASI}.zip.hierarchy: other is 'a', which is the label",
    ),
    (
        f"{QUASI}.zip.hierarchy={{ranges: {{a: 1-5, b: 5-9}}}}",
        f"{QUASI}.zip.hierarchy: ranges of 'a' and 'b' overlap",
    ),
    (
        f"{QUASI}.zip.hierarchy={{ranges: [{{a: 1-5}}, {{b: 3-9}}]}}",
        f"{QUASI}.zip.hierarchy: the ranges of 'a' are not inside one range, or label, of the next "
        "table",
    ),
    (
        f"{QUASI}.zip.hierarchy={{ranges: {{}}}}",
        f"{QUASI}.zip.hierarchy: a table of ranges is empty",
    ),
    (
        f"{QUASI}.zip.hierarchy={{ranges: {{'*': 1-5}}}}",
        f"{QUASI}.zip.hierarchy: '\\*' stands for the whole domain",
    ),
    (f"{QUASI}.zip.hierarchy={{prefix: 0}}", f"{QUASI}.zip.hierarchy.prefix: found 0; expected"),
    (
        f"{QUASI}.zip.hierarchy={{prefix: [1, 3]}}",
        f"{QUASI}.zip.hierarchy: prefix is .*expected fewer characters from level",
    ),
    (
        f"{QUASI}.zip.hierarchy={{order: 1}}",
        f"{QUASI}.zip.hierarchy.order: found 1; expected 2 or more",
    ),
    (
        f"{QUASI}.zip.hierarchy={{order: 2, other: x}}",
        f"{QUASI}.zip.hierarchy.other: it is for groups, levels or ranges",
    ),
    (
        f"{QUASI}.zip.hierarchy={{dates: [week]}}",
        rf"{QUASI}.zip.hierarchy.dates.0: found 'week'; expected 'hour', 'day', ",
    ),
    (
        f"{QUASI}.zip.hierarchy={{dates: [year, month]}}",
        f"{QUASI}.zip.hierarchy: dates are year, month; expected coarser parts",
    ),
    (f"{QUASI}.zip.hierarchy={{groups: {{}}}}", f"{QUASI}.zip.hierarchy: groups is empty"),
    (f"{QUASI}.zip.hierarchy={{groups: {{a: []}}}}", f"{QUASI}.zip.hierarchy: a group is empty"),
    (
        f"{QUASI}.zip.hierarchy={{groups: {{a: 1}}}}",
        f"{QUASI}.zip.hierarchy.groups.a: found 1; expected a list",
    ),
    (
        f"{QUASI}.zip.hierarchy={{groups: {{a: [1], b: [1]}}}}",
        f"{QUASI}.zip.hierarchy: '1' is in 2 groups",
    ),
    (
        f"{QUASI}.zip.hierarchy={{groups: {{a: ['*']}}}}",
        rf"{QUASI}.zip.hierarchy: '\*' stands for the whole domain",
    ),
    (
        f"{QUASI}.zip.hierarchy={{levels: [{{a: [1]}}, {{b: [a, c]}}]}}",
        f"{QUASI}.zip.hierarchy: 'c' is no label of the level below",
    ),
    (
        f"{QUASI}.zip.hierarchy={{levels: [{{a: [1], b: [2]}}, {{c: [a]}}]}}",
        f"{QUASI}.zip.hierarchy: the label 'b' is in no group of the level above; name it, or give "
        "other",
    ),
    (
        f"{QUASI}.zip.hierarchy={{intervals: [5]}}",
        f"{QUASI}.zip.hierarchy.intervals: intervals are of numbers; expected type: numeric",
    ),
    (
        f"{QUASI}.age.hierarchy={{intervals: [5, 12]}}",
        f"{QUASI}.age.hierarchy: intervals are 5, 12 wide; expected .*multiple",
    ),
    (
        f"{QUASI}.age.hierarchy={{intervals: [0]}}",
        f"{QUASI}.age.hierarchy: intervals are 0 wide; expected numbers above 0",
    ),
    (
        f"{QUASI}.age.hierarchy={{intervals: 1/3}}",
        f"{QUASI}.age.hierarchy: intervals are 1/3 wide; expected decimal numbers",
    ),
    (
        f"{QUASI}.age.hierarchy={{prefix: 1}}",
        f"{QUASI}.age.hierarchy.prefix: it is for type: categorical",
    ),
    (
        f"{QUASI}.age={{type: numeric, round_to: 5, hierarchy: {{order: 2}}}}",
        f"{QUASI}.age.round_to: not with hierarchy, whose nodes are published instead",
    ),
    (
        f"{QUASI}.age={{type: numeric, text: {{}}, hierarchy: {{order: 2}}}}",
        f"{QUASI}.age.text: not with type: (date|numeric), since it is for columns of text",
    ),
    (f"{QUASI}.zip.range=[0, 1]", f"{QUASI}.zip.range: it is for type: numeric, date or timestamp"),
    (
        f"{QUASI}.age={{type: date, range: [0, 100]}}",
        f"{QUASI}.age: range is 0, 100; expected the lowest date, then the",
    ),
    (
        f"{QUASI}.age={{type: date, range: [2024-01-02, 2024-01-01]}}",
        f"{QUASI}.age: range is 2024-01-02, 2024-01-01; expected",
    ),
    (
        f"{QUASI}.age={{type: date, round_to: 0.5}}",
        f"{QUASI}.age: round_to is 1/2; expected whole days",
    ),
    (
        f"{QUASI}.age={{type: timestamp, round_to: 1/7}}",
        f"{QUASI}.age: round_to is 1/7; expected days, in whole micros",
    ),
    (
        f"{QUASI}.age={{type: date, text: {{}}}}",
        f"{QUASI}.age.text: not with type: (date|numeric), since it is for columns of text",
    ),
    (
        f"{QUASI}.age={{type: date, hierarchy: {{intervals: [5]}}}}",
        f"{QUASI}.age.hierarchy.intervals: intervals are of numbers",
    ),
    (
        f"{QUASI}.age={{type: date, hierarchy: {{prefix: 1}}}}",
        f"{QUASI}.age.hierarchy.prefix: it is for type: categorical",
    ),
    (
        f"{QUASI}.age.hierarchy={{dates: [year]}}",
        f"{QUASI}.age.hierarchy.dates: it is for type: date, timestamp or categorical",
    ),
    (
        f"{QUASI}.age.range=[120, 0]",
        f"{QUASI}.age: range is 120, 0; expected the lowest number, then the highest",
    ),
    (f"{QUASI}.age.range=[0]", f"{QUASI}.age.range"),
    (f"{QUASI}.age.range=120", f"{QUASI}.age.range: found 120; expected a list"),
    ("output.export=[json]", "output.export.0: found 'json'; expected 'parquet' or 'csv'"),
    ("output.export=[csv, csv]", "output.export: found .csv, csv.; expected each once"),
    ("input.columns={a: x, b: X}", "input: columns gives 2 columns the name 'x'"),
    ("input.columns={a: ''}", "input.columns.a: found ''; expected a text that is not empty"),
    (
        f"{DISEASE}.hierarchy={{order: 2}}",
        f"{DISEASE}.hierarchy: it is for a hierarchical distance",
    ),
    (f"{DISEASE}.l=3", f"{DISEASE}.l: found 3; expected a section"),
    (f"{DISEASE}.l.distinct=0", f"{DISEASE}.l.distinct: found 0; expected 1 or more"),
    (f"{DISEASE}.l.entropy=x", f"{DISEASE}.l.entropy: found 'x'; expected a number"),
    (f"{DISEASE}.l.recursive.c=3", f"{DISEASE}.l.recursive.l: missing; this key is required"),
    (f"{DISEASE}.l.recursive={{c: 3, l: 1}}", f"{DISEASE}.l.recursive.l: found 1"),
    (
        f"{DISEASE}.l.recursive={{c: 0, l: 2}}",
        f"{DISEASE}.l.recursive.c: found 0; expected a number above 0",
    ),
    (
        f"{SALARY}.order=size",
        f"{SALARY}.order: found 'size'; expected 'value' or 'frequency', or a list",
    ),
    (
        f"{SALARY}.missing=middle",
        f"{SALARY}.missing: found 'middle'; expected 'error', 'lowest', 'highest', 'leaf' or "
        "'uninformative'",
    ),
    (
        f"{QUASI}.age.type=text",
        f"{QUASI}.age.type: found 'text'; expected 'categorical', 'numeric', 'date' or 'ti",
    ),
    (f"{QUASI}.age.round_to=0", f"{QUASI}.age: round_to is 0; expected a number above 0"),
    (f"{QUASI}.age.round_to=-5", f"{QUASI}.age: round_to is -5"),
    (f"{QUASI}.age.weight=0", f"{QUASI}.age.weight: found 0; expected a number above 0"),
    (
        f"{QUASI}.age={{type: numeric, round_to: 5, coarsest: 3}}",
        f"{QUASI}.age: coarsest is 3; expected at least round",
    ),
    (
        f"{QUASI}.age.coarsest=-1",
        f"{QUASI}.age: coarsest is -1; expected the length of an interval, 0 or more",
    ),
    (f"{QUASI}.sex.coarsest=1", f"{QUASI}.sex: coarsest is 1; expected 0: values only"),
    (
        f"{QUASI}.sex={{generalization: set, coarsest: 0}}",
        f"{QUASI}.sex: coarsest is 0; expected the members of a set",
    ),
    (
        f"{QUASI}.sex={{hierarchy: a.csv, coarsest: 1.5}}",
        f"{QUASI}.sex: coarsest is 3/2; expected a level of the",
    ),
    (f"{QUASI}.sex.weight=-1", f"{QUASI}.sex.weight: found -1; expected a number above 0"),
    (f"{QUASI}.age.numeric_output=text", f"{QUASI}.age.numeric_output: found 'text'"),
    (
        f"{QUASI}.age.generalization=set",
        f"{QUASI}.age.generalization: set: it is for type: categorical",
    ),
    (
        f"{QUASI}.zip.generalization=set",
        f"{QUASI}.zip.generalization: set: not with hierarchy, whose",
    ),
    (
        f"{QUASI}.age.text={{strip: true}}",
        f"{QUASI}.age.text: not with type: numeric, since it is for columns of text; expected "
        "type: categorical",
    ),
    (f"{QUASI}.sex.text.case=lower", f"{QUASI}.sex.text.case: found 'lower'; expected 'fold'"),
    (
        f"{QUASI}.sex.text.normal_form=NFX",
        f"{QUASI}.sex.text.normal_form: found 'NFX'; expected 'NFC', 'NFD', 'NFKC' or 'NFKD'",
    ),
    (f"{DISEASE}.text.trim=true", f"{DISEASE}.text.trim: unknown key"),
    (
        f"{QUASI}.sex.round_to=5",
        f"{QUASI}.sex.round_to: it is for type: numeric, date or timestamp",
    ),
    (
        f"{QUASI}.sex.numeric_output=bounds",
        f"{QUASI}.sex.numeric_output: bounds: it is for type: numeric",
    ),
    (
        f"{QUASI}.age={{type: numeric, hierarchy: a.csv, round_to: 5}}",
        f"{QUASI}.age.round_to: not with hierarchy",
    ),
    (f"{QUASI}=[age]", rf"{QUASI}: found \[age\]; expected a section"),
    (f"{QUASI}={{}}", f"{QUASI}: found {{}}; expected at least one"),
    (f"{QUASI}={{1: {{}}}}", f"{QUASI}: found the key 1; expected a text"),
    (f"{QUASI}.age=numeric", f"{QUASI}.age: found 'numeric'; expected a section"),
    (
        f"{QUASI}.age.hierarchy=[a, 2.5]",
        rf"{QUASI}.age.hierarchy: found \[a, 2.5\]; expected a text",
    ),
    (f"{QUASI}.age.round_to=five", f"{QUASI}.age.round_to: found 'five'; expected a number"),
    (
        "attributes.sensitive_attributes={}",
        "attributes.sensitive_attributes: found {}; expected at least one",
    ),
    (f"{DISEASE}.t={{a: 2.50}}", rf"{DISEASE}.t: found {{a: 2\.50}}; expected a number"),
    (f"{DISEASE}.l.distinct=2.5", rf"{DISEASE}.l.distinct: found 2\.5; expected a whole number"),
    (f"{DISEASE}.l.recursive=3", f"{DISEASE}.l.recursive: found 3; expected a section"),
    (
        f"{SALARY}.order={{a: 1}}",
        f"{SALARY}.order: found {{a: 1}}; expected 'value' or 'frequency', or a list",
    ),
    (f"{SALARY}.bins={{edges: 5}}", f"{SALARY}.bins.edges: found 5; expected a list"),
    (f"{SALARY}.bins={{edges: [a]}}", f"{SALARY}.bins.edges.0: found 'a'; expected a number"),
    (
        f"{SALARY}.bins={{equal_width: 2.5}}",
        f"{SALARY}.bins.equal_width: found 2.5; expected a whole number",
    ),
    ("privacy=5", "privacy: found 5; expected a section"),
    ("output=a", "output: found 'a'; expected a section"),
    ("output={path: a, public: b}", "output: found {path: .*; expected either path, or both"),
    ("input.path=2020-01-01", "input.path: found 2020-01-01; expected a text"),
    ("method=thorough", "method: found 'thorough'; expected a section"),
    ("method={name: stack_and_deal, deal: 2.5}", "method.deal: found 2.5; expected 'local'"),
    (
        "method={name: fragmentation, most_fragments: 20000}",
        "method.most_fragments: found 20000; expected 10,000 or less",
    ),
    (
        "attributes.direct_identifiers=ssn",
        "attributes.direct_identifiers: found 'ssn'; expected a list",
    ),
    (
        "attributes.direct_identifiers=[7]",
        "attributes.direct_identifiers.0: found 7; expected a text",
    ),
    ("attributes.drop_others='yes'", "attributes.drop_others: found 'yes'; expected true or false"),
    (
        "attributes.allow_unique=[age]",
        "allow_unique: names 'age', which is not in insensitive_attributes",
    ),
    (
        "method.name=closeness",
        "method.name: found 'closeness'; expected 'closeness_tree', 'stack_and_deal', "
        "'fragmentation', 't_mondrian', 't_incognito', 'microaggregation', 'sabre' or 'exact'",
    ),
    ("method={name: [closeness_tree]}", "method.name: found .*; expected 'closeness_tree'"),
    ("method.overlap=some", "method.overlap: found 'some'; expected allowed or none"),
    (
        "method={name: t_mondrian, overlap: none}",
        "method.overlap: unknown key; it is no setting of t_mondrian",
    ),
    (
        "method.effort=much",
        "method.effort: found 'much'; expected fast, balanced, thorough, or a number of sweeps",
    ),
    ("method.effort=-1", "method.effort: found -1; expected fast"),
    ("method.effort=2.5", "method.effort: found 2.5; expected fast"),
    ("method.effort=true", "method.effort: found true; expected fast"),
    ("method.deal=local", "method.deal: unknown key; it is no setting of closeness_tree"),
    (
        "method={name: fragmentation, sizing: small}",
        "method.sizing: found 'small'; expected 'proportional', 'measured' or 'gcd'",
    ),
    (
        "method={name: fragmentation, search_seconds: 0}",
        "method.search_seconds: found 0; expected a number of seconds above 0",
    ),
    (
        "method={name: fragmentation, most_fragments: 0}",
        "method.most_fragments: found 0; expected 1 or more",
    ),
    (
        "method={name: fragmentation, bounds: paper}",
        "bounds: paper is for ordered distances only, and that of disease is equal; use domain",
    ),
    (
        "method={name: fragmentation, deal: local}",
        "method.deal: unknown key.* no setting of fragmentation",
    ),
    (f"{SALARY}.bins={{equal_width: 3}}", "salary.bins is for method: fragmentation"),
    (
        f"{SALARY}.bins={{equal_width: 3, equal_mass: 2}}",
        "expected one of equal_width: N, equal_mass: N, edges",
    ),
    (f"{SALARY}.bins={{edges: [3, 2]}}", "expected ascending numbers"),
    (
        "method={name: t_incognito, metric: height}",
        "method.metric: found 'height'; expected 'ncp', 'discernibility' or 'entropy'",
    ),
    (
        "method={name: stack_and_deal, stack_order: size}",
        "method.stack_order: found 'size'; expected 'value', 'frequency' or 'best'",
    ),
    (
        "method={name: stack_and_deal, class_size: 7}",
        "method.class_size: found 7; expected 'auto' or 'k'",
    ),
]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ((f"{DISEASE}.t=measure",), "fragmentation needs a t of at least one sensitive attribute"),
        (
            (f"{DISEASE}.bins={{equal_mass: 2}}",),
            "bins: it is for an ordered distance, such as distance: ordered",
        ),
    ],
)
def test_what_fragmentation_cannot_do_is_refused(load, overrides, message):
    with pytest.raises(ConfigurationError, match=message):
        load("method={name: fragmentation}", *overrides)


ONE_ATTRIBUTE = [
    (
        "method={name: microaggregation}",
        "algorithm: 3 works .* required of disease and salary; .*algorithm: 1 or 2",
    ),
    (
        "method={name: sabre}",
        "sabre puts .* required of disease and salary; .* method: {name: closeness_tree}",
    ),
]


@pytest.mark.parametrize(
    "joint",
    ["disease", "[disease, salary]", "[[disease, salary]]", "{attributes: [disease, salary]}"],
)
def test_closeness_together_is_a_list_of_sections(load, joint):
    with pytest.raises(
        ConfigurationError,
        match=r"privacy.joint: found .*; expected a list of sections, such as \[",
    ):
        load(f"privacy.joint={joint}")


@pytest.mark.parametrize(("method", "message"), ONE_ATTRIBUTE)
def test_several_attributes_are_refused_where_a_method_takes_one(load, method, message):
    required = (f"{DISEASE}.t=0.2", f"{SALARY}.t=0.2")
    with pytest.raises(ConfigurationError, match=message):
        load(method, *required)
    assert load(method, f"{DISEASE}.t=0.2", f"{SALARY}.t=measure").method
    assert load("method={name: microaggregation, algorithm: 2}", *required).method.algorithm == 2


def test_cells_let_algorithm_3_take_several_attributes_with_measured_sizes(load):
    required = (f"{DISEASE}.t=0.2", f"{SALARY}.t=0.2")
    assert (
        load("method={name: microaggregation, cells: clusters}", *required).method.cells
        == "clusters"
    )
    with pytest.raises(
        ConfigurationError,
        match=r"class_size: proven is for .* expected class_size: measured",
    ):
        load("method={name: microaggregation, cells: clusters, class_size: proven}", *required)
    with pytest.raises(
        ConfigurationError,
        match="cells is for algorithm: 3, and this is algorithm: 2",
    ):
        load("method={name: microaggregation, cells: first_component, algorithm: 2}", *required)


def test_a_class_size_is_for_algorithm_3(load):
    with pytest.raises(
        ConfigurationError,
        match="class_size is for algorithm: 3, and this is algorithm: 1",
    ):
        load("method={name: microaggregation, algorithm: 1, class_size: paper}")
    with pytest.raises(ConfigurationError, match=r"method\.algorithm: found 4; expected 1, 2 or 3"):
        load("method={name: microaggregation, algorithm: 4}")


MEAN = "method={name: microaggregation, algorithm: 1, representative: mean}"


def test_the_digits_of_a_mean_are_said_and_nothing_else_has_any(load):
    assert load(MEAN).method.digits == 2
    assert load(MEAN, "method.digits=0").aggregates["age"].digits == 0
    assert load("method={name: microaggregation}").aggregates == load().aggregates == {}
    for said, found in (("representative: mode, digits: 1", "mode"), ("digits: 1", "not said")):
        with pytest.raises(
            ConfigurationError,
            match=f"method.digits is for representative: mean, and representative is {found}",
        ):
            load(f"method={{name: microaggregation, {said}}}")
    with pytest.raises(
        ConfigurationError,
        match=r"method.representative: found 'max'; expected 'mean', 'median' or",
    ):
        load("method={name: microaggregation, representative: max}")
    with pytest.raises(ConfigurationError, match=r"representative"):
        load("method={name: sabre, representative: mean}")


@pytest.mark.parametrize(
    ("overrides", "keys"),
    [
        ((f"{QUASI}.age.numeric_output=bounds",), f"{QUASI}.age.numeric_output"),
        (
            (f"{QUASI}.age.round_to=5", f"{QUASI}.zip.coarsest=1"),
            f"{QUASI}.age.round_to, {QUASI}.zip.coarsest",
        ),
        (
            (f"{QUASI}.sex={{generalization: set}}", "privacy.nt.n=100"),
            f"{QUASI}.sex.generalization, privacy.nt",
        ),
    ],
)
def test_what_is_about_covering_labels_is_refused_beside_aggregates(load, overrides, keys):
    assert load(*overrides)
    with pytest.raises(
        ConfigurationError,
        match=f"{keys}: not with method.representative, since these keys concern labels",
    ):
        load(MEAN, *overrides)
    assert load(MEAN, f"{QUASI}.age.range=[0, 120]", f"{QUASI}.age.weight=2")


def test_fragmentation_has_defaults_and_bins(load):
    spec = load("method={name: fragmentation}", f"{SALARY}.bins={{edges: [1, 2.5]}}")
    method, salary = spec.method, spec.attributes.sensitive_attributes["salary"]
    assert (method.sizing, method.bounds, method.most_fragments, method.search_seconds) == (
        "proportional",
        "domain",
        500,
        300,
    )
    assert salary.bins.edges == (1, Fraction(5, 2))


JARGON = (
    "Decimal(",
    "tuple",
    "dictionary",
    "instance of",
    "integer",
    "boolean",
    "string",
    "parse",
    "True",
    "False",
    "None",
    "datetime",
    "the run file:",
)


@pytest.mark.parametrize(
    ("method", "makes"),
    [
        ("closeness_tree", ["distinct"]),
        ("stack_and_deal", ["distinct", "entropy", "recursive"]),
        ("fragmentation", []),
        ("t_mondrian", ["distinct"]),
        ("t_incognito", ["distinct", "entropy", "recursive"]),
        ("microaggregation", ["distinct"]),
        ("sabre", ["distinct"]),
        ("exact", ["distinct", "entropy", "recursive"]),
    ],
)
def test_an_l_that_a_method_does_not_make_is_reported_at_once(load, method, makes):
    all_kinds = "stack_and_deal or t_incognito or exact"
    able = {
        "distinct": (
            "closeness_tree or stack_and_deal or t_mondrian or t_incognito or microaggregation or "
            "sabre or exact"
        ),
        "entropy": all_kinds,
        "recursive": all_kinds,
    }
    for kind, asked in {"distinct": "2", "entropy": "1.5", "recursive": "{c: 2, l: 2}"}.items():
        overrides = (f"method={{name: {method}}}", f"{DISEASE}.l.{kind}={asked}")
        if kind in makes:
            assert load(*overrides).method.name == method
        else:
            message = (
                f"^{DISEASE}.l.{kind}: method {method} makes no {kind} l; expected method: {{name: "
                f"{able[kind]}}}"
            )
            with pytest.raises(ConfigurationError, match=message):
                load(*overrides)


@pytest.mark.parametrize(
    ("assignment", "message"),
    WRONG,
    ids=[assignment for assignment, _ in WRONG],
)
def test_names_the_key_and_the_value_that_are_wrong(load, assignment, message):
    with pytest.raises(ConfigurationError, match=message) as found:
        load(assignment)
    assert found.value.exit_code == 2
    assert not [word for word in JARGON if word in str(found.value)]


@pytest.mark.parametrize("key", ["name", "input", "output", "attributes", "privacy"])
def test_names_a_key_that_is_missing(load, key):
    lines, skipping = [], False
    for line in RUN.splitlines():
        skipping = line.startswith(f"{key}:") or (skipping and line.startswith(" "))
        lines += [] if skipping else [line]
    with pytest.raises(ConfigurationError, match=f"{key}: missing; this key is required"):
        load(text="\n".join(lines))


def test_names_every_problem_in_a_line_of_its_own(load):
    with pytest.raises(ConfigurationError) as found:
        load("privacy.k=1", f"{DISEASE}.t=2")
    assert [line.split(":")[0] for line in str(found.value).splitlines()] == [
        f"{DISEASE}.t",
        "privacy.k",
    ]


@pytest.mark.parametrize(
    ("assignment", "column", "roles"),
    [
        ("attributes.direct_identifiers=[age]", "age", ("direct_identifiers", "quasi_identifiers")),
        (f"{QUASI}.disease={{}}", "disease", ("quasi_identifiers", "sensitive_attributes")),
        (
            "attributes.insensitive_attributes=[disease]",
            "disease",
            ("sensitive_attributes", "insensitive_attributes"),
        ),
        (
            "attributes.insensitive_attributes=[ssn]",
            "ssn",
            ("direct_identifiers", "insensitive_attributes"),
        ),
    ],
)
def test_a_column_has_one_role(load, assignment, column, roles):
    with pytest.raises(
        ConfigurationError,
        match=f"column '{column}' is in {roles[0]} and in {roles[1]}",
    ):
        load(assignment)


def test_every_column_of_several_roles_is_reported(load):
    told = (
        "column 'age' is in quasi_identifiers and in insensitive_attributes; column 'disease' is "
        "in sensitive_attr"
    )
    with pytest.raises(ConfigurationError, match=told):
        load("attributes.insensitive_attributes=[disease, region, age]")


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ("0.1", Fraction(1, 10)),
        ("0.30", Fraction(3, 10)),
        ("0.30000000000000000001", Fraction(30000000000000000001, 10**20)),
        ("1", Fraction(1)),
        ("1.0", Fraction(1)),
        ("1e-3", Fraction(1, 1000)),
        ("2.5e-1", Fraction(1, 4)),
        ("'0.15'", Fraction(3, 20)),
        ("1/3", Fraction(1, 3)),
    ],
)
def test_t_is_exact_as_written(load, written, exact):
    assert load(f"{DISEASE}.t={written}").attributes.sensitive_attributes["disease"].t == exact
    assert (
        load(text=RUN.replace("t: 0.1", f"t: {written}"))
        .attributes.sensitive_attributes["disease"]
        .t
        == exact
    )


def test_t_is_a_number_or_the_word_measure_or_there_is_an_l(load):
    assert load().attributes.sensitive_attributes["salary"].t is None
    disease = load(f"{DISEASE}={{l: {{distinct: 2}}}}").attributes.sensitive_attributes["disease"]
    assert (disease.t, disease.l.distinct) == (None, 2)


@pytest.mark.parametrize(
    ("asked", "limited"),
    [
        ("t: 0.99", True),
        ("t: 1", False),  # no class is farther
        ("t: measure", False),
        ("t: measure, l: {distinct: 2}", True),
        ("l: {distinct: 1}", False),
        ("l: {entropy: 1}", False),
        ("l: {entropy: 1.1}", True),
        ("l: {recursive: {c: 3, l: 2}}", True),
    ],
)
def test_what_limits_what_a_class_tells(load, asked, limited):
    assert (
        load(f"{DISEASE}={{{asked}}}", "method.name=stack_and_deal")
        .attributes.sensitive_attributes["disease"]
        .limited
        is limited
    )


def test_an_order_may_be_a_list(load):
    assert load(f"{SALARY}.order=[low, 2, high]").attributes.sensitive_attributes[
        "salary"
    ].order == ("low", 2, "high")


@pytest.mark.parametrize("key", ["direct_identifiers", "insensitive_attributes", "allow_unique"])
def test_an_empty_list_may_be_left_blank(load, key):
    assert getattr(load(f"attributes.{key}=").attributes, key) == ()


def test_an_override_replaces_one_key(load):
    spec = load("privacy.k=7", "output.path=elsewhere")
    assert (spec.privacy.k, Path(spec.output.public_path).parts[-2:]) == (
        7,
        ("elsewhere", "public"),
    )
    assert spec.attributes == load().attributes


def test_an_override_makes_keys_that_are_not_there(load):
    spec = load(
        "method={name: stack_and_deal}",
        "method.deal=layered",
        f"{DISEASE}.l.recursive={{c: 2.5, l: 3}}",
        f"{QUASI}.height.type=numeric",
        f"{QUASI}.sex.generalization=set",
    )
    assert spec.method.deal == "layered"
    assert spec.attributes.sensitive_attributes["disease"].l.recursive.c == Fraction(5, 2)
    assert spec.attributes.quasi_identifiers["height"].is_numeric
    assert spec.attributes.quasi_identifiers["sex"].generalization == "set"


def test_an_override_finds_a_column_with_dots(load):
    spec = load(f"{QUASI}.job.title.generalization=set")
    assert spec.attributes.quasi_identifiers["job.title"].generalization == "set"


def test_of_two_columns_the_longer_name_takes_the_override(load):
    spec = load(f"{QUASI}.job={{}}", f"{QUASI}.job.title.generalization=set")
    assert [
        name
        for name, quasi in spec.attributes.quasi_identifiers.items()
        if quasi.generalization == "set"
    ] == ["job.title"]


@pytest.mark.parametrize("assignment", ["privacy.k", "=5", ""])
def test_an_override_needs_a_key_and_a_value(load, assignment):
    with pytest.raises(ConfigurationError, match=f"--set {assignment}: expected key.path=value"):
        load(assignment)


def test_an_override_cannot_lead_into_a_value(load):
    with pytest.raises(ConfigurationError, match=r"--set name.x=3: .*leads into 'people'"):
        load("name.x=3")


def test_an_override_that_is_no_yaml_is_named(load):
    with pytest.raises(ConfigurationError, match=r"--set privacy.k.*not valid YAML"):
        load("privacy.k=[")


def test_expands_the_environment(load, monkeypatch):
    monkeypatch.setenv("DATA", "s3://bucket")
    monkeypatch.delenv("PLACE", raising=False)
    spec = load(
        "input.path=${DATA}/people",
        "output.path=${PLACE:-/srv}/out",
        f"{QUASI}.zip.hierarchy=${{PLACE:-/etc}}/${{DATA}}.csv",
    )
    assert (spec.input.path, spec.output.path) == ("s3://bucket/people", "/srv/out")
    monkeypatch.setenv("PLACE", "/home")
    assert load("output.path=${PLACE:-/srv}/out").output.path == "/home/out"


def test_a_variable_without_default_must_be_set(load, monkeypatch):
    monkeypatch.delenv("PLACE", raising=False)
    with pytest.raises(
        ConfigurationError,
        match=r"output.path: .*variable PLACE is not set.*\$\{PLACE:-default\}",
    ):
        load("output.path=${PLACE}/out")


def test_an_empty_default_is_a_default(monkeypatch):
    monkeypatch.delenv("PLACE", raising=False)
    assert expand("a${PLACE:-}b", "input.path") == "ab"


def test_paths_are_relative_to_the_run_file(load, tmp_path):
    spec = load(
        "output={public: ../open, internal: /inside}",
        f"{DISEASE}={{distance: hierarchical, hierarchy: d.csv, t: 1}}",
    )
    assert spec.input.path == str(tmp_path / "people.csv")
    assert spec.attributes.quasi_identifiers["zip"].hierarchy == str(tmp_path / "trees" / "zip.csv")
    assert spec.attributes.sensitive_attributes["disease"].hierarchy == str(tmp_path / "d.csv")
    assert (spec.output.public_path, spec.output.internal_path) == (
        str(tmp_path.parent / "open"),
        "/inside",
    )


@pytest.mark.parametrize(
    "uri",
    ["s3://bucket/a/../b", "hdfs://host:9000/a", "file:/a/b", "dbfs:/a", "abfss://c@host/a"],
)
def test_a_uri_passes_through(load, uri):
    assert load(f"input.path={uri}").input.path == uri


@pytest.mark.parametrize("key", ["input.path", "output.path", f"{QUASI}.zip.hierarchy"])
def test_a_path_with_nul_is_refused(load, key):
    with pytest.raises(ConfigurationError) as error:
        load(f'{key}="a\\0b"')
    assert str(error.value).startswith(f"{key}: the path has NUL")


def test_a_path_with_half_of_a_character_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"^output: the path has NUL, or half of"):
        resolve("a\ud800b", "output", tmp_path)


def test_a_table_of_the_catalog_is_no_path(load, monkeypatch):
    monkeypatch.setenv("CATALOG", "main")
    assert load("input={format: table, path: '${CATALOG}.people'}").input.path == "main.people"


def test_options_are_texts(load):
    options = load(
        "input.options={inferSchema: true, multiLine: false, sep: ';', maxColumns: 9, "
        "samplingRatio: 0.5}",
    ).input.options
    assert options == {
        **{
            "inferSchema": "true",
            "multiLine": "false",
            "sep": ";",
            "maxColumns": "9",
            "samplingRatio": "0.5",
        },
    }


def test_output_is_one_folder(load):
    output = load("output={path: s3://bucket/out}").output
    assert (output.public_path, output.internal_path) == (
        "s3://bucket/out/public",
        "s3://bucket/out/internal",
    )


@pytest.mark.parametrize(
    "output",
    [
        "{}",
        "{public: a}",
        "{internal: a}",
        "{path: a, public: b}",
        "{path: a, internal: b}",
        "{path: a, public: b, internal: c}",
    ],
)
def test_output_is_a_path_or_both_of_public_and_internal(load, output):
    with pytest.raises(
        ConfigurationError,
        match=r"output: .*either path, or both public and internal",
    ):
        load(f"output={output}")


def test_a_key_may_not_stand_twice(load):
    lines = (RUN + "name: again").splitlines()
    first = next(number for number, line in enumerate(lines, 1) if line.startswith("name:"))
    told = rf"run\.yaml, line {len(lines)}: .*key 'name' is given twice, first in line {first}"
    with pytest.raises(ConfigurationError, match=told):
        load(text=RUN + "name: again")
    with pytest.raises(ConfigurationError, match="key 'age' is given twice"):
        load(text=RUN.replace("zip:", "age:"))


@pytest.mark.parametrize(
    "text",
    ["", "- a list", "a text", "name: [", "name: 2020-13-45", "? [a]\n: b", "name: a\x07"],
)
def test_a_file_that_is_no_run_is_named(load, text):
    with pytest.raises(ConfigurationError, match=r"run\.yaml"):
        load(text=text)


def test_a_file_without_end_is_refused(load):
    with pytest.raises(ConfigurationError, match=r"run\.yaml: not valid YAML: nested too deeply"):
        load(text="a: " + "[" * 3000 + "]" * 3000)
    with pytest.raises(ConfigurationError, match=r"run\.yaml: too long"):
        load(
            text="a0: &a0 [x, x]\n"
            + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60)),
        )
    with pytest.raises(ConfigurationError, match=r"run\.yaml: too long"):
        load(text="a: &a [*a]\n")


def test_a_short_alias_is_what_it_stands_for(load):
    load(text=RUN.replace("name: ", "name: &a ", 1))


def test_a_number_has_no_underscores(load):
    with pytest.raises(ConfigurationError, match=r"found '0\.1_5'; expected a number"):
        load("attributes.sensitive_attributes.disease.t='0.1_5'")


def test_a_file_that_is_no_text_is_named(tmp_path):
    (tmp_path / "run.yaml").write_bytes(b"name: \xff\xfe")
    with pytest.raises(ConfigurationError, match=r"run\.yaml"):
        load_spec(tmp_path / "run.yaml")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"nothing\.yaml cannot be read"):
        load_spec(tmp_path / "nothing.yaml")


def test_sections_may_share_keys_through_an_anchor(load):
    text = RUN.replace(
        "age: {type: numeric}",
        "age: &number {type: numeric}\n    height: {<<: *number, round_to: 5}",
    )
    assert load(text=text).attributes.quasi_identifiers["height"].is_numeric


def test_the_fingerprint_is_of_what_decides_the_release(load):
    fingerprint = load().fingerprint
    assert (
        fingerprint
        == load("name=other", "output={public: a, internal: b, keep_linked: true}").fingerprint
    )
    assert fingerprint == load(f"{DISEASE}.t=0.10").fingerprint
    others = [
        "privacy.k=6",
        f"{DISEASE}.t=0.11",
        f"{QUASI}.age.round_to=5",
        "method.effort=fast",
        "method.name=stack_and_deal",
        f"{SALARY}.order=[1, 2]",
        "input.path=b.csv",
    ]
    assert len({fingerprint, *(load(other).fingerprint for other in others)}) == 1 + len(others)


def test_a_spec_is_frozen(load):
    spec = load()
    with pytest.raises(ValueError, match="frozen"):
        spec.privacy.k = 1


def test_relative_paths_start_from_the_folder_of_a_link(write_run, tmp_path):
    """Yarn brings each file into a folder of its own, and links to them from the folder of the
    process.
    """
    made = write_run(tmp_path / "made", None, quasi={"city": {"hierarchy": "cities.csv"}})
    for number, file in enumerate((made, made.parent / "cities.csv")):
        (tmp_path / "cache" / str(number)).mkdir(parents=True)
        (tmp_path / "cache" / str(number) / file.name).write_bytes(file.read_bytes())
        (tmp_path / file.name).symlink_to(tmp_path / "cache" / str(number) / file.name)
    spec = load_spec(tmp_path / "run.yaml")
    assert spec.input.path == str(tmp_path / "people.parquet")
    assert spec.attributes.quasi_identifiers["city"].hierarchy is not None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.CSV", "csv"),
        ("a.txt.gz", "csv"),
        ("a.xlsx", "excel"),
        ("people", "parquet"),
        ("a.b/people/", "parquet"),
    ],
)
def test_the_format_of_the_input_is_that_of_its_name(path: str, expected: str) -> None:
    assert Input(path=path).format == expected
    assert Input(path=path, format="delta").format == "delta"
