#include "net/upgrade.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "net/websocket.h"

namespace yard {
namespace {

constexpr std::string_view kSpdyInside = "SPDY/3.1+";  // a prefix: SPDY inside WebSocket

// The words of every header of that name, which may be sent several times or as one list.
std::vector<std::string> words_of(const HttpRequest& request, std::string_view name) {
  std::vector<std::string> out;
  for (const auto& [key, value] : request.headers) {
    if (!equals_ignore_case(key, name)) continue;
    for (const std::string_view word : split(value, ',')) {
      if (const std::string_view bare = trim(word); !bare.empty()) out.emplace_back(bare);
    }
  }
  return out;
}

bool has_word(const HttpRequest& request, std::string_view name, std::string_view wanted) {
  return std::ranges::any_of(words_of(request, name), [&](const std::string& word) {
    return equals_ignore_case(word, wanted);
  });
}

const std::string* first_spoken(const std::vector<std::string>& asked,
                                std::span<const std::string_view> spoken) {
  const auto found = std::ranges::find_if(asked, [&](const std::string& each) {
    return std::ranges::find(spoken, each) != spoken.end();
  });
  return found == asked.end() ? nullptr : &*found;
}

Error no_common(const std::vector<std::string>& asked, std::span<const std::string_view> spoken) {
  return error(Reason::Forbidden,
               fmt::format("unable to upgrade: unable to negotiate protocol: client supports [{}], "
                           "server accepts [{}]",
                           join(asked, " "), fmt::join(spoken, " ")));
}

Result<Upgrade> websocket_upgrade(const HttpRequest& request, const UpgradeOffer& offer) {
  Upgrade out;
  const std::string_view key = request.header("Sec-WebSocket-Key");
  // POST is ours alone: it asks for the right to create an exec, where GET asks to read one.
  if ((request.method != "GET" && request.method != "POST") || key.empty() ||
      request.header("Sec-WebSocket-Version") != "13")
    return error(Reason::BadRequest, "unable to upgrade: not a WebSocket handshake");
  const auto asked = words_of(request, "Sec-WebSocket-Protocol");
  const std::string* chosen = first_spoken(asked, offer.websocket);
  if (chosen == nullptr && !asked.empty()) return no_common(asked, offer.websocket);
  if (chosen != nullptr) out.protocol = *chosen;
  if (out.protocol.starts_with(kSpdyInside)) out.wire = Upgrade::Wire::SpdyInWebSocket;
  out.headers = {{"Upgrade", "websocket"},
                 {"Connection", "Upgrade"},
                 {"Sec-WebSocket-Accept", websocket_accept(key)}};
  if (!out.protocol.empty()) out.headers.emplace_back("Sec-WebSocket-Protocol", out.protocol);
  return out;
}

}  // namespace

Result<Upgrade> choose_upgrade(const HttpRequest& request, const UpgradeOffer& offer) {
  if (!has_word(request, "Connection", "upgrade"))
    return error(Reason::BadRequest, "Upgrade request required");
  if (has_word(request, "Upgrade", "websocket")) return websocket_upgrade(request, offer);
  if (!has_word(request, "Upgrade", "SPDY/3.1"))
    return error(Reason::BadRequest, "Upgrade request required");
  const auto asked = words_of(request, "X-Stream-Protocol-Version");
  Upgrade out;
  out.wire = Upgrade::Wire::Spdy;
  // Clients from before the header speak the first version.
  const std::string* chosen = first_spoken(asked, offer.spdy);
  if (chosen == nullptr && !asked.empty()) return no_common(asked, offer.spdy);
  out.headers = {{"Upgrade", "SPDY/3.1"}, {"Connection", "Upgrade"}};
  if (chosen != nullptr) {
    out.protocol = *chosen;
    out.headers.emplace_back("X-Stream-Protocol-Version", out.protocol);
  }
  return out;
}

}  // namespace yard
