#include "base/time_zone.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/strings.h"

namespace yard {
namespace {

using std::chrono::seconds;

constexpr size_t kMostBytes = 256 * 1024;
constexpr size_t kMostChanges = 8192, kMostTypes = 256;
constexpr size_t kMostZones = 1024;  // kept; there are some 600 names
constexpr int kLastYear = 2100;
constexpr int32_t kMostOffset = 26 * 3600;  // RFC 9636 allows less than 26 hours
constexpr const char* kFolder = "/usr/share/zoneinfo/";

// Big-endian numbers from bytes that may end anywhere: past the end everything is 0 and !ok().
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  int64_t number(size_t size) {
    const std::string_view part = take(size);
    if (part.empty()) return 0;
    uint64_t out = (part[0] & 0x80) != 0 ? ~uint64_t{0} : 0;
    for (const char byte : part)
      out = (out << 8) | static_cast<unsigned char>(byte);
    return static_cast<int64_t>(out);
  }
  uint8_t byte() {
    const std::string_view part = take(1);
    return part.empty() ? 0 : static_cast<uint8_t>(part[0]);
  }
  std::string_view take(size_t size) {
    if (size > bytes_.size() - at_) {
      ok_ = false;
      at_ = bytes_.size();
      return {};
    }
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  std::string_view rest() const { return bytes_.substr(at_); }
  bool ok() const { return ok_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

struct Header {
  uint8_t version = 0;
  size_t utc = 0, standard = 0, leaps = 0, times = 0, types = 0, letters = 0;
  bool is_sane() const {
    return times <= kMostChanges && types >= 1 && types <= kMostTypes && letters <= kMostTypes &&
           leaps <= kMostChanges && utc <= kMostTypes && standard <= kMostTypes;
  }
};

std::optional<Header> read_header(Reader& reader) {
  if (reader.take(4) != "TZif") return std::nullopt;
  Header out;
  out.version = reader.byte();
  reader.take(15);
  for (size_t* count :
       {&out.utc, &out.standard, &out.leaps, &out.times, &out.types, &out.letters}) {
    const int64_t number = reader.number(4);
    if (number < 0) return std::nullopt;
    *count = static_cast<size_t>(number);
  }
  if (!reader.ok() || !out.is_sane()) return std::nullopt;
  return out;
}

// The rule behind a file's last change: CET-1CEST,M3.5.0,M10.5.0/3 (POSIX, signs reversed).
class RuleReader {
 public:
  explicit RuleReader(std::string_view text) : text_(text) {}

  struct Day {
    int month = 0, week = 0, weekday = 0;
    int32_t second = 2 * 3600;
  };
  struct Rule {
    int32_t standard = 0, summer = 0;
    Day begins, ends;
  };
  // Nothing when there is no summer time, or the rule is of a form no zone has today.
  std::optional<Rule> read() {
    Rule out;
    if (!skip_name()) return std::nullopt;
    const auto west = clock();
    if (!west || !skip_name()) return std::nullopt;
    out.standard = -*west;
    out.summer = out.standard + 3600;
    if (!text_.empty() && text_.front() != ',') {
      const auto summer = clock();
      if (!summer) return std::nullopt;
      out.summer = -*summer;
    }
    const auto begins = day(), ends = begins ? day() : std::nullopt;
    if (!ends || !text_.empty()) return std::nullopt;
    out.begins = *begins;
    out.ends = *ends;
    return out;
  }

 private:
  bool skip(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool skip_name() {
    if (skip('<')) {
      const size_t end = text_.find('>');
      if (end == text_.npos) return false;
      text_.remove_prefix(end + 1);
      return true;
    }
    size_t size = 0;
    while (size < text_.size() && std::isalpha(static_cast<unsigned char>(text_[size])))
      ++size;
    text_.remove_prefix(size);
    return size >= 3;
  }
  std::optional<int> digits() {
    size_t size = 0;
    int out = 0;
    while (size < text_.size() && size < 4 && text_[size] >= '0' && text_[size] <= '9')
      out = out * 10 + (text_[size++] - '0');
    text_.remove_prefix(size);
    if (size == 0) return std::nullopt;
    return out;
  }
  // [-]h[:m[:s]] in seconds.
  std::optional<int32_t> clock() {
    const bool minus = skip('-');
    if (!minus) skip('+');
    int32_t out = 0;
    for (const int unit : {3600, 60, 1}) {
      if (unit != 3600 && !skip(':')) break;
      const auto number = digits();
      if (!number || *number > 167) return std::nullopt;
      out += *number * unit;
    }
    return minus ? -out : out;
  }
  std::optional<Day> day() {
    Day out;
    if (!skip(',') || !skip('M')) return std::nullopt;
    const auto month = digits();
    if (!month || !skip('.')) return std::nullopt;
    const auto week = digits();
    if (!week || !skip('.')) return std::nullopt;
    const auto weekday = digits();
    if (!weekday || *month < 1 || *month > 12 || *week < 1 || *week > 5 || *weekday > 6)
      return std::nullopt;
    out.month = *month;
    out.week = *week;
    out.weekday = *weekday;
    if (skip('/')) {
      const auto second = clock();
      if (!second) return std::nullopt;
      out.second = *second;
    }
    return out;
  }

  std::string_view text_;
};

// The moment in unix seconds; `offset` is the one in force before it.
int64_t moment(const RuleReader::Day& day, int year, int32_t offset) {
  using namespace std::chrono;
  const auto month_of_year = std::chrono::year(year) / month(static_cast<unsigned>(day.month));
  const weekday on(static_cast<unsigned>(day.weekday));
  const sys_days date = day.week == 5
                            ? sys_days(month_of_year / on[last])
                            : sys_days(month_of_year / on[static_cast<unsigned>(day.week)]);
  return int64_t{date.time_since_epoch().count()} * 86400 + day.second - offset;
}

std::string_view footer_of(std::string_view rest) {
  if (!rest.starts_with('\n')) return {};
  rest.remove_prefix(1);
  return rest.substr(0, rest.find('\n'));
}

bool is_zone_name(std::string_view name) {
  const auto is_plain = [](unsigned char c) {
    return (c < 128 && std::isalnum(c)) || c == '_' || c == '-' || c == '+' || c == '/';
  };
  const std::vector<std::string_view> parts = split(name, '/');
  return !name.empty() && name.size() <= 128 && std::ranges::all_of(name, is_plain) &&
         std::ranges::none_of(parts, [](std::string_view part) { return part.empty(); });
}

std::optional<std::string> read_zone_file(const std::string& name) {
  std::ifstream file(kFolder + name, std::ios::binary);
  std::string bytes(kMostBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
  if (bytes.empty()) return std::nullopt;
  return bytes;
}

}  // namespace

Result<TimeZone> TimeZone::parse(std::string_view bytes) {
  const Error bad = error(Reason::Invalid, "not a time zone file");
  Reader reader(bytes);
  auto header = read_header(reader);
  if (!header) return bad;
  size_t time_size = 4;
  if (header->version >= '2') {
    // The first block has 32-bit times for old readers; all of it comes again in 64 bits.
    reader.take(header->times * 5 + header->types * 6 + header->letters + header->leaps * 8 +
                header->standard + header->utc);
    header = read_header(reader);
    if (!header) return bad;
    time_size = 8;
  }
  TimeZone out;
  out.changes_.resize(header->times);
  for (Change& change : out.changes_)
    change.at = reader.number(time_size);
  std::vector<uint8_t> kinds(header->times);
  for (uint8_t& kind : kinds)
    kind = reader.byte();
  std::vector<int32_t> offsets(header->types);
  for (int32_t& offset : offsets) {
    offset = static_cast<int32_t>(reader.number(4));
    if (offset < -kMostOffset || offset > kMostOffset) return bad;
    reader.take(2);
  }
  reader.take(header->letters + header->leaps * (time_size + 4) + header->standard + header->utc);
  if (!reader.ok()) return bad;
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] >= offsets.size()) return bad;
    if (i > 0 && out.changes_[i].at <= out.changes_[i - 1].at) return bad;
    out.changes_[i].offset = offsets[kinds[i]];
  }
  out.first_offset_ = offsets[0];
  if (const auto rule = RuleReader(footer_of(reader.rest())).read()) {
    const int64_t last = out.changes_.empty() ? 0 : out.changes_.back().at;
    std::vector<Change> more;
    for (int year = 1970; year <= kLastYear; ++year) {
      more.push_back({moment(rule->begins, year, rule->standard), rule->summer});
      more.push_back({moment(rule->ends, year, rule->summer), rule->standard});
    }
    std::ranges::sort(more, {}, &Change::at);
    for (const Change& change : more)
      if (change.at > last) out.changes_.push_back(change);
  }
  return out;
}

std::chrono::seconds TimeZone::offset_at(Time time) const {
  const auto after = std::ranges::upper_bound(changes_, unix_seconds(time), {}, &Change::at);
  return seconds(after == changes_.begin() ? first_offset_ : std::prev(after)->offset);
}

std::optional<Time> TimeZone::next_change_after(Time time) const {
  const auto after = std::ranges::upper_bound(changes_, unix_seconds(time), {}, &Change::at);
  // A file may name any second; one that no Time holds never comes.
  if (after == changes_.end() || after->at > unix_seconds(Time::max())) return std::nullopt;
  return from_unix_seconds(after->at);
}

const TimeZone* find_time_zone(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const TimeZone>, std::less<>> known;
  static const TimeZone utc;
  if (name == "UTC" || name == "Etc/UTC") return &utc;
  if (!is_zone_name(name)) return nullptr;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(name); found != known.end()) return found->second.get();
  const auto bytes = read_zone_file(std::string(name));
  if (!bytes) return nullptr;
  auto zone = TimeZone::parse(*bytes);
  if (!zone || known.size() >= kMostZones) return nullptr;
  return known.emplace(name, std::make_unique<const TimeZone>(std::move(*zone)))
      .first->second.get();
}

}  // namespace yard
