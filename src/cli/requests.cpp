#include "cli/requests.h"

#include <optional>

#include <fmt/format.h>

namespace yard {
namespace {

constexpr size_t kMaxEventBytes = 64u
                                  << 20;  // no object is near that: a line this long is no watch

bool is_unreserved(unsigned char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.' || byte == '~';
}

Reason reason_of(std::string_view name, int status) {
  for (int index = 0; index <= static_cast<int>(Reason::Timeout); ++index) {
    const auto reason = static_cast<Reason>(index);
    if (name == wire_name(reason)) return reason;
  }
  for (int index = 0; index <= static_cast<int>(Reason::Timeout); ++index) {
    const auto reason = static_cast<Reason>(index);
    if (status == http_code(reason)) return reason;
  }
  return Reason::InternalError;
}

}  // namespace

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (is_unreserved(byte)) {
      out += character;
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  return out;
}

std::string query_text(const std::vector<QueryPart>& parts) {
  std::string out;
  for (const QueryPart& part : parts) {
    if (part.value.empty()) continue;
    out += fmt::format("{}{}={}", out.empty() ? "?" : "&", part.name, percent_encode(part.value));
  }
  return out;
}

std::vector<std::string> warning_texts(std::string_view header) {
  std::vector<std::string> texts;
  std::optional<std::string> open;
  for (size_t i = 0; i < header.size(); ++i) {
    const char character = header[i];
    if (!open) {
      if (character == '"') open.emplace();
    } else if (character == '\\' && i + 1 < header.size()) {
      *open += header[++i];
    } else if (character == '"') {
      texts.push_back(std::move(*open));
      open.reset();
    } else {
      *open += character;
    }
  }
  return texts;
}

Error server_error(const Reply& reply) {
  const auto parsed = parse_json(reply.body);
  const bool is_status = parsed && text_at(parsed->value, {"kind"}) == "Status";
  if (!is_status) {
    const std::string said = reply.body.empty() ? "no reason was given" : reply.body.substr(0, 500);
    return error(reason_of("", reply.status),
                 fmt::format("Error from server (HTTP {}): {}", reply.status, trim(said)));
  }
  const std::string_view reason = text_at(parsed->value, {"reason"});
  const std::string_view message = text_at(parsed->value, {"message"});
  return error(reason_of(reason, reply.status),
               reason.empty() ? fmt::format("Error from server: {}", message)
                              : fmt::format("Error from server ({}): {}", reason, message));
}

void Session::print_warnings(const Reply& reply) {
  for (const auto& [name, value] : reply.headers) {
    if (!equals_ignore_case(name, "Warning")) continue;
    for (const std::string& text : warning_texts(value)) {
      if (!warned_.insert(text).second) continue;
      terminal_.err << (terminal_.colour ? styled("Warning:", Style::Busy) : "Warning:") << " "
                    << printable(text) << "\n";
    }
  }
}

Result<Session::Answer> Session::call(const std::string& method, const std::string& target,
                                      const HeaderList& headers, const std::string& body) {
  const Reply reply = TRY(connection_.call(method, target, headers, body));
  print_warnings(reply);
  if (reply.status < 200 || reply.status > 299) return server_error(reply);
  ParsedJson parsed = TRY(parse_json(reply.body));
  return Answer{reply.status, std::move(parsed.value)};
}

Result<Json> Session::get(const std::string& target, std::string_view accept) {
  Answer answer = TRY(call("GET", target, {{"Accept", std::string(accept)}}, ""));
  return std::move(answer.body);
}

Result<void> Session::watch(const std::string& target, std::string_view accept,
                            const std::function<bool(const Json& event)>& event) {
  std::string pending;
  std::optional<Error> failed;
  const auto on_line = [&](std::string_view line) {
    if (trim(line).empty()) return true;
    auto parsed = parse_json(line);
    if (!parsed) {
      failed = parsed.error();
    } else if (text_at(parsed->value, {"kind"}) == "Status") {
      // A refusal that ends with a newline.
      const int code = static_cast<int>(int_at(parsed->value, {"code"}, 500));
      failed = server_error(Reply{code, {}, std::string(line)});
    } else if (text_at(parsed->value, {"type"}) == "ERROR") {
      const Json* status = find(parsed->value, "object");
      const int code = status == nullptr ? 500 : static_cast<int>(int_at(*status, {"code"}, 500));
      failed = server_error(Reply{code, {}, status == nullptr ? "" : to_text(*status)});
    } else if (event(parsed->value)) {
      return true;
    }
    return false;
  };
  const Reply reply = TRY(
      connection_.stream(target, {{"Accept", std::string(accept)}}, [&](std::string_view bytes) {
        pending.append(bytes);
        size_t start = 0;
        for (size_t end; (end = pending.find('\n', start)) != std::string::npos; start = end + 1) {
          if (!on_line(std::string_view(pending).substr(start, end - start))) return false;
        }
        pending.erase(0, start);
        return pending.size() <= kMaxEventBytes;
      }));
  if (failed) return *failed;
  if (reply.status < 200 || reply.status > 299) {
    return server_error(Reply{reply.status, reply.headers, pending});
  }
  return {};
}

}  // namespace yard
