#include "cli/exec.h"

#include "api/tree.h"
#include "base/strings.h"
#include "cli/terminal.h"
#include "json/json.h"

namespace yard {
namespace {

std::string encoded(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kDigits[static_cast<unsigned char>(c) >> 4];
      out += kDigits[static_cast<unsigned char>(c) & 15];
    }
  }
  return out;
}

}  // namespace

std::string exec_target(const ExecOptions& options) {
  std::string out = "/api/v1/namespaces/" + encoded(options.name_space) + "/pods/" +
                    encoded(options.pod) + "/exec?stdout=true";
  out += options.terminal ? "&tty=true" : "&stderr=true";
  if (options.input) out += "&stdin=true";
  if (!options.container.empty()) out += "&container=" + encoded(options.container);
  for (const std::string& word : options.argv)
    out += "&command=" + encoded(word);
  return out;
}

ExecEnd exec_end(int http_status, std::string_view text) {
  const auto parsed = parse_json(text);
  const Json status = parsed ? parsed->value : Json(JsonObject());
  std::string message(text_at(status, {"message"}));
  if (http_status == 101 && text_at(status, {"status"}) == "Success") return {};
  for (const Json& cause : list_at(status, {"details", "causes"})) {
    if (text_at(cause, {"reason"}) != "ExitCode") continue;
    const auto code = parse_int64(text_at(cause, {"message"}));
    if (code) return {static_cast<int>(*code), ""};
  }
  if (message.empty()) message = text;
  if (message.empty()) message = "the connection to the control plane broke";
  return {http_status == 404 ? kNotFound : kFailed, message};
}

}  // namespace yard
