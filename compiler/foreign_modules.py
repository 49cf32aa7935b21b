"""Modules of other languages and the one of the library that does the same here (L-4.1.5): the one table, read by the helps of
imports and of paths. Must not know: what the modules offer.
"""

from __future__ import annotations

MODULES: dict[str, str] = {
    **dict.fromkeys(("Math", "Random", "random"), "math"),
    **dict.fromkeys(("Date", "datetime", "DateTime", "chrono", "zoneinfo"), "date"),
    **dict.fromkeys(("Instant", "perf_counter"), "time"),
    **dict.fromkeys(("base64", "binascii", "hex"), "encoding"),
    **dict.fromkeys(("URL", "URLSearchParams"), "url"),
    **dict.fromkeys(("stdin", "readline", "bufio"), "io"),
    **dict.fromkeys(("JSON", "serde_json"), "json"),
    **dict.fromkeys(("os", "process", "sys", "dotenv"), "env"),
    **dict.fromkeys(("path", "pathlib", "File"), "fs"),
    **dict.fromkeys(("requests", "reqwest", "axios", "fetch", "urllib", "httpx", "aiohttp"), "http"),
    **dict.fromkeys(("re", "RegExp", "Regex", "regexp"), "regex"),
    **dict.fromkeys(("logging", "logger"), "log"),
    **dict.fromkeys(("hashlib", "uuid"), "crypto"),
    **dict.fromkeys(("strings",), "string"),
}
