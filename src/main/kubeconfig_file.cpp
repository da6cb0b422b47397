#include "main/kubeconfig_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/kubeconfig.h"
#include "json/yaml.h"

namespace yard {
namespace {

Error cannot(std::string_view what, const fs::path& path) {
  return error(Reason::InternalError,
               fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

Result<Json> parse_one(const std::string& text, const std::string& file) {
  auto parsed = parse_yaml(text);
  if (!parsed)
    return error(Reason::BadRequest, fmt::format("{}: {}", file, parsed.error().message));
  if (parsed->size() > 1)
    return error(Reason::BadRequest,
                 fmt::format("{} holds several documents; a kubeconfig is one", file));
  return parsed->empty() ? Json() : std::move(parsed->front().parsed.value);
}

}  // namespace

Result<fs::path> kubectl_file() {
  const char* listed = std::getenv("KUBECONFIG");
  if (listed != nullptr) {
    for (const std::string_view path : split(listed, ':')) {
      if (!path.empty()) return fs::weakly_canonical(fs::path(path));
    }
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0')
    return error(Reason::BadRequest, "HOME is not set; name the file with KUBECONFIG=FILE");
  return fs::weakly_canonical(fs::path(home) / ".kube" / "config");
}

Result<void> write_whole(const fs::path& path, const std::string& content) {
  const fs::path aside = path.string() + ".new";
  const int fd = open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return cannot("write", aside);
  size_t written = 0;
  while (written < content.size()) {
    const ssize_t count = ::write(fd, content.data() + written, content.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    written += static_cast<size_t>(count);
  }
  const bool is_whole = written == content.size() && fchmod(fd, 0600) == 0 && fsync(fd) == 0;
  Error failed = is_whole ? Error{} : cannot("write", aside);
  close(fd);
  if (is_whole && rename(aside.c_str(), path.c_str()) == 0) return {};
  if (is_whole) failed = cannot("write", path);
  unlink(aside.c_str());
  return failed;
}

Result<std::string> merge_into(const fs::path& path, const StateFolder& folder,
                               const std::string& own) {
  std::error_code failed;
  if (fs::equivalent(path, folder.kubeconfig(), failed)) {
    return fmt::format("{} is Trainyard's own kubeconfig already; nothing to merge\n",
                       path.string());
  }
  const Json ours = TRY(parse_one(own, folder.kubeconfig()));
  const std::string context(text_at(ours, {"current-context"}));
  std::string before;
  const bool existed = fs::exists(path, failed);
  if (existed) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream content;
    content << in.rdbuf();
    if (!in) return cannot("read", path);
    before = content.str();
  }
  const Json existing = TRY(parse_one(before, path.string()));
  auto merged = merged_kubeconfig(existing, ours);
  if (!merged)
    return error(merged.error().reason,
                 fmt::format("{}: {}", path.string(), merged.error().message));
  if (!merged->is_changed)
    return fmt::format("{} has the context {} already, and uses it\n", path.string(), context);
  fs::create_directories(path.parent_path(), failed);
  if (failed)
    return error(Reason::InternalError,
                 fmt::format("cannot make {}: {}", path.parent_path().string(), failed.message()));
  const fs::path backup = path.string() + ".bak";
  const bool makes_backup = existed && !before.empty() && !fs::exists(backup, failed);
  if (makes_backup) TRY(write_whole(backup, before));
  TRY(write_whole(path, to_yaml(merged->config)));
  std::string said = fmt::format("{} the cluster, user and context {} in {}\n",
                                 merged->is_replaced ? "renewed" : "added", context, path.string());
  if (makes_backup) said += fmt::format("kept the file as it was in {}\n", backup.string());
  if (merged->previous_context.empty() || merged->previous_context == context) {
    said += fmt::format("the current context is {}\n", context);
  } else {
    said += fmt::format("the current context is {}; go back with `kubectl config use-context {}`\n",
                        context, merged->previous_context);
  }
  return said;
}

}  // namespace yard
