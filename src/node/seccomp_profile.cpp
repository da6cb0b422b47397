#include "node/seccomp_profile.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sys/utsname.h>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "node/capabilities.h"
#include "node/files.h"
#include "node/filter_program.h"
#include "node/system_call_names.h"

namespace yard {
namespace {

constexpr size_t kMostProfileBytes = 1 << 20, kMostRules = 10'000, kMostConditions = 6;

struct Condition {
  uint32_t argument = 0;
  std::string_view comparison;
  uint64_t value = 0, value_two = 0;
};
struct Rule {
  uint32_t verdict = 0;
  std::vector<Condition> conditions;  // all of them; none: always
};
struct Rules {
  std::map<uint32_t, std::vector<Rule>> by_call;
  uint32_t otherwise = 0;
};

Error wrong(const std::string& what) {
  return error(Reason::Invalid, "the seccomp profile " + what);
}

// `errno_value` is the rule's own, or the profile's.
Result<uint32_t> verdict_of(std::string_view action, int64_t errno_value) {
  const auto data = static_cast<uint32_t>(errno_value) & SECCOMP_RET_DATA;
  if (action == "SCMP_ACT_ALLOW") return kAllow;
  if (action == "SCMP_ACT_ERRNO") return SECCOMP_RET_ERRNO | data;
  if (action == "SCMP_ACT_LOG") return uint32_t{SECCOMP_RET_LOG};
  if (action == "SCMP_ACT_TRAP") return uint32_t{SECCOMP_RET_TRAP};
  if (action == "SCMP_ACT_TRACE") return SECCOMP_RET_TRACE | data;
  if (action == "SCMP_ACT_KILL_PROCESS") return uint32_t{SECCOMP_RET_KILL_PROCESS};
  if (action == "SCMP_ACT_KILL" || action == "SCMP_ACT_KILL_THREAD")
    return uint32_t{SECCOMP_RET_KILL_THREAD};
  if (action == "SCMP_ACT_NOTIFY")
    return wrong("asks somebody else (SCMP_ACT_NOTIFY): nobody listens here");
  return wrong(fmt::format("has an action that is not known: {}", quoted(action)));
}

// Docker's names of architectures; OCI's profiles have none in their rules.
bool names_this_machine(std::string_view name) {
#if defined(__x86_64__)
  return name == "amd64";
#else
  return name == "arm64";
#endif
}

bool is_kernel_at_least(std::string_view wanted) {
  utsname facts{};
  if (wanted.empty() || uname(&facts) != 0) return true;
  const auto version = [](std::string_view text) {
    std::pair<int64_t, int64_t> out{0, 0};
    const auto parts = split(text, '.');
    const auto number = [](std::string_view part) {
      return parse_int64(part.substr(0, part.find_first_not_of("0123456789"))).value_or(0);
    };
    out.first = number(parts[0]);
    if (parts.size() > 1) out.second = number(parts[1]);
    return out;
  };
  return version(facts.release) >= version(wanted);
}

// Docker's `includes` and `excludes`: for whom a rule is there at all.
bool applies(const Json& rule, uint64_t capabilities) {
  const auto names_us = [](const Json& name) { return names_this_machine(text_of(name)); };
  const auto is_held = [&](const Json& name) {
    return (capabilities & capability_bit(text_of(name))) != 0;
  };
  if (const Json* includes = find(rule, "includes"); includes != nullptr) {
    const JsonArray& machines = list_at(*includes, {"arches"});
    if (!machines.empty() && std::ranges::none_of(machines, names_us)) return false;
    if (!std::ranges::all_of(list_at(*includes, {"caps"}), is_held)) return false;
    if (!is_kernel_at_least(text_at(*includes, {"minKernel"}))) return false;
  }
  if (const Json* excludes = find(rule, "excludes"); excludes != nullptr) {
    if (std::ranges::any_of(list_at(*excludes, {"arches"}), names_us)) return false;
    if (std::ranges::any_of(list_at(*excludes, {"caps"}), is_held)) return false;
    const std::string_view kernel = text_at(*excludes, {"minKernel"});
    if (!kernel.empty() && is_kernel_at_least(kernel)) return false;
  }
  return true;
}

uint64_t number_at(const Json& object, const char* key) {
  const Json* value = find(object, key);
  if (value == nullptr) return 0;
  if (value->is_uint64()) return value->get_uint64();
  return value->is_int64() ? static_cast<uint64_t>(value->get_int64()) : 0;
}

Result<std::vector<Condition>> conditions_of(const Json& rule) {
  std::vector<Condition> out;
  for (const Json& each : list_at(rule, {"args"})) {
    const uint64_t argument = number_at(each, "index");
    if (argument >= kMostConditions) return wrong("looks at an argument that no call has");
    if (out.size() == kMostConditions) return wrong("has a rule with more than six conditions");
    out.push_back({static_cast<uint32_t>(argument), text_at(each, {"op"}), number_at(each, "value"),
                   number_at(each, "valueTwo")});
  }
  return out;
}

Result<Rules> rules_of(const Json& profile, uint64_t capabilities) {
  if (!profile.is_object()) return wrong("is no object");
  if (find(profile, "defaultAction") == nullptr) return wrong("has no defaultAction");
  const int64_t errno_else = int_at(profile, {"defaultErrnoRet"}, EPERM);
  Rules out;
  out.otherwise = TRY(verdict_of(text_at(profile, {"defaultAction"}), errno_else));
  size_t count = 0;
  for (const Json& rule : list_at(profile, {"syscalls"})) {
    const uint32_t verdict =
        TRY(verdict_of(text_at(rule, {"action"}), int_at(rule, {"errnoRet"}, EPERM)));
    const std::vector<Condition> conditions = TRY(conditions_of(rule));
    if (!applies(rule, capabilities)) continue;
    std::vector<std::string_view> names;
    for (const Json& name : list_at(rule, {"names"}))
      names.push_back(text_of(name));
    if (const std::string_view one = text_at(rule, {"name"}); !one.empty()) names.push_back(one);
    for (const std::string_view name : names) {
      if (++count > kMostRules) return wrong("has more than 10000 rules");
      if (const auto number = system_call_number(name))
        out.by_call[*number].push_back({verdict, conditions});
    }
  }
  return out;
}

uint32_t high(uint64_t value) {
  return static_cast<uint32_t>(value >> 32);
}
uint32_t low(uint64_t value) {
  return static_cast<uint32_t>(value);
}

// Steps that go on behind themselves when the condition holds and jump to `miss` steps behind
// themselves when it does not. An argument is two words, the low one first in memory.
Result<std::vector<FilterStep>> condition_steps(const Condition& condition, uint8_t miss) {
  const auto offset =
      static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * size_t{condition.argument});
  FilterProgram out;
  const std::string_view comparison = condition.comparison;
  const uint64_t value = condition.value;
  const auto far = [&](int steps) { return static_cast<uint8_t>(steps + miss); };
  if (comparison == "SCMP_CMP_MASKED_EQ") {
    const uint64_t wanted = condition.value_two & value;
    out.load(offset + 4);
    out.keep_bits(high(value));
    out.jump(BPF_JEQ, high(wanted), 0, far(3));
    out.load(offset);
    out.keep_bits(low(value));
    out.jump(BPF_JEQ, low(wanted), 0, far(0));
  } else if (comparison == "SCMP_CMP_EQ" || comparison == "SCMP_CMP_NE") {
    const bool equal = comparison == "SCMP_CMP_EQ";
    out.load(offset + 4);
    out.jump(BPF_JEQ, high(value), 0, equal ? far(2) : uint8_t{2});
    out.load(offset);
    out.jump(BPF_JEQ, low(value), equal ? uint8_t{0} : far(0), equal ? far(0) : uint8_t{0});
  } else if (comparison == "SCMP_CMP_GT" || comparison == "SCMP_CMP_GE" ||
             comparison == "SCMP_CMP_LT" || comparison == "SCMP_CMP_LE") {
    const bool upwards = comparison.ends_with("GT") || comparison.ends_with("GE");
    // Beyond in the low word: for LT and GE from the value itself on.
    const int beyond = comparison.ends_with("GT") || comparison.ends_with("LE") ? BPF_JGT : BPF_JGE;
    out.load(offset + 4);
    out.jump(BPF_JGT, high(value), upwards ? uint8_t{3} : far(3), 0);
    out.jump(BPF_JEQ, high(value), 0, upwards ? far(2) : uint8_t{2});
    out.load(offset);
    out.jump(beyond, low(value), upwards ? uint8_t{0} : far(0), upwards ? far(0) : uint8_t{0});
  } else {
    return wrong(fmt::format("has a comparison that is not known: {}", quoted(comparison)));
  }
  return std::move(out.steps);
}

// A rule's conditions one after the other, then its verdict; who misses one goes on behind it.
Result<std::vector<FilterStep>> rule_steps(const Rule& rule) {
  std::vector<FilterStep> out;
  FilterProgram end;
  end.give(rule.verdict);
  out = std::move(end.steps);
  for (auto condition = rule.conditions.rbegin(); condition != rule.conditions.rend();
       ++condition) {
    std::vector<FilterStep> steps =
        TRY(condition_steps(*condition, static_cast<uint8_t>(out.size())));
    steps.insert(steps.end(), out.begin(), out.end());
    out = std::move(steps);
  }
  return out;
}

// What a call without conditions gets settles it, whatever stands before.
const Rule* settling(const std::vector<Rule>& rules) {
  const auto found =
      std::ranges::find_if(rules, [](const Rule& rule) { return rule.conditions.empty(); });
  return found == rules.end() ? nullptr : &*found;
}

Result<void> add_conditional(FilterProgram& program, uint32_t call, const std::vector<Rule>& rules,
                             uint32_t otherwise) {
  for (const Rule& rule : rules) {
    std::vector<FilterStep> steps = TRY(rule_steps(rule));
    // The number is loaded again behind the conditions: other rules may follow.
    program.jump(BPF_JEQ, call, 0, static_cast<uint8_t>(steps.size() + 1));
    program.steps.insert(program.steps.end(), steps.begin(), steps.end());
    program.load_number();
  }
  program.if_equal(call, otherwise);
  return {};
}

}  // namespace

Result<std::vector<FilterStep>> profile_filter(const Json& profile, uint64_t capabilities) {
  const Rules rules = TRY(rules_of(profile, capabilities));
  FilterProgram program;
  program.refuse_other_tables();
  // A profile cannot have meant calls that are younger than all it names: they are as if the
  // kernel were older, and libc goes another way.
  if (!rules.by_call.empty() && (rules.otherwise & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
    program.if_above(rules.by_call.rbegin()->first, deny(ENOSYS));
  for (const auto& [call, of_call] : rules.by_call) {
    if (const Rule* rule = settling(of_call)) {
      if (rule->verdict != rules.otherwise) program.if_equal(call, rule->verdict);
    } else {
      TRY(add_conditional(program, call, of_call, rules.otherwise));
    }
  }
  program.give(rules.otherwise);
  if (program.steps.size() > BPF_MAXINSNS) return wrong("is longer than the kernel takes");
  return std::move(program.steps);
}

Result<std::string> read_profile(const std::string& folder, std::string_view name) {
  const std::string path = folder + "/" + std::string(name);
  const auto refused = [&](std::string_view why) {
    return error(Reason::NotFound,
                 fmt::format("cannot load seccomp profile {}: {}", quoted(path), why));
  };
  const auto parts = split(name, '/');
  if (name.empty() || name.starts_with('/') || std::ranges::find(parts, "..") != parts.end())
    return refused("it has to be the name of a file below that folder");
  auto text = read_text(path, kMostProfileBytes + 1);
  if (!text) return refused("there is no such file: put it there, or use RuntimeDefault");
  if (text->size() > kMostProfileBytes) return refused("it is larger than a megabyte");
  return std::move(*text);
}

}  // namespace yard
