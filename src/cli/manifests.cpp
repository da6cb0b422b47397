#include "cli/manifests.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/yaml.h"

namespace yard {
namespace {

struct Chunk {
  std::string_view text;
  size_t lines_before = 0;
};

bool is_marker(std::string_view line) {
  return line.starts_with("---") &&
         (line.size() == 3 || line[3] == ' ' || line[3] == '\r' || line[3] == '\t');
}

bool is_blank_or_directive(std::string_view line) {
  const std::string_view rest = trim(line);
  return rest.empty() || rest[0] == '#' || line[0] == '%';
}

// One chunk a document, so that a broken one does not hide the others. A line that begins with ---
// parts documents wherever it stands: not even a block scalar can hold one.
std::vector<Chunk> documents_of(std::string_view text) {
  std::vector<Chunk> chunks;
  size_t start = 0, lines_before = 0, line_number = 0;
  bool has_content = false;
  for (size_t at = 0; at < text.size(); ++line_number) {
    const size_t newline = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, newline - at);
    if (is_marker(line) && has_content) {
      chunks.push_back({text.substr(start, at - start), lines_before});
      start = at;
      lines_before = line_number;
      has_content = false;
    }
    has_content = has_content || is_marker(line) || !is_blank_or_directive(line);
    at = newline + 1;
  }
  if (has_content) chunks.push_back({text.substr(start), lines_before});
  return chunks;
}

Result<std::vector<YamlDocument>> parse_chunk(const Chunk& chunk) {
  auto parsed = parse_yaml(chunk.text, {}, DuplicateKeys::Refused);
  if (parsed || chunk.lines_before == 0) return parsed;
  // Once more below empty lines, so that the message counts lines as the file does.
  std::string padded(chunk.lines_before, '\n');
  padded += chunk.text;
  return parse_yaml(padded, {}, DuplicateKeys::Refused);
}

void add_object(std::vector<Manifest>& out, const std::string& place, Json object) {
  Json* items = find(object, "items");
  const bool is_list = text_at(object, {"kind"}) == "List" && items != nullptr && items->is_array();
  if (!is_list) {
    out.push_back({place, std::move(object)});
    return;
  }
  JsonArray& list = items->get_array();
  for (size_t i = 0; i < list.size(); ++i) {
    out.push_back({fmt::format("{}, item {}", place, i + 1), std::move(list[i])});
  }
}

std::vector<std::string> files_in(const std::string& folder, bool is_recursive,
                                  std::error_code& failed) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  const auto consider = [&files](const fs::directory_entry& entry) {
    const std::string extension = entry.path().extension();
    const bool is_ours = extension == ".yaml" || extension == ".yml" || extension == ".json";
    std::error_code ignored;
    if (is_ours && entry.is_regular_file(ignored)) files.push_back(entry.path().string());
  };
  if (is_recursive) {
    for (fs::recursive_directory_iterator it(folder, failed), end; !failed && it != end;
         it.increment(failed))
      consider(*it);
  } else {
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
      consider(*it);
  }
  std::sort(files.begin(), files.end());
  return files;
}

void add_file(std::vector<Manifest>& out, const std::string& path) {
  std::ostringstream content;
  if (path == "-") {
    content << std::cin.rdbuf();
  } else {
    std::ifstream in(path, std::ios::binary);
    if (in) content << in.rdbuf();
    if (!in) {
      out.push_back({path, error(Reason::BadRequest,
                                 fmt::format("cannot be read: {}", std::strerror(errno)))});
      return;
    }
  }
  const std::string shown = path == "-" ? "standard input" : path;
  std::vector<Manifest> found = manifests_of_text(shown, content.str());
  if (found.empty()) {
    out.push_back({shown, error(Reason::BadRequest, "there is no object in it")});
  }
  std::move(found.begin(), found.end(), std::back_inserter(out));
}

}  // namespace

std::vector<Manifest> manifests_of_text(const std::string& file, std::string_view text) {
  std::vector<Manifest> out;
  const std::vector<Chunk> chunks = documents_of(text);
  size_t number = 0;
  const auto document = [&number, &file] { return fmt::format("{}, document {}", file, number); };
  for (const Chunk& chunk : chunks) {
    auto parsed = parse_chunk(chunk);
    if (!parsed) {
      ++number;
      out.push_back({document(), std::move(parsed).error()});
      continue;
    }
    for (YamlDocument& each : *parsed) {
      ++number;
      const size_t line = chunk.lines_before + static_cast<size_t>(each.line);
      add_object(out, fmt::format("{}, line {}", document(), line), std::move(each.parsed.value));
    }
  }
  return out;
}

std::vector<Manifest> read_manifests(const ManifestSource& source) {
  std::vector<Manifest> out;
  for (const std::string& path : source.paths) {
    std::error_code failed;
    if (path == "-" || !std::filesystem::is_directory(path, failed)) {
      add_file(out, path);
      continue;
    }
    failed.clear();
    const std::vector<std::string> files = files_in(path, source.is_recursive, failed);
    if (failed) {
      out.push_back(
          {path, error(Reason::BadRequest, fmt::format("cannot be read: {}", failed.message()))});
    } else if (files.empty()) {
      out.push_back(
          {path, error(Reason::BadRequest,
                       fmt::format("holds no .yaml, .yml or .json file{}",
                                   source.is_recursive ? "" : "; -R looks in its folders too"))});
    }
    for (const std::string& file : files)
      add_file(out, file);
  }
  return out;
}

}  // namespace yard
