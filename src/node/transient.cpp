#include "node/transient.h"

#include <cerrno>
#include <filesystem>
#include <linux/magic.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"
#include "node/files.h"

namespace yard {
namespace {

namespace fs = std::filesystem;
constexpr const char* kMemory = "/dev/shm";
constexpr size_t kMostPath = 4096, kMostKept = 16 << 20;
constexpr uint64_t kLeastFreeBytes = 64 << 20;

std::string normal(const std::string& folder) {
  std::string out = fs::absolute(folder).lexically_normal().string();
  while (out.size() > 1 && out.back() == '/')
    out.pop_back();
  return out;
}

std::string note_of_place(const std::string& state_folder) {
  return state_folder + "/transient";
}

std::string prefix() {
  return fmt::format("trainyard-{}-", geteuid());
}

// logind takes away what an ordinary user has in /dev/shm with the last logout, unless told to
// linger; pods go on.
bool goes_with_the_session() {
  if (geteuid() == 0 || access(fmt::format("/run/systemd/users/{}", geteuid()).c_str(), F_OK) != 0)
    return false;
  const passwd* user = getpwuid(geteuid());
  return user == nullptr ||
         access((std::string("/var/lib/systemd/linger/") + user->pw_name).c_str(), F_OK) != 0;
}

// Programs in mounted files must run, and what is left must be plenty.
bool suits() {
  struct statfs kind;
  struct statvfs facts;
  return !goes_with_the_session() && statfs(kMemory, &kind) == 0 && kind.f_type == TMPFS_MAGIC &&
         statvfs(kMemory, &facts) == 0 && (facts.f_flag & (ST_NOEXEC | ST_RDONLY)) == 0 &&
         facts.f_bavail * facts.f_frsize >= kLeastFreeBytes;
}

// Anyone may make folders in /dev/shm: only one that is ours alone is used.
bool is_ours(const std::string& folder) {
  struct stat facts;
  return lstat(folder.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
         facts.st_uid == geteuid() && (facts.st_mode & 077) == 0;
}

std::string noted_place(const std::string& state_folder) {
  const std::string place(trim(read_text(note_of_place(state_folder), kMostPath).value_or("")));
  return place.starts_with(std::string(kMemory) + "/trainyard-") &&
                 place.find("..") == std::string::npos
             ? place
             : "";
}

// Which root this process sees. Containers may share the machine's /dev/shm and not its files: a
// state folder that another of them named is not to be looked for here.
std::string root_identity() {
  struct stat root;
  if (stat("/", &root) != 0) return "";
  return fmt::format("{}:{}", root.st_dev, root.st_ino);
}

// What a place says of itself: its state folder, and the root that it was seen in.
std::string place_note(const std::string& state) {
  return state + "\n" + root_identity() + "\n";
}

bool is_forsaken(std::string_view note) {
  const auto lines = split(note, '\n');
  std::error_code code;
  return lines.size() >= 2 && lines[1] == root_identity() && !fs::exists(lines[0], code) && !code;
}

void remove_forsaken(const std::string& own) {
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(kMemory, code)) {
    const std::string path = entry.path().string();
    if (!entry.path().filename().string().starts_with(prefix()) || path == own || !is_ours(path))
      continue;
    const auto note = read_text(path + "/state", kMostPath);
    if (note && is_forsaken(*note)) remove_folder(path);
  }
}

bool tells_of_an_end(const fs::path& path) {
  return path.extension() == ".json" || path.parent_path().filename() == "messages";
}

void move_to(const fs::path& from, const std::string& to) {
  const auto text = read_text(from.string(), kMostKept);
  if (!text || text->empty()) return;
  auto moved = make_folders(fs::path(to).parent_path().string(), 0700);
  if (moved) moved = write_text(to, *text, 0600);
  if (!moved) log_warning("{}", moved.error().message);
}

}  // namespace

std::string prepare_transient(const std::string& state_folder) {
  const std::string state = normal(state_folder);
  std::string place = noted_place(state_folder);
  if (place.empty() || !is_ours(place))
    place =
        fmt::format("{}/{}{:016x}", kMemory, prefix(), hash_bytes(root_identity() + " " + state));
  const bool made = suits() && (mkdir(place.c_str(), 0700) == 0 || errno == EEXIST) &&
                    is_ours(place) &&
                    write_text(place + "/state", place_note(state), 0600).has_value();
  if (!made) place.clear();
  remove_forsaken(place);
  if (auto noted = write_text(note_of_place(state_folder), place + "\n", 0600); !noted) {
    log_warning("{}", noted.error().message);
    return "";
  }
  return place;
}

std::string transient_of(const std::string& state_folder, const std::string& uid) {
  const std::string place = noted_place(state_folder);
  if (!place.empty() && is_ours(place)) {
    const std::string folder = place + "/" + uid;
    if (access(folder.c_str(), F_OK) == 0) return folder;
  }
  return state_folder + "/run/" + uid;
}

void sweep_transient(const std::string& state_folder) {
  const std::string place = noted_place(state_folder);
  if (place.empty() || !is_ours(place)) return;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(place, code)) {
    if (entry.is_directory(code) &&
        !fs::exists(state_folder + "/run/" + entry.path().filename().string(), code))
      remove_folder(entry.path().string());
  }
}

void settle_transient(const std::string& state_folder) {
  const std::string place = noted_place(state_folder);
  if (place.empty() || !is_ours(place)) return;
  std::error_code code;
  for (const auto& pod : fs::directory_iterator(place, code)) {
    const std::string run = state_folder + "/run/" + pod.path().filename().string();
    if (!pod.is_directory(code) || !fs::exists(run, code)) continue;
    for (const char* below : {"", "/messages"}) {
      std::error_code unreadable;
      for (const auto& entry : fs::directory_iterator(pod.path().string() + below, unreadable)) {
        if (entry.is_regular_file(unreadable) && tells_of_an_end(entry.path()))
          move_to(entry.path(), run + below + "/" + entry.path().filename().string());
      }
    }
  }
  remove_folder(place);
}

}  // namespace yard
