"""Damages of a finished output beside its table: of the public files, the evidence and the state of
the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from acts import Damage, certificate, content, flipped, gone, new_file, raw_beside, text_of

BESIDE: Mapping[str, Mapping[str, Damage]] = {
    "foreign": {
        "raw input beside the release": raw_beside("people.parquet"),
        "a hidden file": new_file(".people.csv"),
        "a hidden folder": new_file(".git/config"),
        "a file as of an export": new_file("release_csv/part-0.csv"),
        "an older certificate": new_file("certificate.json.bak", "{}"),
    },
    "certificate": {
        "a key more": text_of("certificate.json", r"\{", '{"note": "person 1 has flu",'),
        "a date that is none": certificate("issued", value="person 1 has flu"),
        "a day that is none": certificate("issued", value="2020-02-30T00:00:00Z"),
        "no date": certificate("issued", value=None),
        "a key more of its tool": certificate("tool", "note", value="person 1 has flu"),
        "the tool that issued it": certificate("tool", "name", value="another"),
        "text as the version": certificate("tool", "version", value="person 1 has flu"),
        "no tool": certificate("tool", value=None),
        "no keys": content("certificate.json", lambda whole: b"{}"),
        "a warning more": certificate("warnings", value=["person 1 has flu"]),
        "an exempt column": certificate("allow_unique", value=["region"]),
        "an unprotected attribute": certificate("unprotected", value={"disease": {}}),
    },
    "version": {"the version that issued it": certificate("tool", "version", value="99")},
    "minimality": {
        "the minimality edited": content("../internal/minimality.json", lambda whole: b"{}"),
        "a key more of the minimality": text_of(
            "../internal/minimality.json",
            r"\{",
            '{"note": "person 1 has flu",',
        ),
        "a blank more of the minimality": text_of("../internal/minimality.json", r"\{", "{ "),
        "the minimality as other bytes": content(
            "../internal/minimality.json",
            lambda whole: b"\xff",
        ),
        "the minimality gone": gone("../internal/minimality.json"),
    },
    "certificate's form": {
        "a key twice": text_of("certificate.json", r"\{", '{"verdict": "fails",'),
        "no JSON": content("certificate.json", lambda whole: whole[:-10]),
        "a list": content("certificate.json", lambda whole: b"[]"),
        "no text": content("certificate.json", lambda whole: b"\xff" + whole),
    },
    "pages": {
        "the report edited": text_of("report.html", "</h1>", ", and is harmless</h1>"),
        "a figure of the report": text_of("report.html", r"\b48\b", "480"),
        "a script in the report": text_of(
            "report.html",
            "</body>",
            "<script>alert(1)</script></body>",
        ),
        "the report emptied": content("report.html", lambda whole: b""),
        "the report cut short": content("report.html", lambda whole: whole[:-1]),
        "the report, as a folder": lambda area: [
            gone("report.html")(area),
            new_file("report.html/1")(area),
        ],
        "a role of the codebook": text_of(
            "codebook.csv",
            "quasi-identifier",
            "insensitive attribute",
        ),
        "a line less of the codebook": content(
            "codebook.csv",
            lambda whole: whole[: whole[:-1].rindex(b"\n") + 1],
        ),
        "a byte of the codebook": content(
            "codebook.csv",
            lambda whole: flipped(len(whole) - 3)(whole),
        ),
        "a rule of the contract": text_of("contract.yaml", "at least", "at most"),
        "a line more of the contract": content(
            "contract.yaml",
            lambda whole: whole + b"note: person 1 has flu\n",
        ),
        "the contract without its end": content("contract.yaml", lambda whole: whole[:-1]),
    },
    "list of files": {  # it names files that are not there
        "the public folder gone": gone("../public"),
        "the certificate gone": gone("certificate.json"),
        "the report gone": gone("report.html"),
        "the codebook gone": gone("codebook.csv"),
        "the contract gone": gone("contract.yaml"),
    },
}
"""Each is found also if the adversary lists the files again."""
EVIDENCE: Mapping[str, Damage] = {
    "when it was issued": certificate("issued", value="2020-01-01T00:00:00Z"),
    "the certificate as other text": text_of("certificate.json", r"\{\n", "{"),
    "the data file with a byte flipped in its footer": content(
        "PART",
        lambda whole: flipped(len(whole) - 30)(whole),
    ),
    "the class table gone": gone("../internal/classes"),
    "a file of the class table gone": lambda area: next(
        (area / "../internal/classes").glob("part-*"),
    ).unlink(),
    "the class table with a byte flipped": lambda area: [
        path.write_bytes(flipped(60)(path.read_bytes()))
        for path in (area / "../internal/classes").glob("part-*")
    ],
    "a file more in the class table": new_file("../internal/classes/part-9.parquet"),
    "the verification edited": text_of("../internal/verification.json", '"rows": 48', '"rows": 49'),
    "the verification gone": gone("../internal/verification.json"),
    "the plan edited": text_of("../internal/plan.json", r"\{", "{ "),
    "the plan gone": gone("../internal/plan.json"),
    "the plan's report gone": gone("../internal/plan_report.json"),
    "the suite edited": text_of("../internal/validation/suite.json", r"\{", "{ "),
    "the results edited": text_of(
        "../internal/validation/results.json",
        '"success": true',
        '"success": false',
    ),
    "the validation gone": gone("../internal/validation"),
    "a page more in the validation": new_file("../internal/validation/data_docs/more.html"),
    "the internal report edited": text_of(
        "../internal/report.html",
        "Not for publication",
        "For publication",
    ),
    "the internal report gone": gone("../internal/report.html"),
    "the linked rows gone": gone("../internal/linked"),
    "the profile edited": text_of("../internal/profile.json", '"rows": 48', '"rows":  48'),
}
"""Only the SHA-256 of the files shows them: a new list of files, by an adversary who may write
there, hides them.
"""


def without_stage(name: str) -> Damage:
    """The state of the run without the record of a stage."""

    def change(whole: bytes) -> bytes:
        state = json.loads(whole)
        del state["stages"][name]
        return json.dumps(state).encode()

    return content("../internal/run.json", change)


STATE: Mapping[str, Damage] = {
    "gone": gone("../internal/run.json"),
    "cut short": content("../internal/run.json", lambda whole: whole[:-10]),
    "without what repeats": text_of("../internal/run.json", '"repeated"', '"other"'),
    "no object": content("../internal/run.json", lambda whole: b"[]"),
    "empty": content("../internal/run.json", lambda whole: b""),
    "a key twice": text_of("../internal/run.json", r"\{", '{"name": "other",'),
    **{
        f"without {name}": without_stage(name)
        for name in ("profile", "plan", "anonymize", "verify", "report")
    },
}


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The paths of all values in a JSON object that are no objects, lists taken as one value, with
    the values.
    """
    if isinstance(tree, dict) and tree:
        for key, below in tree.items():
            yield from leaves(below, (*path, key))
    else:
        yield path, tree


def another(value: Any) -> Any:
    """Another value of the same type, which does not equal it."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return [*value, "person 1"] if isinstance(value, list) else "person 1"


def fields_changed(whole: Mapping[str, Any]) -> dict[str, tuple[tuple[Any, ...], Damage]]:
    """Each field of a certificate changed, one at a time; when it was issued, and by which tool, is
    not recomputed.
    """
    return {
        ".".join(map(str, path)): (path, certificate(*path, value=another(value)))
        for path, value in leaves(whole)
        if path[0] not in ("issued", "tool")
    }


def without_field(path: tuple[Any, ...]) -> Damage:
    """A certificate that lacks a field."""

    def change(content: bytes) -> bytes:
        whole = json.loads(content)
        holder = whole
        for key in path[:-1]:
            holder = holder[key]
        del holder[path[-1]]
        return json.dumps(whole, indent=2).encode()

    return content("certificate.json", change)
