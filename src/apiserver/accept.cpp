#include "apiserver/accept.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"

namespace yard {
namespace {

enum class Encoding { Json, Yaml, Unserved };

Encoding encoding_of(std::string_view media_type) {
  if (media_type == "application/json" || media_type == "*/*" || media_type == "application/*")
    return Encoding::Json;
  if (media_type == "application/yaml") return Encoding::Yaml;
  return Encoding::Unserved;
}

Error not_acceptable(std::string message) {
  return error(Reason::NotAcceptable, std::move(message));
}

}  // namespace

std::vector<AcceptClause> parse_accept(std::string_view accept) {
  std::vector<AcceptClause> out;
  for (const std::string_view part : split(accept, ',')) {
    if (trim(part).empty() || out.size() == 32) continue;
    AcceptClause clause;
    bool first = true;
    for (const std::string_view piece : split(part, ';')) {
      const std::string_view text = trim(piece);
      if (first) {
        clause.media_type = lower(text);
        first = false;
        continue;
      }
      const size_t equals = text.find('=');
      if (equals == std::string_view::npos) continue;
      const std::string_view name = trim(text.substr(0, equals)),
                             value = trim(text.substr(equals + 1));
      if (name == "as") clause.as = value;
      if (name == "g") clause.group = value;
      if (name == "v") clause.version = value;
      if (name == "q") {
        double quality = 1;
        if (std::from_chars(value.data(), value.data() + value.size(), quality).ec == std::errc{}) {
          clause.quality = quality;
        }
      }
    }
    out.push_back(std::move(clause));
  }
  std::ranges::stable_sort(
      out, [](const AcceptClause& a, const AcceptClause& b) { return a.quality > b.quality; });
  return out;
}

Result<Representation> negotiate(std::string_view accept, const Offer& offer) {
  if (trim(accept).empty()) return Representation{};
  std::string complaint;
  for (const AcceptClause& clause : parse_accept(accept)) {
    const Encoding encoding = encoding_of(clause.media_type);
    if (encoding == Encoding::Unserved || clause.quality <= 0) continue;
    if (encoding == Encoding::Yaml && offer.watch) continue;
    Representation out;
    out.yaml = encoding == Encoding::Yaml;
    if (clause.as.empty()) return out;
    if (!offer.transforms || clause.group != "meta.k8s.io") continue;
    out.transform_version = clause.version;
    const bool known_version = clause.version == "v1" || clause.version == "v1beta1";
    if (clause.as == "Table" && known_version) {
      out.form = Representation::Form::Table;
      return out;
    }
    if (clause.as == "PartialObjectMetadataList" && known_version && offer.list) {
      out.form = Representation::Form::PartialMetadata;
      return out;
    }
    if (clause.as == "PartialObjectMetadata" && known_version) {
      if (offer.list && !offer.watch) {
        complaint = "you requested PartialObjectMetadata, but the requested object is a list";
        continue;
      }
      out.form = Representation::Form::PartialMetadata;
      return out;
    }
  }
  if (!complaint.empty()) return not_acceptable(complaint);
  return not_acceptable(
      "only the following media types are accepted: application/json, application/yaml");
}

}  // namespace yard
