#include "apiserver/discovery.h"

#include <functional>

#include <fmt/format.h>

#include "api/schema/openapi.h"
#include "apiserver/accept.h"
#include "apiserver/openapi_v2.h"
#include "apiserver/representation.h"
#include "apiserver/request.h"
#include "apiserver/status.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr std::string_view kV2Beta1 = "v2beta1";

JsonArray texts(const std::vector<std::string>& values) {
  JsonArray out;
  for (const std::string& value : values)
    out.emplace_back(value);
  return out;
}

JsonObject legacy_resource(const Kind& kind) {
  JsonObject out{{"name", kind.plural},
                 {"singularName", kind.singular},
                 {"namespaced", kind.namespaced},
                 {"kind", kind.kind},
                 {"verbs", texts(kind.verbs)}};
  if (!kind.short_names.empty()) out["shortNames"] = texts(kind.short_names);
  if (!kind.categories.empty()) out["categories"] = texts(kind.categories);
  return out;
}

JsonObject legacy_subresource(const Kind& kind, const Subresource& sub) {
  JsonObject out{{"name", kind.plural + "/" + sub.name},
                 {"singularName", ""},
                 {"namespaced", kind.namespaced},
                 {"kind", sub.kind.empty() ? kind.kind : sub.kind},
                 {"verbs", texts(sub.verbs)}};
  if (!sub.version.empty() && (sub.group != kind.group || sub.version != kind.version)) {
    out["group"] = sub.group;
    out["version"] = sub.version;
  }
  return out;
}

JsonObject response_kind(std::string_view group, std::string_view version, std::string_view kind) {
  return {{"group", group}, {"version", version}, {"kind", kind}};
}

JsonObject aggregated_resource(const Kind& kind) {
  JsonObject out{{"resource", kind.plural},
                 {"responseKind", response_kind(kind.group, kind.version, kind.kind)},
                 {"scope", kind.namespaced ? "Namespaced" : "Cluster"},
                 {"singularResource", kind.singular},
                 {"verbs", texts(kind.verbs)}};
  if (!kind.short_names.empty()) out["shortNames"] = texts(kind.short_names);
  if (!kind.categories.empty()) out["categories"] = texts(kind.categories);
  JsonArray subresources;
  for (const Subresource& sub : kind.subresources) {
    subresources.push_back(JsonObject{
        {"subresource", sub.name},
        {"responseKind",
         sub.kind.empty()
             ? response_kind(kind.group, kind.version, kind.kind)
             : response_kind(sub.version.empty() ? kind.group : sub.group,
                             sub.version.empty() ? kind.version : sub.version, sub.kind)},
        {"verbs", texts(sub.verbs)}});
  }
  if (!subresources.empty()) out["subresources"] = std::move(subresources);
  return out;
}

JsonObject group_version(std::string_view group, std::string_view version) {
  return {{"groupVersion", std::string(group) + "/" + std::string(version)}, {"version", version}};
}

JsonObject group_entry(const KindTable& table, std::string_view group) {
  JsonArray versions;
  for (const auto& entry : table.group_versions()) {
    if (entry.group == group) versions.push_back(group_version(entry.group, entry.version));
  }
  Json preferred = versions.front();
  return {{"name", group},
          {"versions", std::move(versions)},
          {"preferredVersion", std::move(preferred)}};
}

std::vector<std::string> groups_of(const KindTable& table) {
  std::vector<std::string> out;
  for (const auto& entry : table.group_versions()) {
    if (!entry.group.empty() && (out.empty() || out.back() != entry.group))
      out.push_back(entry.group);
  }
  return out;
}

std::string resource_list(const KindTable::GroupVersion& entry) {
  JsonArray resources;
  for (const KindPtr& kind : entry.kinds) {
    resources.push_back(legacy_resource(*kind));
    for (const Subresource& sub : kind->subresources)
      resources.push_back(legacy_subresource(*kind, sub));
  }
  const std::string name = entry.group.empty() ? entry.version : entry.group + "/" + entry.version;
  return to_text(JsonObject{{"kind", "APIResourceList"},
                            {"apiVersion", "v1"},
                            {"groupVersion", name},
                            {"resources", std::move(resources)}}) +
         "\n";
}

std::string aggregated_list(const KindTable& table, bool core, std::string_view version) {
  JsonArray items;
  const auto item = [&](std::string_view group) {
    JsonArray versions;
    for (const auto& entry : table.group_versions()) {
      if (entry.group != group) continue;
      JsonArray resources;
      for (const KindPtr& kind : entry.kinds)
        resources.push_back(aggregated_resource(*kind));
      versions.push_back(JsonObject{{"version", entry.version},
                                    {"resources", std::move(resources)},
                                    {"freshness", "Current"}});
    }
    JsonObject metadata;
    if (!group.empty()) metadata["name"] = group;
    items.push_back(
        JsonObject{{"metadata", std::move(metadata)}, {"versions", std::move(versions)}});
  };
  if (core) {
    item("");
  } else {
    for (const std::string& group : groups_of(table))
      item(group);
  }
  return to_text(JsonObject{{"kind", "APIGroupDiscoveryList"},
                            {"apiVersion", fmt::format("apidiscovery.k8s.io/{}", version)},
                            {"metadata", JsonObject()},
                            {"items", std::move(items)}}) +
         "\n";
}

HttpResponse document_response(const SharedBytes& bytes, std::string content_type) {
  HttpResponse out;
  out.headers = {{"Content-Type", std::move(content_type)}};
  out.body.push_back(bytes);
  return out;
}

HttpResponse not_modified(const std::string& etag) {
  HttpResponse out;
  out.status = 304;
  out.headers = {{"ETag", etag}, {"Vary", "Accept"}};
  return out;
}

}  // namespace

Discovery::Discovery(KindTablePtr table, std::string server_address)
    : table_(std::move(table)), server_address_(std::move(server_address)) {}

Discovery::Document Discovery::document(const std::string& name,
                                        const std::function<std::string()>& make) const {
  const std::lock_guard lock(mutex_);
  auto found = documents_.find(name);
  if (found == documents_.end()) {
    auto bytes = std::make_shared<const std::string>(make());
    std::string etag = "\"" + hex(hash_bytes(*bytes)) + "\"";
    found = documents_.emplace(name, Document{std::move(bytes), std::move(etag)}).first;
  }
  return found->second;
}

std::optional<HttpResponse> Discovery::answer(const HttpRequest& request) const {
  std::string_view path = request.path();
  while (path.size() > 1 && path.ends_with("/"))
    path.remove_suffix(1);
  if (path.starts_with("/openapi/")) return openapi(request, path);
  if (path == "/api" || path == "/apis") {
    for (const AcceptClause& clause : parse_accept(request.header("Accept"))) {
      if (clause.media_type != "application/json" && clause.media_type != "*/*") continue;
      if (clause.as.empty()) break;
      if (clause.as != "APIGroupDiscoveryList" || clause.group != "apidiscovery.k8s.io") continue;
      if (clause.version != "v2" && clause.version != kV2Beta1) continue;
      const Document list = document(std::string(path) + clause.version, [&] {
        return aggregated_list(*table_, path == "/api", clause.version);
      });
      if (request.header("If-None-Match") == list.etag) return not_modified(list.etag);
      HttpResponse out = document_response(
          list.bytes,
          fmt::format("application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList",
                      clause.version));
      out.headers.insert(out.headers.end(),
                         {{"ETag", list.etag}, {"Vary", "Accept"}, {"Cache-Control", "public"}});
      return out;
    }
  }
  return legacy(path);
}

std::optional<HttpResponse> Discovery::legacy(std::string_view path) const {
  if (path == "/api") {
    return document_response(
        document("/api",
                 [&] {
                   return to_text(JsonObject{
                              {"kind", "APIVersions"},
                              {"versions", JsonArray{"v1"}},
                              {"serverAddressByClientCIDRs",
                               JsonArray{JsonObject{{"clientCIDR", "0.0.0.0/0"},
                                                    {"serverAddress", server_address_}}}}}) +
                          "\n";
                 })
            .bytes,
        "application/json");
  }
  if (path == "/apis") {
    return document_response(document("/apis",
                                      [&] {
                                        JsonArray groups;
                                        for (const std::string& group : groups_of(*table_))
                                          groups.push_back(group_entry(*table_, group));
                                        return to_text(JsonObject{{"kind", "APIGroupList"},
                                                                  {"apiVersion", "v1"},
                                                                  {"groups", std::move(groups)}}) +
                                               "\n";
                                      })
                                 .bytes,
                             "application/json");
  }
  const auto parts = split(path, '/');  // "", "apis", group, version
  if (parts.size() == 3 && parts[1] == "apis" && table_->serves_group(parts[2])) {
    return document_response(
        document(std::string(path),
                 [&] {
                   JsonObject group{{"kind", "APIGroup"}, {"apiVersion", "v1"}};
                   for (const auto& member : group_entry(*table_, parts[2]))
                     group[member.key()] = member.value();
                   return to_text(group) + "\n";
                 })
            .bytes,
        "application/json");
  }
  std::string_view group, version;
  if (parts.size() == 3 && parts[1] == "api") {
    version = parts[2];
  } else if (parts.size() == 4 && parts[1] == "apis") {
    group = parts[2];
    version = parts[3];
  } else {
    return std::nullopt;
  }
  for (const auto& entry : table_->group_versions()) {
    if (entry.group == group && entry.version == version) {
      return document_response(
          document(std::string(path), [&] { return resource_list(entry); }).bytes,
          "application/json");
    }
  }
  return std::nullopt;
}

Discovery::Document Discovery::openapi_group_version(const KindTable::GroupVersion& entry) const {
  return document("/openapi/v3/" + entry.group + "/" + entry.version, [&] {
    std::vector<OpenApiKind> kinds;
    for (const KindPtr& kind : entry.kinds) {
      kinds.push_back({kind->group, kind->version, kind->kind, kind->plural, kind->namespaced,
                       kind->custom, kind->schema, kind->crd_schema.get()});
    }
    return openapi_document(entry.group, entry.version, kinds);
  });
}

// The hash names the kinds and schemas, not the document: making every document to answer the index
// would cost a start.
std::string Discovery::openapi_index() const {
  JsonObject paths;
  for (const auto& entry : table_->group_versions()) {
    std::string identity = "4";
    for (const KindPtr& kind : entry.kinds) {
      identity += kind->kind + kind->plural + (kind->namespaced ? "n" : "c");
      if (kind->crd_schema != nullptr) identity += hex(hash_bytes(to_text(*kind->crd_schema)));
    }
    const std::string path =
        entry.group.empty() ? "api/" + entry.version : "apis/" + entry.group + "/" + entry.version;
    paths[path] = JsonObject{{"serverRelativeURL", fmt::format("/openapi/v3/{}?hash={}", path,
                                                               hex(hash_bytes(identity)))}};
  }
  return to_text(JsonObject{{"paths", std::move(paths)}}) + "\n";
}

Discovery::Document Discovery::openapi_v2(bool as_json) const {
  std::vector<std::shared_ptr<const std::string>> v3;  // before the lock that `document` takes
  for (const auto& entry : table_->group_versions())
    v3.push_back(openapi_group_version(entry).bytes);
  if (as_json) return document("/openapi/v2.json", [&] { return openapi_v2_json(v3); });
  return document("/openapi/v2", [&] { return openapi_v2_document(*table_, v3); });
}

std::optional<HttpResponse> Discovery::openapi(const HttpRequest& request,
                                               std::string_view path) const {
  if (path == "/openapi/v2") {
    // A JSON body for the protobuf Accept breaks kubectl, so each form is only sent to those who
    // ask for it.
    const bool as_json = request.header("Accept").find("protobuf") == std::string_view::npos;
    const Document found = openapi_v2(as_json);
    if (request.header("If-None-Match") == found.etag) return not_modified(found.etag);
    HttpResponse out = document_response(
        found.bytes, as_json ? "application/json"
                             : "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    out.headers.insert(out.headers.end(), {{"ETag", found.etag}, {"Vary", "Accept"}});
    return out;
  }
  if (path == "/openapi/v3") {
    const Document index = document("/openapi/v3", [&] { return openapi_index(); });
    if (request.header("If-None-Match") == index.etag) return not_modified(index.etag);
    HttpResponse out = document_response(index.bytes, "application/json");
    out.headers.emplace_back("ETag", index.etag);
    return out;
  }
  for (const auto& entry : table_->group_versions()) {
    const std::string own = entry.group.empty()
                                ? "/openapi/v3/api/" + entry.version
                                : "/openapi/v3/apis/" + entry.group + "/" + entry.version;
    if (path != own) continue;
    const Document found = openapi_group_version(entry);
    if (request.header("If-None-Match") == found.etag) return not_modified(found.etag);
    HttpResponse out = document_response(found.bytes, "application/json");
    out.headers.insert(out.headers.end(), {{"ETag", found.etag}, {"Vary", "Accept"}});
    if (request.query().find("hash=") != std::string_view::npos)
      out.headers.emplace_back("Cache-Control", "public, immutable, max-age=31536000");
    return out;
  }
  return std::nullopt;
}

}  // namespace yard
