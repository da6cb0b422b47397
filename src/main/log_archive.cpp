#include "main/log_archive.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/strings.h"
#include "json/json.h"

namespace yard {
namespace {

namespace fs = std::filesystem;
constexpr size_t kMostLogs = 1000;
constexpr int kMostRotated = 5;
constexpr uintmax_t kMostBytes = 64u << 20;  // of one file

// `time stream tag text` → `time text`; a P line goes on in the next.
std::string plain_lines(std::istream& in) {
  std::string out, line;
  bool goes_on = false;
  while (std::getline(in, line)) {
    size_t stream = line.find(' ');
    if (stream == std::string::npos) continue;
    const size_t tag = line.find(' ', stream + 1);
    const size_t text = tag == std::string::npos ? tag : line.find(' ', tag + 1);
    if (text == std::string::npos) continue;
    if (!goes_on) out.append(line, 0, stream + 1);
    out.append(line, text + 1);
    goes_on = line[tag + 1] == 'P';
    if (!goes_on) out += '\n';
  }
  return out;
}

// <namespace>_<pod>_<uid>, as node/launch_files.h writes it.
std::string pod_in_folder(const std::string& folder, const std::string& name_space) {
  if (!folder.starts_with(name_space + "_")) return "";
  const size_t begin = name_space.size() + 1, end = folder.rfind('_');
  return end == std::string::npos || end <= begin ? "" : folder.substr(begin, end - begin);
}

// <run>.log and what was rotated away from it, .1 the newest: the oldest lines first.
std::string run_text(const fs::path& newest) {
  std::string out;
  for (int age = kMostRotated; age >= 0; --age) {
    const std::string path = newest.string() + (age == 0 ? "" : "." + std::to_string(age));
    std::ifstream in(path, std::ios::binary);
    if (in) out += plain_lines(in);
  }
  return out;
}

void add_pod(std::vector<ArchivedLog>& out, const fs::path& folder, const std::string& pod) {
  std::error_code failed;
  for (const auto& container : fs::directory_iterator(folder, failed)) {
    if (!container.is_directory(failed)) continue;
    std::vector<fs::path> runs;
    for (const auto& file : fs::directory_iterator(container.path(), failed)) {
      if (file.is_regular_file(failed) && file.path().extension() == ".log")
        runs.push_back(file.path());
    }
    std::ranges::sort(runs, {}, [](const fs::path& path) {
      return parse_int64(path.stem().string()).value_or(0);
    });
    for (const fs::path& run : runs) {
      if (out.size() >= kMostLogs || fs::file_size(run, failed) > kMostBytes) continue;
      const std::string name = container.path().filename().string();
      out.push_back(
          {pod, runs.size() == 1 ? name : name + "." + run.stem().string(), run_text(run)});
    }
  }
}

// What the agent noted of the pod when it began: its whole name, and whose it was.
bool is_of(const fs::path& folder, const std::string& name) {
  std::ifstream in(folder / "pod.json", std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  const auto parsed = parse_json(text.str());
  return parsed && (text_at(parsed->value, {"pod"}) == name ||
                    text_at(parsed->value, {"owner", "name"}) == name);
}

}  // namespace

std::vector<ArchivedLog> archived_logs(const std::string& state_folder,
                                       const std::string& name_space, const std::string& name) {
  std::vector<ArchivedLog> out;
  std::error_code failed;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(state_folder + "/logs", failed)) {
    if (entry.is_directory(failed)) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  for (const fs::path& folder : folders) {
    const std::string pod = pod_in_folder(folder.filename().string(), name_space);
    if (!pod.empty() && (pod == name || is_of(folder, name))) add_pod(out, folder, pod);
  }
  return out;
}

}  // namespace yard
