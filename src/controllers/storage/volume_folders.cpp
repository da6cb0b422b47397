#include "controllers/storage/volume_folders.h"

#include <filesystem>
#include <sys/stat.h>

#include <fmt/format.h>

namespace yard {
namespace {

Result<void> failed(const char* what, const std::string& path, const std::error_code& why) {
  return error(Reason::InternalError, fmt::format("cannot {} {}: {}", what, path, why.message()));
}

Result<void> make_folder(const std::string& parent, const std::string& path) {
  std::error_code why;
  std::filesystem::create_directories(parent, why);
  if (why) return failed("make the folder", parent, why);
  if (chmod(parent.c_str(), 0700) != 0)
    return failed("close", parent, std::error_code(errno, std::generic_category()));
  std::filesystem::create_directory(path, why);
  if (why) return failed("make the folder", path, why);
  if (chmod(path.c_str(), 0777) != 0)
    return failed("open", path, std::error_code(errno, std::generic_category()));
  return {};
}

Result<void> remove_folder(const std::string& path) {
  std::error_code why;
  std::filesystem::remove_all(path, why);  // follows no links
  if (why) return failed("remove", path, why);
  return {};
}

// Names are made here from a uid; one that is not plain would lead out of the folder.
bool is_plain(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

class DiskVolumeFolders final : public VolumeFolders {
 public:
  DiskVolumeFolders(Loop& loop, std::string path) : loop_(loop), path_(std::move(path)) {}
  const std::string& path() const override { return path_; }
  void make(std::string name, std::function<void(Result<void>)> done) override {
    run(std::move(name), std::move(done),
        [parent = path_](const std::string& path) { return make_folder(parent, path); });
  }
  void remove(std::string name, std::function<void(Result<void>)> done) override {
    run(std::move(name), std::move(done), remove_folder);
  }

 private:
  void run(std::string name, std::function<void(Result<void>)> done,
           std::function<Result<void>(const std::string&)> work) {
    const auto outcome = std::make_shared<Result<void>>();
    const bool plain = is_plain(name);
    if (!plain)
      *outcome = error(Reason::InternalError, fmt::format("{} is no name of a volume", name));
    loop_.run_blocking(
        [outcome, plain, path = path_ + "/" + name, work = std::move(work)] {
          if (plain) *outcome = work(path);
        },
        [outcome, done = std::move(done)] { done(std::move(*outcome)); });
  }

  Loop& loop_;
  const std::string path_;
};

}  // namespace

std::unique_ptr<VolumeFolders> make_volume_folders(Loop& loop, std::string path) {
  return std::make_unique<DiskVolumeFolders>(loop, std::move(path));
}

}  // namespace yard
