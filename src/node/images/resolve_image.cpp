#include "node/images/resolve_image.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/search.h"
#include "base/strings.h"
#include "node/images/pull_policy.h"

namespace yard {
namespace {

constexpr size_t kMostNameBytes = 255, kMostTagBytes = 128;

bool is_lower_or_digit(char character) {
  return (character >= 'a' && character <= 'z') || (character >= '0' && character <= '9');
}

bool is_word(char character) {
  return is_lower_or_digit(character) || (character >= 'A' && character <= 'Z') || character == '_';
}

struct ImageName {
  std::string_view path, tag, digest;
};

// A colon after the last slash begins a tag; before it, a port.
ImageName parts_of(std::string_view image) {
  ImageName out{image, {}, {}};
  if (const size_t at = image.find('@'); at != std::string_view::npos) {
    out.digest = image.substr(at + 1);
    out.path = image.substr(0, at);
  }
  const size_t slash = out.path.rfind('/'), colon = out.path.rfind(':');
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash)) {
    out.tag = out.path.substr(colon + 1);
    out.path = out.path.substr(0, colon);
  }
  return out;
}

bool is_path_part(std::string_view part) {
  if (part.empty() || !is_lower_or_digit(part.front()) || !is_lower_or_digit(part.back()))
    return false;
  return std::ranges::all_of(part, [](char each) {
    return is_lower_or_digit(each) || each == '.' || each == '_' || each == '-';
  });
}

// The first part may be a host: with a dot or a port, capitals allowed.
bool is_host(std::string_view part) {
  if (part.empty() || (part.find('.') == std::string_view::npos &&
                       part.find(':') == std::string_view::npos && part != "localhost"))
    return false;
  return std::ranges::all_of(
      part, [](char each) { return is_word(each) || each == '.' || each == '-' || each == ':'; });
}

// One star at a time, with one step back: linear times the number of stars.
bool matches_pattern(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool matches_image(std::string_view pattern, std::string_view image) {
  if (matches_pattern(pattern, image)) return true;
  const ImageName name = parts_of(image), asked = parts_of(pattern);
  if (asked.tag.empty() && asked.digest.empty()) return matches_pattern(pattern, name.path);
  return name.tag.empty() && name.digest.empty() &&
         matches_pattern(pattern, std::string(image) + ":latest");
}

// Literal characters decide; a pattern without a star goes before all others.
size_t exactness(std::string_view pattern) {
  const auto stars = static_cast<size_t>(std::ranges::count(pattern, '*'));
  return pattern.size() - stars + (stars == 0 ? kMostNameBytes * 2 : 0);
}

ImageResolution refusal(std::string reason, std::string message) {
  ImageResolution out;
  out.reason = std::move(reason);
  out.message = std::move(message);
  return out;
}

std::string image_warning(std::string_view image, const ImageConfig& config) {
  if (!image_name_problem(image).empty() || find_mapped(image, config) != nullptr) return "";
  return config.fallback == ImageFallback::Host
             ? fmt::format(
                   "image {} is not mapped: its containers run the host's own programs "
                   "(images.map in config.yaml gives it others)",
                   quoted(image))
             : fmt::format(
                   "image {} is not mapped and images.fallback is refuse: its containers "
                   "will wait with ErrImagePull until images.map in config.yaml has it",
                   quoted(image));
}

// Every image an encoded object names, each once.
std::vector<std::string> images_in(std::string_view encoded_object) {
  constexpr std::string_view kKey = "\"image\":\"";
  std::vector<std::string> out;
  // A volume, a custom resource may have an image of another sort: only containers count.
  const bool has_containers = has_words(encoded_object, R"("containers":[)");
  for (size_t at = has_containers ? find_words(encoded_object, kKey) : std::string_view::npos;
       at != std::string_view::npos; at = find_words(encoded_object, kKey, at)) {
    at += kKey.size();
    const size_t end = encoded_object.find('"', at);
    if (end == std::string_view::npos) break;
    std::string image(encoded_object.substr(at, end - at));
    if (std::ranges::find(out, image) == out.end()) out.push_back(std::move(image));
    at = end;
  }
  return out;
}

}  // namespace

std::string image_name_problem(std::string_view image) {
  const ImageName name = parts_of(image);
  if (name.path.size() > kMostNameBytes)
    return "repository name must not be more than 255 characters";
  const auto parts = split(name.path, '/');
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i == 0 && parts.size() > 1 && is_host(parts[0])) continue;
    if (is_path_part(parts[i])) continue;
    const bool has_capital =
        std::ranges::any_of(parts[i], [](char each) { return each >= 'A' && each <= 'Z'; });
    return has_capital && is_path_part(lower(parts[i]))
               ? fmt::format("invalid reference format: repository name ({}) must be lowercase",
                             name.path)
               : std::string("invalid reference format");
  }
  const bool tag_given = image.find(':', name.path.size()) == name.path.size();
  if (tag_given && (name.tag.empty() || name.tag.size() > kMostTagBytes || !is_word(name.tag[0]) ||
                    !std::ranges::all_of(name.tag, [](char each) {
                      return is_word(each) || each == '.' || each == '-';
                    })))
    return "invalid reference format";
  if (image.find('@') == std::string_view::npos) return "";
  const size_t colon = name.digest.find(':');
  const bool is_hash =
      colon != std::string_view::npos && colon > 0 && name.digest.size() >= colon + 33 &&
      name.digest.find_first_not_of("0123456789abcdef", colon + 1) == std::string_view::npos;
  return is_hash ? "" : "invalid reference format";
}

const std::pair<std::string, ImageEntry>* find_mapped(std::string_view image,
                                                      const ImageConfig& config) {
  const std::pair<std::string, ImageEntry>* best = nullptr;
  for (const auto& entry : config.map) {
    if (!matches_image(entry.first, image)) continue;
    if (best == nullptr || exactness(entry.first) > exactness(best->first)) best = &entry;
  }
  return best;
}

ImageResolution resolve_image(const ImageRequest& request, const ImageConfig& config,
                              const UnpackedImages& unpacked) {
  if (const std::string problem = image_name_problem(request.image); !problem.empty()) {
    return refusal("InvalidImageName",
                   fmt::format("Failed to apply default image tag {0}: couldn't parse image name "
                               "{0}: {1}",
                               quoted(request.image), problem));
  }
  ImageResolution out;
  const auto* mapped = find_mapped(request.image, config);
  const ImageEntry* present =
      unpacked && config.prefer != ImagePrefer::Host ? unpacked(request.image) : nullptr;
  if (mapped != nullptr && (present == nullptr || config.prefer == ImagePrefer::Map)) {
    out.rung = ImageRung::Map;
    out.pattern = mapped->first;
    out.entry = mapped->second;
    return out;
  }
  if (present != nullptr) {
    out.rung = ImageRung::Unpacked;
    out.entry = *present;
    return out;
  }
  if (request.pull_policy == "Never") {
    return refusal("ErrImageNeverPull",
                   fmt::format("Container image {} is not present with pull policy of Never",
                               quoted(request.image)));
  }
  if (config.fallback == ImageFallback::Refuse) {
    return refusal(
        "ErrImagePull",
        fmt::format("image {0} is not mapped and images.fallback is refuse: write `images: {{map: "
                    "{{{0}: {{root: /path}}}}}}` (or python: /path/of/venv, or host: true) into "
                    "config.yaml and `trainyard restart`",
                    quoted(request.image)));
  }
  if (request.offer != nullptr) {
    out.entry = *request.offer;
    out.is_offered = true;
  }
  return out;
}

std::string image_id(std::string_view image, const ImageResolution& resolution) {
  switch (resolution.rung) {
    case ImageRung::Map:
      return fmt::format("map://{}", resolution.entry.base == ImageEntry::Base::Host
                                         ? resolution.pattern
                                         : resolution.entry.folder);
    case ImageRung::Unpacked:
      if (resolution.entry.unpacked) return resolution.entry.unpacked->id;
      return fmt::format("unpacked://{}", resolution.entry.folder);
    case ImageRung::Host: break;
  }
  return fmt::format("host://{}", image);
}

std::string pulled_message(std::string_view image, const ImageResolution& resolution) {
  if (resolution.rung == ImageRung::Map) {
    return fmt::format("Container image {} is mapped to {} by images.map {} of the config",
                       quoted(image), shown(resolution.entry), quoted(resolution.pattern));
  }
  if (resolution.rung == ImageRung::Unpacked) return already_present(image);
  if (resolution.is_offered) {
    return fmt::format(
        "Container image {} is not mapped: {} runs in its place, as `trainyard run` "
        "offered",
        quoted(image), shown(resolution.entry));
  }
  return fmt::format("Container image {} is not unpacked: the host's own programs run in its place",
                     quoted(image));
}

std::vector<std::string> image_warnings(
    std::string_view encoded_object, const ImageConfig& config,
    const std::function<bool(std::string_view image)>& is_present) {
  std::vector<std::string> out;
  for (const std::string& image : images_in(encoded_object)) {
    if (config.prefer == ImagePrefer::Image || names_registry_of(config, image) ||
        (is_present && is_present(image)))
      continue;
    if (std::string warning = image_warning(image, config); !warning.empty())
      out.push_back(std::move(warning));
  }
  return out;
}

}  // namespace yard
