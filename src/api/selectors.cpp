#include "api/selectors.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "api/meta/names.h"
#include "base/strings.h"

namespace yard {

namespace {

// The language of `a=1,b in (x,y),!c` in tokens. `in` and `notin` are words that are operators only
// where an operator may stand.
enum class Token { End, Open, Close, Comma, Not, Equals, NotEquals, Greater, Less, Word };

struct Lexeme {
  Token token = Token::End;
  std::string_view text;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : rest_(text) { next_ = scan(); }
  const Lexeme& peek() const { return next_; }
  Lexeme take() {
    Lexeme taken = next_;
    next_ = scan();
    return taken;
  }

 private:
  static constexpr std::string_view kSpaces = " \t\r\n";
  static constexpr std::string_view kSpecial = "=!(),><";

  Lexeme cut(Token token, size_t length) {
    Lexeme made{token, rest_.substr(0, length)};
    rest_.remove_prefix(length);
    return made;
  }

  Lexeme scan() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpaces), rest_.size()));
    if (rest_.empty()) return {};
    if (rest_.starts_with("==")) return cut(Token::Equals, 2);
    if (rest_.starts_with("!=")) return cut(Token::NotEquals, 2);
    switch (rest_[0]) {
      case '(': return cut(Token::Open, 1);
      case ')': return cut(Token::Close, 1);
      case ',': return cut(Token::Comma, 1);
      case '!': return cut(Token::Not, 1);
      case '=': return cut(Token::Equals, 1);
      case '>': return cut(Token::Greater, 1);
      case '<': return cut(Token::Less, 1);
      default: break;
    }
    size_t end = 0;
    while (end < rest_.size() && kSpaces.find(rest_[end]) == kSpaces.npos &&
           kSpecial.find(rest_[end]) == kSpecial.npos) {
      ++end;
    }
    return cut(Token::Word, end);
  }

  std::string_view rest_;
  Lexeme next_;
};

Error unexpected(std::string_view found, std::string_view expected) {
  return error(Reason::BadRequest, fmt::format("found '{}', expected: {}", found, expected));
}

// One message for the errors of one requirement, as an aggregate prints: a, or [a, b].
Error requirement_error(const FieldErrors& errors) {
  std::vector<std::string> texts;
  for (const Cause& cause : errors)
    texts.push_back(cause.field + ": " + cause.message);
  std::string text = join(texts, ", ");
  return error(Reason::BadRequest, texts.size() == 1 ? text : "[" + text + "]");
}

std::optional<Cause> key_problem(std::string_view key) {
  std::vector<std::string> problems = qualified_name_problems(key);
  if (problems.empty()) return std::nullopt;
  // Upstream validates without a path here, and prints Go's nil for it.
  return invalid(FieldPath("<nil>"), Json(key), join(problems, "; "));
}

FieldErrors value_problems(std::string_view key, const std::vector<std::string>& values) {
  FieldErrors errors;
  for (size_t i = 0; i < values.size(); ++i) {
    std::vector<std::string> problems = label_value_problems(values[i]);
    if (problems.empty()) continue;
    errors.push_back(
        invalid(FieldPath("values").index(i).key(key), Json(values[i]), join(problems, "; ")));
  }
  return errors;
}

}  // namespace

// Builds requirements; the one place that judges keys, operators and values.
class LabelSelectorParser {
 public:
  using Operator = LabelSelector::Operator;
  using Requirement = LabelSelector::Requirement;

  explicit LabelSelectorParser(std::string_view text) : lexer_(text) {}

  Result<LabelSelector> parse() {
    LabelSelector selector;
    if (lexer_.peek().token == Token::End) return selector;
    if (!begins_requirement()) {
      return unexpected(lexer_.peek().text, "!, identifier, or 'end of string'");
    }
    while (true) {
      Result<Requirement> requirement = parse_requirement();
      if (!requirement) {
        return error(Reason::BadRequest,
                     "unable to parse requirement: " + requirement.error().message);
      }
      selector.requirements_.push_back(std::move(*requirement));
      Lexeme separator = lexer_.take();
      if (separator.token == Token::End) return selector;
      if (separator.token != Token::Comma) {
        return unexpected(separator.text, "',' or 'end of string'");
      }
      if (!begins_requirement()) return unexpected(lexer_.peek().text, "identifier after ','");
    }
  }

  static Result<Requirement> checked(std::string_view key, Operator op,
                                     std::vector<std::string> values) {
    FieldErrors errors;
    if (std::optional<Cause> problem = key_problem(key)) errors.push_back(std::move(*problem));
    const FieldPath path("values");
    if ((op == Operator::In || op == Operator::NotIn) && values.empty()) {
      errors.push_back(
          invalid(path, JsonArray(), "for 'in', 'notin' operators, values set can't be empty"));
    }
    if ((op == Operator::Exists || op == Operator::DoesNotExist) && !values.empty()) {
      errors.push_back(
          invalid(path, list(values), "values set must be empty for exists and does not exist"));
    }
    if (op == Operator::GreaterThan || op == Operator::LessThan) {
      for (size_t i = 0; i < values.size(); ++i) {
        if (parse_int64(values[i])) continue;
        errors.push_back(invalid(path.index(i), Json(values[i]),
                                 "for 'Gt', 'Lt' operators, the value must be an integer"));
      }
    }
    FieldErrors of_values = value_problems(key, values);
    errors.insert(errors.end(), of_values.begin(), of_values.end());
    if (!errors.empty()) return requirement_error(errors);
    return Requirement{std::string(key), op, std::move(values)};
  }

  static Result<LabelSelector> from_json(const Json& json) {
    LabelSelector selector;
    if (!json.is_object()) {  // no selector at all selects nothing, as upstream
      selector.requirements_.push_back(Requirement{"", Operator::In, {}});
      return selector;
    }
    if (const Json* labels = find(json, "matchLabels"); labels != nullptr && labels->is_object()) {
      for (const auto& [key, value] : labels->get_object()) {
        selector.requirements_.push_back(TRY(checked(key, Operator::In, {text(value)})));
      }
    }
    const Json* expressions = find(json, "matchExpressions");
    if (expressions == nullptr || !expressions->is_array()) return selector;
    for (const Json& expression : expressions->get_array()) {
      selector.requirements_.push_back(TRY(from_expression(expression)));
    }
    return selector;
  }

 private:
  static std::string text(const Json& value) {
    return value.is_string() ? std::string(value.get_string()) : std::string();
  }

  static Json list(const std::vector<std::string>& values) {
    return JsonArray(values.begin(), values.end());
  }

  static Result<Requirement> from_expression(const Json& expression) {
    static constexpr std::array<std::pair<std::string_view, Operator>, 4> kOperators{{
        {"In", Operator::In},
        {"NotIn", Operator::NotIn},
        {"Exists", Operator::Exists},
        {"DoesNotExist", Operator::DoesNotExist},
    }};
    std::vector<std::string> values;
    if (const Json* listed = find(expression, "values"); listed != nullptr && listed->is_array()) {
      for (const Json& value : listed->get_array())
        values.push_back(text(value));
    }
    std::string_view name = text_at(expression, {"operator"});
    for (const auto& [known, op] : kOperators) {
      if (name == known) return checked(text_at(expression, {"key"}), op, std::move(values));
    }
    return error(Reason::BadRequest,
                 fmt::format("{} is not a valid label selector operator", quoted(name)));
  }

  bool begins_requirement() const {
    return lexer_.peek().token == Token::Word || lexer_.peek().token == Token::Not;
  }

  bool at_end_of_requirement() const {
    return lexer_.peek().token == Token::End || lexer_.peek().token == Token::Comma;
  }

  Result<Requirement> parse_requirement() {
    Lexeme key = lexer_.take();
    bool negated = key.token == Token::Not;
    if (negated) key = lexer_.take();
    if (key.token != Token::Word) return unexpected(key.text, "identifier");
    if (std::optional<Cause> problem = key_problem(key.text)) return requirement_error({*problem});
    if (negated) return checked(key.text, Operator::DoesNotExist, {});
    if (at_end_of_requirement()) return checked(key.text, Operator::Exists, {});
    Lexeme word = lexer_.take();
    if (word.token == Token::Word && (word.text == "in" || word.text == "notin")) {
      std::vector<std::string> values = TRY(parse_values());
      return checked(key.text, word.text == "in" ? Operator::In : Operator::NotIn,
                     std::move(values));
    }
    Operator op = Operator::In;
    switch (word.token) {
      case Token::Equals: break;
      case Token::NotEquals: op = Operator::NotIn; break;
      case Token::Greater: op = Operator::GreaterThan; break;
      case Token::Less: op = Operator::LessThan; break;
      default: return unexpected(word.text, "in, notin, =, ==, !=, gt, lt");
    }
    std::string value = TRY(parse_exact_value());
    return checked(key.text, op, {std::move(value)});
  }

  Result<std::string> parse_exact_value() {
    if (at_end_of_requirement()) return std::string();
    Lexeme value = lexer_.take();
    if (value.token != Token::Word) return unexpected(value.text, "identifier");
    return std::string(value.text);
  }

  // `(a,b)`, where an empty place between commas is the empty value.
  Result<std::vector<std::string>> parse_values() {
    Lexeme open = lexer_.take();
    if (open.token != Token::Open) {
      return error(Reason::BadRequest, fmt::format("found '{}' expected: '('", open.text));
    }
    std::vector<std::string> values;
    if (lexer_.peek().token == Token::Close) {
      lexer_.take();
      return values;
    }
    if (lexer_.peek().token != Token::Word && lexer_.peek().token != Token::Comma) {
      return unexpected(lexer_.peek().text, "',', ')' or identifier");
    }
    while (true) {
      if (lexer_.peek().token == Token::Word) {
        values.emplace_back(lexer_.take().text);
      } else if (lexer_.peek().token == Token::Comma || lexer_.peek().token == Token::Close) {
        values.emplace_back();
      } else {
        return unexpected(lexer_.peek().text, "',', or identifier");
      }
      Lexeme after = lexer_.take();
      if (after.token == Token::Close) break;
      if (after.token != Token::Comma) return unexpected(after.text, "',' or ')'");
    }
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }

  Lexer lexer_;
};

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  return LabelSelectorParser(text).parse();
}

Result<LabelSelector> LabelSelector::from_json(const Json& selector) {
  return LabelSelectorParser::from_json(selector);
}

template <typename Lookup>
bool LabelSelector::holds(const Lookup& label) const {
  auto satisfied = [&](const Requirement& requirement) {
    std::optional<std::string_view> value = label(requirement.key);
    auto listed = [&] {
      return std::ranges::any_of(requirement.values,
                                 [&](const std::string& known) { return known == *value; });
    };
    auto number = [](std::string_view text) { return parse_int64(text); };
    switch (requirement.op) {
      case Operator::In: return value && listed();
      case Operator::NotIn: return !value || !listed();
      case Operator::Exists: return value.has_value();
      case Operator::DoesNotExist: return !value;
      case Operator::GreaterThan:
        return value && number(*value) && *number(*value) > *number(requirement.values[0]);
      case Operator::LessThan:
        return value && number(*value) && *number(*value) < *number(requirement.values[0]);
    }
    return false;
  };
  return std::ranges::all_of(requirements_, satisfied);
}

bool LabelSelector::matches(const Object& object) const {
  return holds([&](std::string_view key) { return object.label(key); });
}

bool LabelSelector::matches_labels(const Json& labels) const {
  return holds([&](std::string_view key) -> std::optional<std::string_view> {
    const Json* value = find(labels, key);
    if (value == nullptr || !value->is_string()) return std::nullopt;
    return std::string_view(value->get_string());
  });
}

namespace {

constexpr int kNameField = -1;
constexpr int kNamespaceField = -2;

// Terms are separated by commas that no backslash escapes.
std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ',') {
      terms.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  terms.push_back(text.substr(begin));
  return terms;
}

struct FieldTerm {
  std::string_view path, value;
  bool equal = true;
};

std::optional<FieldTerm> split_term(std::string_view term) {
  for (size_t i = 0; i < term.size(); ++i) {
    std::string_view rest = term.substr(i);
    if (rest.starts_with("!=")) return FieldTerm{term.substr(0, i), rest.substr(2), false};
    if (rest.starts_with("==")) return FieldTerm{term.substr(0, i), rest.substr(2), true};
    if (rest.starts_with("=")) return FieldTerm{term.substr(0, i), rest.substr(1), true};
  }
  return std::nullopt;
}

Result<std::string> unescape(std::string_view value) {
  std::string out;
  out.reserve(value.size());
  for (size_t i = 0; i < value.size(); ++i) {
    char c = value[i];
    if (c == '\\') {
      std::string_view sequence = value.substr(i, 2);
      if (sequence != "\\\\" && sequence != "\\," && sequence != "\\=") {
        return error(Reason::BadRequest,
                     fmt::format("invalid field selector: invalid escape sequence: {}", sequence));
      }
      out += sequence[1];
      ++i;
    } else if (c == ',' || c == '=') {
      return error(Reason::BadRequest,
                   fmt::format("invalid field selector: unescaped character in value: {}",
                               static_cast<int>(c)));
    } else {
      out += c;
    }
  }
  return out;
}

Result<int> resolve_field(std::string_view path, const Kind& kind) {
  bool has_own_list = kind.custom || !kind.selectable_fields.empty();
  if (path == "metadata.name") return kNameField;
  if (path == "metadata.namespace" && (kind.namespaced || !has_own_list)) return kNamespaceField;
  if (path == "spec.host" && kind.storage == "pods") path = "spec.nodeName";  // its name before v1
  auto found = std::ranges::find(kind.selectable_fields, path);
  if (found != kind.selectable_fields.end()) {
    return static_cast<int>(found - kind.selectable_fields.begin());
  }
  if (has_own_list) {
    return error(Reason::BadRequest, fmt::format("field label not supported: {}", path));
  }
  return error(Reason::BadRequest,
               fmt::format("{} is not a known field selector: only \"metadata.name\", "
                           "\"metadata.namespace\"",
                           quoted(path)));
}

}  // namespace

Result<FieldSelector> FieldSelector::parse(std::string_view text, const Kind& kind) {
  FieldSelector selector;
  for (std::string_view term : split_terms(text)) {
    if (term.empty()) continue;
    std::optional<FieldTerm> split = split_term(term);
    if (!split) {
      return error(Reason::BadRequest,
                   fmt::format("invalid selector: '{}'; can't understand '{}'", text, term));
    }
    std::string value = TRY(unescape(split->value));
    int field = TRY(resolve_field(split->path, kind));
    selector.requirements_.push_back(Requirement{field, std::move(value), split->equal});
  }
  return selector;
}

bool FieldSelector::matches(const Object& object) const {
  return std::ranges::all_of(requirements_, [&](const Requirement& requirement) {
    std::string_view actual;
    if (requirement.field == kNameField) {
      actual = object.name();
    } else if (requirement.field == kNamespaceField) {
      actual = object.ns();
    } else if (static_cast<size_t>(requirement.field) < object.fields().size()) {
      actual = object.fields()[static_cast<size_t>(requirement.field)];
    }
    return (actual == requirement.value) == requirement.equal;
  });
}

std::optional<std::string> FieldSelector::required_name() const {
  for (const Requirement& requirement : requirements_) {
    if (requirement.field == kNameField && requirement.equal) return requirement.value;
  }
  return std::nullopt;
}

}  // namespace yard
