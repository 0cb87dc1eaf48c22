#!/usr/bin/env python3
"""Verifies a proof bundle with Python's standard library alone, written from core/SPECIFICATION.md.

    python3 verify.py FILE.evidence.json [--policy POLICY] [--file ORIGINAL]... [--require witnesses]
    python3 verify.py TXID.tlog-proof --policy POLICY [--require witnesses]
    python3 verify.py --export COMPANY.evidence.ndjson [--policy POLICY] [--require witnesses]

Checks hashes, history, tree, notes (RFC 8032 Ed25519), the chain of keys, cosignatures and what is disclosed. Tokens
are checked if the policy names their authorities, their signatures by `openssl` (1.1 or later). Chain proofs,
cosignatures with ML-DSA-44, and whether a certificate was revoked, are not checked, and the output says so.

Exit codes: 0 proven, 1 refuted, 2 nothing is said: not whole, of a newer version, beyond a limit, changed without a
contradiction, not a policy, openssl is missing, or the output cannot be written; 3 no policy was given, 4 an event is
not sealed yet, 5 retired or newer key, 6 of another log, 7 a file of --file is not in the proof, or its hash is not
disclosed (before 3, 4 and 8), 8 too few witnesses, if they are required or the policy is C2SP text, or an evidence
without a bundle.
"""
import argparse
import base64
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import typing
from datetime import datetime, timedelta, timezone
from decimal import Decimal

# The worst first, with the exit code and what it means.
STATES = {
    "refuted": (1, "REFUTED"),
    "unreadable": (2, "NOT READABLE"),
    "incomplete": (2, "NOT WHOLE"),
    "changed": (2, "CHANGED"),
    "other-log": (6, "OF ANOTHER LOG: nothing is said about it"),
    "newer-key": (5, "BY A KEY THAT THIS POLICY DOES NOT KNOW: fetch the newer policy"),
    "retired-key": (5, "BY A RETIRED KEY"),
    "requirement": (8, "IT HOLDS, BUT WHAT IS REQUIRED IS MISSING"),
    "pending": (4, "PENDING"),
    "consistent": (3, "CONSISTENT, BUT NOT PROVEN: no keys are pinned"),
    "proven": (0, "PROVEN"),
}


class Refuted(Exception):
    """Something contradicts."""


class Malformed(Refuted):
    """Not strict JSON. Of a whole document, this says nothing about what was recorded."""


class OtherForm(Malformed):
    """Of another form than the registry writes, as after a program that wrote a document again."""


class Unreadable(Exception):
    pass


class OtherLog(Exception):
    pass


class Unable(Exception):
    """A tool is missing."""


def check(condition, reason):
    if not condition:
        raise Refuted(reason)


def strict(condition, reason):
    if not condition:
        raise Malformed(reason)


def shaped(condition, reason):
    if not condition:
        raise OtherForm(reason)


def limit(condition, reason):
    """What is beyond a limit contradicts nothing."""
    if not condition:
        raise Unreadable(reason)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from None


def text_of(data, encoding="utf-8-sig"):
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        raise Malformed("not text in UTF-8") from None


def utf16_length(text):
    return len(text) + sum(char > "\uffff" for char in text)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def tag(name):
    return name.encode("ascii").ljust(16, b"\0")


def unhex(text, length=None):
    shaped(isinstance(text, str), "hex is not a text")
    if not re.fullmatch("(?:[0-9a-f]{2})*", text):
        shaped(not re.fullmatch("(?:[0-9a-f]{2})*", text.lower()), "hex in upper case")
        raise Refuted("malformed hex")
    data = bytes.fromhex(text)
    check(length is None or len(data) == length, f"{len(data)} bytes instead of {length}")
    return data


def hash32(text):
    return unhex(text, 32)


def unbase64(text):
    try:
        data = base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        raise Refuted("malformed base64") from None
    check(base64.b64encode(data).decode() == text, "malformed base64")
    return data


# -- strict JSON


def integer(token):
    """An integer beyond 2^53 - 1 only as canonical JSON writes it: 21 digits, of the shortest that give its double."""
    digits = token.removeprefix("-")
    strict(len(digits) <= 21 and token != "-0", "-0, or an integer beyond 2^53 - 1")
    is_exact = int(digits) < 2**53 or int(digits) == Decimal(repr(float(digits)))
    strict(is_exact, "an integer is beyond 2^53 - 1")
    return int(token)


def decimal(token):
    """The number, if a double holds it: printed with as many digits, at most 17, it is the same. 2.0 and 2e0 are 2."""
    value = float(token)
    digits = re.sub(r"[eE].*|[-.]", "", token).strip("0")
    strict(value not in (float("inf"), float("-inf")) and len(digits) <= 17, "a number that a double does not hold")
    if digits == "" or value == 0:
        strict(digits == "" and not token.startswith("-"), "-0, or a number that a double does not hold")
        return 0
    printed = [Decimal(repr(value)), Decimal(f"{value:.{len(digits) - 1}e}")]
    strict(Decimal(token) in printed, "a number that a double does not hold")
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def members_once(items):
    result = dict(items)
    strict(len(result) == len(items), "a member appears twice")
    strict("__proto__" not in result, "a member is named __proto__")
    return result


def no_constant(name):
    raise Malformed(f"{name} is not JSON")


def values_in(value, depth=0):
    """How many values there are. Names are none."""
    if not isinstance(value, (dict, list)):
        return 1
    strict(depth < 64, "nested deeper than 64 levels")
    return 1 + sum(values_in(each, depth + 1) for each in (value.values() if isinstance(value, dict) else value))


def parse(text):
    hooks = {"parse_int": integer, "parse_float": decimal, "parse_constant": no_constant}
    try:
        value = json.loads(text, object_pairs_hook=members_once, **hooks)
        limit(values_in(value) <= 800_000, "more than 800,000 values")
        json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        raise Malformed(f"not JSON: {error}") from None
    except (RecursionError, UnicodeEncodeError):
        raise Malformed("nested too deep, or half a character") from None


# -- the form of documents


def string(value):
    shaped(isinstance(value, str), "a value is not a text")
    return value


def count(value):
    shaped(type(value) in (int, float), "a value is not a number")
    check(type(value) is int and 0 <= value < 2**53, "a number is not a count")
    return value


def positive(value):
    shaped(count(value) > 0, "a number is 0")


def positive_or_null(value):
    return value is None or positive(value)


def boolean(value):
    shaped(isinstance(value, bool), "a value is not true or false")


def anything(value):
    shaped(isinstance(value, dict), "an object is missing")


def data64(value):
    """The base64 of something that refutes nothing if it is wrong."""
    try:
        unbase64(value)
    except Refuted as error:
        raise OtherForm(str(error)) from None


def form(value, shape):
    """Refuses a value of another shape: a function, `[shape of items, how many at most]`, or `{name: shape}`.

    A name in a shape that ends in `?` may be absent, and `*` stands for any names.
    """
    if callable(shape):
        shape(value)
    elif isinstance(shape, list):
        shaped(isinstance(value, list), "a list is missing")
        limit(len(value) <= shape[1], f"a list has more than {shape[1]} items")
        for item in value:
            form(item, shape[0])
    else:
        shaped(isinstance(value, dict), "an object is missing")
        members = {name.removesuffix("?"): each for name, each in shape.items()}
        for name in value:
            shaped("*" in shape or name in members, f"the member {name} is unknown")
            form(value[name], shape.get("*") or members[name])
        for name in shape:
            shaped(name in value or name == "*" or name.endswith("?"), f"the member {name} is missing")
    return value


def or_null(shape):
    return lambda value: value is None or form(value, shape)


def is_newer(value, names):
    """A later version may have other members at the top level."""
    version = value.get("version", 1)
    is_later = isinstance(version, (int, float)) and not isinstance(version, bool) and version > 1
    return is_later or not set(value) <= {*(name.removesuffix("?") for name in names), "version"}


NEWER = "made by a newer version: fetch a newer verifier"
CHANGED = "changed by a program: it is not as the registry wrote it; fetch it again or send the original file"


def document(text, kind, names):
    """A whole document of version 1. It may begin with a byte order mark."""
    try:
        value = parse(text)
    except Malformed as error:
        raise Unreadable(f"cut off, or {error}") from None
    if not isinstance(value, dict) or value.get("format") != "evidence-registry." + kind:
        raise Unreadable("another document")
    if is_newer(value, names):
        raise Unreadable(NEWER)
    if type(value.get("version")) is not int or value["version"] != 1:
        raise Unreadable(f"not of version 1 of the {kind}")
    return value


def event_opening(value):
    opening = unhex(value, 120)
    check(opening[:16] == tag("er1.event"), "not the opening of an event")
    check(int.from_bytes(opening[48:56], "big") < 2**53, "the time of an event is beyond 2^53 - 1")
    return opening


def long_opening(value):
    limit(len(unhex(value)) <= 16384, "an opening has more than 16,384 bytes")


def key_opening(value):
    """What the opening of a key says."""
    opening = unhex(value)
    check(opening[:16] == tag("er1.key"), "not the opening of a key")
    try:
        body = parse(text_of(opening[16:], "utf-8"))
        form(body, {"log": string, "prev": or_null(hash32), "sig": or_null(unhex), "v": count, "vkey": string})
    except Malformed as error:
        raise Refuted(f"the opening of a key: {error}") from None
    check(body["v"] == 1 and (body["prev"] is None) == (body["sig"] is None), "the opening of a key is malformed")
    return opening, body


def erasure_opening(value):
    check(unhex(value, 48)[:16] == tag("er1.erasure"), "a receipt is not the entry of an erasure")


def cosignature(value):
    check(string(value).startswith("\u2014 ") and "\n" not in value, "a cosignature is not a signature line")


def validation_type(value):
    shaped(value in ("certificate", "crl", "ocsp"), "a piece of validationData is of another type")


def subject(value):
    kind = value.get("type") if isinstance(value, dict) else None
    shaped(kind in ("evidence", "file"), "the subject is of another type")
    form(value, {"type": string, "txId": hash32, **({"fileId": string} if kind == "file" else {})})


PATH = [hash32, 64]
INCLUSION = {"treeSize": count, "path": PATH}
SALTED = {"*": {"text": string, "salt": hash32}}
EVENT = {
    "opening": event_opening,
    "position?": count,
    "inclusion": [INCLUSION, 3],
    "header?": string,
    "filesText?": string,
    "filesSalt?": hash32,
    "fields?": SALTED,
    "files?": SALTED,
}
KEY = {"opening": long_opening, "position": count, "inclusion": [INCLUSION, 1000]}
RECEIPT = {**KEY, "opening": erasure_opening, "text?": string, "salt?": hash32, "inclusion": [INCLUSION, 3]}
ANCHOR = {
    "type": string,
    "network": string,
    "chainId": count,
    "txHash": string,
    "blockNumber": count,
    "blockHash": string,
    "proof": string,
}
CHECKPOINT = {
    "note": string,
    "consistency?": PATH,
    "keyConsistency?": PATH,
    "cosignatures": [cosignature, 32],
    "tokens": [data64, 8],
    "anchors": [ANCHOR, 4],
}
BUNDLE = {
    "format": string,
    "version": count,
    "origin": string,
    "subject": subject,
    "events": [EVENT, 10_000],
    "keys": [KEY, 1024],
    "checkpoints": [CHECKPOINT, 1000],
    "validationData": [{"type": validation_type, "data": data64}, 2000],
    "renewals?": [{**KEY, "inclusion": [INCLUSION, 2]}, 8000],
    "receipts?": [RECEIPT, 1000],
    "claimedPolicy?": anything,
    "extensions?": anything,
}


def as_unreadable(function, value):
    """What is of another form contradicts nothing."""
    try:
        return function(value)
    except OtherForm as error:
        raise Unreadable(f"{CHANGED} ({error})") from None


def read_bundle(text):
    """Checks the form alone."""
    limit(utf16_length(text) <= 2**25, "more than 33,554,432 characters")
    limit(sum(text.count(char) for char in ",[{") <= 2_000_000, "more than 2,000,000 of the characters , [ and {")
    bundle = form(document(text, "bundle", BUNDLE), BUNDLE)
    limit(len(bundle["events"]) > 0, "no event")
    limit(len(bundle["keys"]) > 0, "no key")
    bundle["renewals"] = bundle.get("renewals", [])
    bundle["receipts"] = bundle.get("receipts", [])
    for entry in bundle["events"] + bundle["keys"] + bundle["renewals"] + bundle["receipts"]:
        sizes = [item["treeSize"] for item in entry["inclusion"]]
        shaped(len(sizes) == len(set(sizes)), "an entry is proven under the same checkpoint twice")
    for event in bundle["events"]:
        is_sealed = len(event["inclusion"]) > 0
        shaped(("position" in event) == is_sealed, "an event needs a position and a path, or neither")
        shaped(("filesText" in event) == ("filesSalt" in event), "an event needs filesText and filesSalt, or neither")
    for receipt in bundle["receipts"]:
        shaped(("text" in receipt) == ("salt" in receipt), "a receipt needs text and salt, or neither")
    for key in bundle["keys"]:
        key_opening(key["opening"])
    for renewal in bundle["renewals"]:
        opening = unhex(renewal["opening"], 48)
        check(opening[:16] == tag("er1.token"), "a renewal is not the entry of a token")
    return bundle


# -- Ed25519, RFC 8032 section 6

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)


def point_add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def point_mul(s, p):
    q = (0, 1, 1, 0)
    while s > 0:
        if s & 1:
            q = point_add(q, p)
        p = point_add(p, p)
        s >>= 1
    return q


def point_equal(p, q):
    return (p[0] * q[2] - q[0] * p[2]) % P == 0 and (p[1] * q[2] - q[1] * p[2]) % P == 0


def recover_x(y, sign):
    if y >= P:
        return None
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    if x2 == 0:
        return None if sign else 0
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P != 0:
        x = x * SQRT_M1 % P
    if (x * x - x2) % P != 0:
        return None
    return P - x if x & 1 != sign else x


def decompress(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    x = recover_x(y, sign)
    return None if x is None else (x, y, 1, x * y % P)


G_Y = 4 * pow(5, P - 2, P) % P
G_X = recover_x(G_Y, 0)
G = (G_X, G_Y, 1, G_X * G_Y % P)


def ed25519_verify(public, message, signature):
    if len(public) != 32 or len(signature) != 64:
        return False
    a, r = decompress(public), decompress(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if a is None or r is None or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    return point_equal(point_mul(s, G), point_add(r, point_mul(h, a)))


# -- signed notes and keys

ED25519, COSIGNATURE, ML_DSA_COSIGNATURE = 1, 4, 6
CONTROL = r"\x00-\x1f\x7f-\x9f"
# The y of the points whose order divides 8. Under such a key, one signature fits many messages.
SMALL_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
SMALL_ORDER = {0, 1, P - 1, SMALL_ORDER_8, P - SMALL_ORDER_8}


def is_key_name(name):
    return name != "" and not re.search(rf"[\s+\ufeff{CONTROL}]", name)


@functools.lru_cache(maxsize=None)
def split_vkey(vkey):
    """Name, hash, and the type byte with the public key."""
    match = re.fullmatch(r"([^+]*)\+([0-9a-f]{8})\+(.*)", vkey, re.DOTALL)
    check(match and is_key_name(match[1]) and match[3], "a key is not of the form NAME+HASH+BASE64")
    return match[1], match[2], unbase64(match[3])


@functools.lru_cache(maxsize=None)
def parse_vkey(vkey, kind=ED25519):
    """Name, id and public key, or None for a key of another type: it is kept, and counts as absent."""
    name, key_hash, data = split_vkey(vkey)
    if data[0] != kind:
        return None
    key_id = sha256(name.encode() + b"\n", data)[:4]
    length = 1312 if kind == ML_DSA_COSIGNATURE else 32
    check(len(data) == 1 + length and key_id.hex() == key_hash, "the length or the hash of a key is wrong")
    y = int.from_bytes(data[1:], "little") & (2**255 - 1)
    is_point = kind == ML_DSA_COSIGNATURE or (y < P and y not in SMALL_ORDER)
    check(is_point, "a key is not in canonical form, or of small order")
    return name, key_id, data[1:]


def parse_note(note):
    """The signed text, and name, key id and signature of each line."""
    check(utf16_length(note) <= 65536, "a note has more than 65,536 characters")
    check(not re.search(rf"(?!\n)[{CONTROL}]", note), "a note has a control character")
    signed, separator, lines = note.rpartition("\n\n")
    check(separator and lines.endswith("\n"), "a note has no signature")
    lines = lines[:-1].split("\n")
    check(len(lines) <= 100, "a note has more than 100 signatures")
    signatures = []
    for line in lines:
        mark, name, data = line.split(" ") if line.count(" ") == 2 else ("", "", "")
        data = unbase64(data)
        check(mark == "\u2014" and is_key_name(name) and len(data) > 4, "a signature line is malformed")
        signatures.append((name, data[:4], data[4:]))
    return signed + "\n", signatures


def parse_checkpoint(signed):
    """Origin, size and root of a signed text, which may have further lines."""
    origin, size, root, *others = signed.split("\n") + ["", ""]
    check(origin and "" not in others[:-3] and re.fullmatch("0|[1-9][0-9]{0,15}", size), "not a checkpoint")
    check(len(unbase64(root)) == 32, "a root must have 32 bytes")
    return origin, count(int(size)), unbase64(root)


def verify_keys(keys, origin):
    """Returns the verifier keys in the order of the log."""
    vkeys, previous, last_position = [], None, -1
    for key in keys:
        opening, body = key_opening(key["opening"])
        name, _, public = parse_vkey(body["vkey"]) or ("", None, None)
        check(body["log"] == origin and name == origin, "a key belongs to another log, or is not an Ed25519 key")
        check(key["position"] > last_position, "the positions of keys must ascend")
        if previous is None:
            check(key["position"] == 0 and body["prev"] is None, "the first key must be entry 0")
            log_id = sha256(tag("er1.origin"), public).hex()[:32]
            check(origin.endswith("/" + log_id), "the origin is not of the first key")
        else:
            check(body["prev"] == previous[0].hex(), "a key does not follow the key before it")
            unsigned = {name: body[name] for name in ("log", "prev", "v", "vkey")}
            canonical = json.dumps(unsigned, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            handover = tag("er1.key") + canonical.encode()
            spend()
            is_signed = ed25519_verify(previous[1], handover, unhex(body["sig"]))
            check(is_signed, "a key is not signed by the key before it")
        previous, last_position = (sha256(opening), public), key["position"]
        vkeys.append(body["vkey"])
    return vkeys


# -- the tree, RFC 9162 section 2.1.3.2


def root_from_path(entry, index, size, path):
    check(index < size, "an entry is beyond its tree")
    fn, sn, node = index, size - 1, sha256(b"\0", entry)
    for sibling in path:
        check(sn > 0, "a path is too long")
        if fn & 1 or fn == sn:
            node = sha256(b"\1", sibling, node)
            while fn & 1 == 0 and fn != 0:
                fn, sn = fn >> 1, sn >> 1
        else:
            node = sha256(b"\1", node, sibling)
        fn, sn = fn >> 1, sn >> 1
    check(sn == 0, "a path is too short")
    return node


def begins_with(root, size, start_root, start_size, proof):
    """RFC 9162 section 2.1.4.2: whether a tree begins with a smaller one, or is the same."""
    if start_size == size:
        return start_root == root and not proof
    nodes = ([start_root] if start_size & (start_size - 1) == 0 else []) + proof
    if start_size > size or not nodes:
        return False
    fn, sn = start_size - 1, size - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = nodes[0]
    for node in nodes[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = sha256(b"\1", node, fr), sha256(b"\1", node, sr)
            while fn & 1 == 0 and fn != 0:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = sha256(b"\1", sr, node)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and fr == start_root and sr == root


def hashes(values):
    return [unhex(value, 32) for value in values]


def verify_inclusion(entry, shown, trees):
    for item in shown["inclusion"]:
        size = item["treeSize"]
        check(size in trees, "a checkpoint is missing")
        root = root_from_path(entry, shown["position"], size, hashes(item["path"]))
        check(root == trees[size]["root"], "an entry is not in the tree of its checkpoint")


# -- events


def disclosed(kind, shown, committed):
    values = {}
    for name, each in (shown or {}).items():
        digest = sha256(tag(kind), unhex(each["salt"]), each["text"].encode())
        check(committed.get(name) == digest.hex(), f"{name} is not what the event commits to")
        values[name] = parse(each["text"])
    return values


DELETED = {"deleted": hash32, "id": string}
FILE = {"id": string, "mimeType": string, "name": string, "sha256": hash32, "size": count}
LINK = or_null(hash32)
HEADER = {"fields": {"*": hash32}, "first": LINK, "log": string, "prev": LINK, "v": count, "version": positive}


def verify_slot(event, slot_key, version):
    slot = sha256(tag("er1.slot"), hash32(slot_key), version.to_bytes(8, "big"))
    check(slot == event["slot"], f"version {version} has another slot")


def verify_event(event, origin):
    opening = unhex(event["opening"])
    result = {
        "txId": sha256(opening).hex(),
        "slot": opening[16:48],
        "time": int.from_bytes(opening[48:56], "big"),
        "header": None,
        "fields": {},
        "files": {},
        "held": [],
        "hides": "filesText" not in event,
    }
    has_header = "header" in event or "fields" in event
    if has_header:
        check("header" in event, "fields need a header")
        digest = sha256(tag("er1.header"), event["header"].encode())
        check(digest == opening[56:88], "a header is not the committed one")
        header = form(parse(event["header"]), HEADER)
        is_first = header["version"] == 1
        check(header["v"] == 1, "a header is not of version 1")
        check((header["first"] is None) == (header["prev"] is None) == is_first, "only version 1 has no first and prev")
        check(header["log"] == origin, "an event belongs to another log")
        result["header"] = header
        for name, value in disclosed("er1.field", event.get("fields"), header["fields"]).items():
            is_pair = isinstance(value, list) and len(value) == 2 and value[0] == name
            check(is_pair, f"the field {name} is malformed")
            result["fields"][name] = value[1]
        if "slotKey" in result["fields"]:
            verify_slot(result, result["fields"]["slotKey"], header["version"])
    if has_header or "filesText" in event or "files" in event:
        check("filesText" in event, "the map of files is missing")
        digest = sha256(tag("er1.files"), unhex(event["filesSalt"]), event["filesText"].encode())
        check(digest == opening[88:120], "the map of files is not the committed one")
        committed = form(parse(event["filesText"]), {"*": hash32})
        result["held"] = list(committed)
        for name, value in disclosed("er1.file", event.get("files"), committed).items():
            form(value, DELETED if isinstance(value, dict) and "deleted" in value else FILE)
            check(value["id"] == name, "a file's text belongs to another file")
            result["files"][name] = value
    return result


def verify_history(events):
    attached, deleted, constants = {}, set(), {}
    slot_key = events[0]["fields"].get("slotKey")
    for version, event in enumerate(events, 1):
        header = event["header"]
        check(header["version"] == version, "the versions of the history have a gap")
        links = (None, None) if version == 1 else (events[0]["txId"], events[version - 2]["txId"])
        check((header["first"], header["prev"]) == links, f"version {version} does not link to the versions before it")
        is_later = version == 1 or event["time"] >= events[version - 2]["time"]
        check(is_later, f"version {version} is older than the one before")
        if slot_key is not None:
            verify_slot(event, slot_key, version)
        for name in ("company", "evidence", "externalId"):
            if name in event["fields"]:
                value = string(event["fields"][name])
                check(constants.setdefault(name, value) == value, f"the {name} changes")
        for file_id, file in event["files"].items():
            if "deleted" in file:
                is_attached = attached.get(file_id) == file["deleted"] and file_id not in deleted
                check(is_attached, "a deletion is wrong")
                deleted.add(file_id)
        for file_id in event["held"]:
            attached.setdefault(file_id, event["txId"])


def verify_subject(events, subject):
    headers = [event["header"] for event in events if event["header"] is not None]
    check(len(headers) in (0, len(events)), "either every event has a header, or none")
    if headers:
        verify_history(events)
    else:
        check(events[0]["txId"] == subject["txId"] and len(events) <= 2, "the events are not those of the subject")
        for event in events[1:]:
            deletion = event["files"].get(subject.get("fileId"), {})
            check(deletion.get("deleted") == subject["txId"], "the second event does not delete the file")
    main = next((event for event in events if event["txId"] == subject["txId"]), None)
    check(main is not None, "the subject is not in the bundle")
    check(subject["type"] == "file" or main is events[0], "the subject is not the first version")


def verify_file(events, subject):
    if subject["type"] == "file":
        main = next(event for event in events if event["txId"] == subject["txId"])
        check(subject["fileId"] in main["held"], "the subject does not hold the file")
        check("deleted" not in main["files"].get(subject["fileId"], {}), "the subject deletes the file")


# -- receipts of erasures

NAMES = [string, 800_000]
ERASURE = {
    "by": string,
    "erased": [{"fields": NAMES, "files": NAMES, "txId": hash32}, 800_000],
    "log": string,
    "reason": string,
    "time": count,
    "v": count,
}
REASONS = ("request", "retention", "court", "mistake", "other")


def verify_receipt(receipt, origin, tx_ids):
    """What it states, None if the bundle does not show that."""
    if "text" not in receipt:
        return None
    digest = sha256(tag("er1.receipt"), unhex(receipt["salt"]), receipt["text"].encode())
    check(digest == unhex(receipt["opening"])[16:], "the text of a receipt does not hash to its entry")
    erasure = form(parse(receipt["text"]), ERASURE)
    check(erasure["v"] == 1 and erasure["reason"] in REASONS, "a receipt is not of version 1, or of another reason")
    is_own = erasure["log"] == origin and any(each["txId"] in tx_ids for each in erasure["erased"])
    check(is_own, "a receipt is of another log, or names no event of the bundle")
    return erasure


def note_receipts(shown, events):
    """Notes what receipts do not prove."""
    disclosed_of = {event["txId"]: {*event["fields"], *event["files"]} for event in events}
    if shown:
        copies = "earlier backups, replicas and WAL of the database, or earlier versions in the bucket"
        UNCHECKED.add(f"copies of what was erased: a receipt says nothing about {copies}")
    for erasure in shown:
        if erasure is None:
            UNCHECKED.add("what was erased: only a bundle that was made with an A key shows it")
            continue
        for each in erasure["erased"]:
            if disclosed_of.get(each["txId"], set()) & {*each["fields"], *each["files"]}:
                UNCHECKED.add(f"the erasure in the event {each['txId']}: the bundle discloses what was erased")


# -- the policy


def time_in_utc(value):
    """ms since 1970."""
    match = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?Z", string(value), re.ASCII)
    shaped(match, "a time is not in RFC 3339, in UTC")
    return ms_of(match.groups()[:6], match[7] or "")


def ms_of(parts, fraction):
    """ms since 1970, without what is less than a millisecond."""
    try:
        seconds = datetime(*map(int, parts), tzinfo=timezone.utc) - EPOCH
    except ValueError:
        raise OtherForm("a time does not exist") from None
    return seconds // timedelta(milliseconds=1) + int(fraction[:3].ljust(3, "0"))


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def certificates(pem):
    """The DER of all certificates in a PEM text. Other text in it is ignored."""
    body = r"-----BEGIN CERTIFICATE-----(?:([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----)?"
    try:
        found = [unbase64(re.sub(r"\s", "", data)) for data in re.findall(body, string(pem))]
        check(found and all([value.tag for value in der(data)] == [0x30] for data in found), "not a certificate")
    except Refuted:
        raise OtherForm("a trust anchor is not a certificate in PEM") from None
    return found


RANGES = or_null([{"from": positive, "until": positive_or_null}, 1_024])
POLICY = {
    "version?": lambda value: None,
    "origin?": lambda value: None,
    "keys": [
        {
            "vkey": lambda value: parse_vkey(string(value)),
            "from?": positive,
            "until?": positive_or_null,
            "root?": hash32,
            "retiredAt?": time_in_utc,
            "compromised?": boolean,
        },
        1024,
    ],
    "witnesses?": or_null([{"name": string, "vkey": string, "url?": lambda value: None, "ranges?": RANGES}, 1_024]),
    "groups?": or_null([{"name": string, "threshold": lambda value: None, "members": [string, 2**53]}, 1_024]),
    "quorum?": or_null(string),
    "timestampAuthorities?": or_null([{"name": string, "trustAnchors": [certificates, 2**53], "ranges?": RANGES}, 1_024]),
    "timestampQuorum?": positive,
    "timestampQuorums?": or_null([{"quorum": positive, "ranges?": RANGES}, 1_024]),
    "chains?": or_null(
        [{"type": string, "network": string, "chainId": count, "account": string, "ranges?": RANGES}, 1_024]
    ),
    "extensions?": lambda value: None,
}


def policy_of(value):
    """A policy in JSON, with nothing left out."""
    shaped(isinstance(value, dict) and "format" not in value, "it is another document")
    if is_newer(value, POLICY):
        raise Unreadable(NEWER)
    form(value, POLICY)
    vkeys = [key["vkey"] for key in value["keys"]]
    check(len(vkeys) > 0, "it has no key")
    check(len(vkeys) == len(set(vkeys)), "it has a key twice")
    is_own = "origin" not in value or all(split_vkey(vkey)[0] == value["origin"] for vkey in vkeys)
    check(is_own, "it has a key of another origin")
    lines = []
    for each in value.get("witnesses") or []:
        lines.append(("witness", each["name"], Witness(each["vkey"], each.get("ranges", ALWAYS) or [])))
    lines += [("group", each["name"], str(each["threshold"]), *each["members"]) for each in value.get("groups") or []]
    quorum = value.get("quorum")
    quorums = [(each["quorum"], each.get("ranges") or []) for each in value.get("timestampQuorums") or []]
    authorities = []
    for each in value.get("timestampAuthorities") or []:
        anchors = [data for pem in each["trustAnchors"] for data in certificates(pem)]
        authorities.append((each["name"], anchors, each.get("ranges", ALWAYS) or []))
    return {
        "keys": value["keys"],
        "required": required_witnesses([*lines, ("quorum", "none" if quorum is None else quorum)]),
        "authorities": authorities,
        "quorums": quorums + [(value.get("timestampQuorum", 1), ALWAYS)],
    }


ALWAYS = [{"from": 1, "until": None}]


class Witness(typing.NamedTuple):
    """A verifier key, and the tree sizes for which it is in use."""

    vkey: str
    ranges: list


def required_witnesses(lines):
    """`(threshold, members)`, of which each is a witness, or again such a pair.

    The lines are those of C2SP tlog-policy. They define witnesses and groups before they use them.
    """
    defined, used, keys, quorums = {}, set(), set(), []

    def find(name):
        check(name in defined, f"it has not defined {name} yet")
        return defined[name]

    def define(name, member):
        check(name != "none" and name not in defined, f"it defines {name} twice")
        defined[name] = member

    for keyword, name, *others in lines:
        if keyword == "witness":
            witness = others[0] if isinstance(others[0], Witness) else Witness(others[0], ALWAYS)
            parse_vkey(witness.vkey, COSIGNATURE)
            parse_vkey(witness.vkey, ML_DSA_COSIGNATURE)
            key = split_vkey(witness.vkey)[2]
            check(key not in keys, "it has the key of a witness twice")
            keys.add(key)
            define(name, witness)
        elif keyword == "group":
            threshold, *members = others
            check(members, f"the group {name} has no members")
            check(len(members) == len(set(members)) and not used & set(members), f"it uses a member of {name} twice")
            used.update(members)
            needed = {"all": str(len(members)), "any": "1"}.get(threshold, threshold)
            is_count = re.fullmatch("[1-9][0-9]{0,8}", needed) and int(needed) <= len(members)
            check(is_count, f"the threshold of {name} is not all, any or 1 to {len(members)}")
            define(name, (int(needed), [find(member) for member in members]))
        else:
            quorums.append((0, []) if name == "none" else (1, [find(name)]))
    check(len(quorums) == 1, "it must have one quorum line")
    return quorums[0]


OPERANDS = {"log": (1, 2), "witness": (2, 3), "group": (3, 2**53), "quorum": (1, 1)}


def policy_of_lines(source):
    """C2SP tlog-policy text. Lines may also end in CR LF."""
    source = source.replace("\r\n", "\n")
    check(not re.search(rf"(?![\t\n])[{CONTROL}]", source), "it has a control character")
    lines = [re.findall(r"[^ \t]+", line) for line in source.split("\n")]
    lines = [words for words in lines if words and not words[0].startswith("#")]
    for keyword, *others in lines:
        least, most = OPERANDS.get(keyword, (1, 0))
        check(least <= len(others) <= most, f"not a line of a policy: {' '.join([keyword, *others])[:64]}")
    logs = [words[1] for words in lines if words[0] == "log"]
    check(logs and len({split_vkey(vkey)[2] for vkey in logs}) == len(logs), "it has no log line, or a key twice")
    for vkey in logs:
        parse_vkey(vkey)
    required = required_witnesses(words for words in lines if words[0] != "log")
    return {**policy_of_keys(logs), "required": required, "requires_witnesses": required[0] > 0}


def policy_of_keys(vkeys):
    keys = [{"vkey": vkey} for vkey in vkeys]
    return {"keys": keys, "required": (0, []), "authorities": [], "quorums": [(1, ALWAYS)]}


MAX_POLICY = 2**20


def read_policy(path):
    """What is wrong with a policy says nothing about what was recorded."""
    try:
        source = text_of(read(path))
        limit(utf16_length(source) <= MAX_POLICY, "more than 1,048,576 characters")
        return policy_of(parse(source)) if re.match(r"\s*\{", source) else policy_of_lines(source)
    except Refuted as error:
        raise Unreadable(f"{path} is not a policy: {error}") from None


# -- what is signed, at most

MAX_COST = 1_500
# Values that are passed to find the end of others. Real tokens have a few thousand.
MAX_SEARCHES = 2_000_000


class Budget:
    """What checking the signatures of one bundle may cost. Section 6 of "attestations" says how `left` is counted."""

    left = MAX_COST
    searches = MAX_SEARCHES


class Required:
    """What `--require` names."""

    witnesses = False


def spend(units=1, length=0):
    Budget.left -= units + length // 65536
    limit(Budget.left >= 0, "it needs too many checks of signatures: ask for a proof of fewer events")


# -- signed trees


def in_range(size, ranges):
    return any(size >= each["from"] and size <= (each["until"] or size) for each in ranges)


def verify_trees(bundle, policy, vkeys):
    """Returns the trees by their size, ascending."""
    by_line = keys_by_line(signers_of(bundle["keys"], policy, vkeys))
    trees, last = {}, None
    for shown in bundle["checkpoints"]:
        tree = verify_tree(shown, by_line)
        check(tree is not None, "no key of the log signed a checkpoint")
        size, root, key = tree["size"], tree["root"], tree["key"]
        check(tree["origin"] == bundle["origin"], "a checkpoint belongs to another log")
        check(size > (last["size"] if last else 0), "the checkpoints must have ascending sizes")
        check(key["vkey"] in vkeys, "the key that signed a checkpoint has no entry in the bundle")
        index = vkeys.index(key["vkey"])
        sizes = [item["treeSize"] for item in bundle["keys"][index]["inclusion"]]
        check(size in sizes, "a tree is not proven to hold the key that signed it")
        is_retired = index + 1 < len(vkeys) and size > bundle["keys"][index + 1]["position"]
        check(not is_retired, "a retired key signed")
        if last is not None:
            proof = hashes(last["shown"].get("consistency", []))
            check(begins_with(root, size, last["root"], last["size"], proof), "two trees are not of one log")
        last = trees[size] = tree
    return trees


def keys_by_line(keys):
    """The keys that a signature line can mean, by name and key id."""
    by_line = {}
    for key in keys:
        if parse_vkey(key["vkey"]) is not None:
            by_line.setdefault(parse_vkey(key["vkey"])[:2], []).append(key)
    return by_line


def verify_tree(shown, by_line):
    """A checkpoint that one of the keys signed, None if none of them did."""
    signed, signatures = parse_note("".join([shown["note"], *(line + "\n" for line in shown["cosignatures"])]))
    origin, size, root = parse_checkpoint(signed)
    matches = [(key, line) for line in signatures if line[0] == origin for key in by_line.get(line[:2], [])]
    if not matches:
        return None
    check(len(matches) == 1, "the log signed a checkpoint twice")
    [(key, (_, key_id, signature))] = matches
    spend()
    is_signed = ed25519_verify(parse_vkey(key["vkey"])[2], signed.encode(), signature)
    check(is_signed, "a signature of a checkpoint does not verify")
    is_own = size >= key.get("from", 1) and size <= (key.get("until") or size)
    check(is_own, "a key signed a size that is not its own")
    note = f"{signed}\n\u2014 {origin} {base64.b64encode(key_id + signature).decode()}\n".encode()
    tree = {"origin": origin, "size": size, "root": root, "key": key, "shown": shown}
    return {**tree, "signed": signed, "signatures": signatures, "note": note}


def signers_of(keys, policy, vkeys):
    """The keys that may have signed: those of the policy, and the others of the bundle.

    A pinned key that is not retired introduces newer ones. What a retired one introduces is unknown.
    """
    pinned = {key["vkey"]: key for key in policy["keys"]}
    last = max((i for i, vkey in enumerate(vkeys) if vkey in pinned), default=-1)
    newest = pinned[vkeys[last]] if last >= 0 else {"until": 0}
    introduces = newest.get("until") is None and not newest.get("compromised")
    ends = [key["position"] for key in keys[1:]] + [None]
    others = []
    for i, vkey in enumerate(vkeys):
        if vkey not in pinned:
            is_unknown = i > last and not introduces
            others.append({"vkey": vkey, "from": keys[i]["position"] + 1, "until": ends[i], "unknown": is_unknown})
    return policy["keys"] + others


def is_vouched_for(tree):
    """Whether the key is not retired, or the tree is the beginning of the last one of the key."""
    key = tree["key"]
    if key.get("until") is None:
        return not key.get("unknown")
    proof = hashes(tree["shown"].get("keyConsistency", []))
    return "root" in key and begins_with(unhex(key["root"]), key["until"], tree["root"], tree["size"], proof)


# -- witnesses

# What was not checked, in words.
UNCHECKED = set()


def witnesses_in(member):
    if isinstance(member, Witness):
        return [member]
    return [witness for each in member[1] for witness in witnesses_in(each)]


def cosigned_times(tree, required, cost):
    """When each witness that is in use for a tree says that it saw it: ms since 1970 by its key."""
    times = {}
    for witness in witnesses_in(required):
        time = cosigned_time(tree, witness.vkey, cost) if in_range(tree["size"], witness.ranges) else None
        if time is not None:
            times[witness.vkey] = time
    return times


def cosigned_time(tree, vkey, cost):
    """None without a cosignature that can be checked. Refutes a wrong one."""
    key = parse_vkey(vkey, COSIGNATURE)
    name, key_id, public = key or parse_vkey(vkey, ML_DSA_COSIGNATURE) or (None, None, None)
    line = next((line for line in tree["signatures"] if line[:2] == (name, key_id)), None)
    if line is None:
        return None
    if key is None:
        UNCHECKED.add(f"the cosignature of {name}, which is of type 06 (ML-DSA-44), and counts as absent")
        return None
    seconds = int.from_bytes(line[2][:8], "big")
    check(len(line[2]) == 72 and 0 < seconds <= 253402300799, "a cosignature is malformed")
    spend(cost)
    signed = f"cosignature/v1\ntime {seconds}\n{tree['signed']}"
    check(ed25519_verify(public, signed.encode(), line[2][8:]), "a cosignature does not verify")
    return seconds * 1000


def has_cosigned(member, size, times):
    """Whether a witness, or enough members of a group, cosigned a tree. None if none of them is in use for it."""
    if isinstance(member, Witness):
        return member.vkey in times if in_range(size, member.ranges) else None
    threshold, members = member
    found = [each for each in (has_cosigned(one, size, times) for one in members) if each is not None]
    return sum(found) >= min(threshold, len(found)) if found else None


def operators_in(required, size):
    """The members of the quorum's group, of which each is one operator."""
    members = [each for each in required[1] if has_cosigned(each, size, {}) is not None]
    is_group = len(members) == 1 and not isinstance(members[0], Witness)
    return operators_in(members[0], size) if is_group else members


def witnessed_by(required, size, times):
    """Whether the quorum is reached, and how many operators cosigned, of how many."""
    operators = operators_in(required, size)
    count = sum(has_cosigned(each, size, times) for each in operators)
    return bool(witnesses_in(required)) and has_cosigned(required, size, times) is not False, count, len(operators)


# -- tokens: their form and the paths of certificates. OpenSSL checks the signatures.


class Value(typing.NamedTuple):
    """A value of DER."""

    tag: int
    content: bytes
    whole: bytes

    def values(self):
        """The values in it."""
        return der(self.content)


MAX_VALUES = 10_000


def der(data):
    """The values of DER, one after the other. Also of BER with lengths that are not said, as some authorities write."""
    values, at, left = [], 0, [MAX_VALUES]
    while at < len(data):
        start, stop, end = bounds(data, at, left)
        values.append(Value(data[at], data[start:stop], data[at:end]))
        at = end
    return values


def bounds(data, at, left, depth=0):
    """Where the content of the value there begins and ends, and where the next value begins. `left`: how many may be."""
    left[0] -= 1
    check(at + 1 < len(data) and data[at] & 0x1F != 0x1F and left[0] >= 0 and depth <= 100, "malformed DER")
    start, length = at + 2, data[at + 1]
    if length == 0x80 and data[at] & 0x20:
        end = start
        while data[end : end + 2] != b"\0\0":
            # What is inside is read again with the values that are in it.
            Budget.searches -= 1
            limit(Budget.searches >= 0, "its tokens have too many values without a length")
            _, _, end = bounds(data, end, left, depth + 1)
        return start, end, end + 2
    if length >= 0x80:
        start, length = start + length - 0x80, int.from_bytes(data[start : start + length - 0x80], "big")
    check(data[at + 1] != 0x80 and start + length <= len(data), "malformed DER")
    return start, start + length, start + length


def oid(text):
    """The content of an OBJECT IDENTIFIER."""
    first, second, *others = map(int, text.split("."))
    data = b""
    for number in [40 * first + second, *others]:
        part = [number & 0x7F]
        while number := number >> 7:
            part.insert(0, number & 0x7F | 0x80)
        data += bytes(part)
    return data


SHA2 = {oid(f"2.16.840.1.101.3.4.2.{i}"): name for i, name in enumerate(("sha256", "sha384", "sha512"), 1)}
RSA, MGF1, RSA_PSS = (oid(f"1.2.840.113549.1.1.{i}") for i in (1, 8, 10))
# RSA and ECDSA, each with these hashes.
EC, ECDSA = oid("1.2.840.10045.2.1"), {oid(f"1.2.840.10045.4.3.{i}"): name for i, name in enumerate(SHA2.values(), 2)}
SCHEMES = {**ECDSA, **{oid(f"1.2.840.113549.1.1.{i}"): name for i, name in enumerate(SHA2.values(), 11)}}
# P-256, P-384, P-521 and those of RFC 5639, with what a check costs.
CURVES = {oid("1.2.840.10045.3.1.7"): 3, oid("1.3.132.0.34"): 7, oid("1.3.132.0.35"): 7}
CURVES.update({oid(f"1.3.36.3.3.2.8.1.1.{i}"): cost for i, cost in ((7, 3), (11, 7), (13, 7))})
SUBJECT_KEY, KEY_USAGE, BASIC_CONSTRAINTS, ISSUER_KEY, EXTENDED_KEY_USAGE = (
    oid(f"2.5.29.{i}") for i in (14, 15, 19, 35, 37)
)
# Those about policies decide nothing, as with `openssl verify`. Name constraints are not supported.
KNOWN_EXTENSIONS = {oid(f"2.5.29.{i}") for i in (15, 17, 19, 32, 33, 36, 37, 54)}
TIME_STAMPING, ANY_PURPOSE = oid("1.3.6.1.5.5.7.3.8"), oid("2.5.29.37.0")
SIGNED_DATA = oid("1.2.840.113549.1.7.2")
CONTENT_TYPE, MESSAGE_DIGEST = oid("1.2.840.113549.1.9.3"), oid("1.2.840.113549.1.9.4")
TST_INFO, ESS_V1, ESS_V2 = (oid(f"1.2.840.113549.1.9.16.{i}") for i in ("1.4", "2.12", "2.47"))
TEXTS = {0x0C, 0x0E, *range(0x12, 0x1F)}
# Of the characters of UniversalString and BMPString.
WIDTHS = {0x1C: 4, 0x1E: 2}


def or_none(function):
    """The function for input of attackers: None for what is malformed. Each input is read once."""

    @functools.lru_cache(maxsize=None)
    @functools.wraps(function)
    def cached(*arguments):
        try:
            return function(*arguments)
        except (Refuted, ValueError, TypeError, IndexError, KeyError, StopIteration):
            return None

    return cached


@or_none
def values_of(data):
    return der(data)


def spend_on(data, depth=0):
    """As much as it costs the other verifiers to read it. Returns how many values there are."""
    check(depth <= 100, "nested too deep")
    number = 0
    for value in der(data):
        kind = value.tag & 0xDF
        check(value.tag not in (0x06, 0x0D) or value.content[-1] < 0x80, "an object identifier is cut off")
        check(len(value.content) % WIDTHS.get(value.tag, 1) == 0, "a text is cut off")
        more = len(value.content) / 3 if kind in (0x06, 0x0D) else len(value.content) // 64 if kind in TEXTS else 0
        spend((1 + more) / 75)
        number += 1 + (spend_on(value.content, depth + 1) if value.tag & 0x20 else 0)
    check(number <= MAX_VALUES, "too many values")
    return number


def time_of(value):
    """ms since 1970, and the fraction of a second."""
    form = rb"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d{1,48}))?Z"
    century = {0x17: b"20" if value.content < b"50" else b"19", 0x18: b""}[value.tag]
    match = re.fullmatch(form, century + value.content)
    check(match, "not a time in UTC with seconds")
    fraction = (match[7] or b"0").decode()
    return ms_of(match.groups()[:6], fraction), fraction


class Certificate(typing.NamedTuple):
    """What is needed of a certificate (RFC 5280 section 4.1)."""

    data: bytes
    signed: bytes
    algorithm: Value
    signature: bytes
    serial: bytes
    issuer: list
    subject: list
    key: bytes
    cost: int
    not_before: int
    not_after: int
    extensions: dict

    def extension(self, name, kind):
        """What is in an extension of this type, None if it is absent or malformed."""
        values = values_of(self.extensions[name][1]) if name in self.extensions else None
        return values[0].content if values and len(values) == 1 and values[0].tag == kind else None

    def members(self, name):
        """Those of an extension that is a SEQUENCE, none if it is absent or malformed."""
        return values_of(self.extension(name, 0x30) or b"") or []

    def usage(self):
        """The first byte of the bits of its key usage: all if there is none, no bit if it is malformed."""
        bits = self.extension(KEY_USAGE, 0x03) or b"" if KEY_USAGE in self.extensions else b"\0\xff"
        return bits[1] if len(bits) > 1 else 0

    def purposes(self):
        """Of its extended key usage: all if there is none, no purpose if it is malformed."""
        named = [each.content for each in self.members(EXTENDED_KEY_USAGE)]
        return named if EXTENDED_KEY_USAGE in self.extensions else [ANY_PURPOSE]


@or_none
def certificate(data):
    spend(2, len(data))
    spend_on(data)
    [whole] = der(data)
    signed, algorithm, signature = whole.values()
    members = signed.values()
    serial, inner, issuer, validity, subject, key, *others = members[members[0].tag == 0xA0 :]
    check(inner.whole == algorithm.whole, "it names two signature algorithms")
    extensions = {}
    for extension in [one for each in others if each.tag == 0xA3 for one in der(each.values()[0].content)]:
        name, *critical, value = extension.values()
        check(name.content not in extensions, "it has an extension twice")
        extensions[name.content] = any(each.content != b"\0" for each in critical), value.content
    for hidden in (key.whole, *(value for _, value in extensions.values())):
        spend(len(hidden) // 2 / 75)
    times = [time_of(value)[0] for value in validity.values()]
    signature = data, signed.whole, algorithm, signature.content
    names = serial.content, name_of(issuer), name_of(subject)
    return Certificate(*signature, *names, key.whole, cost_of(key), *times, extensions)


def name_of(name):
    """What is compared of a name: its types and values in their order."""
    groups = name.values()
    pairs = [pair.values() for group in groups for pair in group.values()]
    check({name.tag, *(group.tag - 1 for group in groups)} == {0x30}, "malformed name")
    check(all(kind.tag == 0x06 for kind, *_ in pairs), "malformed name")
    return [(kind.content, folded(value)) for kind, value, *_ in pairs]


def folded(value):
    """A text of a name in any encoding, A to Z as small letters, with single spaces. Else the bytes."""
    if value.tag not in TEXTS - {0x0E, 0x17, 0x18}:
        return value.whole
    encoding = {0x0C: "utf-8", 0x1C: "utf-32-be", 0x1E: "utf-16-be"}.get(value.tag, "latin-1")
    try:
        words = value.content.decode(encoding).split(" ")
    except ValueError:
        return value.whole
    return " ".join(filter(None, words)).encode().lower()


def cost_of(key):
    """Of a check by a public key: 0 if it is weak, or would take too long."""
    algorithm, bits = key.values()
    name, *parameters = algorithm.values()
    if name.content == EC:
        return CURVES.get(parameters[0].content, 0) if parameters[0].tag == 0x06 else 0
    if name.content not in (RSA, RSA_PSS):
        return 0
    numbers = der(bits.content[1:])[0].values()
    modulus, exponent = (int.from_bytes(value.content, "big").bit_length() for value in numbers)
    if not 2048 <= modulus <= 8192 or exponent > 64:
        return 0
    return 3 if modulus > 4096 else 1


def hash_of(algorithm, default=None):
    """The hash of a signature algorithm that is accepted. `default` belongs to one that names none."""
    name, *parameters = algorithm.values()
    if name.content == RSA:
        return default
    if name.content != RSA_PSS:
        return SCHEMES.get(name.content)
    given = {value.tag: value.values()[0] for value in parameters[0].values()}
    digest = given[0xA0].values()[0].content
    mask, mask_digest = given[0xA1].values()
    salt = int.from_bytes(given[0xA2].content, "big") if 0xA2 in given else 20
    is_one = mask.content == MGF1 and mask_digest.values()[0].content == digest
    is_usual = salt <= 64 and (0xA3 not in given or given[0xA3].content == b"\1")
    return SHA2.get(digest) if is_one and is_usual else None


def is_usable(one, time):
    """Whether a certificate may be in a path at a time."""
    is_known = all(name in KNOWN_EXTENSIONS for name, (critical, _) in one.extensions.items() if critical)
    return one.not_before <= time <= one.not_after and is_known and one.cost > 0


def may_issue(issuer, path, time):
    """Whether a certificate may issue the last one of a path."""
    values, purposes = issuer.members(BASIC_CONSTRAINTS), issuer.purposes()
    longest = [int.from_bytes(value.content, "big", signed=True) for value in values if value.tag == 0x02]
    # Certificates that a CA issued to itself do not count.
    length = sum(each.subject != each.issuer for each in path[1:])
    is_authority = any(value.tag == 0x01 and value.content != b"\0" for value in values)
    is_short = all(length <= most for most in longest)
    is_purpose = TIME_STAMPING in purposes or ANY_PURPOSE in purposes
    return is_usable(issuer, time) and is_authority and is_short and issuer.usage() & 0x04 and is_purpose


@functools.lru_cache(maxsize=None)
def is_signature(signature, signed, key, algorithm, digest):
    """Whether it is one by a public key."""
    [name, *parameters], [owner, bits] = algorithm.values(), der(key)[0].values()
    owner = owner.values()[0].content
    # OpenSSL would take any signature that the key can make, and what follows one.
    is_for_key = owner == (EC if name.content in ECDSA else RSA) or (owner, name.content) == (RSA_PSS, RSA_PSS)
    if owner != EC:
        modulus = der(bits.content[1:])[0].values()[0].content
        is_for_key = is_for_key and len(signature) == len(modulus.lstrip(b"\0"))
    options = []
    if name.content == RSA_PSS:
        salt = next((each.values()[0].content for each in parameters[0].values() if each.tag == 0xA2), b"\x14")
        options = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", f"rsa_pss_saltlen:{int.from_bytes(salt, 'big')}"]
    files = {"signed": signed, "signature": signature, "key": pem_of(key, "PUBLIC KEY")}
    command = ["dgst", f"-{digest}", "-verify", "key", "-signature", "signature", *options, "signed"]
    return is_for_key and openssl(files, *command)[0]


@functools.lru_cache(maxsize=None)
def is_signed_by(data, issuer_data):
    """Whether a certificate, given as bytes, has a signature by the key of another one. Both can be read."""
    one, issuer = certificate(data), certificate(issuer_data)
    spend(issuer.cost, len(data))
    signed = one.signature[1:], one.signed, issuer.key, one.algorithm, hash_of(one.algorithm)
    return one.signature[:1] == b"\0" and is_signature(*signed)


def is_named_as_issuer(issuer, one):
    """Whether the names and, if both have them, the key identifiers say so."""
    own, named = issuer.extension(SUBJECT_KEY, 0x04), {value.tag: value.content for value in one.members(ISSUER_KEY)}
    is_key = 0x80 not in named or own is None or named[0x80] == own
    return one.issuer == issuer.subject and is_key and named.get(0x82, issuer.serial) == issuer.serial


def anchor_of(signer, others, anchors, time):
    """The trust anchor to which the shortest path from a certificate leads (RFC 5280 section 6)."""
    check(is_usable(signer, time), "the certificate of the signer cannot be used")
    paths, seen, checks = [[signer]], {signer.data}, 0
    for path in paths:
        if path[-1] in anchors:
            return path[-1].data
        for issuer in [*anchors, *others] if len(path) < 8 else []:
            if issuer.data in seen or not is_named_as_issuer(issuer, path[-1]):
                continue
            checks += 1
            check(checks <= 64, "too many possible issuers")
            is_accepted = may_issue(issuer, path, time) and hash_of(path[-1].algorithm)
            if is_accepted and is_signed_by(path[-1].data, issuer.data):
                seen.add(issuer.data)
                paths.append([*path, issuer])
    raise Refuted("no path leads to a trust anchor")


def pem_of(data, label="CERTIFICATE"):
    return f"-----BEGIN {label}-----\n{base64.encodebytes(data).decode()}-----END {label}-----\n".encode()


def openssl(files, *arguments):
    """Whether the command succeeds, and the files that it writes, by name."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
        try:
            done = subprocess.run(["openssl", *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True)
        except OSError:
            raise Unable("openssl is missing, which checks time stamps: install version 1.1 or later") from None
        if done.returncode < 0:
            raise Unable(f"openssl was ended by the signal {-done.returncode}")
        written = {name: read(os.path.join(folder, name)) for name in os.listdir(folder)}
        return done.returncode == 0, {**written, "stdout": done.stdout}


@functools.lru_cache(maxsize=None)
def require_openssl():
    version = openssl({}, "version")[1]["stdout"].decode("latin-1").strip()
    if not re.match(r"OpenSSL (1\.1|[3-9]|\d\d)", version):
        raise Unable(f"openssl 1.1 or later is needed, which checks time stamps, not {version[:64]}")


class Token(typing.NamedTuple):
    """What is needed of a response (RFC 3161 section 2.4.2) and its one signer (RFC 5652 section 5.3)."""

    content: bytes
    certificates: list
    attributes: dict
    names: Value
    signed: bytes
    signature: tuple


@or_none
def parse_token(data):
    spend(2, len(data))
    check(len(data) <= 262_144, "too large")
    spend_on(data)
    [whole] = der(data)
    status, cms = whole.values()
    granted = status.values()[0]
    check(granted.tag == 0x02 and int.from_bytes(granted.content, "big") in (0, 1), "not granted")
    kind, wrapped, *_ = cms.values()
    [signed] = wrapped.values()
    _, _, encapsulated, *others = signed.values()
    content_type, octets = encapsulated.values()
    octets = octets.values()[0]
    check((kind.content, content_type.content, octets.tag & 0xDF) == (SIGNED_DATA, TST_INFO, 0x04), "not a time stamp")
    content = b"".join(part.content for part in octets.values()) if octets.tag & 0x20 else octets.content
    [signer] = next(each for each in others if each.tag == 0x31).values()
    embedded = next((each.values() for each in others if each.tag == 0xA0), [])
    found = [one for one in embedded if one.tag == 0x30]
    check(len(found) <= 32, "too many certificates")
    own = [one for one in (certificate(each.whole) for each in found) if one]
    _, names, digest, signed_attributes, algorithm, signature, *_ = signer.values()
    digest = SHA2[digest.values()[0].content]
    check(signed_attributes.tag == 0xA0 and hash_of(algorithm, digest) == digest, "an algorithm that is not accepted")
    attributes = {}
    for attribute in signed_attributes.values():
        name, values = attribute.values()
        check(name.content not in attributes, "an attribute twice")
        [attributes[name.content]] = values.values()
    check(attributes[CONTENT_TYPE].content == TST_INFO, "signed as something else")
    hashed = hashlib.new(digest, content).digest()
    check(attributes[MESSAGE_DIGEST].content == hashed, "signed for other content")
    # They are signed with the tag of a SET (RFC 5652 section 5.4).
    signed = b"\x31" + signed_attributes.whole[1:]
    return Token(content, own, attributes, names, signed, (signature.content, algorithm, digest))


def is_named_by(names, one):
    """Whether a certificate is that of a SignerIdentifier: issuer and serial number, or the key's identifier."""
    if names.tag == 0x30:
        issuer, serial = names.values()
        return (name_of(issuer), serial.content) == (one.issuer, one.serial)
    return names.tag == 0x80 and names.content == one.extension(SUBJECT_KEY, 0x04)


def signer_of(token, candidates):
    """The certificate that the token names, also by ESSCertID and ESSCertIDv2 (RFC 5035)."""
    named = []
    for kind, name in ((ESS_V1, "sha1"), (ESS_V2, "sha256")):
        if kind in token.attributes:
            first, *others = token.attributes[kind].values()[0].values()[0].values()
            if first.tag == 0x30 and kind == ESS_V2:
                name, first = SHA2[first.values()[0].content], others[0]
            check(first.tag == 0x04, "a malformed ESSCertID")
            named.append((name, first.content))
    check(named, "no certificate is named")
    for one in candidates:
        is_hashed = all(hashlib.new(name, one.data).digest() == digest for name, digest in named)
        if is_hashed and is_named_by(token.names, one):
            return one
    raise Refuted("the certificate of the signer is missing")


def parse_tst_info(content, note):
    """genTime, and the latest time that its accuracy allows, ms since 1970. RFC 3161 section 2.4.2."""
    [body] = der(content)
    version, _, imprint, _, time, *others = body.values()
    algorithm, digest = imprint.values()
    check(version.content == b"\1" and time.tag == 0x18, "not supported")
    hashed = hashlib.new(SHA2[algorithm.values()[0].content], note).digest()
    check(hashed == digest.content, "of other data")
    gen_time, fraction = time_of(time)
    micros = -(-int(fraction or 0) * 10**6 // 10 ** len(fraction))
    for value in others:
        for part in value.values() if value.tag == 0x30 else []:
            check(0 < len(part.content) <= 6 and part.content[0] < 0x80, "an accuracy is negative or too large")
            micros += int.from_bytes(part.content, "big") * {0x02: 10**6, 0x80: 1000, 0x81: 1}[part.tag]
        for extension in value.values() if value.tag == 0xA1 else []:
            is_critical = any(each.tag == 0x01 and each.content != b"\0" for each in extension.values())
            check(not is_critical, "a critical extension")
    latest = gen_time // 1000 * 1000 + -(-micros // 1000)
    check(latest <= 253402300799999, "an accuracy leads beyond the year 9999")
    return gen_time, latest


@or_none
def read_token(data, note, stored, anchors):
    """genTime, the latest time, the signer's public key and the trust anchor of a token that holds."""
    token = parse_token(data)
    check(token is not None, "malformed")
    spend_on(token.content)
    gen_time, latest = parse_tst_info(token.content, note)
    others = [*token.certificates, *map(certificate, stored)]
    trusted = [certificate(each) for each in anchors]
    signer = signer_of(token, [*others, *trusted])
    is_critical, _ = signer.extensions[EXTENDED_KEY_USAGE]
    check(is_critical and signer.purposes() == [TIME_STAMPING], "its certificate is not for time stamps alone")
    check(signer.usage() & 0xC0 and signer.cost > 0, "its key signs nothing, or is weak")
    spend(signer.cost)
    signature, algorithm, digest = token.signature
    check(is_signature(signature, token.signed, signer.key, algorithm, digest), "its signature is wrong")
    return gen_time, latest, signer.key, anchor_of(signer, others, trusted, gen_time)


def stamps_of(tree, policy, stored, logged):
    """Latest time, genTime, authority, signer's key and whether it is a test of each token that counts.

    The earliest comes first. `logged` has the positions of token entries: one of an abandoned authority counts only if
    it was in the log before.
    """
    stamps = []
    anchors = tuple(data for _, own, _ in policy["authorities"] for data in own if certificate(data))
    for token in map(unbase64, tree["shown"]["tokens"] if policy["authorities"] else []):
        found = read_token(token, tree["note"], stored, anchors)
        position = logged.get(sha256(token), float("inf"))
        for name, own, ranges in policy["authorities"] if found else []:
            gen_time, latest, key, anchor = found
            ranges = [each for each in ranges if each["until"] is None or position < each["until"]]
            if anchor in own and in_range(tree["size"], ranges):
                stamps.append((latest, gen_time, name, key, any(LOCAL_TEST in data for data in own)))
                break
    return sorted(stamps)


# Part of each name of the authority that a registry brings along.
LOCAL_TEST = b"LOCAL TEST - NOT A TRUSTED AUTHORITY"


def different(stamps, taken=()):
    """The largest part in which no two are of one authority: neither of one name, nor of one signer's key."""
    if not stamps:
        return taken
    without = different(stamps[1:], taken)
    if any(one[2] == stamps[0][2] or one[3] == stamps[0][3] for one in taken):
        return without
    return max(different(stamps[1:], (*taken, stamps[0])), without, key=len)


def time_by(stamps, quorum, is_own):
    enough = (i for i in range(1, len(stamps) + 1) if len(different(stamps[:i])) >= quorum)
    return next(((is_own, stamps[i - 1][0]) for i in enough), None)


# -- the whole bundle


def attest(bundle, trees, policy, is_pinned):
    """Returns the proven time of each tree that counts, None without one, and who cosigned it or a larger one.

    Before the time is whether it is the operator's own, which counts only if others state none.
    Only trees that count prove anything: the thief of a retired key can make others.
    """
    times, logged, counts, witnessed, best, stored = {}, {}, False, {}, None, ()
    required = policy["required"]
    shown = [unbase64(token) for tree in trees.values() for token in tree["shown"]["tokens"]]
    if policy["authorities"] and shown:
        require_openssl()
        found = [unbase64(piece["data"]) for piece in bundle["validationData"] if piece["type"] == "certificate"]
        embedded = [one.data for token in filter(None, map(parse_token, shown)) for one in token.certificates]
        usual = [data for data in [*found, *dict.fromkeys(embedded)] if len(data) <= 131_072]
        stored = tuple(data for data in usual[:32] if certificate(data))
    for size, tree in reversed(list(trees.items())):
        key = tree["key"]
        quorum = next(quorum for quorum, ranges in policy["quorums"] if in_range(size, ranges))
        stamps = stamps_of(tree, policy, stored, logged)
        # Only witnesses that are pinned make many. The maker of a bundle can make those of its own policy.
        cost = 1 / 8 if is_pinned else 1
        cosigned = None
        if not counts and not is_vouched_for(tree):
            if "retiredAt" not in key or key.get("compromised"):
                continue
            retired = time_in_utc(key["retiredAt"])
            cosigned = cosigned_times(tree, required, cost)
            timely = {vkey: time for vkey, time in cosigned.items() if time <= retired}
            is_stamped = len(different([stamp for stamp in stamps if stamp[1] <= retired])) >= quorum
            if not is_stamped and not has_cosigned(required, size, timely):
                continue
        counts = True
        own = witnessed_by(required, size, cosigned_times(tree, required, cost) if cosigned is None else cosigned)
        # A larger tree begins with this one.
        best = own if best is None else max(own, best, key=lambda each: each[:2])
        witnessed[size] = best
        independent = [stamp for stamp in stamps if not stamp[4]]
        times[size] = time_by(independent, quorum, False) or time_by(stamps, quorum, True)
        for renewal in bundle["renewals"]:
            if any(item["treeSize"] == size for item in renewal["inclusion"]):
                logged[unhex(renewal["opening"])[16:]] = renewal["position"]
    return times, witnessed


def pins(policy, origin):
    """Whether the policy has a key of a log."""
    return any((parse_vkey(key["vkey"]) or [None])[0] == origin for key in policy["keys"])


def verify_bundle(text, pinned, seen=None):
    """Returns the state and the verified events. `seen` has the roots of trees that other bundles show."""
    Budget.left, Budget.searches = MAX_COST, MAX_SEARCHES
    bundle = as_unreadable(read_bundle, text)
    origin = bundle["origin"]
    vkeys = [key_opening(key["opening"])[1]["vkey"] for key in bundle["keys"]]
    own = policy_of_keys(vkeys)
    if not pinned and "claimedPolicy" in bundle:
        claimed = bundle["claimedPolicy"]
        length = utf16_length(json.dumps(claimed, ensure_ascii=False, separators=(",", ":")))
        limit(length <= MAX_POLICY, "the bundle's own policy is too long")
        own = as_unreadable(policy_of, claimed)
    policy = pinned or own
    if not pins(policy, origin):
        if pinned:
            raise OtherLog()
        raise Refuted("the bundle's own policy has no key of its log")
    verify_keys(bundle["keys"], origin)
    events = [verify_event(event, origin) for event in bundle["events"]]
    verify_subject(events, bundle["subject"])
    tx_ids = {event["txId"] for event in events}
    erasures = [verify_receipt(receipt, origin, tx_ids) for receipt in bundle["receipts"]]
    trees = verify_trees(bundle, policy, vkeys)
    for entry in bundle["keys"] + bundle["renewals"] + bundle["receipts"]:
        verify_inclusion(sha256(unhex(entry["opening"])), entry, trees)
    last_position = 0
    for shown, event in zip(bundle["events"], events):
        event["sizes"] = [item["treeSize"] for item in shown["inclusion"]]
        verify_inclusion(bytes.fromhex(event["txId"]), shown, trees)
        position = shown.get("position")
        check(position is None or position > last_position, "the events are in another order in the log")
        last_position = float("inf") if position is None else position

    times, witnessed = attest(bundle, trees, policy, pinned is not None)
    for event in events:
        proven = [times[size] for size in event["sizes"] if times.get(size) is not None]
        event["notLaterThan"] = min(proven, default=None)
        event["witnessed"] = witnessed.get(min((size for size in event["sizes"] if size in times), default=None))
        if event["sizes"] and not any(size in times for size in event["sizes"]):
            is_unknown = any(trees[size]["key"].get("unknown") for size in event["sizes"])
            check(pinned or not is_unknown, "a key signed that the bundle's own policy does not know")
            return "newer-key" if is_unknown else "retired-key", events
    for size in times if seen is not None else []:
        check(seen.setdefault(size, trees[size]["root"]) == trees[size]["root"], "two trees of one size differ: a fork")
    verify_file(events, bundle["subject"])
    events[0]["erasures"] = []
    for receipt, erasure in zip(bundle["receipts"], erasures):
        sizes = [item["treeSize"] for item in receipt["inclusion"] if item["treeSize"] in times]
        proven = [times[size] for size in sizes if times[size] is not None]
        if sizes:
            events[0]["erasures"].append((erasure, min(proven, default=None)))
    note_receipts([erasure for erasure, _ in events[0]["erasures"]], events)
    if not all(event["sizes"] for event in events):
        return "pending", events
    is_required = Required.witnesses or policy.get("requires_witnesses", False)
    is_met = not is_required or all(event["witnessed"][0] for event in events)
    return ("proven" if pinned else "consistent") if is_met else "requirement", events


# -- tlog-proofs

TLOG_PROOF = re.compile(
    r"c2sp\.org/tlog-proof@v1\n(?:extra ([A-Za-z0-9+/]+={0,2})\n)?index (0|[1-9][0-9]{0,15})\n"
    r"((?:[A-Za-z0-9+/=]+\n){0,64})\n"
)


def read_tlog_proof(text):
    """The opening of the event, its index and path, and the checkpoint."""
    match = TLOG_PROOF.match(text)
    strict(match, "it does not begin with the lines of a proof and an empty line")
    strict(all(len(line.encode()) <= 65536 for line in text.split("\n")), "a line has more than 65,536 bytes")
    extra, path = unbase64(match[1] or ""), [unbase64(line) for line in match[3].split("\n")[:-1]]
    strict(all(len(each) == 32 for each in path), "a hash must have 32 bytes")
    note = text[match.end() :]
    return extra, int(match[2]), path, note, parse_checkpoint(parse_note(note)[0])


def verify_tlog_proof(text, policy):
    """Returns the state and the one event, as `verify_bundle`."""
    if policy is None:
        raise Unreadable("a tlog-proof needs the keys of its log: --policy")
    try:
        extra, index, path, note, (origin, size, root) = read_tlog_proof(text)
    except Refuted as error:
        raise Unreadable(f"not a whole tlog-proof: {error}") from None
    root_from_path(b"", index, size, path)
    try:
        opening = event_opening(extra.hex())
    except Refuted:
        raise Unreadable("the extra data is not the opening of an event") from None
    if not pins(policy, origin):
        raise OtherLog()
    event = verify_event({"opening": opening.hex()}, origin)
    event.update(sizes=[size], notLaterThan=None, witnessed=None)
    tree = verify_tree({"note": note, "cosignatures": [], "tokens": []}, keys_by_line(policy["keys"]))
    if tree is None:
        return "newer-key", [event]
    check(index > 0, "entry 0 is a key")
    check(root_from_path(sha256(opening), index, size, path) == root, "the event is not in the tree of its checkpoint")
    _, witnessed = attest({"validationData": [], "renewals": []}, {size: tree}, policy, True)
    if size not in witnessed:
        return "retired-key", [event]
    event["witnessed"] = witnessed[size]
    is_required = Required.witnesses or policy.get("requires_witnesses", False)
    return "proven" if not is_required or event["witnessed"][0] else "requirement", [event]


def compare(path, events):
    """Whether a file is one of the proof."""
    data = read(path)
    digest = sha256(data).hex()
    files = [file for event in events for file in event["files"].values() if "sha256" in file]
    if any(file["sha256"] == digest and file["size"] == len(data) for file in files):
        return "matches"
    hides = any(event["hides"] or len(event["files"]) < len(event["held"]) for event in events)
    return "not comparable" if hides else "not in this proof"


# -- an export


class Export:
    """The lines of an export, one after the other."""

    def __init__(self, policy):
        self.policy = policy
        self.findings = []
        self.trees = {}
        self.head = self.end = None
        self.counts = {"evidences": 0, "events": 0, "unsealed": 0, "withoutBundle": 0}
        self.counts_all = True
        self.number, self.last_id, self.unread = 0, "", 0

    def find(self, line, state, reason):
        self.findings.append((line, state, reason))

    def add(self, line, text):
        # As the registry writes it. The rest is the bundle.
        match = re.fullmatch(r'\{"n":([1-9][0-9]{0,14}),"bundle":(\{.*\})\}', text, re.DOTALL)
        item = {} if match else parse(text)
        shaped(isinstance(item, dict), "a line is not an object")
        check(self.end is None, "a line comes after the last one")
        if match:
            return self.add_bundle(line, int(match[1]), match[2])
        names = ["end", "counts", "sha256"] if "end" in item else ["n", "bundle", "id", "externalId", "error"]
        if is_newer(item, names):
            raise Unreadable(NEWER)
        if item.get("end") is True:
            self.end = item
        elif "bundle" in item:
            self.find(line, "changed", "not the text that the registry wrote")
            self.add_bundle(line, count(item.get("n")), json.dumps(item["bundle"]))
        else:
            item_id, name, why = (string(item.get(each)) for each in ("id", "externalId", "error"))
            self.counts["evidences"] += 1
            self.counts["withoutBundle"] += 1
            self.find(line, "requirement", f"there is no bundle of {name}: {why}")
            self.check_next(count(item.get("n")), item_id)

    def add_bundle(self, line, number, text):
        self.counts["evidences"] += 1
        try:
            state, events = verify_bundle(text, self.policy, self.trees)
            reason = STATES[state][1]
        except Refuted as error:
            state, reason = "refuted", str(error)
        except Unreadable as error:
            state, reason = "unreadable", str(error)
        except OtherLog:
            state, reason = "other-log", STATES["other-log"][1]
        if state not in ("proven", "consistent"):
            self.find(line, state, reason)
        if state not in ("proven", "consistent", "pending", "requirement"):
            self.counts_all = False
            return self.check_next(number)
        self.counts["events"] += len(events)
        self.counts["unsealed"] += state == "pending"
        fields = events[0]["fields"]
        item_id, company = fields.get("evidence"), fields.get("company")
        check(isinstance(item_id, str), "it does not disclose of which evidence it is")
        origin = events[0]["header"] and events[0]["header"]["log"]
        is_own = company == self.head["company"] and origin == self.head["origin"]
        check(is_own, "not a history of this company in this log")
        self.check_next(number, item_id)

    def check_next(self, number, item_id=None):
        """Numbered without a gap, in ascending order of the ids. Lines that cannot be read may be a gap."""
        expected, unread = self.number + 1, self.unread
        is_next = number >= expected and (item_id is None or item_id > self.last_id)
        check(is_next, f"evidence {number} comes twice, or too late")
        self.number, self.last_id, self.unread = number, item_id or self.last_id, 0
        check(number <= expected + unread, f"evidence {expected} is missing")

    def check_end(self, line, digest):
        least = self.head["counts"]["evidences"]
        if self.end is None:
            seen = f"{self.counts['evidences']} of {max(self.counts['evidences'], least)} evidences"
            return self.find(line, "incomplete", seen)
        if any(state == "unreadable" for _, state, _ in self.findings):
            return None
        told = self.end.get("counts")
        counted = self.counts if self.counts_all else {"evidences": self.counts["evidences"]}
        anything(told)
        is_told = all([count(told.get(name)) == counted[name] for name in counted])
        check(is_told and counted["evidences"] >= least, "the first or the last line counts other lines")
        if counted["evidences"] == 0:
            self.find(line, "requirement", "it has no evidence, so nothing in it is signed")
        if self.end.get("sha256") != digest:
            self.find(line, "changed", "not the text that the registry wrote")


def read_head(line):
    names = ["format", "company", "origin", "treeSize", "exportedAt", "counts"]
    head = document(text_of(line, "utf-8"), "export", names)
    for name in ("company", "origin", "exportedAt"):
        string(head.get(name))
    check(isinstance(head.get("counts"), dict), "the first line has no counts")
    count(head["counts"].get("evidences"))
    return head


def verify_export(data, policy):
    """A byte order mark, a carriage return before a line feed and empty lines at the end are left out first."""
    lines = [line.removesuffix(b"\r") for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    while lines and lines[-1] == b"":
        lines.pop()
    export = Export(policy)
    written = [line for line in lines if line != b""]
    try:
        export.head = read_head(written[0] if written else b"")
    except Refuted as error:
        raise Unreadable(f"not an export: {error}") from None
    if b"" in lines:
        export.find(lines.index(b"") + 1, "changed", "there is an empty line")
    first = lines.index(written[0])
    if policy and not pins(policy, export.head["origin"]):
        export.find(first + 1, "other-log", "the policy has no key of its log")
    for i, line in enumerate(lines[first + 1 :], first + 2):
        if line == b"":
            continue
        try:
            strict(len(line) <= 3 * 2**25, "longer than any bundle")
            export.add(i, text_of(line, "utf-8"))
        except (Malformed, Unreadable) as error:
            export.unread += 1
            # The last line may be one that is cut off.
            if i < len(lines) or isinstance(error, (OtherForm, Unreadable)):
                export.find(i, "unreadable", str(error))
        except Refuted as error:
            export.find(i, "refuted", str(error))
    try:
        export.check_end(len(lines), sha256(*(line + b"\n" for line in written[:-1])).hex())
    except OtherForm as error:
        export.find(len(lines), "unreadable", str(error))
    except Refuted as error:
        export.find(len(lines), "refuted", str(error))
    for line, state, reason in export.findings[:20]:
        say(f"line {line}: {state}: {reason}")
    if len(export.findings) > 20:
        say(f"and {len(export.findings) - 20} more")
    states = {state for _, state, _ in export.findings}
    return next((state for state in STATES if state in states), "proven" if policy else "consistent")


# -- the command


def say(text):
    """Prints a line. What a console could take for a command, or cannot show, is escaped."""
    print("".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text))


def rfc3339(ms):
    if ms > 253_402_300_799_999:
        return f"{ms} ms after 1970"
    return (EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def existed(stated):
    """When something was proven to exist, in words."""
    is_own, time = stated or (False, None)
    own = ", by the operator's own test authority: proves no time to others" if is_own else ""
    return f"{'no time is proven' if time is None else f'existed at {rfc3339(time)}'}{own}"


def say_receipt(erasure, stated):
    say(f"receipt of an erasure: {existed(stated)}")
    for each in erasure["erased"] if erasure else []:
        names = ", ".join([*each["fields"], *each["files"]])
        stated_at = f"{rfc3339(erasure['time'])} by {erasure['by']}, {erasure['reason']}"
        say(f"  stated at {stated_at}: erased {names} of {each['txId']}")


def run(arguments):
    """Returns the exit code and what it means."""
    policy = None if arguments.policy is None else read_policy(arguments.policy)
    if arguments.export:
        state = verify_export(read(arguments.bundle), policy)
        say_not_checked()
        return STATES[state]
    data = read(arguments.bundle)
    is_tlog_proof = data.startswith(b"c2sp.org/tlog-proof@v1")
    try:
        source = text_of(data, "utf-8" if is_tlog_proof else "utf-8-sig")
    except Malformed as error:
        raise Unreadable(str(error)) from None
    state, events = (verify_tlog_proof if is_tlog_proof else verify_bundle)(source, policy)
    is_proven = state not in ("newer-key", "retired-key")
    for event in events if is_proven else []:
        say(f"event {event['txId']}: {existed(event['notLaterThan'])}")
        is_met, count, operators = event["witnessed"] or (False, 0, 0)
        if operators:
            say(f"  witnessed by {count} of {operators}{'' if is_met else ', too few'}")
        for name, value in sorted(event["fields"].items()):
            say(f"  {name} = {json.dumps(value)}")
    for erasure, stated in events[0].get("erasures", []) if is_proven else []:
        say_receipt(erasure, stated)
    say_not_checked()
    verdicts = [compare(path, events) for path in arguments.file] if is_proven else []
    for path, verdict in zip(arguments.file, verdicts):
        say(f"{path}: {verdict}")
    code, meaning = STATES[state]
    return 7 if any(verdict != "matches" for verdict in verdicts) else code, meaning


NOT_CHECKED = "the proofs of chains, revocation of certificates, and later events, such as a theft"


def say_not_checked():
    for what in [*sorted(UNCHECKED), NOT_CHECKED]:
        say(f"not checked: {what}")


def main():
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout, allow_abbrev=False)
    parser.add_argument("bundle")
    parser.add_argument("--export", action="store_true")
    parser.add_argument("--policy")
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("--require", choices=["witnesses"])
    arguments = parser.parse_args()
    Required.witnesses = arguments.require is not None
    if arguments.export and arguments.file:
        parser.error("--export takes no --file")
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code, text = run(arguments)
    except Refuted as error:
        code, text = 1, f"REFUTED: {error}"
    except Unreadable as error:
        code, text = 2, f"NOT READABLE: {error}"
    except OtherLog:
        code, text = STATES["other-log"]
    except Unable as error:
        code, text = 2, f"NOT CHECKED: {error}"
    except Exception as error:  # A fault of this program or of its machine says nothing about what was recorded.
        code, text = 2, f"NOT CHECKED: {type(error).__name__}: {error}"
    try:
        say(text)
        sys.stdout.flush()
    except OSError as error:
        print(f"cannot write the verdict: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 2
    return code


if __name__ == "__main__":
    sys.exit(main())
