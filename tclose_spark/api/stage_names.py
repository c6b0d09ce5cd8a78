"""The stages by name. They are known without what they import."""

STAGES = {
    "release": "All stages: from a raw table to a verified, published release.",
    "profile": "Stage 1: read the input (domains, ranges, histogram, fingerprint) and begin a run.",
    "plan": "Stage 2: plan how rows form classes, and print what each class size achieves.",
    "anonymize": "Stage 3: move the rows into their classes, generalize, write the staged release.",
    "verify": "Stage 4: judge the staged release from what was written; or a finished one again.",
    "report": "Stage 5: write the certificate and the report of a release that holds.",
    "publish": "Stage 6: move what was verified to its public place.",
}
READ_THE_INPUT = ("release", "profile")
"""The other stages read what these have staged."""
