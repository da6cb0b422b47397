#include "images/registry/registry_fault.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/json.h"

namespace yard {
namespace {

constexpr size_t kMostWords = 240;
constexpr std::string_view kBeforeMend = "; to mend it, ";

struct FaultRow {
  RegistryFault fault;
  const char* name;
  Reason reason;
};
constexpr FaultRow kFaults[] = {
    {RegistryFault::Unauthorized, "Unauthorized", Reason::Unauthorized},
    {RegistryFault::Denied, "Denied", Reason::Forbidden},
    {RegistryFault::NotFound, "NotFound", Reason::NotFound},
    {RegistryFault::TooMany, "TooMany", Reason::TooManyRequests},
    {RegistryFault::Unavailable, "Unavailable", Reason::ServiceUnavailable},
    {RegistryFault::Untrusted, "Untrusted", Reason::ServiceUnavailable},
    {RegistryFault::BadAnswer, "BadAnswer", Reason::ServiceUnavailable},
    {RegistryFault::BadManifest, "BadManifest", Reason::Invalid},
    {RegistryFault::DigestMismatch, "DigestMismatch", Reason::Invalid},
};

const FaultRow& row_of(RegistryFault fault) {
  return *std::ranges::find(kFaults, fault, &FaultRow::fault);
}

// One line of printable text, cut where it gets long.
std::string shortened(std::string_view text) {
  std::string out;
  for (const char c : trim(text)) {
    const bool is_space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (is_space && (out.empty() || out.back() == ' ')) continue;
    if (!is_space && static_cast<unsigned char>(c) < 0x20) continue;
    if (c == 0x7f) continue;
    out += is_space ? ' ' : c;
    if (out.size() == kMostWords) break;
  }
  if (out.size() == kMostWords) {
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80)
      out.pop_back();
    if (!out.empty() && (static_cast<unsigned char>(out.back()) & 0x80) != 0) out.pop_back();
    out += "...";
  }
  return is_valid_utf8(out) ? out : "";
}

}  // namespace

const char* wire_name(RegistryFault fault) {
  return row_of(fault).name;
}

Error registry_error(RegistryFault fault, std::string message) {
  const FaultRow& row = row_of(fault);
  Error failure = error(row.reason, std::move(message));
  failure.details.causes.push_back({row.name, "", ""});
  return failure;
}

RegistryFault fault_of(const Error& failure) {
  for (const Cause& cause : failure.details.causes) {
    const auto* found = std::ranges::find(kFaults, cause.reason, &FaultRow::name);
    if (found != std::end(kFaults)) return found->fault;
  }
  return RegistryFault::BadAnswer;
}

std::string mend_of(const Error& failure) {
  return failure.details.causes.empty() ? "" : failure.details.causes.front().message;
}

void set_mend(Error& failure, std::string mend) {
  if (failure.details.causes.empty()) failure.details.causes.push_back({"BadAnswer", "", ""});
  failure.details.causes.front().message = std::move(mend);
}

std::string with_mend(const Error& failure) {
  const std::string mend = mend_of(failure);
  return mend.empty() ? failure.message : fmt::format("{}{}{}", failure.message, kBeforeMend, mend);
}

WordsAndMend split_mend(std::string_view text) {
  const size_t at = text.find(kBeforeMend);
  if (at == std::string_view::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + kBeforeMend.size())};
}

std::string mend_for(RegistryFault fault, const MendFacts& facts) {
  const std::string login = fmt::format(
      "log in (`podman login {0}`, or with docker or skopeo), or name a Secret in the pod's "
      "imagePullSecrets (`kubectl create secret docker-registry NAME --docker-server={0} "
      "--docker-username=USER --docker-password=PASSWORD`)",
      facts.registry);
  switch (fault) {
    case RegistryFault::Unauthorized:
      return facts.had_login ? fmt::format("replace the login for {}, which is not accepted: {}",
                                           facts.registry, login)
                             : login;
    case RegistryFault::Denied: return fmt::format("use a login that may read it: {}", login);
    case RegistryFault::NotFound:
      return fmt::format(
          "check the name and the tag; where {} hides what is private, `podman login {}` first; or "
          "map the image to something on this machine (images.map in config.yaml)",
          facts.registry, facts.registry);
    case RegistryFault::TooMany:
      return fmt::format("wait, {}, or name a mirror (images.registries.{}.mirrors in config.yaml)",
                         login, facts.registry);
    case RegistryFault::Untrusted:
      return fmt::format(
          "in config.yaml name its authority (images.registries.{0}.ca: FILE), or say "
          "`plainHttp: true` there when it speaks no TLS",
          facts.registry);
    case RegistryFault::Unavailable:
      return fmt::format(
          "check that {0} is the right name and can be reached; without a network use `trainyard "
          "image load FILE`, a mirror (images.registries.{0}.mirrors in config.yaml) or the map "
          "(images.map)",
          facts.registry);
    case RegistryFault::BadAnswer:
    case RegistryFault::BadManifest:
    case RegistryFault::DigestMismatch:
      return fmt::format(
          "push the image to {0} again, or name another source (images.registries.{0}.mirrors in "
          "config.yaml)",
          facts.registry);
  }
  return "";
}

std::string registry_words(std::string_view body) {
  if (body.empty() || body.size() > 64 * 1024) return "";
  auto parsed = parse_json(body, {.max_depth = 16});
  // A page of HTML says nothing that fits into one line.
  if (!parsed) return body.find('<') == std::string_view::npos ? shortened(body) : "";
  const Json& tree = parsed->value;
  if (const Json* errors = find(tree, "errors"); errors && errors->is_array()) {
    for (const Json& entry : errors->get_array()) {
      const std::string_view code = text_at(entry, {"code"}), message = text_at(entry, {"message"});
      if (code.empty() && message.empty()) continue;
      return shortened(message.empty() || code.empty()
                           ? fmt::format("{}{}", lower(code), message)
                           : fmt::format("{}: {}", lower(code), message));
    }
  }
  // Token servers: OAuth2's words, or a plain `details` or `message`.
  for (const char* key : {"error_description", "message", "details", "error"}) {
    if (const std::string_view words = text_at(tree, {key}); !words.empty())
      return shortened(words);
  }
  return "";
}

}  // namespace yard
