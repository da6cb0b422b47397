#include "node/journal.h"

#include "base/strings.h"

namespace yard {
namespace {

ContainerRun* find_run(PodRecord& record, std::string_view container, int64_t run) {
  for (ContainerRun& candidate : record.runs) {
    if (candidate.container == container && candidate.run == run) return &candidate;
  }
  return nullptr;
}

ContainerRun& run_of(PodRecord& record, std::string_view container, int64_t run) {
  if (ContainerRun* found = find_run(record, container, run)) return *found;
  record.runs.emplace_back();
  record.runs.back().container = container;
  record.runs.back().run = static_cast<int>(run);
  return record.runs.back();
}

Time from_ns(int64_t unix_ns) {
  return Time{std::chrono::nanoseconds(unix_ns)};
}

// The numbers behind verb and container; empty when one is none.
std::vector<int64_t> numbers(const std::vector<std::string_view>& words, size_t count) {
  std::vector<int64_t> out;
  for (size_t i = 2; i < 2 + count && i < words.size(); ++i) {
    const auto number = parse_int64(words[i]);
    if (!number) return {};
    out.push_back(*number);
  }
  return out.size() == count ? out : std::vector<int64_t>();
}

constexpr int kStartErrorCode = 128, kLostCode = 137;

}  // namespace

void add_journal_line(PodRecord& record, std::string_view line) {
  const std::vector<std::string_view> words = split(line, ' ');
  const std::string_view verb = words[0];
  if (verb == "refused" && words.size() > 1) {
    record.refusals.emplace_back(line.substr(8));
  } else if (verb == "start") {
    const auto number = numbers(words, 4);
    if (number.empty()) return;
    ContainerRun& run = run_of(record, words[1], number[0]);
    run.pid = static_cast<int>(number[1]);
    run.started = from_ns(number[3]);
  } else if (verb == "exit") {
    const auto number = numbers(words, 4);
    if (number.empty()) return;
    ContainerRun& run = run_of(record, words[1], number[0]);
    run.exit =
        ContainerExit{static_cast<int>(number[1]), number[2] != 0, false, from_ns(number[3]), ""};
  } else if (verb == "failed") {
    const auto number = numbers(words, 2);
    if (number.empty()) return;
    ContainerRun& run = run_of(record, words[1], number[0]);
    run.started = from_ns(number[1]);
    const size_t why = static_cast<size_t>(words[3].data() + words[3].size() - line.data()) + 1;
    run.failure =
        why < line.size() ? std::string(line.substr(why)) : "the command could not be started";
    run.exit = ContainerExit{kStartErrorCode, false, false, run.started, ""};
  } else if (verb == "lost") {
    const auto number = numbers(words, 2);
    if (number.empty()) return;
    run_of(record, words[1], number[0]).exit =
        ContainerExit{kLostCode, false, true, from_ns(number[1]), ""};
  }
}

void mark_lost(PodRecord& record, Time now) {
  for (ContainerRun& run : record.runs) {
    if (!run.exit) run.exit = ContainerExit{kLostCode, false, true, now, ""};
  }
}

}  // namespace yard
