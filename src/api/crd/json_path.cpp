#include "api/crd/json_path.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {

namespace {

constexpr size_t kMostMatches = 1000;
constexpr size_t kMostSteps = 64;
constexpr int kMostNestedFilters = 4;

}  // namespace

class JsonPathReader {
 public:
  JsonPathReader(std::string_view text, int depth) : text_(text), depth_(depth) {}

  Result<JsonPath> read() {
    JsonPath path;
    if (depth_ > kMostNestedFilters) return fail("filters nest too deep");
    if (starts_with("$") || starts_with("@")) ++at_;
    while (at_ < text_.size()) {
      if (path.steps_.size() == kMostSteps) return fail("too many steps");
      if (text_[at_] == '.') {
        TRY(read_dot(path));
      } else if (text_[at_] == '[') {
        TRY(read_brackets(path));
      } else {
        return fail("a step begins with . or [");
      }
    }
    return path;
  }

 private:
  Error fail(std::string_view why) const {
    return error(Reason::BadRequest, fmt::format("invalid JSONPath {}: {}", quoted(text_), why));
  }
  bool starts_with(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  Result<void> read_dot(JsonPath& path) {
    ++at_;
    if (at_ == text_.size()) return {};  // a dot alone is the value itself
    if (text_[at_] == '.') {
      ++at_;
      path.steps_.emplace_back(JsonPath::Descendants{});
    }
    if (starts_with("[")) return {};
    if (starts_with("*")) {
      ++at_;
      path.steps_.emplace_back(JsonPath::Everything{});
      return {};
    }
    std::string name;
    while (at_ < text_.size() && text_[at_] != '.' && text_[at_] != '[') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      name += text_[at_++];
    }
    if (name.empty()) return fail("a member has no name");
    path.steps_.emplace_back(JsonPath::Member{std::move(name)});
    return {};
  }

  // The text between brackets, where quotes hide brackets.
  Result<std::string_view> bracketed() {
    const size_t begin = ++at_;
    char quote = 0;
    int open = 1;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quote != 0) {
        if (c == '\\') {
          ++at_;
        } else if (c == quote) {
          quote = 0;
        }
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '[') {
        ++open;
      } else if (c == ']' && --open == 0) {
        return trim(text_.substr(begin, at_++ - begin));
      }
    }
    return fail("a bracket is not closed");
  }

  static std::optional<std::string> unquoted(std::string_view text) {
    if (text.size() < 2 || (text[0] != '"' && text[0] != '\'') || text.back() != text[0]) {
      return std::nullopt;
    }
    std::string out;
    text = text.substr(1, text.size() - 2);
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      out += text[i];
    }
    return out;
  }

  Result<void> read_brackets(JsonPath& path) {
    const std::string_view inside = TRY(bracketed());
    if (inside == "*") {
      path.steps_.emplace_back(JsonPath::Everything{});
      return {};
    }
    if (auto name = unquoted(inside)) {
      path.steps_.emplace_back(JsonPath::Member{std::move(*name)});
      return {};
    }
    if (inside.starts_with("?(") && inside.ends_with(")")) {
      return read_filter(path, trim(inside.substr(2, inside.size() - 3)));
    }
    return read_range(path, inside);
  }

  Result<void> read_range(JsonPath& path, std::string_view inside) {
    const auto parts = split(inside, ':');
    if (parts.size() > 3) return fail("a slice has at most three numbers");
    JsonPath::Range range;
    range.single = parts.size() == 1;
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::string_view part = trim(parts[i]);
      if (part.empty() && !range.single) continue;
      const auto number = parse_int64(part);
      if (!number || *number > INT32_MAX || *number < INT32_MIN)
        return fail("a position is a number");
      if (i == 0) range.begin = *number;
      if (i == 1) range.end = *number;
      if (i == 2) range.step = *number;
    }
    if (range.step < 1) return fail("a slice's step is 1 or more");
    path.steps_.emplace_back(range);
    return {};
  }

  Result<void> read_filter(JsonPath& path, std::string_view inside) {
    static constexpr std::string_view kComparisons[] = {"==", "!=", "<=", ">=", "<", ">"};
    JsonPath::Filter filter;
    size_t at = inside.npos;
    char quote = 0;
    for (size_t i = 0; i < inside.size() && at == inside.npos; ++i) {
      const char c = inside[i];
      if (quote != 0) {
        if (c == quote) quote = 0;
        continue;
      }
      if (c == '"' || c == '\'') quote = c;
      for (const std::string_view comparison : kComparisons) {
        if (!inside.substr(i).starts_with(comparison)) continue;
        at = i;
        filter.comparison = comparison;
        break;
      }
    }
    const std::string_view left = trim(inside.substr(0, at));
    if (!left.starts_with("@")) return fail("a filter compares something of @");
    JsonPath parsed = TRY(JsonPathReader(left, depth_ + 1).read());
    filter.left = std::make_shared<const JsonPath>(std::move(parsed));
    if (at != inside.npos) {
      const std::string_view right = trim(inside.substr(at + filter.comparison.size()));
      filter.right = TRY(literal(right));
    }
    path.steps_.emplace_back(std::move(filter));
    return {};
  }

  Result<Json> literal(std::string_view text) const {
    if (auto plain = unquoted(text)) return Json(*plain);
    if (text == "true" || text == "false") return Json(text == "true");
    if (const auto number = parse_int64(text)) return Json(*number);
    double real = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), real);
    if (problem != std::errc() || end != text.data() + text.size()) {
      return fail("a filter compares with a text, a number or a boolean");
    }
    return Json(real);
  }

  std::string_view text_;
  int depth_;
  size_t at_ = 0;
};

namespace {

std::optional<double> as_number(const Json& value) {
  if (const int64_t* whole = value.if_int64()) return static_cast<double>(*whole);
  if (const double* real = value.if_double()) return *real;
  return std::nullopt;
}

// Less than, equal, greater: -1, 0, 1; nothing for values of two sorts.
std::optional<int> compare(const Json& left, const Json& right) {
  if (left.is_string() && right.is_string()) {
    const int order = text_of(left).compare(text_of(right));
    return order < 0 ? -1 : order > 0;
  }
  const auto a = as_number(left), b = as_number(right);
  if (a && b) return *a < *b ? -1 : *a > *b;
  return std::nullopt;
}

bool holds(const Json& left, const std::string& comparison, const Json& right) {
  if (comparison == "==") return equal(left, right);
  if (comparison == "!=") return !equal(left, right);
  const std::optional<int> order = compare(left, right);
  if (!order) return false;
  if (comparison == "<") return *order < 0;
  if (comparison == "<=") return *order <= 0;
  if (comparison == ">") return *order > 0;
  return *order >= 0;
}

void add_descendants(const Json& value, std::vector<const Json*>& out) {
  if (out.size() >= kMostMatches) return;
  out.push_back(&value);
  if (const JsonObject* object = value.if_object()) {
    for (const auto& member : *object)
      add_descendants(member.value(), out);
  } else if (const JsonArray* array = value.if_array()) {
    for (const Json& item : *array)
      add_descendants(item, out);
  }
}

}  // namespace

Result<JsonPath> JsonPath::parse(std::string_view text) {
  return JsonPathReader(text, 0).read();
}

void JsonPath::take(const Step& step, const Json& value, std::vector<const Json*>& out) {
  if (const Member* member = std::get_if<Member>(&step)) {
    if (const Json* found = find(value, member->name)) out.push_back(found);
    return;
  }
  if (std::holds_alternative<Descendants>(step)) return add_descendants(value, out);
  if (const JsonObject* object = value.if_object();
      object != nullptr && std::holds_alternative<Everything>(step)) {
    for (const auto& member : *object)
      out.push_back(&member.value());
    return;
  }
  const JsonArray* array = value.if_array();
  if (array == nullptr) return;
  const auto size = static_cast<int64_t>(array->size());
  if (const Range* range = std::get_if<Range>(&step)) {
    const auto from_end = [&](int64_t position) {
      return position < 0 ? position + size : position;
    };
    const int64_t begin = from_end(range->begin);
    if (range->single) {
      if (begin >= 0 && begin < size) out.push_back(&(*array)[static_cast<size_t>(begin)]);
      return;
    }
    const int64_t end = range->end ? std::min(from_end(*range->end), size) : size;
    for (int64_t at = std::max<int64_t>(begin, 0); at < end; at += range->step)
      out.push_back(&(*array)[static_cast<size_t>(at)]);
    return;
  }
  const Filter* filter = std::get_if<Filter>(&step);
  for (const Json& item : *array) {
    const Json* left = filter == nullptr ? nullptr : filter->left->find_first(item);
    const bool taken =
        filter == nullptr || (left != nullptr && (filter->comparison.empty() ||
                                                  holds(*left, filter->comparison, filter->right)));
    if (taken) out.push_back(&item);
  }
}

std::vector<const Json*> JsonPath::find_all(const Json& root) const {
  std::vector<const Json*> found{&root};
  std::vector<const Json*> next;
  for (const Step& step : steps_) {
    next.clear();
    for (const Json* value : found) {
      take(step, *value, next);
      if (next.size() >= kMostMatches) break;
    }
    found.swap(next);
    if (found.empty()) break;
  }
  return found;
}

const Json* JsonPath::find_first(const Json& root) const {
  const std::vector<const Json*> found = find_all(root);
  return found.empty() ? nullptr : found.front();
}

std::vector<std::string> simple_path_steps(std::string_view path) {
  if (path.starts_with(".")) path.remove_prefix(1);
  std::vector<std::string> out;
  for (const std::string_view step : split(path, '.'))
    out.emplace_back(step);
  return out;
}

}  // namespace yard
