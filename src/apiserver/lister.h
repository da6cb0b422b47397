#pragma once
// Reads of collections: resourceVersion semantics, paging and selectors (api-machinery 4). Loop
// thread.

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "api/selectors.h"
#include "apiserver/kind_table.h"
#include "apiserver/representation.h"
#include "apiserver/request.h"
#include "base/loop.h"
#include "store/store.h"

namespace yard {

// What a list or watch selects, ready to test objects with.
struct Selection {
  std::string ns;  // empty: all namespaces
  LabelSelector labels;
  FieldSelector fields;
  bool is_everything() const { return labels.is_everything() && fields.is_everything(); }
  bool matches(const Object& object) const {
    return (ns.empty() || object.ns() == ns) && labels.matches(object) && fields.matches(object);
  }
};
Result<Selection> parse_selection(const Kind& kind, std::string_view ns,
                                  const ListOptions& options);

struct ListResult {
  std::vector<ObjectPtr> objects;  // as stored
  ListMetadata metadata;
};

// The opaque token of a page: which revision, behind which key.
struct ContinueToken {
  int64_t revision = 0;  // -1: at the latest, inconsistent
  std::string after_ns, after_name;
};
std::string encode_continue(const ContinueToken& token);
Result<ContinueToken> decode_continue(std::string_view text);

// Waits for revisions that are not there yet, for at most three seconds.
class RevisionWaiter {
 public:
  RevisionWaiter(Loop& loop, Store& store);
  ~RevisionWaiter();
  // Calls `done` now or when the store has reached `revision`; with an error when it does not in
  // time.
  void wait(Revision revision, std::function<void(Result<void>)> done);

 private:
  struct Waiting {
    Revision revision;
    TimerId timer;
    std::function<void(Result<void>)> done;
  };
  void reached();
  Loop& loop_;
  Store& store_;
  Store::ListenerId listener_ = 0;
  std::list<Waiting> waiting_;
};

// The revision a list must have reached before it is answered: 0 when any will do.
Result<Revision> needed_revision(const ListOptions& options);
Result<ListResult> list_objects(const Store& store, const Kind& kind, const Selection& selection,
                                const ListOptions& options);

}  // namespace yard
