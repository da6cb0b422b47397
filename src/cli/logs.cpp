#include "cli/logs.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr int kColourCount = 6;

struct TimedLine {
  std::string_view time, text;
  size_t log = 0;
};

// Every line of a log has its time first; what has none belongs to the line before.
void add_lines(std::vector<TimedLine>& out, const LogText& log, size_t index) {
  std::string_view rest = log.text, last;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const size_t space = line.find(' ');
    const std::string_view head = line.substr(0, space);
    const bool is_timed = head.size() >= 20 && head[4] == '-' && head[10] == 'T';
    if (is_timed) last = head;
    out.push_back({last,
                   !is_timed                         ? line
                   : space == std::string_view::npos ? std::string_view()
                                                     : line.substr(space + 1),
                   index});
  }
}

class LogReader {
 public:
  LogReader(Session& session, const LogsRequest& request)
      : session_(session), terminal_(session.terminal()), request_(request) {}

  int show(const NamedObject& root, const std::vector<Json>& pods) {
    std::vector<LogText> logs;
    for (const Json& pod : pods) {
      for (const char* list : {"initContainers", "containers"}) {
        for (const Json& container : list_at(pod, {"spec", list})) {
          const std::string name(text_at(container, {"name"}));
          if (!request_.container.empty() && name != request_.container) continue;
          auto text = read(pod, name);
          if (!text && text.error().reason == Reason::ServiceUnavailable)
            return print_failure(terminal_, text.error());
          if (text) {
            logs.push_back({rank_text(pod, root, name), std::move(*text)});
          } else {
            problem_ = text.error();
          }
        }
      }
    }
    if (logs.empty() && problem_) return print_failure(terminal_, *problem_);
    terminal_.out << merged_logs(logs, {logs.size() > 1, request_.timestamps, terminal_.colour});
    return kOk;
  }

 private:
  static std::string rank_text(const Json& pod, const NamedObject& root,
                               const std::string& container) {
    std::string rank = rank_of(pod, root.located.address.name);
    if (list_at(pod, {"spec", "containers"}).size() +
            list_at(pod, {"spec", "initContainers"}).size() >
        1)
      rank += "/" + container;
    return rank;
  }

  Result<std::string> read(const Json& pod, const std::string& container) {
    Reply reply = TRY(session_.connection().call(
        "GET",
        fmt::format("/api/v1/namespaces/{}/pods/{}/log",
                    percent_encode(text_at(pod, {"metadata", "namespace"})),
                    percent_encode(name_of(pod))) +
            query_text({{"container", container},
                        {"timestamps", "true"},
                        {"tailLines", request_.tail},
                        {"previous", request_.previous ? "true" : ""}}),
        {}, ""));
    if (reply.status < 200 || reply.status > 299) return server_error(reply);
    return std::move(reply.body);
  }

  Session& session_;
  Terminal& terminal_;
  const LogsRequest& request_;
  std::optional<Error> problem_;
};

std::string newest_lines(const std::string& text, const std::string& tail) {
  const auto count = parse_int64(tail);
  if (!count) return text;
  size_t begin = text.size();
  for (int64_t lines = 0; begin > 0; --begin) {
    if (text[begin - 1] == '\n' && begin != text.size() && ++lines == *count) break;
    if (*count == 0) return "";
  }
  return text.substr(begin);
}

int show_archived(Terminal& terminal, const LogsRequest& request,
                  const std::vector<ArchivedLog>& archived) {
  std::vector<LogText> logs;
  for (const ArchivedLog& log : archived) {
    if (!request.container.empty() && log.container != request.container) continue;
    logs.push_back({log.pod + "/" + log.container, newest_lines(log.text, request.tail)});
  }
  terminal.err << fmt::format("from the archive: {} log{} of pods that are gone\n", logs.size(),
                              logs.size() == 1 ? "" : "s");
  terminal.out << merged_logs(logs, {logs.size() > 1, request.timestamps, terminal.colour});
  return kOk;
}

}  // namespace

std::string merged_logs(const std::vector<LogText>& logs, const MergeLook& look) {
  std::vector<TimedLine> lines;
  int width = 0;
  for (size_t i = 0; i < logs.size(); ++i) {
    add_lines(lines, logs[i], i);
    width = std::max(width, display_width(logs[i].rank));
  }
  std::ranges::stable_sort(lines, {}, &TimedLine::time);
  std::string out;
  for (const TimedLine& line : lines) {
    std::string text = look.with_time && !line.time.empty()
                           ? fmt::format("{} {}", line.time, line.text)
                           : std::string(line.text);
    if (look.with_rank) {
      const int colour = look.colour ? static_cast<int>(line.log) % kColourCount : -1;
      text = prefixed_line({logs[line.log].rank, width, colour}, text);
    }
    out += text;
    out += '\n';
  }
  return out;
}

int run_logs(Session& session, const LogsRequest& request, const FollowWorld& world,
             const ArchiveLookup& archive) {
  Terminal& terminal = session.terminal();
  const auto types = discover(session);
  if (!types) return print_failure(terminal, types.error());
  const auto root = find_object(session, *types, request.words, request.name_space);
  if (!root) {
    const std::string& last = request.words.back();
    const auto archived = archive(request.name_space, last.substr(last.find('/') + 1));
    if (root.error().reason != Reason::NotFound || archived.empty())
      return print_failure(terminal, root.error());
    return show_archived(terminal, request, archived);
  }
  if (request.follow) {
    FollowOptions options;
    options.shows_states = false;
    options.container = request.container;
    options.tail_lines = request.tail;
    options.timestamps = request.timestamps;
    const FollowResult done = follow(session, *types, {*root}, world, options);
    if (done.interrupted) return kInterrupted;
    if (!done.lost.empty())
      return print_failure(terminal, error(Reason::ServiceUnavailable, done.lost));
    return kOk;
  }
  const auto pods = pods_of(session, *types, *root);
  if (!pods) return print_failure(terminal, pods.error());
  if (pods->empty()) {
    const auto archived = archive(request.name_space, root->located.address.name);
    if (!archived.empty()) return show_archived(terminal, request, archived);
    terminal.err << fmt::format("{} has no pods; `trainyard why {}/{}` says why\n",
                                root->located.shown(), root->located.type.plural,
                                root->located.address.name);
    return kOk;
  }
  return LogReader(session, request).show(*root, *pods);
}

}  // namespace yard
