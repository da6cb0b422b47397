#include "node/shim/order.h"

#include <charconv>

#include "node/shim/json.h"

namespace shim {
namespace {

constexpr size_t kMostVerb = 15, kMostContainer = 255;
constexpr std::string_view kSpaces = " \t\r\n";

std::string_view next_word(std::string_view& rest) {
  const size_t begin = rest.find_first_not_of(kSpaces);
  rest.remove_prefix(begin == rest.npos ? rest.size() : begin);
  const size_t end = rest.find_first_of(kSpaces);
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(word.size());
  return word;
}

bool read_number(std::string_view word, int& number) {
  const char* end = word.data() + word.size();
  int read = 0;
  const auto [stop, problem] = std::from_chars(word.data(), end, read);
  if (problem != std::errc() || stop != end) return false;
  number = read;
  return true;
}

}  // namespace

Order read_order(std::string_view message) {
  message = message.substr(0, message.find('\0'));
  Order order;
  const std::string_view verb = next_word(message), container = next_word(message);
  const std::string_view number = next_word(message), signal = next_word(message);
  if (verb.empty() || verb.size() > kMostVerb) return order;
  order.verb = verb;
  order.words = 1;
  if (container.empty() || container.size() > kMostContainer) return order;
  order.container = container;
  order.words = 2;
  if (!read_number(number, order.number)) return order;
  order.words = 3;
  if (read_number(signal, order.signal)) order.words = 4;
  return order;
}

std::string read_command(std::string_view text, CommandRequest& request) {
  Value root;
  if (!parse(text, root)) return "the command could not be read";
  for (const Value& item : root["argv"].items)
    request.argv.push_back(item.text);
  request.terminal = root["terminal"].boolean;
  request.kill_when_left = root["killWhenLeft"].boolean;
  return request.argv.empty() ? "the command is empty" : "";
}

}  // namespace shim
