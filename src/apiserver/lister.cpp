#include "apiserver/lister.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {
namespace {

constexpr Duration kLongestWait = std::chrono::seconds(3);

Error too_large_revision(Revision wanted, Revision current) {
  Error out =
      error(Reason::Timeout,
            fmt::format("Timeout: Too large resource version: {}, current: {}", wanted, current));
  out.details.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  out.details.retry_after_seconds = 1;
  return out;
}

Error expired_page(const ContinueToken& token) {
  Error out = error(
      Reason::Expired,
      "The provided continue parameter is too old to display a consistent list result. You can "
      "start a new list without "
      "the continue parameter, or use the continue token in this response to retrieve the "
      "remainder of the results. "
      "Continuing with the provided token results in an inconsistent list - objects that were "
      "created, modified, or "
      "deleted between the time the first chunk was returned and now may show up in the list.");
  out.details.continue_token = encode_continue({-1, token.after_ns, token.after_name});
  return out;
}

}  // namespace

Result<Selection> parse_selection(const Kind& kind, std::string_view ns,
                                  const ListOptions& options) {
  Selection out;
  out.ns = ns;
  out.labels = TRY(LabelSelector::parse(options.label_selector));
  out.fields = TRY(FieldSelector::parse(options.field_selector, kind));
  return out;
}

std::string encode_continue(const ContinueToken& token) {
  std::string start =
      token.after_ns.empty() ? token.after_name : token.after_ns + "/" + token.after_name;
  start.push_back('\0');
  return base64url_encode(
      to_text(JsonObject{{"v", "meta.k8s.io/v1"}, {"rv", token.revision}, {"start", start}}));
}

Result<ContinueToken> decode_continue(std::string_view text) {
  const auto bad = [](std::string why) {
    return error(Reason::BadRequest, "invalid continue token: continue key is not valid: " + why);
  };
  const auto bytes = base64url_decode(text);
  if (!bytes) return bad("illegal base64 data");
  auto parsed = parse_json(*bytes);
  if (!parsed) return bad(parsed.error().message);
  const Json& token = parsed->value;
  if (text_at(token, {"v"}) != "meta.k8s.io/v1")
    return bad("server does not recognize the encoded version " + quoted(text_at(token, {"v"})));
  ContinueToken out;
  out.revision = int_at(token, {"rv"});
  if (out.revision == 0)
    return bad("incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  std::string_view start = text_at(token, {"start"});
  if (!start.ends_with('\0')) return bad("encoded start key empty (version meta.k8s.io/v1)");
  start.remove_suffix(1);
  const size_t slash = start.find('/');
  out.after_name = slash == std::string_view::npos ? start : start.substr(slash + 1);
  if (slash != std::string_view::npos) out.after_ns = start.substr(0, slash);
  if (out.after_name.empty()) return bad("encoded start key empty (version meta.k8s.io/v1)");
  return out;
}

RevisionWaiter::RevisionWaiter(Loop& loop, Store& store) : loop_(loop), store_(store) {}

RevisionWaiter::~RevisionWaiter() {
  if (listener_ != 0) store_.forget(listener_);
  for (const Waiting& waiting : waiting_)
    loop_.cancel(waiting.timer);
}

void RevisionWaiter::wait(Revision revision, std::function<void(Result<void>)> done) {
  if (revision <= store_.revision()) return done({});
  if (listener_ == 0) listener_ = store_.listen("", [this](const StoreEventPtr&) { reached(); });
  const auto at = waiting_.insert(waiting_.end(), Waiting{revision, 0, std::move(done)});
  at->timer = loop_.after(kLongestWait, [this, at] {
    auto late = std::move(at->done);
    const Revision wanted = at->revision;
    waiting_.erase(at);
    late(too_large_revision(wanted, store_.revision()));
  });
}

void RevisionWaiter::reached() {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (at->revision > store_.revision()) {
      ++at;
      continue;
    }
    loop_.cancel(at->timer);
    // Posted: the store is in the middle of publishing.
    loop_.post([done = std::move(at->done)] { done({}); });
    at = waiting_.erase(at);
  }
}

Result<Revision> needed_revision(const ListOptions& options) {
  if (options.resource_version.empty() || options.resource_version == "0") return Revision{0};
  const auto revision = parse_uint64(options.resource_version);
  if (!revision) {
    return error(
        Reason::BadRequest,
        fmt::format(
            "resourceVersion: Invalid value: {}: strconv.ParseUint: parsing {}: invalid syntax",
            quoted(options.resource_version), quoted(options.resource_version)));
  }
  return *revision;
}

Result<ListResult> list_objects(const Store& store, const Kind& kind, const Selection& selection,
                                const ListOptions& options) {
  ListRange range;
  range.ns = selection.ns;
  const bool from_cache = options.resource_version == "0" && options.continue_token.empty();
  range.limit = from_cache || options.limit < 0 ? 0 : static_cast<size_t>(options.limit);
  if (!selection.is_everything()) {
    range.matches = [&](const Object& object) {
      return selection.labels.matches(object) && selection.fields.matches(object);
    };
  }
  Revision at = 0;  // 0: the newest
  if (!options.continue_token.empty()) {
    const ContinueToken token = TRY(decode_continue(options.continue_token));
    if (!options.resource_version.empty() && options.resource_version != "0") {
      return error(Reason::BadRequest,
                   "specifying resource version is not allowed when using continue");
    }
    range.after_ns = token.after_ns;
    range.after_name = token.after_name;
    if (token.revision > 0) at = static_cast<Revision>(token.revision);
  } else {
    const Revision wanted = TRY(needed_revision(options));
    const bool exactly = options.resource_version_match == "Exact" ||
                         (options.resource_version_match.empty() && options.limit > 0);
    if (wanted != 0 && exactly) at = wanted;
  }

  Listing listing;
  if (at == 0 || at == store.revision()) {
    listing = store.list(kind.storage, range);
  } else {
    auto old = store.list_at(kind.storage, range, at);
    if (!old) {
      if (options.continue_token.empty())
        return error(Reason::Expired, "The resourceVersion for the provided list is too old.");
      return expired_page({0, range.after_ns, range.after_name});
    }
    listing = std::move(*old);
    listing.revision = at;
  }

  ListResult out;
  out.metadata.revision = listing.revision;
  if (listing.more && !listing.objects.empty()) {
    const Object& last = *listing.objects.back();
    out.metadata.continue_token = encode_continue(
        {static_cast<int64_t>(listing.revision), std::string(last.ns()), std::string(last.name())});
    if (selection.is_everything()) out.metadata.remaining = listing.remaining;
  }
  out.objects = std::move(listing.objects);
  return out;
}

}  // namespace yard
