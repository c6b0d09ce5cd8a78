import random
import sys

sys.path.insert(0, "/work/main/tests/engine")
from test_local_reading import *
from test_local_reading import INFER, csv_of, drawn_columns


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_f(both, tmp_path, seed):
    d = random.Random(seed)
    read = {}
    n = 0
    cols = dict(drawn_columns(seed, 600))
    for i in range(2500):
        mk = lambda: "".join(
            d.choice(d.choice(["01259", "0129.eE+-", "0129-: TZ+.", "dfxpP .NaIn", "2020-01-01 ", "12:30"]))
            for _ in range(d.randint(1, 8))
        )
        seedtexts = [
            "2020-01-01",
            "2020-01-01 12:30:15",
            "1.5",
            "12",
            "true",
            "2020-01-01T12:30:15.123Z",
            "-1.5e10",
            "2020-01-01T12:30:15+02:00",
        ]

        def mut():
            t = list(d.choice(seedtexts))
            for _ in range(d.randint(0, 2)):
                k = d.randrange(len(t))
                o = d.random()
                if o < 0.4:
                    t[k] = d.choice("0123456789.eE+-: TZdfx")
                elif o < 0.7:
                    t.insert(k, d.choice("0123456789.eE+-: TZdfx"))
                elif len(t) > 1:
                    t.pop(k)
            return "".join(t)

        cols[f"r{i}"] = [d.choice([mk, mut])()] * 4 if d.random() < 0.7 else [mut(), mut(), "", ""]
    for name, texts in cols.items():
        (tmp_path / "one.csv").write_text(csv_of({name: texts}))
        with suppress(NeedsSparkError):
            locally(Input(path=str(tmp_path / "one.csv"), format="csv", options=INFER))
            read[name] = texts
    (tmp_path / "people.csv").write_text(csv_of(read))
    source = Input(path=str(tmp_path / "people.csv"), format="csv", options=INFER)
    import pickle

    pickle.dump(read, open("/tmp/infer/read.pkl", "wb"))
    t = both(None, **INFER)
    from collections import Counter

    print(len(cols), len(read), Counter(map(str, t.schema.types)))
