#include "node/network/dns_zone.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {
namespace {

constexpr std::string_view kReverse = ".in-addr.arpa", kPodPart = ".pod.cluster.local";
constexpr int kMostAliases = 8;

std::string reverse_name(Ipv4 address) {
  return fmt::format("{}.{}.{}.{}{}", address & 255, address >> 8 & 255, address >> 16 & 255,
                     address >> 24, kReverse);
}

std::optional<Ipv4> reversed_address(std::string_view name) {
  if (!name.ends_with(kReverse)) return std::nullopt;
  const auto parts = split(name.substr(0, name.size() - kReverse.size()), '.');
  if (parts.size() != 4) return std::nullopt;
  return parse_ipv4(fmt::format("{}.{}.{}.{}", parts[3], parts[2], parts[1], parts[0]));
}

// 10-244-0-7.default.pod.cluster.local is 10.244.0.7, whether or not such a pod is there.
std::optional<Ipv4> pod_name_address(std::string_view name) {
  if (!name.ends_with(kPodPart)) return std::nullopt;
  const auto parts = split(name.substr(0, name.size() - kPodPart.size()), '.');
  if (parts.size() != 2 || parts[1].empty()) return std::nullopt;
  std::string address(parts[0]);
  std::ranges::replace(address, '-', '.');
  return parse_ipv4(address);
}

std::optional<DnsRecord> record_of(std::string_view line) {
  const auto words = split(line, ' ');
  if (words.size() < 3) return std::nullopt;
  DnsRecord out;
  out.name = lower(words[0]);
  if (words[1] == "A") {
    const auto address = parse_ipv4(words[2]);
    if (!address) return std::nullopt;
    out.address = *address;
    return out;
  }
  if (words[1] == "PTR") {
    const auto address = parse_ipv4(words[0]);
    if (!address) return std::nullopt;
    out.name = reverse_name(*address);
    out.type = DnsType::PTR;
    out.target = lower(words[2]);
    return out;
  }
  if (words[1] == "CNAME") {
    out.type = DnsType::CNAME;
    out.target = lower(words[2]);
    return out;
  }
  const auto port = parse_uint64(words[2]);
  if (words[1] != "SRV" || words.size() != 4 || !port || *port > 65535) return std::nullopt;
  out.type = DnsType::SRV;
  out.port = static_cast<uint16_t>(*port);
  out.target = lower(words[3]);
  return out;
}

}  // namespace

void DnsZone::add(std::string_view line) {
  auto record = record_of(line);
  if (!record) return;
  std::string name = record->name;
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
    ++parents_[name.substr(dot + 1)];
  records_.emplace(std::move(name), std::move(*record));
}

void DnsZone::remove(std::string_view line) {
  const auto record = record_of(line);
  if (!record) return;
  const auto [begin, end] = records_.equal_range(record->name);
  const auto found =
      std::find_if(begin, end, [&](const auto& entry) { return entry.second == *record; });
  if (found == end) return;
  records_.erase(found);
  const std::string& name = record->name;
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    const auto parent = parents_.find(std::string_view(name).substr(dot + 1));
    if (parent != parents_.end() && --parent->second == 0) parents_.erase(parent);
  }
}

bool DnsZone::is_ours(std::string_view name) {
  if (name == kClusterDomain ||
      (name.ends_with(kClusterDomain) && name[name.size() - kClusterDomain.size() - 1] == '.'))
    return true;
  const auto address = reversed_address(name);
  return address && (kPodRange.contains(*address) || kServiceRange.contains(*address));
}

std::vector<DnsRecord> DnsZone::records_of(std::string_view name, DnsType type, size_t turn) const {
  std::vector<DnsRecord> out;
  const auto [begin, end] = records_.equal_range(name);
  for (auto at = begin; at != end; ++at) {
    if (at->second.type == type || type == DnsType::ANY) out.push_back(at->second);
  }
  if (out.size() > 1)
    std::rotate(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(turn % out.size()),
                out.end());
  return out;
}

DnsAnswer DnsZone::answer(const DnsQuestion& question, size_t turn) const {
  DnsAnswer out;
  if (const auto address = pod_name_address(question.name)) {
    if (question.type == DnsType::A || question.type == DnsType::ANY)
      out.records.push_back({question.name, DnsType::A, *address, "", 0});
    return out;
  }
  std::string name = question.name;
  for (int aliases = 0; aliases < kMostAliases; ++aliases) {
    auto found = records_of(name, question.type, turn);
    if (!found.empty() || question.type == DnsType::CNAME) {
      out.records.insert(out.records.end(), found.begin(), found.end());
      break;
    }
    const auto alias = records_of(name, DnsType::CNAME, 0);
    if (alias.empty()) break;
    out.records.push_back(alias.front());
    name = alias.front().target;
    if (!is_ours(name)) break;
  }
  if (question.type == DnsType::SRV) {
    for (const DnsRecord& record : out.records) {
      for (DnsRecord& address : records_of(record.target, DnsType::A, 0))
        out.additional.push_back(std::move(address));
    }
  }
  const bool exists = !out.records.empty() || question.name == kClusterDomain ||
                      records_.contains(question.name) || parents_.contains(question.name);
  if (!exists) out.code = DnsCode::NoSuchName;
  return out;
}

}  // namespace yard
