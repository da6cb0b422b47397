// backup FILE, and what `up --restore FILE` does with it.

#include "store/backup.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include "main/commands.h"
#include "main/restore.h"

namespace yard {
namespace {

namespace fs = std::filesystem;

// Kubeconfigs and tokens that were handed out stay good in the place the backup is restored to. The
// server's own certificate is made anew there: it names that machine's addresses.
constexpr std::array<const char*, 6> kCarried = {
    "ca.crt", "ca.key", "admin.crt", "admin.key", "service-accounts.key", "port"};

struct BackupOptions {
  std::string file;
  bool force = false;
};

int back_up(const StateFolder& folder, const BackupOptions& options) {
  if (access(folder.store().c_str(), F_OK) != 0) {
    return print_error(
        fmt::format("there is no control plane in {} yet; `trainyard up` makes it", folder.path()));
  }
  std::vector<BackupFile> files;
  for (const char* name : kCarried) {
    if (auto content = folder.read(name)) files.push_back({name, std::move(*content)});
  }
  const auto written = write_backup(folder.store(), options.file, files, options.force);
  if (!written) return print_error(written.error().message);
  std::error_code ignored;
  std::printf(
      "wrote %zu objects to %s (%ju kB), readable by you alone: it holds keys and Secrets\n",
      written->objects, options.file.c_str(),
      static_cast<uintmax_t>(fs::file_size(options.file, ignored) / 1024));
  return kOk;
}

}  // namespace

Result<void> restore_into(const StateFolder& folder, const std::string& backup, Time now) {
  std::error_code ignored;
  for (const char* taken : {"store.db", "store.db-wal", "run", "volumes"}) {
    if (!fs::exists(folder.file(taken), ignored)) continue;
    if (fs::is_directory(folder.file(taken), ignored) && fs::is_empty(folder.file(taken), ignored))
      continue;
    return error(Reason::Conflict,
                 fmt::format("the state folder {} is not empty ({} is there): a backup is restored "
                             "into a new one; name it with --state DIR",
                             folder.path(), taken));
  }
  const std::string draft = folder.file("store.db.restored");
  // Above every revision that any server could have given out by now, also one that was restored
  // from the same backup before: 100,000 writes a second from 1970 on.
  const auto at_least = static_cast<Revision>(unix_seconds(now)) * 100'000;
  const Restored restored = TRY(restore_backup(backup, draft, at_least));
  for (const BackupFile& file : restored.files) {
    // Names of a file that somebody may have made: none leads out of the folder.
    if (std::find(kCarried.begin(), kCarried.end(), file.name) == kCarried.end()) continue;
    TRY(folder.write(file.name, file.content));
  }
  TRY(folder.write(kRestoredMark, backup + "\n"));
  if (rename(draft.c_str(), folder.store().c_str()) != 0)
    return error(Reason::InternalError, fmt::format("cannot write {}", folder.store()));
  return {};
}

void add_backup(Program& program) {
  CLI::App* command = program.add(
      "backup", "Write everything that is stored into one file; `up --restore` starts from it.",
      "  trainyard backup today.yard\n"
      "  trainyard up --state ./elsewhere --restore today.yard\n"
      "\nThe server may run or not; it is not held up. The file has every object as of one\n"
      "revision, the keys and the certificates. It has no logs and no contents of volumes.\n");
  command->group(kServerCommands);
  auto options = std::make_shared<BackupOptions>();
  command->add_option("FILE", options->file, "the file to write")->required();
  command->add_flag("--force", options->force, "replace the file when it is there");
  command->callback([&program, options] {
    program.run = [&program, options] {
      auto folder = program.folder();
      return folder ? back_up(*folder, *options) : print_error(folder.error().message);
    };
  });
}

}  // namespace yard
