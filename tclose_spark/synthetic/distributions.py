"""The probabilities of the synthetic census, as tables to read and to change.

Weights are whole numbers, and all the rows of a table have the same sum, 100 if nothing else is said: a draw
looks into an array that has one slot for each unit of weight. A table "by age" has one row for each age
group, keyed by the first age of the group (`0` is ages 0 to 5, `75` is 75 and over); a table "by sex and age"
has one such table for each of `SEXES`. The columns of a table are the leaves of its hierarchy, in their
order. Towns and provinces are invented.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

Weights: TypeAlias = Sequence[int]
ByAge: TypeAlias = Mapping[int, Weights]
# A hierarchy from the top down: a group holds groups, or, at the bottom, its leaves.
Tree: TypeAlias = Mapping[str, "Tree | Sequence[str]"]

# One weight for each age, ten ages a line, any sum: few children, the widest at 50 to 59, very few over 90.
AGE_PYRAMID: Final[Weights] = (
    18, 18, 18, 19, 19, 19, 20, 20, 20, 21,
    21, 21, 21, 21, 21, 21, 21, 21, 22, 22,
    22, 23, 23, 23, 23, 24, 24, 24, 25, 25,
    26, 26, 26, 26, 27, 27, 27, 27, 27, 27,
    27, 27, 27, 26, 26, 26, 26, 27, 27, 28,
    28, 29, 29, 30, 30, 30, 30, 30, 30, 29,
    28, 28, 27, 27, 26, 25, 25, 24, 23, 23,
    22, 21, 21, 20, 19, 18, 18, 17, 16, 15,
    14, 13, 12, 11, 10, 9, 8, 7, 6, 5,
    4, 4, 3, 3, 2, 2, 1, 1, 1, 1,
)  # fmt: skip
AGE_GROUP_STARTS: Final = (0, 6, 15, 18, 25, 35, 45, 55, 65, 75)

# ---------------------------------------------------------------------------------------------- sex, family

SEXES: Final = ("Female", "Male")
SEX_BY_AGE: Final[ByAge] = {
    #  Female Male
    0:  (49, 51),
    6:  (49, 51),
    15: (49, 51),
    18: (49, 51),
    25: (49, 51),
    35: (50, 50),
    45: (50, 50),
    55: (51, 49),
    65: (53, 47),
    75: (60, 40),
}  # fmt: skip

MARITAL_STATUS_TREE: Final[Tree] = {
    "Never partnered": ("Never married",),
    "Partnered": ("Married", "Registered partnership"),
    "Formerly partnered": ("Separated", "Divorced", "Widowed"),
}
MARITAL_STATUS_BY_SEX_AND_AGE: Final[Mapping[str, ByAge]] = {
    "Female": {
        # Never Married Registered Separated Divorced Widowed
        0:  (100, 0, 0, 0,  0,  0),
        6:  (100, 0, 0, 0,  0,  0),
        15: (100, 0, 0, 0,  0,  0),
        18: (90,  6, 3, 1,  0,  0),
        25: (54, 35, 6, 2,  3,  0),
        35: (27, 56, 5, 3,  8,  1),
        45: (18, 58, 4, 3, 15,  2),
        55: (11, 60, 2, 2, 18,  7),
        65: (7,  56, 1, 1, 16, 19),
        75: (6,  32, 1, 1,  9, 51),
    },
    "Male": {
        0:  (100, 0, 0, 0,  0,  0),
        6:  (100, 0, 0, 0,  0,  0),
        15: (100, 0, 0, 0,  0,  0),
        18: (95,  3, 2, 0,  0,  0),
        25: (66, 25, 5, 2,  2,  0),
        35: (34, 52, 5, 3,  6,  0),
        45: (23, 58, 4, 3, 11,  1),
        55: (14, 64, 2, 2, 15,  3),
        65: (8,  70, 1, 1, 13,  7),
        75: (5,  67, 1, 1,  7, 19),
    },
}  # fmt: skip

# --------------------------------------------------------------------------------------- education and work

EDUCATION_TREE: Final[Tree] = {
    "Without degree": {
        "Basic": ("No schooling", "Primary", "Lower secondary"),
        "Secondary": ("Upper secondary", "Vocational"),
    },
    "With degree": {
        "Undergraduate": ("Short tertiary", "Bachelor"),
        "Postgraduate": ("Master", "Doctorate"),
    },
}
# The highest level completed. The younger the adult, the better educated; the youngest are not done yet.
EDUCATION_BY_AGE: Final[ByAge] = {
    #  None Prim Lower Upper Voc Short Bach Mast Doct
    0:  (100, 0,  0,  0,  0, 0,  0,  0, 0),
    6:  (60, 40,  0,  0,  0, 0,  0,  0, 0),
    15: (1,  35, 60,  3,  1, 0,  0,  0, 0),
    18: (1,   4, 20, 44, 14, 6, 10,  1, 0),
    25: (1,   3,  9, 21, 19, 8, 23, 15, 1),
    35: (1,   4, 11, 20, 22, 8, 19, 13, 2),
    45: (1,   6, 14, 21, 26, 8, 14,  9, 1),
    55: (2,   9, 18, 21, 27, 7, 10,  5, 1),
    65: (3,  15, 22, 19, 25, 5,  7,  3, 1),
    75: (6,  25, 24, 15, 20, 3,  4,  2, 1),
}  # fmt: skip

# What a person does: one of `NOT_EMPLOYED`, or "Employed" (the last column), and then a job from `JOBS`.
NOT_EMPLOYED: Final = ("Not working", "Student", "Retired", "Unemployed")
ACTIVITY_BY_SEX_AND_AGE: Final[Mapping[str, ByAge]] = {
    "Female": {
        # Not working Student Retired Unemployed Employed
        0:  (100, 0,  0, 0,  0),
        6:  (100, 0,  0, 0,  0),
        15: (4,  87,  0, 1,  8),
        18: (7,  40,  0, 6, 47),
        25: (15,  5,  0, 5, 75),
        35: (16,  1,  0, 4, 79),
        45: (14,  0,  1, 4, 81),
        55: (14,  0, 16, 4, 66),
        65: (9,   0, 80, 0, 11),
        75: (6,   0, 93, 0,  1),
    },
    "Male": {
        0:  (100, 0,  0, 0,  0),
        6:  (100, 0,  0, 0,  0),
        15: (4,  84,  0, 2, 10),
        18: (6,  33,  0, 8, 53),
        25: (5,   5,  0, 6, 84),
        35: (4,   1,  0, 5, 90),
        45: (5,   0,  1, 4, 90),
        55: (7,   0, 14, 5, 74),
        65: (3,   0, 79, 0, 18),
        75: (1,   0, 96, 0,  3),
    },
}  # fmt: skip

# Job: pay a year at 40 hours a week, usual full-time hours a week, then the weight of the job among employed
# women (F) and men (M) of each of the four lower groups of `EDUCATION_TREE`, in their order.
JOBS: Final[Mapping[str, tuple[int, int, Weights]]] = {
    #                                F   M    F   M    F   M    F   M
    "Manager":          (62_000, 45, (1,  2,  3,  5,   8, 15,  14, 20)),
    "Engineer":         (54_000, 41, (0,  0,  0,  3,   4, 18,   6, 20)),
    "IT specialist":    (56_000, 40, (0,  0,  1,  4,   5, 16,   6, 15)),
    "Scientist":        (52_000, 42, (0,  0,  0,  0,   2,  2,  13, 13)),
    "Physician":        (88_000, 48, (0,  0,  0,  0,   1,  1,  15, 11)),
    "Lawyer":           (68_000, 46, (0,  0,  0,  0,   2,  2,  10,  8)),
    "Teacher":          (45_000, 39, (0,  0,  3,  1,  26, 10,  24,  8)),
    "Nurse":            (40_000, 38, (2,  0, 12,  2,  15,  3,   3,  1)),
    "Accountant":       (46_000, 40, (0,  0,  4,  2,  10,  8,   4,  2)),
    "Police officer":   (43_000, 41, (0,  1,  1,  4,   1,  4,   0,  1)),
    "Clerk":            (35_000, 38, (8,  3, 25,  7,  16,  8,   3,  1)),
    "Salesperson":      (29_000, 38, (20, 7, 18,  8,   5,  5,   1,  0)),
    "Care worker":      (27_000, 37, (18, 2, 16,  3,   3,  1,   1,  0)),
    "Cook or waiter":   (24_000, 40, (14, 7,  8,  5,   1,  1,   0,  0)),
    "Farmer":           (26_000, 52, (3,  7,  1,  3,   1,  1,   0,  0)),
    "Builder":          (33_000, 41, (1, 22,  0, 17,   0,  2,   0,  0)),
    "Mechanic":         (35_000, 40, (0,  7,  0, 16,   0,  1,   0,  0)),
    "Machine operator": (31_000, 40, (7, 15,  3, 10,   0,  1,   0,  0)),
    "Driver":           (29_000, 44, (1, 15,  1,  8,   0,  1,   0,  0)),
    "Cleaner":          (21_000, 36, (25, 12, 4,  2,   0,  0,   0,  0)),
}  # fmt: skip
OCCUPATION_TREE: Final[Tree] = {
    "Not employed": {
        "Out of the labour force": ("Not working", "Student", "Retired"),
        "Looking for work": ("Unemployed",),
    },
    "Employed": {
        "Managers": ("Manager",),
        "Professionals": ("Engineer", "IT specialist", "Scientist", "Physician", "Lawyer"),
        "Associate professionals": ("Teacher", "Nurse", "Accountant", "Police officer"),
        "Office and services": ("Clerk", "Salesperson", "Care worker", "Cook or waiter"),
        "Manual work": ("Farmer", "Builder", "Mechanic", "Machine operator", "Driver", "Cleaner"),
    },
}

# Hours worked, as a share of the usual full-time hours of the job: women, the young and the old work part
# time more often. Children, who have no job, need a row all the same.
SHARE_OF_HOURS: Final = (0.25, 0.4, 0.5, 0.65, 0.8, 0.95, 1.0, 1.1, 1.25, 1.5)
SHARE_OF_HOURS_BY_SEX_AND_AGE: Final[Mapping[str, ByAge]] = {
    "Female": {
        #    .25 .4 .5 .65 .8 .95 1 1.1 1.25 1.5
        0:  (100, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        6:  (100, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        15: (35, 22, 12, 6, 5, 3, 16, 1, 0, 0),
        18: (10, 9, 10, 7, 7, 7, 43, 5, 2, 0),
        25: (3, 4, 8, 6, 10, 9, 46, 9, 4, 1),
        35: (4, 6, 14, 9, 12, 8, 37, 6, 3, 1),
        45: (4, 6, 13, 9, 12, 8, 37, 7, 3, 1),
        55: (5, 7, 14, 9, 11, 8, 36, 6, 3, 1),
        65: (31, 20, 17, 7, 5, 3, 13, 2, 1, 1),
        75: (42, 22, 15, 6, 4, 2, 8, 1, 0, 0),
    },
    "Male": {
        0:  (100, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        6:  (100, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        15: (24, 16, 9, 5, 5, 5, 33, 2, 1, 0),
        18: (6, 5, 6, 4, 6, 8, 53, 8, 3, 1),
        25: (1, 2, 3, 2, 4, 9, 57, 12, 7, 3),
        35: (1, 1, 2, 1, 3, 8, 57, 14, 9, 4),
        45: (1, 1, 2, 1, 3, 8, 56, 14, 9, 5),
        55: (1, 2, 3, 2, 4, 8, 55, 13, 8, 4),
        65: (22, 15, 14, 6, 5, 4, 24, 4, 3, 3),
        75: (30, 19, 16, 6, 5, 3, 15, 2, 2, 2),
    },
}  # fmt: skip

# ---------------------------------------------------------------------------------------------------- income

# Median income a year = pay of the job * hours / 40 (or the income of the not employed) * these factors. The
# factor of a child is 0: nobody under 15 has an income.
INCOME_OF_NOT_EMPLOYED: Final[Mapping[str, int]] = {
    "Not working": 6_000, "Student": 5_500, "Retired": 19_000, "Unemployed": 12_000,
}  # fmt: skip
INCOME_BY_AGE: Final[Mapping[int, float]] = {
    0: 0, 6: 0, 15: 0.45, 18: 0.70, 25: 0.90, 35: 1.05, 45: 1.15, 55: 1.15, 65: 1.05, 75: 0.95,
}  # fmt: skip
INCOME_BY_EDUCATION: Final[Mapping[str, float]] = {
    "No schooling": 0.75, "Primary": 0.82, "Lower secondary": 0.90,
    "Upper secondary": 0.98, "Vocational": 1.02,
    "Short tertiary": 1.10, "Bachelor": 1.18,
    "Master": 1.30, "Doctorate": 1.50,
}  # fmt: skip
INCOME_BY_SEX: Final[Mapping[str, float]] = {"Female": 0.90, "Male": 1.0}
INCOME_BY_PROVINCE: Final[Mapping[str, float]] = {
    "North Coast": 1.00, "Highlands": 0.86, "Midlands": 1.08, "River Plain": 0.94, "South Bay": 1.02,
}  # fmt: skip
# The spread around the median: the scale of a log-logistic, whose mean is then 1.17 times its median.
INCOME_SPREAD: Final = 0.30
INCOME_STEP: Final = 100  # people report round numbers

# --------------------------------------------------------------------------------------------------- disease

DISEASE_TREE: Final[Tree] = {
    "No diagnosis": ("No disease",),
    "Respiratory disease": ("Asthma", "Bronchitis"),
    "Circulatory disease": ("Hypertension", "Heart disease", "Stroke"),
    "Mental disorder": ("Depression", "Anxiety"),
    "Other chronic disease": ("Diabetes", "Arthritis", "Cancer"),
    "Infectious disease": ("Influenza", "Tuberculosis"),
}
# Half per cents: the sum of a row is 200. The rare disease has no column of its own.
DISEASE_BY_AGE: Final[ByAge] = {
    #  None Asth Bron Hyp Heart Strok Depr Anx Diab Arth Canc Flu
    0:  (176, 6, 6,  0,  0, 0,  0, 0,  0,  0, 0, 12),
    6:  (175, 10, 2, 0,  0, 0,  1, 3,  1,  0, 0, 8),
    15: (169, 9, 2,  0,  0, 0,  6, 6,  1,  0, 0, 7),
    18: (166, 8, 2,  1,  0, 0,  8, 7,  1,  0, 0, 7),
    25: (161, 7, 2,  4,  0, 0,  9, 8,  1,  1, 1, 6),
    35: (150, 6, 2,  9,  1, 0, 10, 8,  4,  3, 1, 6),
    45: (129, 6, 3, 20,  3, 1, 10, 6,  8,  6, 3, 5),
    55: (102, 5, 4, 34,  7, 2,  9, 5, 13,  9, 5, 5),
    65: (73,  5, 5, 46, 14, 4,  7, 4, 17, 13, 7, 5),
    75: (47,  4, 7, 52, 24, 9,  6, 3, 18, 16, 8, 6),
}  # fmt: skip
# The rare disease: its probability, about 1 in 2,000 over all ages.
RARE_DISEASE: Final = "Tuberculosis"
RARE_DISEASE_BY_AGE: Final[Mapping[int, float]] = {
    0: 0.0002, 6: 0.0002, 15: 0.0003, 18: 0.0004, 25: 0.0004, 35: 0.0005, 45: 0.0005, 55: 0.0006, 65: 0.0007,
    75: 0.0010,
}  # fmt: skip

# ---------------------------------------------------------------------------------------------------- region

# Province -> district -> town and its weight, any sum. Four of the sixty towns hold a third of the people.
REGIONS: Final[Mapping[str, Mapping[str, Mapping[str, int]]]] = {
    "North Coast": {
        "Harbour District": {"Northport": 75, "Saltmere": 21, "Gullwick": 9},
        "Cape District": {"Capeholm": 18, "Lantern Bay": 8, "Foxness": 4},
        "Dune District": {"Sandleigh": 14, "Marram": 7, "Ternby": 3},
        "Fjord District": {"Fjordham": 16, "Kelpstad": 8, "Skerry": 3},
    },
    "Highlands": {
        "Peak District": {"Stonegate": 19, "Cragford": 8, "Eaglefell": 3},
        "Glen District": {"Glenmoor": 15, "Heatherby": 7, "Brackenlow": 3},
        "Lake District": {"Tarnside": 14, "Lochmere": 6, "Reedwater": 3},
        "Pass District": {"Highpass": 11, "Winterhold": 5, "Snowdell": 2},
    },
    "Midlands": {
        "Capital District": {"Midchester": 110, "Kingsbrook": 30, "Oldcastle": 24},
        "Forge District": {"Ironbridge": 28, "Anvilton": 14, "Coalbrook": 9},
        "Orchard District": {"Appleford": 17, "Pearwood": 9, "Plumley": 5},
        "Forest District": {"Oakhurst": 16, "Ashdene": 8, "Birchwood": 4},
    },
    "River Plain": {
        "Delta District": {"Delta City": 60, "Reedham": 16, "Sluice": 7},
        "Mill District": {"Millbury": 22, "Weirton": 11, "Grindle": 5},
        "Meadow District": {"Meadowfield": 16, "Cowslip": 7, "Haywick": 4},
        "Ferry District": {"Ferryport": 17, "Bargeford": 8, "Willowend": 4},
    },
    "South Bay": {
        "Bay District": {"Southhaven": 90, "Palmview": 26, "Coral Point": 11},
        "Vine District": {"Vineyard Hill": 18, "Grapeton": 9, "Cellarby": 4},
        "Sun District": {"Sunnyside": 19, "Goldbeach": 10, "Olive Grove": 5},
        "Island District": {"Great Isle": 12, "Pearl Isle": 5, "Lone Isle": 2},
    },
}
REGION_TREE: Final[Tree] = {
    province: {district: tuple(towns) for district, towns in districts.items()}
    for province, districts in REGIONS.items()
}

HIERARCHIES: Final[Mapping[str, Tree]] = MappingProxyType(
    {
        "education": EDUCATION_TREE,
        "marital_status": MARITAL_STATUS_TREE,
        "region": REGION_TREE,
        "occupation": OCCUPATION_TREE,
        "disease": DISEASE_TREE,
    }
)


def paths(tree: Tree, above: tuple[str, ...] = ()) -> tuple[tuple[str, ...], ...]:
    """Returns for each leaf, in the order of the tree, the leaf, its groups from below, and then `above`."""
    result: list[tuple[str, ...]] = []
    for label, below in tree.items():
        if isinstance(below, Mapping):
            result.extend(paths(below, (label, *above)))
        else:
            result.extend((leaf, label, *above) for leaf in below)
    return tuple(result)


def leaves(tree: Tree) -> tuple[str, ...]:
    """Returns the leaves of a hierarchy, in the order of the tree."""
    return tuple(path[0] for path in paths(tree))
