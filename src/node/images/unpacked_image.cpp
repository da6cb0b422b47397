#include "node/images/unpacked_image.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {
namespace {

constexpr std::size_t kMostEntries = 10'000;

const ImageUser* find_user(const UnpackedImage& image, std::string_view text) {
  const auto by_name = std::ranges::find(image.users, text, &ImageUser::name);
  if (by_name != image.users.end()) return &*by_name;
  const auto number = parse_int64(text);
  if (!number) return nullptr;
  const auto by_number = std::ranges::find(image.users, *number, &ImageUser::uid);
  return by_number == image.users.end() ? nullptr : &*by_number;
}

Result<std::int64_t> group_number(const UnpackedImage& image, std::string_view text) {
  const auto by_name = std::ranges::find(image.groups, text, &ImageGroup::name);
  if (by_name != image.groups.end()) return by_name->gid;
  if (const auto number = parse_int64(text); number && *number >= 0) return *number;
  return error(Reason::Invalid,
               fmt::format("unable to find group {}: no matching entries in group file", text));
}

}  // namespace

std::vector<ImageUser> parse_users(std::string_view passwd) {
  std::vector<ImageUser> out;
  for (const std::string_view line : split(passwd, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() < 6 || out.size() == kMostEntries) continue;
    const auto uid = parse_int64(fields[2]), gid = parse_int64(fields[3]);
    if (!uid || !gid || *uid < 0 || *gid < 0) continue;
    out.push_back({std::string(fields[0]), std::string(fields[5]), *uid, *gid});
  }
  return out;
}

std::vector<ImageGroup> parse_groups(std::string_view group) {
  std::vector<ImageGroup> out;
  for (const std::string_view line : split(group, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() < 3 || out.size() == kMostEntries) continue;
    const auto gid = parse_int64(fields[2]);
    if (!gid || *gid < 0) continue;
    ImageGroup entry{std::string(fields[0]), *gid, {}};
    if (fields.size() > 3) {
      for (const std::string_view member : split(fields[3], ','))
        if (!member.empty()) entry.members.emplace_back(trim(member));
    }
    out.push_back(std::move(entry));
  }
  return out;
}

Result<ImageIdentity> image_identity(const UnpackedImage& image, const AskedIdentity& asked) {
  const std::size_t colon = image.user.find(':');
  const std::string user = asked.user ? std::to_string(*asked.user) : image.user.substr(0, colon);
  const std::string group =
      asked.user || colon == std::string::npos ? "" : image.user.substr(colon + 1);
  ImageIdentity out;
  const ImageUser* known = find_user(image, user.empty() ? "0" : user);
  if (known != nullptr) {
    out.uid = known->uid;
    out.gid = known->gid;
    if (!known->home.empty()) out.home = known->home;
    for (const ImageGroup& each : image.groups) {
      if (std::ranges::find(each.members, known->name) != each.members.end())
        out.groups.push_back(each.gid);
    }
  } else if (const auto number = parse_int64(user); number && *number >= 0) {
    out.uid = *number;
  } else if (!user.empty()) {
    return error(Reason::Invalid,
                 fmt::format("unable to find user {}: no matching entries in passwd file", user));
  }
  if (out.uid == 0 && known == nullptr) out.home = "/root";
  if (!group.empty()) {
    out.gid = TRY(group_number(image, group));
    out.groups.clear();  // a group that is named stands alone
  }
  if (asked.group) out.gid = *asked.group;
  return out;
}

std::string non_root_problem(const UnpackedImage& image) {
  const std::string user = image.user.substr(0, image.user.find(':'));
  const auto number = parse_int64(user);
  if (user.empty() || (number && *number == 0))
    return "container has runAsNonRoot and image will run as root";
  if (number) return "";
  return fmt::format(
      "container has runAsNonRoot and image has non-numeric user ({}), cannot verify user is "
      "non-root",
      user);
}

}  // namespace yard
