"""The words of a regulator's rules: see `privacy.profile`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tclose_spark.report.certificate.sections import Certificate, CheckedProfile
from tclose_spark.report.option_words import Certified, Lines, OptionWords
from tclose_spark.requirements.figures import Figures, OptionFigures, Plain, plain


@dataclass(frozen=True, kw_only=True)
class ProfilesFigures(OptionFigures):
    """The section `profile` of the certificate."""

    key = "profile"
    name: str
    title: str
    source: str
    settings: Plain
    k: Plain
    rules: Sequence[Plain]
    identifiers: Sequence[Plain]
    statement: str


class ProfilesWords(OptionWords):
    """Which rules were checked."""

    def certify(self, made: Certified, certificate: Certificate) -> None:
        certificate.profile = CheckedProfile.read(plain(made.figures.of(ProfilesFigures)))

    def parts(self, certificate: Certificate, figures: Figures) -> Mapping[str, str]:
        return {"promises": "profiles/profile.html.j2"} if certificate.profile else {}

    def lines(self, certificate: Certificate) -> Mapping[str, Lines]:
        if (profile := certificate.profile) is None:
            return {}
        states = [rule.state for rule in profile.rules]
        checked = states.count("holds")
        left = states.count("not checked")
        counted = f"{checked} rule{'' if checked == 1 else 's'} checked, {left} not checked"
        unread = [
            f"{', '.join(rule.unread)}: {rule.rule}"
            for rule in profile.rules
            if rule.unread is not None
        ]
        return {
            "loss": [
                (f"profile {profile.name}", counted),
                *(("columns not read", line) for line in unread),
            ],
        }
