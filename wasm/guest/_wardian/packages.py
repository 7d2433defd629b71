"""Tables of popular packages: the batteries, and those that are missing, each with a substitute.

The names are those of import statements. An import of one of them fails as it does anywhere, with
`ModuleNotFoundError`, and its message ends with the row's advice.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable

_NETWORK = "there is no network: pass the data as args or as a blob in `input_blobs`"
_MODEL = "there are no language models and no network here: call them outside, and pass the text"
_CLIENT = (
    "a skill can have it: list it in requirements.txt, and `wardian skills deps lock` locks it; "
    "without it, httpx reaches the same service, if a network is granted"
)
_LEARNING = "use sklearn"
_TABLES = "use pandas"
_CHARTS = "use matplotlib, seaborn or plotly"
_DATABASE = "there is no network: use sqlite3, or pass the rows as CSV or JSON"
_PDF_OUT = "use reportlab, or matplotlib for charts as PDF"
_PAGES = "pages cannot be drawn; read their text with pdfplumber or pypdf"
_CLOUD = "there is no network and no cloud account: pass the data as a blob"
_SERVER = "no server can run here: call the functions directly and return their values"
_ARRAYS = "use numpy"
_BROWSER = "there is no browser and no network: parse HTML that you pass with bs4 or lxml"
_DISPLAY = "there is no display: write an image with PIL or matplotlib; it comes back as a blob"
_LANGUAGE = "use re, collections.Counter and sklearn.feature_extraction.text"
_GEO = "use numpy and math; great-circle distances take a few lines"
_JSON = "use json"
_QUEUE = "there are no other processes: call the function directly"
_SOUND = "use wave and numpy"
_VIDEO = "no video codec is there: read and write GIF frames with PIL"

SUBSTITUTES: dict[str, str] = {
    # data frames, files of tables
    "polars": _TABLES,
    "dask": _TABLES,
    "vaex": _TABLES,
    "modin": _TABLES,
    "cudf": _TABLES,
    "pyspark": _TABLES,
    "datatable": _TABLES,
    "pandasql": "use sqlite3 with DataFrame.to_sql, or the skill data.sql.query",
    "duckdb": "use sqlite3 with DataFrame.to_sql, or the skill data.sql.query",
    "pyarrow": "use pandas: read_parquet and to_parquet work without it; name no engine and no dtype of it",
    "fastparquet": "use pandas: read_parquet and to_parquet work",
    "fastavro": "use pandas with CSV or JSON",
    "tables": "use pandas with CSV, or sqlite3",
    "h5py": "use numpy.savez, or sqlite3",
    "netCDF4": "use numpy.savez; scipy.io.netcdf_file reads the classic format",
    "xlutils": "use openpyxl",
    "xlwings": "use openpyxl",
    "pyexcel": "use openpyxl or pandas",
    "odf": "use openpyxl with .xlsx",
    "tablib": _TABLES,
    "petl": _TABLES,
    "missingno": _CHARTS,
    "ydata_profiling": "use DataFrame.describe, or the skill data.csv.profile",
    "pandas_profiling": "use DataFrame.describe, or the skill data.csv.profile",
    "sweetviz": "use DataFrame.describe, or the skill data.csv.profile",
    "great_expectations": "check the frame with pandas and assert",
    "pandera": "check the frame with pandas and assert",
    "pandas_ta": "use rolling and ewm of pandas",
    "talib": "use rolling and ewm of pandas",
    "ta": "use rolling and ewm of pandas",
    # numbers
    "cupy": _ARRAYS,
    "jax": "use numpy, and scipy.optimize for gradients",
    "numexpr": _ARRAYS,
    "bottleneck": _ARRAYS,
    "numba": "use numpy operations on whole arrays",
    "Cython": "use numpy operations on whole arrays",
    "gmpy2": "use int, fractions, decimal or mpmath",
    "cvxpy": "use scipy.optimize (linprog, milp, minimize)",
    "cvxopt": "use scipy.optimize (linprog, milp, minimize)",
    "pulp": "use scipy.optimize.linprog or milp",
    "ortools": "use scipy.optimize.milp or linear_sum_assignment",
    "pyomo": "use scipy.optimize.milp or minimize",
    "mip": "use scipy.optimize.milp",
    "deap": "use scipy.optimize.differential_evolution",
    "optuna": "use sklearn.model_selection.RandomizedSearchCV",
    "hyperopt": "use sklearn.model_selection.RandomizedSearchCV",
    "pymc": "sample with numpy, or use statsmodels",
    "emcee": "sample with numpy",
    "control": "use scipy.signal",
    "pywt": "use scipy.signal or numpy.fft",
    "igraph": "use networkx",
    "graph_tool": "use networkx",
    "mimesis": "use faker",
    # learning
    "torch": _LEARNING,
    "torchvision": _LEARNING,
    "tensorflow": _LEARNING,
    "keras": _LEARNING,
    "xgboost": "use sklearn.ensemble.HistGradientBoostingClassifier or Regressor",
    "lightgbm": "use sklearn.ensemble.HistGradientBoostingClassifier or Regressor",
    "catboost": "use sklearn.ensemble.HistGradientBoostingClassifier or Regressor",
    "imblearn": "use class_weight of sklearn, or sample with pandas",
    "umap": "use sklearn.manifold.TSNE or sklearn.decomposition.PCA",
    "hdbscan": "use sklearn.cluster.HDBSCAN",
    "shap": "use sklearn.inspection.permutation_importance",
    "lime": "use sklearn.inspection.permutation_importance",
    "prophet": "use statsmodels.tsa (ExponentialSmoothing, SARIMAX)",
    "pmdarima": "use statsmodels.tsa.arima.model.ARIMA",
    "arch": "use statsmodels.tsa",
    "sktime": "use statsmodels.tsa",
    "tslearn": _LEARNING,
    "pingouin": "use scipy.stats or statsmodels",
    "factor_analyzer": "use sklearn.decomposition.FactorAnalysis",
    "surprise": "use sklearn.decomposition.TruncatedSVD",
    "onnxruntime": _LEARNING,
    "gym": "use gymnasium",
    # language
    "spacy": "use nltk (tokens, stems, stop words), or re",
    "gensim": "use sklearn.decomposition (LatentDirichletAllocation, TruncatedSVD)",
    "wordcloud": "draw the counts of collections.Counter or nltk.FreqDist with matplotlib",
    "transformers": _MODEL,
    "sentence_transformers": "use sklearn.feature_extraction.text.TfidfVectorizer",
    "tokenizers": _LANGUAGE,
    "tiktoken": "estimate: about four characters are a token",
    "langdetect": "compare stop words, or ask outside",
    "openai": _CLIENT,
    "anthropic": _CLIENT,
    "instructor": _CLIENT,
    "langchain": "use langchain_core: prompts, parsers, runnables and tools",
    "langgraph": "use langchain_core: prompts, parsers, runnables and tools",
    "fastmcp": "use mcp.server.MCPServer and mcp.Client",
    "llama_index": _MODEL,
    "huggingface_hub": _MODEL,
    "datasets": "pass the data as a blob",
    "faiss": "use sklearn.neighbors.NearestNeighbors",
    "chromadb": "use sklearn.neighbors.NearestNeighbors",
    "rapidfuzz": "use fuzzywuzzy.fuzz, or Levenshtein",
    "thefuzz": "use fuzzywuzzy: the same functions",
    "jellyfish": "use Levenshtein (distance, jaro, jaro_winkler) or difflib",
    "ftfy": "use unicodedata.normalize",
    "wordninja": "it is published as sources only: build it with `pip wheel` and lock it for a skill, or split with a word list and dynamic programming",
    "babel": "format with f-strings and datetime",
    "textstat": "use nltk for sentences and words, and count",
    # charts and pictures
    "kaleido": "there is no browser: fig.write_html(file) of plotly makes a page; for a picture draw with matplotlib",
    "bokeh": _CHARTS,
    "altair": _CHARTS,
    "holoviews": _CHARTS,
    "pygal": _CHARTS,
    "plotnine": _CHARTS,
    "mplfinance": "use matplotlib",
    "squarify": _CHARTS,
    "graphviz": "use networkx with matplotlib",
    "pydot": "use networkx with matplotlib",
    "cv2": "use PIL for files and pixels, scipy.ndimage for filters, edges and labels",
    "skimage": "use PIL for files and pixels, scipy.ndimage for filters, edges and labels",
    "cairosvg": "draw with matplotlib or PIL",
    "pyzbar": "no reader of barcodes is there",
    "pytesseract": "no text recognition is there: read the text outside",
    "easyocr": "no text recognition is there: read the text outside",
    "moviepy": _VIDEO,
    "ffmpeg": _VIDEO,
    "librosa": "use scipy.io.wavfile, scipy.signal and numpy",
    "soundfile": "use wave or scipy.io.wavfile, and numpy",
    "pydub": _SOUND,
    "pygame": _DISPLAY,
    "tkinter": _DISPLAY,
    "PyQt5": _DISPLAY,
    "PyQt6": _DISPLAY,
    "PySide6": _DISPLAY,
    "wx": _DISPLAY,
    "kivy": _DISPLAY,
    "streamlit": _SERVER,
    "gradio": _SERVER,
    "dash": _SERVER,
    "IPython": "print the values, or return them",
    "ipywidgets": "print the values, or return them",
    "google": _CLOUD,
    # documents
    "PyPDF4": "use pypdf",
    "fitz": "use pdfplumber or pypdf, or the skill docs.pdf.extract",
    "pymupdf": "use pdfplumber or pypdf, or the skill docs.pdf.extract",
    "camelot": "use pdfplumber or pypdf, or the skill docs.pdf.extract",
    "tabula": "use pdfplumber or pypdf, or the skill docs.pdf.extract",
    "pdf2image": _PAGES,
    "pypdfium2": _PAGES,
    "pikepdf": "use pypdf",
    "weasyprint": _PDF_OUT,
    "pdfkit": _PDF_OUT,
    "xhtml2pdf": _PDF_OUT,
    "odfpy": "read content.xml with zipfile and lxml",
    "ebooklib": "read the chapters with zipfile and lxml",
    "win32com": "there is no Windows: use openpyxl or reportlab",
    "magika": "use mimetypes, or look at the first bytes",
    "magic": "use mimetypes, or look at the first bytes",
    "py7zr": "use zipfile, tarfile or lzma",
    "rarfile": "use zipfile or tarfile",
    "zstandard": "use zlib, bz2 or lzma",
    "lz4": "use zlib or lzma",
    "brotli": "use zlib or lzma",
    "snappy": "use zlib or lzma",
    # time
    "pendulum": "use arrow, or datetime with zoneinfo",
    "delorean": "use arrow, or datetime with zoneinfo",
    "maya": "use arrow, or datetime with zoneinfo",
    "parsedatetime": "use dateparser",
    "workalendar": "use holidays",
    "schedule": "nothing runs later: call the function now",
    "apscheduler": "nothing runs later: call the function now",
    # network
    "aiohttp": "use httpx.AsyncClient",
    "httplib2": "use requests or httpx",
    "pycurl": "use requests or httpx",
    "requests_html": "use requests with bs4",
    "websocket": _NETWORK,
    "paramiko": _NETWORK,
    "scapy": _NETWORK,
    "yfinance": _NETWORK,
    "pandas_datareader": _NETWORK,
    "wikipedia": _NETWORK,
    "tweepy": _NETWORK,
    "praw": _NETWORK,
    "slack_sdk": _NETWORK,
    "telegram": _NETWORK,
    "discord": _NETWORK,
    "github": _NETWORK,
    "googleapiclient": _NETWORK,
    "gspread": _NETWORK,
    "grpc": _NETWORK,
    "zmq": _NETWORK,
    "pika": _NETWORK,
    "kafka": _NETWORK,
    "paho": _NETWORK,
    "stripe": _NETWORK,
    "twilio": _NETWORK,
    "geopandas": _GEO,
    "shapely": _GEO,
    "pyproj": _GEO,
    "haversine": "use geopy.distance",
    "rasterio": _GEO,
    "cartopy": _GEO,
    "h3": _GEO,
    "tldextract": "use urllib.parse",
    "boto3": _CLOUD,
    "botocore": _CLOUD,
    "azure": _CLOUD,
    "s3fs": _CLOUD,
    "gcsfs": _CLOUD,
    "fsspec": "use open with paths in /workspace and /blobs",
    "selenium": _BROWSER,
    "playwright": _BROWSER,
    "pyppeteer": _BROWSER,
    "scrapy": _BROWSER,
    "trafilatura": "use bs4, or the skill web.html.extract",
    "newspaper": "use bs4, or the skill web.html.extract",
    "readability": "use bs4, or the skill web.html.extract",
    "parsel": "use lxml or bs4",
    # databases
    "psycopg2": _DATABASE,
    "psycopg": _DATABASE,
    "asyncpg": _DATABASE,
    "pymysql": _DATABASE,
    "MySQLdb": _DATABASE,
    "mysql": _DATABASE,
    "pyodbc": _DATABASE,
    "cx_Oracle": _DATABASE,
    "pymongo": _DATABASE,
    "redis": _DATABASE,
    "elasticsearch": _DATABASE,
    "cassandra": _DATABASE,
    "neo4j": _DATABASE,
    "clickhouse_driver": _DATABASE,
    "snowflake": _DATABASE,
    "influxdb": _DATABASE,
    "aiosqlite": "use sqlite3",
    "peewee": "use sqlalchemy or sqlite3",
    "pony": "use sqlalchemy or sqlite3",
    "sqlglot": "use sqlite3 to run the query, or re",
    "diskcache": "use a dict, or functools.lru_cache",
    # servers and other processes
    "uvicorn": _SERVER,
    "tornado": _SERVER,
    "bottle": "use flask with app.test_client(), or call the functions directly; no server can run here",
    "celery": _QUEUE,
    "rq": _QUEUE,
    "ray": _QUEUE,
    "mpi4py": _QUEUE,
    "multiprocess": _QUEUE,
    "pathos": _QUEUE,
    "psutil": "there are no processes to look at: time.process_time() tells the time used, tracemalloc the memory, shutil.disk_usage the disk",
    "GPUtil": "there is no GPU",
    "pynvml": "there is no GPU",
    "sh": "there are no other programs: use Python's library",
    "pexpect": "there are no other programs: use Python's library",
    "fabric": "there are no other programs: use Python's library",
    "docker": "there are no other programs: use Python's library",
    "kubernetes": _NETWORK,
    "git": "there are no other programs and no repository: pass the files",
    "watchdog": "nothing else changes files here: read them when you need them",
    "uvloop": "use asyncio as it is",
    "trio": "use asyncio",
    "gevent": "use asyncio",
    "eventlet": "use asyncio",
    "nest_asyncio": "use asyncio; top-level `await` works as it is",
    "pip": "nothing can be installed: use what is there",
    "setuptools": "nothing can be installed: use what is there",
    "pkg_resources": "use importlib.metadata",
    "distutils": "use packaging.version, shutil or sysconfig",
    "micropip": "nothing can be installed: use what is there",
    "piplite": "nothing can be installed: use what is there",
    "pyodide": "this is no browser: use Python's library",
    "js": "this is no browser: use Python's library",
    # everyday helpers
    "ujson": _JSON,
    "rapidjson": _JSON,
    "demjson": _JSON,
    "ndjson": "use json for each line",
    "cbor2": "use json or pickle",
    "tomli": "use tomllib",
    "ruamel": "use yaml",
    "decouple": "pass settings in args",
    "environs": "pass settings in args",
    "hydra": "pass settings in args",
    "omegaconf": "use yaml and dicts",
    "fire": "read args of main(args); there is no command line",
    "docopt": "read args of main(args); there is no command line",
    "pyfiglet": "use print",
    "progressbar": "use tqdm or rich.progress",
    "alive_progress": "use tqdm or rich.progress",
    "retry": "use tenacity",
    "backoff": "use tenacity",
    "frozendict": "use types.MappingProxyType",
    "bitarray": "use int or numpy arrays of bool",
    "dill": "use pickle or cloudpickle",
    "antlr4": "use lark or pyparsing",
    "pyperclip": "there is no clipboard: return the text",
    "pyautogui": _DISPLAY,
    "keyboard": "nobody types here: read args",
    "cryptography": "there are no ciphers: use rsa for RSA, hashlib and hmac for digests and signatures, secrets for keys",
    "Crypto": "there are no ciphers: use rsa for RSA, hashlib and hmac for digests and signatures, secrets for keys",
    "nacl": "there are no ciphers: use rsa for RSA, hashlib and hmac for digests and signatures, secrets for keys",
    "bcrypt": "use hashlib.pbkdf2_hmac or scrypt",
    "passlib": "use hashlib.pbkdf2_hmac or scrypt",
    "argon2": "use hashlib.scrypt",
    "jose": "use jwt (HS256)",
    "xxhash": "use hashlib.blake2b",
    "mmh3": "use hashlib.blake2b",
    "ulid": "use uuid.uuid7",
    "uuid_utils": "use uuid.uuid7",
    "phonenumbers": "use re",
    "pycountry": "pass the table of countries as args",
    "forex_python": _NETWORK,
    "chess": "write the moves that you need",
    "nose": "use unittest or pytest",
    "hypothesis": "use random with unittest or pytest",
    "black": "no formatter is there; ast.unparse prints code",
    "memory_profiler": "use tracemalloc",
    "line_profiler": "use time.perf_counter, or cProfile",
    "Bio": "use plain strings and collections.Counter",
    "rdkit": "no chemistry package is there",
    "astropy": "use numpy and datetime",
    "qiskit": "use numpy for the matrices",
    "obspy": "use scipy.signal and numpy",
    "music21": "use plain data structures",
}


BATTERIES: frozenset[str] = frozenset({
    "OleFileIO_PL", "PyPDF2", "_plotly_utils", "_pytest", "addict", "aniso8601", "annotated_doc",
    "annotated_types", "anyio", "arrow", "asgiref", "autograd", "autograd_gamma", "barcode",
    "bidict", "bleach", "blinker", "boltons", "box", "branca", "cachetools", "cattr", "cattrs",
    "cerberus", "certifi", "chardet", "click", "cobble", "colorama", "croniter", "cssselect",
    "dateparser", "dateparser_cli", "dateparser_data", "dateparser_scripts", "distro", "django",
    "dns", "docx", "docx2txt", "docxtpl", "dotenv", "ecdsa", "email_validator", "emoji", "face",
    "faker", "farama_notifications", "fastapi", "feedparser", "feedparser_sgmllib", "flask",
    "flask_login", "flask_mail", "flask_restful", "flask_wtf", "flexcache", "flexparser", "folium",
    "fpdf", "freezegun", "funcy", "fuzzywuzzy", "geographiclib", "geopy", "glom", "gymnasium",
    "h11", "holidays", "html2text", "httpcore", "httpcore2", "httpx", "httpx2", "humanize",
    "icalendar", "idna", "imageio", "inflect", "iniconfig", "itsdangerous", "jaraco", "jiter",
    "jmespath", "json5", "jsonlines", "jsonpatch", "jsonpatch_cli", "jsonpath_ng", "jsonpointer",
    "jsonschema", "jsonschema_specifications", "jwt", "langchain_core", "langchain_protocol",
    "langsmith", "lark", "lifelines", "loguru", "mammoth", "markdown", "markdown2", "markdown_it",
    "markdownify", "markitdown", "marshmallow", "mcp", "mcp_types", "mdurl", "mechanize", "mistune",
    "mock", "msgpack", "multidict", "multipart", "munch", "nanoid", "natsort", "nltk",
    "numpy_financial", "olefile", "opentelemetry", "orjson", "parsimonious", "pdfminer",
    "pdfplumber", "pint", "platformdirs", "plotly", "pluggy", "ply", "pptx", "prettytable", "py",
    "pyasn1", "pydantic", "pydantic_core", "pydantic_settings", "pydicom", "pyfakefs", "pygments",
    "pyquery", "pytest", "python_http_client", "python_multipart", "pytz", "pyxlsb", "qrcode",
    "referencing", "requests", "requests_mock", "requests_toolbelt", "rich", "rpds", "rsa",
    "sendgrid", "shellingham", "shortuuid", "simplejson", "simpy", "slugify", "sniffio",
    "sortedcontainers", "sqlalchemy", "sqlparse", "sse_starlette", "starlette", "structlog",
    "svgwrite", "tenacity", "termcolor", "text_unidecode", "textblob", "texttable", "tinydb",
    "toml", "tomlkit", "truststore", "typeguard", "typer", "typing_inspection", "tzlocal",
    "uncertainties", "unidecode", "urllib3", "vaderSentiment", "validators", "voluptuous",
    "wcwidth", "websockets", "werkzeug", "wtforms", "xarray", "xlwt", "xyzservices",
})
"""The modules of the batteries: `wasm/batteries`. A run finds them unless the server lacks them."""

STAND_INS: frozenset[str] = frozenset({"Levenshtein", "blake3"})
"""Modules that are implemented here in the place of a package with native code. What they cannot do
they refuse."""

REMARKS: dict[str, str] = {
    "Levenshtein": "distance, ratio, hamming, jaro and jaro_winkler; edits and medians are refused",
    "blake3": "the whole package, in Python",
    "nltk": "with punkt_tab, stopwords and vader_lexicon",
    "textblob": "without noun phrases and tags, whose data are missing",
    "flask": "app.test_client(); no server",
    "werkzeug": "werkzeug.test.Client; no server",
    "django": "django.test.Client; no server",
    "fastapi": "fastapi.testclient.TestClient; no server",
    "starlette": "starlette.testclient.TestClient; no server",
    "gymnasium": "environments without pictures: pygame, which draws them, is not there",
    "langchain_core": "messages, prompts, parsers, runnables and tools; models through a network that is granted",
    "mcp": "types, clients and servers in one program (mcp.Client); no server that others reach",
    "imageio": "pictures and GIF through Pillow; no video",
    "markitdown": "docx, xlsx, pptx, pdf, html, csv, json, epub, zip and text; no audio, no services",
    "pdfminer": "files encrypted with AES, too",
    "pdfplumber": "text, tables and objects; pages are not drawn (to_image)",
    "plotly": "figures as HTML and JSON; no static pictures",
    "pydicom": "uncompressed pixels, and RLE",
    "xarray": "netCDF of the classic format, through SciPy",
    "folium": "maps as HTML; their tiles are loaded by the browser that shows them",
}
"""What to know of modules that are there. For the documents."""

_NO_BATTERIES = (
    "it belongs to the batteries, which this server lacks; its operator fetches them with "
    "`wardian engine install`"
)

MISSING_PARTS: dict[str, str] = {
    "_ssl": _NETWORK,
    "_curses": "there is no terminal: print the text",
    "termios": "there is no terminal: pass input as args",
    "readline": "there is no terminal: pass input as args",
    "resource": "limits belong to the call (`limits`); time.process_time() tells the time used",
    "_posixshmem": "there are no other processes: pass values as arguments",
    "_zstd": "there is no Zstandard: use zlib, bz2 or lzma",
    "_gdbm": "use dbm.sqlite3 or sqlite3",
    "_dbm": "use dbm.sqlite3 or sqlite3",
    "_tkinter": "there is no display: draw with matplotlib or PIL",
}
"""Parts of the standard library that this interpreter lacks, each with advice."""


NATIVE_PARTS: dict[str, str] = {
    "jiter.jiter": "jiter",
    "msgpack._cmsgpack": "msgpack",
    "orjson.orjson": "orjson",
    "pydantic_core._pydantic_core": "pydantic-core",
    "rpds.rpds": "rpds-py",
}
"""Native modules, each with its package. An operator may have built the engine without them."""


NOT_INSTALLED = (
    "it is not installed, and nothing can be installed; load_skills_protocol_guide lists what is; "
    "a skill has others that `wardian skills deps lock` has locked"
)


def with_advice(text: str, name: object) -> str:
    """The text of an error about a missing module, with advice if it has none."""
    if isinstance(name, str) and "." not in name and text == f"No module named {name!r}":
        return f"{text}: {MISSING_PARTS.get(name, NOT_INSTALLED)}"
    if isinstance(name, str) and name in NATIVE_PARTS and text == f"No module named {name!r}":
        return (
            f"{text}: the engine of this server was built without it; its operator adds it with "
            f"`wardian engine build --with {NATIVE_PARTS[name]}`"
        )
    return text


def missing_natives(built_in: Iterable[str]) -> frozenset[str]:
    """The native modules of batteries that are not among those that are built in."""
    of_batteries = {name for name in NATIVE_PARTS if name.partition(".")[0] in BATTERIES}
    return frozenset(of_batteries.difference(built_in))


def about_installing(words: Iterable[str]) -> str:
    """Says that nothing can be installed, and what there is in the place of these packages."""
    advice = "nothing can be installed"
    for word in words:
        match = re.match(r"[A-Za-z][\w.-]*", word)
        if match is None:
            continue
        module = match[0].replace("-", "_")
        substitute = substitute_for(module)
        if module in BATTERIES and importlib.util.find_spec(module) is not None:
            advice += f"; {match[0]} is there: import it"
        elif substitute is not None:
            advice += f"; in the place of {match[0]}: {substitute}"
    return advice


def substitute_for(name: str) -> str | None:
    """Returns the advice for the module `name`, if it is a popular package that is missing."""
    top = name.partition(".")[0]
    return _NO_BATTERIES if top in BATTERIES else SUBSTITUTES.get(top)
