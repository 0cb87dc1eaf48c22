#!/usr/bin/env python3
"""Verifies a proof bundle with Python's standard library alone, written from core/SPECIFICATION.md.

    python3 verify.py FILE.evidence.json [--policy POLICY.json] [--file ORIGINAL]...
    python3 verify.py --export COMPANY.evidence.ndjson [--policy POLICY.json]

Checks hashes, history, tree, notes (RFC 8032 Ed25519), the chain of keys and what is disclosed. Tokens are checked by
`openssl ts -verify` if the policy names their authorities. Chain proofs and cosignatures are not checked, and the
output says so. Exit codes: 0 proven, 1 refuted, 2 not whole, of a newer version, or changed without a contradiction,
3 no policy was given, 4 an event is not sealed yet, 5 retired or newer key, 6 of another log, 7 a file of --file is not
in the proof, or its hash is not disclosed (before 3 and 4).
"""
import argparse
import base64
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from datetime import datetime, timezone


class Refuted(Exception):
    pass


class OtherLog(Exception):
    pass


class Unreadable(Exception):
    pass


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from None


def text_of(data):
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("not text in UTF-8") from None


NEWER = "made by a newer version: fetch a newer verifier"
BUNDLE = ["format", "version", "origin", "subject", "events", "keys", "checkpoints", "validationData"]
POLICY = ["origin", "keys", "witnesses", "groups", "quorum", "timestampAuthorities", "timestampQuorum", "timestampQuorums", "chains", "extensions"]
EXPORT = ["format", "version", "company", "origin", "treeSize", "exportedAt", "counts"]


def check(condition, reason):
    if not condition:
        raise Refuted(reason)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def tag(name):
    return name.encode("ascii").ljust(16, b"\0")


def unhex(text, length=None):
    check(isinstance(text, str) and text == text.lower(), "hex must be lowercase")
    try:
        data = bytes.fromhex(text)
    except ValueError:
        raise Refuted("malformed hex") from None
    check(data.hex() == text and (length is None or len(data) == length), "malformed hex")
    return data


def unbase64(text):
    try:
        data = base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        raise Refuted("malformed base64") from None
    check(base64.b64encode(data).decode() == text, "malformed base64")
    return data


def parse(text):
    def pairs(items):
        result = dict(items)
        check(len(result) == len(items), "a member appears twice")
        return result

    def constant(name):
        raise Refuted(f"{name} is not JSON")

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
        json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        raise Refuted(f"not JSON: {error}") from None
    except (RecursionError, UnicodeEncodeError):
        raise Refuted("nested too deep, or half a character") from None


def document(text, names, kind=None):
    """A whole document of version 1. A later version may have other members at its top level."""
    try:
        value = parse(text)
    except Refuted as error:
        raise Unreadable(f"cut off, or {error}") from None
    if not isinstance(value, dict) or (kind is not None and value.get("format") != "evidence-registry." + kind):
        raise Unreadable("another document")
    version = value.get("version", 1)
    if not set(value) <= {*names, "version"} or isinstance(version, (int, float)) and version > 1:
        raise Unreadable(NEWER)
    return value


def members(value, required, optional=()):
    check(isinstance(value, dict), "an object is missing")
    check(set(required) <= set(value) <= set(required) | set(optional), f"expected the members {required}")


def count(value):
    check(isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53, "a number is not a count")
    return value


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


def parse_name(vkey):
    return vkey.partition("+")[0]


def parse_vkey(text):
    name, _, rest = text.partition("+")
    key_hash, _, data = rest.partition("+")
    data = unbase64(data)
    check(len(data) == 33 and data[0] == 1, "a key is not an Ed25519 key")
    key_id = sha256(name.encode() + b"\n", data)[:4]
    check(key_id.hex() == key_hash, "the hash of a verifier key is wrong")
    return name, key_id, data[1:]


def open_note(note, origin, vkeys):
    """Returns size, root and the verifier key that signed."""
    text, separator, lines = note.rpartition("\n\n")
    check(separator and lines.endswith("\n"), "a note has no signature")
    text += "\n"
    parts = text.split("\n")
    check(len(parts) >= 4 and parts[0] == origin and parts[1].isdigit() and str(int(parts[1])) == parts[1], "not a checkpoint")
    signed = None
    for line in lines[:-1].split("\n"):
        mark, name, data = (line.split(" ") + ["", "", ""])[:3]
        data = unbase64(data)
        check(mark == "\u2014", "a signature line is malformed")
        for vkey in vkeys:
            key_name, key_id, public = parse_vkey(vkey)
            if (name, data[:4]) == (key_name, key_id):
                check(ed25519_verify(public, text.encode(), data[4:]), "a signature of a checkpoint does not verify")
                signed = vkey
    check(signed is not None, "no key of the log signed a checkpoint")
    root = unbase64(parts[2])
    check(len(root) == 32, "a root must have 32 bytes")
    return int(parts[1]), root, signed


def verify_keys(keys, origin):
    """Returns the verifier keys in the order of the log."""
    check(len(keys) > 0, "the bundle has no key")
    vkeys, previous, last_position = [], None, -1
    for key in keys:
        members(key, ["opening", "position", "inclusion"])
        opening = unhex(key["opening"])
        check(opening[:16] == tag("er1.key"), "not the opening of a key")
        body = parse(opening[16:].decode("utf-8"))
        members(body, ["log", "prev", "sig", "v", "vkey"])
        name, _, public = parse_vkey(body["vkey"])
        check(body["v"] == 1 and body["log"] == origin and name == origin, "a key belongs to another log")
        position = count(key["position"])
        check(position > last_position, "the positions of keys must ascend")
        if previous is None:
            check(position == 0 and body["prev"] is None and body["sig"] is None, "the first key must be entry 0")
            check(origin.endswith("/" + sha256(tag("er1.origin"), public).hex()[:32]), "the origin is not of the first key")
        else:
            check(body["prev"] == previous[0].hex(), "a key does not follow the key before it")
            unsigned = {name: body[name] for name in ("log", "prev", "v", "vkey")}
            handover = tag("er1.key") + json.dumps(unsigned, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
            check(ed25519_verify(previous[1], handover, unhex(body["sig"], 64)), "a key is not signed by the key before it")
        previous, last_position = (sha256(opening), public), position
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
        members(item, ["treeSize", "path"])
        check(item["treeSize"] in trees, "a checkpoint is missing")
        path = [unhex(sibling, 32) for sibling in item["path"]]
        root = root_from_path(entry, count(shown["position"]), item["treeSize"], path)
        check(root == trees[item["treeSize"]], "an entry is not in the tree of its checkpoint")


# -- events


def disclosed(kind, texts, hashes):
    values = {}
    for name, shown in (texts or {}).items():
        members(shown, ["text", "salt"])
        digest = sha256(tag(kind), unhex(shown["salt"], 32), shown["text"].encode())
        check(hashes.get(name) == digest.hex(), f"{name} is not what the event commits to")
        values[name] = parse(shown["text"])
    return values


def verify_event(event, origin):
    members(event, ["opening", "inclusion"], ["position", "header", "filesText", "filesSalt", "fields", "files"])
    check(("position" in event) == (len(event["inclusion"]) > 0), "an event needs a position and a path, or neither")
    opening = unhex(event["opening"], 120)
    check(opening[:16] == tag("er1.event"), "not the opening of an event")
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
    if "header" in event:
        check(sha256(tag("er1.header"), event["header"].encode()) == opening[56:88], "a header is not the committed one")
        header = parse(event["header"])
        members(header, ["fields", "first", "log", "prev", "v", "version"])
        check(header["v"] == 1 and header["log"] == origin, "an event belongs to another log")
        result["header"] = header
        for name, value in disclosed("er1.field", event.get("fields"), header["fields"]).items():
            check(isinstance(value, list) and len(value) == 2 and value[0] == name, f"the field {name} is malformed")
            result["fields"][name] = value[1]
    else:
        check("fields" not in event, "fields need a header")
    if "filesText" in event or "filesSalt" in event or "header" in event:
        salt = unhex(event.get("filesSalt"), 32)
        check(sha256(tag("er1.files"), salt, event["filesText"].encode()) == opening[88:120], "the map of files is not the committed one")
        hashes = parse(event["filesText"])
        result["held"] = list(hashes)
        for name, value in disclosed("er1.file", event.get("files"), hashes).items():
            expected = ["deleted", "id"] if "deleted" in value else ["id", "mimeType", "name", "sha256", "size"]
            members(value, expected)
            check(value["id"] == name, "a file's text belongs to another file")
            result["files"][name] = value
    else:
        check("files" not in event, "files need their map")
    return result


def verify_history(events):
    attached, deleted, constants = {}, set(), {}
    slot_key = events[0]["fields"].get("slotKey")
    for version, event in enumerate(events, 1):
        header = event["header"]
        check(header["version"] == version, "the versions of the history have a gap")
        links = (None, None) if version == 1 else (events[0]["txId"], events[version - 2]["txId"])
        check((header["first"], header["prev"]) == links, f"version {version} does not link to the versions before it")
        check(version == 1 or event["time"] >= events[version - 2]["time"], f"version {version} is older than the one before")
        if slot_key is not None:
            slot = sha256(tag("er1.slot"), unhex(slot_key, 32), version.to_bytes(8, "big"))
            check(slot == event["slot"], f"version {version} has another slot")
        for name in ("company", "evidence", "externalId"):
            if name in event["fields"]:
                check(constants.setdefault(name, event["fields"][name]) == event["fields"][name], f"the {name} changes")
        for file_id, file in event["files"].items():
            if "deleted" in file:
                check(attached.get(file_id) == file["deleted"] and file_id not in deleted, "a deletion is wrong")
                deleted.add(file_id)
        for file_id in event["held"]:
            attached.setdefault(file_id, event["txId"])


def verify_subject(events, subject):
    members(subject, ["type", "txId"], ["fileId"])
    check(subject["type"] in ("evidence", "file") and (subject["type"] == "file") == ("fileId" in subject), "the subject is malformed")
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
    if subject["type"] == "evidence":
        check(main is events[0], "the subject is not the first version")
    else:
        check(subject["fileId"] in main["held"], "the subject does not hold the file")
        check("deleted" not in main["files"].get(subject["fileId"], {}), "the subject deletes the file")


# -- tokens, by OpenSSL


def in_range(size, ranges):
    return ranges is None or any(size >= each["from"] and size <= (each["until"] or size) for each in ranges)


def verify_tokens(checkpoint, size, validation, policy, logged):
    """Returns the times of pinned authorities that count for a tree, ms since 1970, and how many are needed.

    `logged` has the positions of token entries. Two authorities that share a signer's key are not told apart here.
    """
    quorum = next((one["quorum"] for one in policy.get("timestampQuorums", []) if in_range(size, one["ranges"])), policy.get("timestampQuorum", 1))
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        with open(path("note"), "wb") as file:
            file.write(checkpoint["note"].encode())
        with open(path("chain.pem"), "w") as file:
            for piece in validation:
                if piece["type"] == "certificate":
                    body = base64.encodebytes(unbase64(piece["data"])).decode()
                    file.write(f"-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n")
        for token in checkpoint["tokens"]:
            position = logged.get(sha256(unbase64(token)), float("inf"))
            with open(path("token"), "wb") as file:
                file.write(unbase64(token))
            shown = subprocess.run(["openssl", "ts", "-reply", "-in", path("token"), "-text"], capture_output=True, text=True)
            line = next((line for line in shown.stdout.splitlines() if line.startswith("Time stamp: ")), None)
            if line is None:
                continue
            stamp = " ".join(line[len("Time stamp: ") :].removesuffix(" GMT").split())
            form = "%b %d %H:%M:%S.%f %Y" if "." in stamp else "%b %d %H:%M:%S %Y"
            seconds = datetime.strptime(stamp, form).replace(tzinfo=timezone.utc).timestamp()
            for authority in policy["timestampAuthorities"]:
                ranges = authority.get("ranges")
                if ranges is not None:
                    ranges = [each for each in ranges if each["until"] is None or position < each["until"]]
                if not in_range(size, ranges):
                    continue
                with open(path("anchors.pem"), "w") as file:
                    file.write("".join(authority["trustAnchors"]))
                command = ["openssl", "ts", "-verify", "-data", path("note"), "-in", path("token"), "-CAfile", path("anchors.pem")]
                command += ["-attime", str(int(seconds))]
                if os.path.getsize(path("chain.pem")) > 0:
                    command += ["-untrusted", path("chain.pem")]
                if subprocess.run(command, capture_output=True).returncode == 0:
                    name = authority["name"]
                    times[name] = min(times.get(name, float("inf")), seconds * 1000)
    return sorted(times.values()), quorum


# -- the whole bundle


def verify_bundle(text, policy, originals):
    optional = ["renewals", "claimedPolicy", "extensions"]
    bundle = document(text, BUNDLE + optional, "bundle")
    if bundle.get("version") is True or bundle.get("version") != 1:
        raise Unreadable("not a bundle of version 1")
    members(bundle, BUNDLE, optional)
    check(isinstance(bundle.get("extensions", {}), dict), "extensions must be an object")
    origin = bundle["origin"]
    events = [verify_event(event, origin) for event in bundle["events"]]
    check(len(events) > 0, "the bundle has no event")
    verify_subject(events, bundle["subject"])

    vkeys = verify_keys(bundle["keys"], origin)
    pinned = {key["vkey"]: key for key in policy["keys"]} if policy else {vkey: {} for vkey in vkeys}
    if not any(parse_name(vkey) == origin for vkey in pinned):
        raise OtherLog()
    last = max((i for i, vkey in enumerate(vkeys) if vkey in pinned), default=-1)
    newest = pinned[vkeys[last]] if last >= 0 else {"until": 0}
    introduces = newest.get("until") is None and not newest.get("compromised")
    ends = [key["position"] for key in bundle["keys"][1:]] + [None]
    for i, vkey in enumerate(vkeys):
        pinned.setdefault(vkey, {"until": ends[i], "unknown": i > last and not introduces})
    trees, signed, last_size = {}, [], 0
    for checkpoint in bundle["checkpoints"]:
        members(checkpoint, ["note", "cosignatures", "tokens", "anchors"], ["consistency", "keyConsistency"])
        size, root, vkey = open_note(checkpoint["note"], origin, list(pinned))
        check(size > last_size, "the checkpoints must have ascending sizes")
        check(vkey in vkeys, "the key that signed a checkpoint has no entry in the bundle")
        index, key = vkeys.index(vkey), pinned[vkey]
        sizes = [item["treeSize"] for item in bundle["keys"][index]["inclusion"]]
        check(size in sizes, "a tree is not proven to hold the key that signed it")
        check(index + 1 == len(vkeys) or size <= bundle["keys"][index + 1]["position"], "a retired key signed")
        check(size >= key.get("from", 1) and size <= (key.get("until") or size), "a key signed a size that is not its own")
        if signed:
            proof = hashes(signed[-1][0].get("consistency", []))
            check(begins_with(root, size, trees[last_size], last_size, proof), "two trees are not of one log")
        trees[size], last_size = root, size
        signed.append((checkpoint, size, key))
    for key in bundle["keys"]:
        verify_inclusion(sha256(unhex(key["opening"])), key, trees)
    # openssl does not read revocation lists here, so a renewal changes nothing. It must be correct nevertheless.
    for renewal in bundle.get("renewals", []):
        members(renewal, ["opening", "position", "inclusion"])
        opening = unhex(renewal["opening"], 48)
        check(opening[:16] == tag("er1.token"), "a renewal is not the entry of a token")
        verify_inclusion(sha256(opening), renewal, trees)
    # Only trees that count prove anything: the thief of a retired key can make others.
    counted, times, logged, counts = set(), {}, {}, False
    for checkpoint, size, key in reversed(signed):
        stamps, quorum = [], 1
        if policy and policy.get("timestampAuthorities"):
            stamps, quorum = verify_tokens(checkpoint, size, bundle["validationData"], policy, logged)
        until, root = key.get("until"), key.get("root")
        proof = hashes(checkpoint.get("keyConsistency", []))
        retired = datetime.fromisoformat(key["retiredAt"].replace("Z", "+00:00")).timestamp() * 1000 if "retiredAt" in key else None
        counts = counts or until is None and not key.get("unknown")
        counts = counts or root is not None and begins_with(unhex(root, 32), until, trees[size], size, proof)
        counts = counts or retired is not None and not key.get("compromised") and sum(time <= retired for time in stamps) >= quorum
        if not counts:
            continue
        counted.add(size)
        if len(stamps) >= quorum:
            times[size] = stamps[quorum - 1]
        for renewal in bundle.get("renewals", []):
            if any(item["treeSize"] == size for item in renewal["inclusion"]):
                logged[unhex(renewal["opening"])[16:]] = renewal["position"]
    for shown, event in zip(bundle["events"], events):
        verify_inclusion(bytes.fromhex(event["txId"]), shown, trees)
        event["sealed"] = len(shown["inclusion"]) > 0
        event["counts"] = not event["sealed"] or any(item["treeSize"] in counted for item in shown["inclusion"])
        event["unknown"] = any(key.get("unknown") and size == item["treeSize"] for _, size, key in signed for item in shown["inclusion"])
        event["notLaterThan"] = min((times[item["treeSize"]] for item in shown["inclusion"] if item["treeSize"] in times), default=None)
    positions = [event["position"] for event in bundle["events"] if "position" in event]
    check(positions == sorted(set(positions)), "the positions of the events must ascend")
    files = [file for event in events for file in event["files"].values() if "sha256" in file]
    hidden = any(event["hides"] or len(event["files"]) < len(event["held"]) for event in events)
    compared = []
    for path in originals:
        data = read(path)
        matches = any(f["sha256"] == sha256(data).hex() and f["size"] == len(data) for f in files)
        compared.append((path, "matches" if matches else "not comparable" if hidden else "not in this proof"))
    return events, compared


def rfc3339(ms):
    return datetime.fromtimestamp(ms / 1000, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def state_of(events, policy):
    """The exit code and what it means."""
    if not all(event["counts"] for event in events):
        if any(event["unknown"] and not event["counts"] for event in events):
            return 5, "BY A KEY THAT THIS POLICY DOES NOT KNOW: fetch the newer policy"
        return 5, "BY A RETIRED KEY"
    if not all(event["sealed"] for event in events):
        return 4, "PENDING"
    return (0, "PROVEN") if policy else (3, "CONSISTENT, BUT NOT PROVEN: no keys are pinned")


def verify_export(data, policy):
    """The lines in their order. A byte order mark and a carriage return before a line feed are left out first."""
    lines = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").split(b"\n")
    text_of(data)
    while lines and lines[-1].strip() == b"":
        lines.pop()
    head = document(lines[0] if lines else b"", EXPORT, "export")
    worst, number, end, last_id, totals = state_of([], policy), 0, None, "", {"events": 0, "unsealed": 0, "withoutBundle": 0}
    counts_all = True
    for i, line in enumerate(lines[1:], 1):
        check(end is None, "a line comes after the last one")
        try:
            item = document(line, ["n", "bundle", "id", "externalId", "error", "end", "counts", "sha256"])
        except Unreadable:
            if i == len(lines) - 1:
                break
            raise
        if "end" in item:
            end = item
            continue
        number += 1
        check(item["n"] == number, f"evidence {number} is missing, or in another place")
        try:
            if "bundle" in item:
                events = verify_bundle(json.dumps(item["bundle"]), policy, [])[0]
                fields, found = events[0]["fields"], state_of(events, policy)
                is_history = all(event["header"] is not None for event in events)
                check(is_history and fields["company"] == head["company"] and item["bundle"]["origin"] == head["origin"], "not a history of this company in this log")
                item_id = fields["evidence"]
                totals["events"] += len(events)
                totals["unsealed"] += not all(event["sealed"] for event in events)
            else:
                item_id, found = item["id"], (8, "WITHOUT A BUNDLE")
                totals["withoutBundle"] += 1
            check(item_id > last_id, f"evidence {number} comes twice, or too late")
            last_id = item_id
        except OtherLog:
            found, counts_all = (6, "OF ANOTHER LOG"), False
        worst = max(worst, found, key=lambda state: [0, 3, 4, 8, 5, 6].index(state[0]))
    if end is None:
        raise Unreadable(f"incomplete: {number} of {max(number, head['counts']['evidences'])} evidences, all that are there hold")
    check(end["counts"]["evidences"] == number >= head["counts"]["evidences"], "the first or the last line counts other lines")
    check(not counts_all or all(end["counts"][name] == total for name, total in totals.items()), "the last line counts other events")
    if end["sha256"] != sha256(b"".join(line + b"\n" for line in lines[:-1])).hex():
        raise Unreadable("changed: not the text that the registry wrote")
    return worst


def run(arguments):
    policy = None
    if arguments.policy:
        policy = document(text_of(read(arguments.policy)), POLICY)
        if not policy.get("keys"):
            raise Unreadable("the policy has no key")
    if arguments.export:
        return verify_export(read(arguments.bundle), policy)
    events, compared = verify_bundle(text_of(read(arguments.bundle)), policy, arguments.file)
    for event in events:
        time = event["notLaterThan"]
        print(f"event {event['txId']}: {'no time is proven' if time is None else f'existed at {rfc3339(time)}'}")
        for name, value in sorted(event["fields"].items()):
            print(f"  {name} = {json.dumps(value)}")
    print("not checked: the proofs of chains, cosignatures, and later events, such as a theft")
    for path, verdict in compared:
        print(f"{path}: {verdict}")
    code, text = state_of(events, policy)
    return 7 if code in (0, 3, 4) and any(verdict != "matches" for _, verdict in compared) else code, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("--export", action="store_true")
    parser.add_argument("--policy")
    parser.add_argument("--file", action="append", default=[])
    try:
        code, text = run(parser.parse_args())
    except Unreadable as error:
        code, text = 2, f"NOT READABLE: {error}"
    except OtherLog:
        code, text = 6, "OF ANOTHER LOG: nothing is said about it"
    except (Refuted, KeyError, TypeError, ValueError, AttributeError, UnicodeError) as error:
        code, text = 1, f"REFUTED: {error}"
    print(text)
    return code


if __name__ == "__main__":
    sys.exit(main())
