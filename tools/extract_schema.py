#!/usr/bin/env python3
"""Writes src/api/schema/tables/*.types: Kubernetes' types as data, one line a message.

Run by hand when the Kubernetes baseline moves; the output is committed:

    cd "$(mktemp -d)" && go mod init x && \
      go get k8s.io/api@v0.34.4 k8s.io/apimachinery@v0.34.4 k8s.io/apiextensions-apiserver@v0.34.4 \
        k8s.io/kube-aggregator@v0.34.4
    tools/extract_schema.py --modules "$(go env GOMODCACHE)/k8s.io" --version v0.34.4

Numbers and types come from each package's generated.proto; JSON names, omitempty, pointers, patch
strategies and list types from the Go structs beside it. Names and numbers only: no prose is copied.
The format is described in src/api/schema/tables/README.md.
"""
import argparse
import pathlib
import re

# table name, schema prefix, where the package lies, protobuf package
PACKAGES = [
    ("meta_v1", "meta.v1", "apimachinery/pkg/apis/meta/v1", "k8s.io.apimachinery.pkg.apis.meta.v1"),
    ("core_v1", "core.v1", "api/core/v1", "k8s.io.api.core.v1"),
    ("batch_v1", "batch.v1", "api/batch/v1", "k8s.io.api.batch.v1"),
    ("apps_v1", "apps.v1", "api/apps/v1", "k8s.io.api.apps.v1"),
    ("coordination_v1", "coordination.v1", "api/coordination/v1", "k8s.io.api.coordination.v1"),
    ("events_v1", "events.v1", "api/events/v1", "k8s.io.api.events.v1"),
    ("discovery_v1", "discovery.v1", "api/discovery/v1", "k8s.io.api.discovery.v1"),
    ("authentication_v1", "authentication.v1", "api/authentication/v1", "k8s.io.api.authentication.v1"),
    ("authorization_v1", "authorization.v1", "api/authorization/v1", "k8s.io.api.authorization.v1"),
    ("policy_v1", "policy.v1", "api/policy/v1", "k8s.io.api.policy.v1"),
    ("rbac_v1", "rbac.v1", "api/rbac/v1", "k8s.io.api.rbac.v1"),
    ("autoscaling_v1", "autoscaling.v1", "api/autoscaling/v1", "k8s.io.api.autoscaling.v1"),
    ("autoscaling_v2", "autoscaling.v2", "api/autoscaling/v2", "k8s.io.api.autoscaling.v2"),
    ("scheduling_v1", "scheduling.v1", "api/scheduling/v1", "k8s.io.api.scheduling.v1"),
    ("networking_v1", "networking.v1", "api/networking/v1", "k8s.io.api.networking.v1"),
    ("storage_v1", "storage.v1", "api/storage/v1", "k8s.io.api.storage.v1"),
    ("node_v1", "node.v1", "api/node/v1", "k8s.io.api.node.v1"),
    ("certificates_v1", "certificates.v1", "api/certificates/v1", "k8s.io.api.certificates.v1"),
    ("flowcontrol_v1", "flowcontrol.v1", "api/flowcontrol/v1", "k8s.io.api.flowcontrol.v1"),
    ("apiregistration_v1", "apiregistration.v1", "kube-aggregator/pkg/apis/apiregistration/v1",
     "k8s.io.kube_aggregator.pkg.apis.apiregistration.v1"),
    ("apiextensions_v1", "apiextensions.v1", "apiextensions-apiserver/pkg/apis/apiextensions/v1",
     "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1"),
    ("admissionregistration_v1", "admissionregistration.v1", "api/admissionregistration/v1",
     "k8s.io.api.admissionregistration.v1"),
]

# Messages whose JSON is not an object with the message's own members.
SPECIAL = {
    "k8s.io.apimachinery.pkg.apis.meta.v1.Time": "Time",
    "k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime": "MicroTime",
    "k8s.io.apimachinery.pkg.apis.meta.v1.Duration": "string",
    "k8s.io.apimachinery.pkg.apis.meta.v1.Timestamp": "Time",
    "k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1": "Any",
    "k8s.io.apimachinery.pkg.apis.meta.v1.Verbs": "[]string",
    "k8s.io.apimachinery.pkg.api.resource.Quantity": "Quantity",
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": "IntOrString",
    "k8s.io.apimachinery.pkg.runtime.RawExtension": "Any",
    "k8s.io.api.authentication.v1.ExtraValue": "[]string",
    "k8s.io.api.authorization.v1.ExtraValue": "[]string",
    "k8s.io.api.certificates.v1.ExtraValue": "[]string",
}
_APIEXT = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1."
SPECIAL.update({
    _APIEXT + "JSON": "Any",
    _APIEXT + "JSONSchemaPropsOrBool": "SchemaOrBool",
    _APIEXT + "JSONSchemaPropsOrArray": "SchemaOrArray",
    _APIEXT + "JSONSchemaPropsOrStringArray": "SchemaOrStrings",
})
SCALARS = {"string", "int32", "int64", "bool", "double", "bytes"}
# The key of a list-map that may be left out, and what it then means.
KEY_DEFAULTS = {("core.v1.ContainerPort", "protocol"): "TCP", ("core.v1.ServicePort", "protocol"): "TCP"}


def proto_messages(text):
    """message name -> {number: (repeated, type)}; a map's type is 'map<K, V>'."""
    messages, current = {}, None
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("//") or not line:
            continue
        if match := re.match(r"message (\w+) \{", line):
            current = messages.setdefault(match[1], {})
        elif line == "}":
            current = None
        elif current is not None:
            if match := re.match(r"(optional|repeated) (\S+) (\w+) = (\d+)( \[.*\])?;", line):
                current[int(match[4])] = (match[1] == "repeated", match[2], match[3])
            elif match := re.match(r"(map<[^>]+>) (\w+) = (\d+);", line):
                current[int(match[3])] = (False, match[1], match[2])
    return messages


def go_structs(text):
    """struct name -> (markers, [(markers, go type, tag)])."""
    structs, current, comments = {}, None, []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("//"):
            if match := re.match(r"//\s*\+(.+)", stripped):
                comments.append(match[1].strip())
            continue
        if match := re.match(r"type (\w+) struct \{", line):
            current = []
            structs[match[1]] = (comments, current)
        elif match := re.match(r"type (\w+) struct\{\}", line):
            structs[match[1]] = (comments, [])
        elif line.startswith("}"):
            current = None
        elif current is not None and (match := re.match(r"(?:(\w+)\s+)?(\S+)\s+`(.*)`", stripped)):
            current.append((comments, match[2], match[3]))
        # A comment belongs to the line right below it: a blank line ends it as well.
        comments = []
    return structs


def tag_value(tag, key):
    match = re.search(key + r':"([^"]*)"', tag)
    return match[1] if match else ""


def type_word(proto_type, proto_package, prefixes):
    if match := re.match(r"map<(\w+), (\S+)>", proto_type):
        return "{}" + type_word(match[2], proto_package, prefixes)
    if proto_type in SCALARS:
        return proto_type
    full = proto_type[1:] if proto_type.startswith(".") else f"{proto_package}.{proto_type}"
    if full in SPECIAL:
        return SPECIAL[full]
    package, name = full.rsplit(".", 1)
    return name if package == proto_package else f"{prefixes[package]}.{name}"


def marker(markers, name):
    return [m.split("=", 1)[1] for m in markers if m.startswith(name + "=")]


def field_text(owner, field_markers, go_type, tag, proto, proto_package, prefixes):
    repeated, proto_type, proto_name = proto
    json_parts = tag_value(tag, "json").split(",")
    inlined = "inline" in json_parts and not json_parts[0]
    name = json_parts[0] or proto_name
    word = ("[]" if repeated else "") + type_word(proto_type, proto_package, prefixes)
    shown = not inlined and "omitempty" not in json_parts
    optional = not shown or "optional" in field_markers or "k8s:optional" in field_markers
    if "required" in field_markers or "k8s:required" in field_markers:
        optional = False
    flags = ("?" if go_type.startswith("*") else "") + ("^" if inlined else "")
    flags += ("" if optional or inlined else "!") + ("+" if shown else "")
    number = int(tag_value(tag, "protobuf").split(",")[1])
    words = [name, str(number), word + flags]

    strategies = tag_value(tag, "patchStrategy").split(",")
    merge_key = tag_value(tag, "patchMergeKey")
    if "merge" in strategies:
        words.append("merge=" + merge_key if merge_key else "merge")
    if "retainKeys" in strategies:
        words.append("retainKeys")
    if "replace" in strategies:
        words.append("replace")
    list_types = marker(field_markers, "listType")
    if list_types and list_types[0] == "map":
        words.append("map=" + ",".join(marker(field_markers, "listMapKey")))
    elif list_types and list_types[0] == "set":
        words.append("set")
    for kind in ("structType", "mapType"):
        if values := marker(field_markers, kind):
            words.append(values[0])
    if (owner, name) in KEY_DEFAULTS:
        words.append("default=" + KEY_DEFAULTS[(owner, name)])
    return " ".join(words)


def message_line(prefix, name, struct, protos, proto_package, prefixes):
    markers, go_fields = struct
    is_object, fields = False, []
    for field_markers, go_type, tag in go_fields:
        if go_type.split(".")[-1] == "TypeMeta":
            is_object = True
            continue
        protobuf_tag = tag_value(tag, "protobuf")
        if not protobuf_tag or protobuf_tag == "-":
            continue
        number = int(protobuf_tag.split(",")[1])
        if number in protos:
            fields.append((number, field_text(f"{prefix}.{name}", field_markers, go_type, tag,
                                              protos[number], proto_package, prefixes)))
    missing = set(protos) - {number for number, _ in fields}
    if missing:
        raise SystemExit(f"{prefix}.{name}: no Go field for protobuf numbers {sorted(missing)}")
    head = ("object " if is_object else "") + name
    if "atomic" in marker(markers, "structType") or "atomic" in marker(markers, "mapType"):
        head += " atomic"
    return head + ":" + "".join(f" {text};" for _, text in sorted(fields)).rstrip(";")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modules", required=True, type=pathlib.Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--out", type=pathlib.Path,
                        default=pathlib.Path(__file__).parent.parent / "src/api/schema/tables")
    arguments = parser.parse_args()
    prefixes = {package: prefix for _, prefix, _, package in PACKAGES}
    for table, prefix, folder, package in PACKAGES:
        module, rest = folder.split("/", 1)
        path = arguments.modules / f"{module}@{arguments.version}" / rest
        protos = proto_messages((path / "generated.proto").read_text())
        structs = {}
        for source in sorted(path.glob("types*.go")):
            structs.update(go_structs(source.read_text()))
        lines = [f"package {prefix}"]
        for name in sorted(protos):
            if f"{package}.{name}" in SPECIAL or name == "TypeMeta" or name not in structs:
                continue
            lines.append(message_line(prefix, name, structs[name], protos[name], package, prefixes))
        (arguments.out / f"{table}.types").write_text('R"types(' + "\n".join(lines) + '\n)types"\n')


main()
