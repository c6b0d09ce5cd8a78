"""Words in column names, and what they suggest. Several words in one entry must occur together.

Lower case, without accents. English first, then words of public tables in German, French, Spanish, Italian and Dutch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

HintedRole = Literal["direct", "quasi", "sensitive"]


@dataclass(frozen=True, kw_only=True)
class Concept:
    """Words of one meaning, and what they suggest about a column.

    rank: for quasi-identifiers, how widely the value is known (1: by anybody). For sensitive attributes, 1 for
        words that name harm, 2 for words that name a measurement or a part of it.
    either: whether opinions differ between quasi-identifier and sensitive attribute.
    """

    name: str
    role: HintedRole
    rank: int
    words: tuple[str, ...]
    either: bool = False


def _words(text: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in text.split(","))


PERSON_NUMBER, PUBLIC_NUMBER, ACCOUNT = "person number", "public number", "account"
OF_ONE = frozenset([PERSON_NUMBER, PUBLIC_NUMBER, ACCOUNT])
"""Concepts of what no two people share."""

DIRECT = (
    Concept(
        name="person's name",
        role="direct",
        rank=1,
        words=_words(
            "name, names, firstname, lastname, fullname, surname, forename, middlename, maidenname, nickname, fname, "
            "lname, initials, vorname, nachname, familienname, nom, prenom, nombre, apellido, apellidos, cognome, "
            "voornaam, achternaam, username, login, handle, signature"
        ),
    ),
    Concept(
        name=PUBLIC_NUMBER,
        role="direct",
        rank=1,
        words=_words(
            "ssn, sin, nino, nhs, nif, nie, dni, cpf, curp, bsn, ahv, pesel, svnr, codicefiscale, social security, "
            "socialsecurity, passport, reisepass, license number, licence number, drivers license, license plate, "
            "licence plate, plate, kennzeichen, tax id, taxid, tin, steuernummer, national id, nationalid, mrn, "
            "medical record, vin, imei, insurance number, policy number"
        ),
    ),
    Concept(
        name="contact",
        role="direct",
        rank=1,
        words=_words(
            "email, emailaddress, mail, phone, phonenumber, telephone, telefon, telefono, tel, mobile, cell, handy, "
            "fax, address, addr, adresse, direccion, indirizzo, street, strasse, rue, calle, via, house number, "
            "hausnummer, url, website, homepage, ip, ipaddress, mac, twitter, facebook, instagram, skype"
        ),
    ),
    Concept(
        name=ACCOUNT,
        role="direct",
        rank=1,
        words=_words(
            "iban, bic account, account number, accountnumber, kontonummer, konto, card number, cardnumber, "
            "creditcard, credit card, pan, cookie, device id, fingerprint, biometric, photo, picture, face"
        ),
    ),
    Concept(
        name=PERSON_NUMBER,
        role="direct",
        rank=1,
        words=_words(
            "uuid, guid, pid, uid, userid, personid, patientid, customerid, clientid, memberid, employeeid, "
            "studentid, person id, patient id, user id, customer id, client id, member id, employee id, student id, "
            "subject id, participant id, respondent id, case id, record id, person number, patient number, "
            "customer number, member number, employee number, student number, personnummer, personalnummer, "
            "pseudonym, pseudo, hash, token"
        ),
    ),
)

QUASI = (
    Concept(
        name="age",
        role="quasi",
        rank=1,
        words=_words(
            "age, birth, birthdate, birthday, birthyear, dob, yob, born, alter, geburtsdatum, geburtsjahr, naissance, "
            "nacimiento, nascita, geboortedatum, edad, eta, leeftijd"
        ),
    ),
    Concept(name="sex", role="quasi", rank=1, words=_words("sex, gender, geschlecht, sexe, sexo, sesso, geslacht")),
    Concept(
        name="place",
        role="quasi",
        rank=1,
        words=_words(
            "zip, zipcode, zip code, postcode, postal, postalcode, plz, city, town, village, municipality, commune, "
            "gemeinde, stadt, ort, ville, ciudad, citta, county, district, region, state, province, canton, kanton, "
            "bundesland, country, land, pays, residence, neighborhood, neighbourhood, borough, tract, lat, latitude, "
            "lon, lng, longitude, location, site"
        ),
    ),
    Concept(
        name="ethnicity",
        role="quasi",
        rank=2,
        either=True,
        words=_words("race, ethnic, ethnicity, ethnie, hispanic, tribe, caste, skin"),
    ),
    Concept(
        name="origin",
        role="quasi",
        rank=2,
        words=_words(
            "nationality, citizenship, nationalitaet, nationalite, native, native country, country birth, birth "
            "country, birth place, birthplace, state birth, city birth, place birth, immigrant, migrant, language"
        ),
    ),
    Concept(
        name="education",
        role="quasi",
        rank=2,
        words=_words("education, educational, edu, school, schooling, degree, university, qualification, bildung"),
    ),
    Concept(
        name="marital status",
        role="quasi",
        rank=2,
        words=_words("marital, married, marriage, spouse, civil status, civilstatus, familienstand, zivilstand"),
    ),
    Concept(
        name="work",
        role="quasi",
        rank=2,
        either=True,
        words=_words(
            "occupation, occupational, job, profession, beruf, employer, employment, employed, workclass, worker, "
            "industry, sector, position, job title, work, rank"
        ),
    ),
    Concept(
        name="household",
        role="quasi",
        rank=3,
        words=_words("household, family, children, kids, dependents, siblings, parents, relationship, tenure, house"),
    ),
    Concept(
        name="what is seen",
        role="quasi",
        rank=3,
        words=_words("height, hair, eye, eyes, handedness, blind, wheelchair"),
    ),
    Concept(
        name="event",
        role="quasi",
        rank=3,
        words=_words(
            "date, admission, admitted, discharge, discharged, visit, hired, hire, enrolled, enrollment, death, died, "
            "datum, fecha, data nascita, veteran, veterans, military"
        ),
    ),
)

SENSITIVE = (
    Concept(
        name="health",
        role="sensitive",
        rank=1,
        words=_words(
            "disease, diagnosis, diagnose, diagnoses, diag, icd, icd9, icd10, illness, condition, comorbidity, "
            "symptom, cancer, hiv, aids, std, disability, disabled, mental, psychiatric, depression, suicide, "
            "abortion, pregnant, pregnancy, medication, drug, drugs, prescription, treatment, therapy, procedure, "
            "surgery, krankheit, maladie, enfermedad, malattia, vaccine, vaccinated, allergy, infection, genetic, "
            "genotype, mutation"
        ),
    ),
    Concept(
        name="money",
        role="sensitive",
        rank=1,
        words=_words(
            "income, salary, wage, wages, earnings, pay, gehalt, lohn, einkommen, salaire, revenu, salario, ingresos, "
            "stipendio, debt, bankruptcy, creditscore, credit score, benefits, welfare, pension, compensation, "
            "cost, costs, charges, kosten"
        ),
    ),
    Concept(
        name="belief",
        role="sensitive",
        rank=1,
        words=_words(
            "religion, religious, faith, church, confession, konfession, political, politics, party, vote, voted, "
            "union, sexual, orientation, sexuality"
        ),
    ),
    Concept(
        name="justice",
        role="sensitive",
        rank=1,
        words=_words("crime, criminal, offence, offense, conviction, convicted, arrest, arrested, sentence, violence"),
    ),
    Concept(
        name="measurement",
        role="sensitive",
        rank=2,
        words=_words(
            "chol, cholesterol, ldl, hdl, bp, sbp, dbp, blood, pressure, glucose, sugar, fbs, insulin, hba1c, bmi, "
            "ecg, creatinine, hemoglobin, lab, result, severity, dose, alcohol, smoking, smoker, viral, titer"
        ),
    ),
    Concept(
        name="finances",
        role="sensitive",
        rank=2,
        words=_words(
            "gain, gains, loss, losses, dividend, dividends, balance, loan, credit, mortgage, wealth, assets, savings, "
            "tax, rent, spending, purchase, amount, default"
        ),
    ),
    Concept(
        name="judgement",
        role="sensitive",
        rank=2,
        words=_words("grade, grades, score, gpa, iq, rating, evaluation, performance, target, outcome, label"),
    ),
)

CONCEPTS = (*DIRECT, *QUASI, *SENSITIVE)

NUMBERS = frozenset(_words("id, ids, key, nr, no, num, number, nummer, ref, reference, serial, rowid"))
"""Words of a name that is a person's where the column has many values."""

CODES = frozenset(_words("code, codes, recode, index, idx, type, category"))
"""Words of a name of codes: their numbers measure nothing."""

OF_OTHERS = frozenset(
    _words("father, mother, parent, spouse, partner, previous, former, last, ago, first, next, emergency, summary")
)
"""Words that make what is known of a person less so: of another person, or of another time."""

OF_THINGS = frozenset(
    _words(
        "country, city, town, region, district, state, county, province, product, drug, medication, disease, hospital, "
        "company, employer, department, school, university, brand, species, event, test, course, ward, clinic, store"
    )
)
"""Things with a name that are not people: beside one of these words, `name` is not a person's name."""

TECHNICAL = frozenset(
    _words(
        "year, quarter, wave, survey, source, batch, version, release, dataset, extract, round, panel, file, schema, "
        "mode, study, cohort, period, unit, units, currency"
    )
)
"""Words about the table itself rather than people. Only a column named by these alone may be insensitive."""
