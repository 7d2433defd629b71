import bz2
import gzip
import json
import lzma
import os
import pickle
import shelve
import zlib


def main(args):
    recs = [{"id": i, "v": i * i * 10**8, "t": "é" * (i % 3)} for i in range(500)]
    with gzip.open("r.jsonl.gz", "wt", encoding="utf-8") as f:
        for r in recs:
            f.write(json.dumps(r, ensure_ascii=False) + "\n")
    with gzip.open("r.jsonl.gz", "rt", encoding="utf-8") as f:
        total = sum(json.loads(l)["v"] for l in f)
    out = {"total": total, "small": os.path.getsize("r.jsonl.gz") < 20000}
    raw = json.dumps(recs).encode()
    out["bz"] = bz2.decompress(bz2.compress(raw)) == raw
    out["xz"] = lzma.decompress(lzma.compress(raw)) == raw
    out["z"] = zlib.crc32(zlib.decompress(zlib.compress(raw, 9)))
    with open("p.pkl", "wb") as f:
        pickle.dump({"a": {1, 2}, "r": recs[:2]}, f, protocol=4)
    out["pk"] = str(pickle.load(open("p.pkl", "rb"))["r"])
    out["pkhex"] = pickle.dumps([1, "a", 2.5, 2**40], protocol=2).hex()
    with shelve.open("sh") as s:
        s["k"] = [1, 2]
        s["j"] = {"x": 1}
    with shelve.open("sh") as s:
        out["sh"] = sorted(s.keys())
    try:
        gzip.decompress(b"nope")
    except Exception as e:
        out["err"] = f"{type(e).__name__}: {e}"
    return out
