"""What every image has ready: the standard library that programs use, numpy and pandas.

The first use of a module often costs as much as its import, so each of the heavy ones also does
a little real work.
"""

import argparse
import ast
import asyncio
import base64
import bisect
import calendar
import collections
import collections.abc
import concurrent.futures
import configparser
import contextlib
import copy
import csv
import dataclasses
import datetime
import decimal
import difflib
import email.message
import enum
import fractions
import functools
import glob
import gzip
import hashlib
import heapq
import hmac
import html
import html.parser
import inspect
import io
import itertools
import json
import logging
import math
import mimetypes
import numbers
import operator
import os
import pathlib
import pickle
import pprint
import queue
import random
import re
import secrets
import shutil
import sqlite3
import statistics
import string
import struct
import tempfile
import textwrap
import threading
import time
import tomllib
import traceback
import types
import typing
import unicodedata
import urllib.parse
import uuid
import warnings
import weakref
import xml.etree.ElementTree
import zipfile
import zlib
import zoneinfo

import numpy
import pandas


@dataclasses.dataclass
class Order:
    """A row of the little shop below."""

    region: str
    amount: float


def use_the_standard_library():
    """Does a little of everything."""
    orders = [Order("north", 12.5), Order("south", 7.25), Order("north", 3.0)]
    text = json.dumps([dataclasses.asdict(order) for order in orders], indent=2)
    rows = json.loads(text)
    collections.Counter(row["region"] for row in rows).most_common(1)
    re.findall(r"\b[a-z]+\b", "the quick brown fox")
    re.sub(r"(\d+)-(\d+)", r"\2-\1", "2024-01")
    file = io.StringIO()
    writer = csv.DictWriter(file, ["region", "amount"])
    writer.writeheader()
    writer.writerows(rows)
    file.seek(0)
    list(csv.DictReader(file))
    day = datetime.datetime.fromisoformat("2024-02-29T12:00:00+00:00")
    day.astimezone(zoneinfo.ZoneInfo("Europe/Vienna")).strftime("%A %d %B %Y %H:%M")
    datetime.datetime.strptime("2024-02-29", "%Y-%m-%d")
    statistics.fmean([1, 2, 3])
    decimal.Decimal("1.10") + decimal.Decimal("2.20")
    fractions.Fraction(1, 3) + 1
    hashlib.sha256(b"x").hexdigest()
    base64.b64encode(zlib.compress(b"x" * 100))
    pickle.loads(pickle.dumps(rows))
    textwrap.fill("a line that is long enough to be wrapped", 20)
    urllib.parse.urlencode(urllib.parse.parse_qs("a=1&b=2"), doseq=True)
    xml.etree.ElementTree.fromstring("<a><b c='1'>x</b></a>").find("b")
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table t (a integer, b text)")
        connection.executemany("insert into t values (?, ?)", [(1, "x"), (2, "y")])
        connection.execute("select sum(a) from t group by b").fetchall()
    connection.close()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("a.txt", "x")
    gzip.decompress(gzip.compress(b"x"))
    f"{math.pi:.3f} {uuid.UUID(int=1)} {pathlib.PurePath('/a') / 'b'} {Order.__name__!r:>10}"
    inspect.signature(Order)
    copy.deepcopy(rows)


def use_numpy():
    """Fills numpy's caches of types and loops."""
    a = numpy.arange(12, dtype=float).reshape(3, 4)
    numpy.linalg.solve(a @ a.T + numpy.eye(3), numpy.ones(3))
    numpy.random.default_rng(1).normal(size=4)
    numpy.random.seed(1)
    numpy.random.rand(2)
    numpy.percentile(a, 50), a.mean(axis=0), a.std(), numpy.where(a > 3, a, 0)
    numpy.unique(numpy.array([1, 2, 2])), numpy.array(["x", "y"]), repr(a)


def use_pandas():
    """Reads, groups, joins and prints a small table."""
    table = pandas.read_csv(
        io.StringIO(
            "day,region,amount\n2024-01-01,north,1.5\n2024-01-02,south,2\n2024-01-09,north,"
        )
    )
    table["day"] = pandas.to_datetime(table["day"])
    table["amount"] = table["amount"].fillna(0.0)
    table["double"] = table["amount"].apply(lambda amount: amount * 2)
    table.groupby("region")["amount"].agg(["sum", "mean", "count"]).reset_index()
    table.groupby("region").sum(numeric_only=True)
    table.pivot_table(index="region", columns="day", values="amount", aggfunc="sum")
    table.merge(pandas.DataFrame({"region": ["north"], "name": ["N"]}), on="region", how="left")
    table.sort_values("amount", ascending=False).head(2).to_dict("records")
    table.set_index("day").resample("W")["amount"].sum()
    table[table["amount"] > 1].to_csv(index=False)
    pandas.concat([table, table]).drop_duplicates().describe()
    table["region"].value_counts().to_dict(), table["region"].str.upper().unique()
    table.to_json(orient="records", date_format="iso")
    table.to_string(), repr(table), table.info(buf=io.StringIO())


async def use_asyncio():
    """Runs two tasks with a timeout."""
    async with asyncio.timeout(5):
        await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0.001))


use_the_standard_library()
use_numpy()
use_pandas()
asyncio.run(use_asyncio())
